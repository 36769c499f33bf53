//! The schema, step by step. `user_version` counts the steps taken, `application_id` says whose file it is.

use rusqlite::{Connection, TransactionBehavior};

/// Each step, oldest first. Never edit one that was released; add another.
pub(crate) const STEPS: &[&str] = &[include_str!("../../migrations/sqlite/0001_runs.sql")];

/// The format that this program writes.
#[expect(clippy::cast_possible_truncation, reason = "there are a handful of steps")]
pub(crate) const NEWEST: u32 = STEPS.len() as u32;

/// `anyo`: marks a database as ours.
pub(crate) const APPLICATION: i32 = i32::from_be_bytes(*b"anyo");

/// Takes the steps that were not taken yet, each whole or not at all.
pub(crate) fn run(db: &mut Connection, steps: &[&str]) -> rusqlite::Result<()> {
    for (version, step) in (1_u32..).zip(steps) {
        let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let taken: u32 = change.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if taken >= version {
            continue;
        }
        change.execute_batch(step)?;
        change.execute(
            "INSERT INTO meta (key, value) VALUES ('writer', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            [env!("CARGO_PKG_VERSION")],
        )?;
        change.pragma_update(None, "application_id", APPLICATION)?;
        change.pragma_update(None, "user_version", version)?;
        change.commit()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(db: &Connection) -> u32 {
        db.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn each_step_is_taken_once() {
        let mut db = Connection::open_in_memory().unwrap();
        let steps = [STEPS[0], "CREATE TABLE later (x); INSERT INTO later VALUES (1)"];
        run(&mut db, &steps[..1]).unwrap();
        assert_eq!(version(&db), 1);
        for _ in 0..2 {
            run(&mut db, &steps).unwrap();
            assert_eq!(version(&db), 2);
        }
        let rows: u32 = db.query_row("SELECT count(*) FROM later", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 1);
    }

    #[test]
    fn a_step_that_fails_leaves_the_format_before_it() {
        let mut db = Connection::open_in_memory().unwrap();
        let steps = [STEPS[0], "CREATE TABLE later (x); CREATE TABLE later (x)"];
        assert!(run(&mut db, &steps).is_err());
        assert_eq!(version(&db), 1);
        let tables: u32 = db
            .query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'later'", [], |row| row.get(0))
            .unwrap();
        assert_eq!(tables, 0);
    }
}
