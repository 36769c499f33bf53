//! The schema, step by step. `user_version` counts the steps taken.

use rusqlite::Connection;

/// Each step, oldest first. Never edit one that was released; add another.
const STEPS: &[&str] = &[include_str!("../../migrations/sqlite/0001_runs.sql")];

/// The format that this program writes.
#[expect(clippy::cast_possible_truncation, reason = "there are a handful of steps")]
pub(crate) const NEWEST: u32 = STEPS.len() as u32;

/// Takes the steps from `found` on, each whole or not at all.
pub(crate) fn run(db: &mut Connection, found: u32) -> rusqlite::Result<()> {
    for (version, step) in (1..).zip(STEPS).skip(found as usize) {
        let change = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        // Another process may have been first.
        let now: u32 = change.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if now >= version {
            continue;
        }
        change.execute_batch(step)?;
        change.execute(
            "INSERT INTO meta (key, value) VALUES ('writer', ?1) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            [env!("CARGO_PKG_VERSION")],
        )?;
        change.pragma_update(None, "user_version", version)?;
        change.commit()?;
    }
    Ok(())
}
