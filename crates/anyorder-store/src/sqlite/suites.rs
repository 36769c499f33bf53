//! Suites, each stored once however many sweeps use it.

use std::sync::Arc;

use anyorder_core::model::{Suite, TestId, TestInfo};
use rusqlite::{Connection, OptionalExtension, params};

use super::StoreError;

/// Stores a suite unless it is there, and gives its number.
pub(super) fn store(db: &Connection, suite: &Suite) -> Result<i64, StoreError> {
    let digest = digest(suite);
    let known =
        db.query_row("SELECT id FROM suites WHERE digest = $1", [&digest], |row| row.get(0)).optional()?;
    if let Some(id) = known {
        return Ok(id);
    }
    // A suite never holds more tests than 32 bits can count.
    let size = i64::try_from(suite.len()).unwrap_or(i64::MAX);
    db.execute("INSERT INTO suites (digest, size) VALUES ($1, $2)", params![digest, size])?;
    let id = db.last_insert_rowid();
    let mut insert = db.prepare(
        "INSERT INTO tests (suite, position, test, occurrence, file, source) VALUES ($1, $2, $3, $4, $5, $6)",
    )?;
    for (position, test) in (0_u32..).zip(suite.tests()) {
        let source = test.source.map(u64::cast_signed);
        insert.execute(params![id, position, test.id.raw(), test.id.occurrence(), &*test.file, source])?;
    }
    Ok(id)
}

/// Reads a suite.
pub(super) fn load(db: &Connection, id: i64) -> Result<Suite, StoreError> {
    let mut select =
        db.prepare("SELECT test, occurrence, file, source FROM tests WHERE suite = $1 ORDER BY position")?;
    let rows = select.query_map([id], |row| {
        let raw: String = row.get(0)?;
        let file: String = row.get(2)?;
        let source: Option<i64> = row.get(3)?;
        Ok(TestInfo {
            id: TestId::repeated(raw, row.get(1)?),
            file: Arc::from(file),
            source: source.map(i64::cast_unsigned),
        })
    })?;
    let tests = rows.collect::<Result<Vec<_>, _>>()?;
    Suite::new(tests).map_err(|e| StoreError::Inconsistent(format!("suite {id} cannot be read: {e}")))
}

fn digest(suite: &Suite) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    for test in suite.tests() {
        part(test.id.raw().as_bytes());
        part(&test.id.occurrence().to_le_bytes());
        part(test.file.as_bytes());
        part(&test.source.map_or([0; 9], |s| {
            let mut bytes = [1; 9];
            bytes[1..].copy_from_slice(&s.to_le_bytes());
            bytes
        }));
    }
    hasher.finalize().to_hex().to_string()
}
