//! How much is stored.

use std::io;
use std::path::Path;

use super::StoreError;
use crate::artefacts;
use crate::open::{FILE, Store, log_of};

/// What a store holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Sweeps, finished or not.
    pub sweeps: u32,
    /// Runs.
    pub runs: u32,
    /// Checks.
    pub checks: u32,
    /// Size of the database and its log.
    pub database_bytes: u64,
    /// Size of the artefacts.
    pub artefact_bytes: u64,
}

impl Store {
    /// Counts what is stored.
    pub fn stats(&self) -> Result<Stats, StoreError> {
        let (sweeps, runs, checks) = self.db.query_row(
            "SELECT (SELECT count(*) FROM sweeps), (SELECT count(*) FROM runs), (SELECT count(*) FROM checks)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        let path = self.dir.join(FILE);
        let size = |path: &Path| fs_err::metadata(path).map_or(0, |m| m.len());
        Ok(Stats {
            sweeps,
            runs,
            checks,
            database_bytes: size(&path) + size(&log_of(&path)),
            artefact_bytes: below(&self.dir.join(artefacts::FOLDER)).unwrap_or(0),
        })
    }
}

/// Size of the files in the folders of a folder.
fn below(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for run in fs_err::read_dir(folder)? {
        for file in fs_err::read_dir(run?.path())? {
            bytes += file?.metadata()?.len();
        }
    }
    Ok(bytes)
}
