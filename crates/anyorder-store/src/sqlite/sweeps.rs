//! Sweeps: one tree's plan, and how far it is.

use std::fmt;

use anyorder_core::model::{OrderLabel, Suite, Tree};
use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension, params};

use super::{StoreError, suites};
use crate::lock::LockedStore;
use crate::open::Store;

/// Number of a sweep, shown as `s3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SweepId(pub(crate) i64);

impl fmt::Display for SweepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

/// What must agree for a sweep to be gone on with, or taken from the store instead of being run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepKey {
    /// Digest of the tree's content.
    pub tree_digest: String,
    /// Digest of interpreter, packages and lock files.
    pub environment_digest: String,
    /// Digest of the planned orders.
    pub plan_digest: String,
    /// Digest of pytest's arguments and everything else that changes what is measured.
    pub settings_digest: String,
}

/// How far a sweep is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepState {
    /// Nothing of it has been run.
    New,
    /// An earlier process began it.
    Resumed,
    /// All of it was run.
    Complete,
}

/// A sweep to write runs into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// Its number.
    pub id: SweepId,
    /// How far it is.
    pub state: SweepState,
}

impl LockedStore<'_> {
    /// The sweep for a key: with `resume` the newest one of the same key, suite and orders, otherwise a new one.
    pub fn begin_or_resume(
        &mut self,
        key: &SweepKey,
        tree: &Tree,
        suite: &Suite,
        labels: &[OrderLabel],
        now_ms: i64,
        resume: bool,
    ) -> Result<Sweep, StoreError> {
        let labels =
            serde_json::Value::from(labels.iter().map(ToString::to_string).collect::<Vec<_>>()).to_string();
        self.write(|change| {
            let suite = suites::store(change, suite)?;
            if resume && let Some(found) = newest(change, key, suite, &labels)? {
                return Ok(found);
            }
            change.execute(
                "INSERT INTO sweeps (tree, tree_digest, environment_digest, plan_digest, settings_digest, suite, labels,
                   created_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                params![
                    tree.to_string(),
                    key.tree_digest,
                    key.environment_digest,
                    key.plan_digest,
                    key.settings_digest,
                    suite,
                    labels,
                    now_ms
                ],
            )?;
            Ok(Sweep { id: SweepId(change.last_insert_rowid()), state: SweepState::New })
        })
    }

    /// Notes that everything planned in a sweep has been run.
    pub fn finish_sweep(&mut self, sweep: SweepId, now_ms: i64) -> Result<(), StoreError> {
        self.write_through(|change| {
            change.execute(
                "UPDATE sweeps SET finished_ms = $1 WHERE id = $2 AND finished_ms IS NULL",
                params![now_ms, sweep.0],
            )?;
            Ok(())
        })
    }
}

/// The newest sweep of the same key, suite and orders.
fn newest(db: &Connection, key: &SweepKey, suite: i64, labels: &str) -> Result<Option<Sweep>, StoreError> {
    let found = db
        .query_row(
            "SELECT id, finished_ms IS NOT NULL FROM sweeps
             WHERE tree_digest = $1 AND environment_digest = $2 AND plan_digest = $3
               AND settings_digest = $4 AND suite = $5 AND labels = $6
             ORDER BY id DESC LIMIT 1",
            params![
                key.tree_digest,
                key.environment_digest,
                key.plan_digest,
                key.settings_digest,
                suite,
                labels
            ],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    Ok(found.map(|(id, finished)| Sweep {
        id: SweepId(id),
        state: if finished { SweepState::Complete } else { SweepState::Resumed },
    }))
}

impl Store {
    /// The newest sweep of this key that was run to its end, whatever its suite: what may be taken instead of running.
    pub fn find_complete(&self, key: &SweepKey) -> Result<Option<SweepId>, StoreError> {
        let found = self
            .db
            .query_row(
                "SELECT id FROM sweeps
                 WHERE tree_digest = $1 AND environment_digest = $2 AND plan_digest = $3
                   AND settings_digest = $4 AND finished_ms IS NOT NULL
                 ORDER BY id DESC LIMIT 1",
                params![key.tree_digest, key.environment_digest, key.plan_digest, key.settings_digest],
                |row| row.get(0),
            )
            .optional()?;
        Ok(found.map(SweepId))
    }

    /// The suite of a sweep.
    pub fn suite_of(&self, sweep: SweepId) -> Result<Suite, StoreError> {
        suites::load(&self.db, self.of_sweep(sweep, "SELECT suite FROM sweeps WHERE id = $1")?)
    }

    /// One column of a sweep.
    pub(super) fn of_sweep<T: FromSql>(&self, sweep: SweepId, sql: &'static str) -> Result<T, StoreError> {
        let found = self.db.query_row(sql, [sweep.0], |row| row.get(0)).optional()?;
        found.ok_or_else(|| StoreError::Missing(format!("sweep {sweep}")))
    }
}
