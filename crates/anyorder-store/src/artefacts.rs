//! Files kept of a run: the recipe that reproduces it.

use std::io::{self, Write};
use std::path::PathBuf;

use crate::lock::LockedStore;
use crate::open::Store;
use crate::sqlite::{RunId, StoreError};

/// What is kept. File names come from here and from run numbers, never from a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Artefact {
    /// `order.txt`, see [`crate::order_file`].
    OrderFile,
    /// `junit.xml`
    JunitXml,
    /// `output.txt`
    Output,
}

/// The folder beside the database that holds a folder a run.
pub(crate) const FOLDER: &str = "runs";

impl Artefact {
    fn file_name(self) -> &'static str {
        match self {
            Self::OrderFile => "order.txt",
            Self::JunitXml => "junit.xml",
            Self::Output => "output.txt",
        }
    }
}

impl Store {
    /// Where an artefact of a run stands, whether or not it is there.
    pub fn artefact_path(&self, run: RunId, what: Artefact) -> PathBuf {
        self.dir.join(FOLDER).join(run.to_string()).join(what.file_name())
    }

    /// Reads an artefact; `None` when it was not kept.
    pub fn read_artefact(&self, run: RunId, what: Artefact) -> io::Result<Option<Vec<u8>>> {
        match fs_err::read(self.artefact_path(run, what)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl LockedStore<'_> {
    /// Writes an artefact whole or not at all, readable by its owner only; it is on the disk when this returns.
    pub fn write_artefact(&self, run: RunId, what: Artefact, bytes: &[u8]) -> Result<(), StoreError> {
        self.still_ours()?;
        let path = self.artefact_path(run, what);
        let folder = path.parent().unwrap_or(&self.dir).to_path_buf();
        let write = || -> io::Result<()> {
            fs_err::create_dir_all(&folder)?;
            let mut file = tempfile::Builder::new().prefix(".part-").tempfile_in(&folder)?;
            file.write_all(bytes)?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|e| e.error)?;
            // The name is durable once its folder is.
            fs_err::File::open(&folder)?.sync_all()
        };
        write().map_err(|source| StoreError::Artefact { path, source })
    }
}
