//! The embedded back end.

mod checks;
pub(crate) mod migrations;
mod runs;
mod suites;
mod sweeps;

use std::io;
use std::path::PathBuf;

pub use checks::{CheckId, CheckRecord, StoredCheck};
pub use runs::{RunId, RunSummary};
pub use sweeps::{Sweep, SweepId, SweepKey, SweepState};

use crate::packed::PackedError;

/// Why an operation on an open store failed. What was stored before is kept.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite refuses.
    #[error("the database refused: {0}")]
    Sql(#[from] rusqlite::Error),
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
    /// A file beside the database could not be written.
    #[error("could not write `{path}`: {source}")]
    Artefact {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}
