//! Write access, held by one process at a time.

use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;

use rustix::fs::{FlockOperation, flock};

use crate::open::Store;

/// Why the store cannot be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process writes.
    #[error("another anyorder ({holder}) is at work in `{path}`: wait for it, or end it")]
    Held {
        /// What the lock file says of its holder.
        holder: String,
        /// The store's folder.
        path: PathBuf,
    },
    /// The lock file could not be used.
    #[error("could not lock the store: {0}")]
    Io(#[from] io::Error),
}

/// A store that may be written to, until it is dropped. The kernel lets go of the lock when the process ends, however
/// it ends: there is no such thing as a stale lock.
#[derive(Debug)]
pub struct LockedStore<'a> {
    pub(crate) store: &'a mut Store,
    _lock: fs_err::File,
}

impl Store {
    /// Takes the lock, without waiting.
    pub fn lock(&mut self) -> Result<LockedStore<'_>, LockError> {
        let path = self.dir.join("lock");
        let mut file =
            fs_err::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut holder = String::new();
            file.read_to_string(&mut holder)?;
            let holder = holder.trim();
            let holder = if holder.is_empty() { "of unknown process" } else { holder }.to_owned();
            return Err(LockError::Held { holder, path: self.dir.clone() });
        }
        file.set_len(0)?;
        file.rewind()?;
        write!(file, "process {}", std::process::id())?;
        Ok(LockedStore { store: self, _lock: file })
    }
}

impl std::ops::Deref for LockedStore<'_> {
    type Target = Store;

    fn deref(&self) -> &Store {
        self.store
    }
}
