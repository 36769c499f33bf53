//! Checks that were made.

use std::fmt;
use std::str::FromStr;

use rusqlite::{OptionalExtension, params};

use super::StoreError;
use crate::lock::LockedStore;
use crate::open::Store;

/// Number of a check, shown as `c5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CheckId(pub(crate) i64);

impl fmt::Display for CheckId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}", self.0)
    }
}

impl FromStr for CheckId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let number = text.strip_prefix('c').ok_or(())?;
        if !number.bytes().all(|b| b.is_ascii_digit()) {
            return Err(());
        }
        number.parse().map(Self).map_err(|_| ())
    }
}

/// A check to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckRecord {
    /// When, in milliseconds since 1970.
    pub created_ms: i64,
    /// `accept`, `review` or `block`; the worst where several patches were judged.
    pub verdict: String,
    /// What the change was compared with.
    pub base: String,
    /// The patches, by name.
    pub patches: Vec<String>,
    /// The whole report as JSON.
    pub document: String,
}

/// A check that was kept, without its document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCheck {
    /// Its number.
    pub id: CheckId,
    /// When, in milliseconds since 1970.
    pub created_ms: i64,
    /// The verdict.
    pub verdict: String,
    /// What the change was compared with.
    pub base: String,
    /// The patches, by name.
    pub patches: Vec<String>,
}

impl LockedStore<'_> {
    /// Keeps a check.
    pub fn save_check(&mut self, check: &CheckRecord) -> Result<CheckId, StoreError> {
        let patches = serde_json::Value::from(check.patches.clone()).to_string();
        self.write_through(|change| {
            change.execute(
                "INSERT INTO checks (created_ms, verdict, base, patches, document) VALUES ($1, $2, $3, $4, $5)",
                params![check.created_ms, check.verdict, check.base, patches, check.document],
            )?;
            Ok(CheckId(change.last_insert_rowid()))
        })
    }
}

impl Store {
    /// The checks, the newest first.
    pub fn checks(&self) -> Result<Vec<StoredCheck>, StoreError> {
        let mut select =
            self.db.prepare("SELECT id, created_ms, verdict, base, patches FROM checks ORDER BY id DESC")?;
        let mut rows = select.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let id = CheckId(row.get(0)?);
            let patches: String = row.get(4)?;
            let patches = serde_json::from_str(&patches)
                .map_err(|e| StoreError::Inconsistent(format!("check {id} cannot be read: {e}")))?;
            found.push(StoredCheck {
                id,
                created_ms: row.get(1)?,
                verdict: row.get(2)?,
                base: row.get(3)?,
                patches,
            });
        }
        Ok(found)
    }

    /// The JSON document of a check.
    pub fn check_document(&self, check: CheckId) -> Result<String, StoreError> {
        self.db
            .query_row("SELECT document FROM checks WHERE id = $1", [check.0], |row| row.get(0))
            .optional()?
            .ok_or_else(|| StoreError::Missing(format!("check {check}")))
    }
}
