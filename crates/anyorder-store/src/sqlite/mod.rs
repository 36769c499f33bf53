//! The embedded back end.

mod checks;
mod matrix;
pub(crate) mod migrations;
pub(crate) mod network;
mod runs;
mod stats;
mod suites;
mod sweeps;
mod write;

use std::io;
use std::path::PathBuf;

use rusqlite::ErrorCode;

pub use checks::{CheckId, CheckRecord, StoredCheck};
pub use runs::{RunId, RunSummary};
pub use stats::Stats;
pub use sweeps::{Sweep, SweepId, SweepKey, SweepState};

use crate::packed::PackedError;

/// Why an operation on an open store failed. What was stored before is kept.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite refuses.
    #[error("the database refused: {0}")]
    Sql(#[source] rusqlite::Error),
    /// The database is damaged.
    #[error(
        "the database is damaged ({0}); it is kept as it is: try `sqlite3` with `.recover`, or move it away to begin anew"
    )]
    Damaged(#[source] rusqlite::Error),
    /// There is no room for more.
    #[error("there is no space left for the database: make room, and go on with `--resume`")]
    Full(#[source] rusqlite::Error),
    /// Another program holds the database.
    #[error("another program has held the database for too long: close what has it open for writing")]
    Busy(#[source] rusqlite::Error),
    /// The database was taken away while it was open.
    #[error("the store `{0}` was deleted or replaced while it was in use")]
    Gone(PathBuf),
    /// A record cannot be read.
    #[error("run {run} cannot be read: {source}")]
    Packed {
        /// Which run.
        run: RunId,
        /// Why.
        source: PackedError,
    },
    /// Nothing has this name.
    #[error("there is no {0} in the store")]
    Missing(String),
    /// A record contradicts itself.
    #[error("{0}")]
    Inconsistent(String),
    /// A run that must not be counted: interrupted, or with a test that has no record or two.
    #[error("a run of order `{label}` was not stored: {why}")]
    Unfit {
        /// Its order.
        label: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A file beside the database could not be written.
    #[error("could not write `{path}`: {source}")]
    Artefact {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged(error),
            Some(ErrorCode::DiskFull) => Self::Full(error),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy(error),
            _ => Self::Sql(error),
        }
    }
}
