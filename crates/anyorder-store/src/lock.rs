//! Write access, held by one process at a time.

use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs_err::os::unix::fs::OpenOptionsExt;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::identity::FileId;
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
    /// What keeps others from writing.
    pub(crate) lock: Lock,
}

/// A locked file, until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    file: fs_err::File,
    /// The file as it was locked.
    pub(crate) id: FileId,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing would not do: a child process that is just being started has the file open, too.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// The lock file's name in the folder.
pub(crate) const FILE: &str = "lock";

impl Store {
    /// Takes the lock, without waiting.
    pub fn lock(&mut self) -> Result<LockedStore<'_>, LockError> {
        let lock = take(&self.dir)?;
        Ok(LockedStore { store: self, lock })
    }
}

impl std::ops::Deref for LockedStore<'_> {
    type Target = Store;

    fn deref(&self) -> &Store {
        self.store
    }
}

/// Takes the lock of a folder.
pub(crate) fn take(dir: &Path) -> Result<Lock, LockError> {
    let path = dir.join(FILE);
    loop {
        let mut file = fs_err::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            // A link that came with somebody's repository must not make us write elsewhere.
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                return Err(LockError::Held { holder: holder(&mut file), path: dir.to_path_buf() });
            }
            Err(Errno::INTR) => continue,
            Err(error) => return Err(io::Error::from(error).into()),
        }
        let id = FileId::from(&file.metadata()?);
        // The file may have been deleted, and made anew by another, between opening and locking.
        if FileId::of(&path)? == Some(id) {
            // What stands in the file is only for the message; the lock holds without it.
            let _ = name_holder(&mut file);
            return Ok(Lock { file, id });
        }
    }
}

/// Takes the lock, waiting a little: whoever makes or changes the database holds it for a moment only.
pub(crate) fn take_soon(dir: &Path) -> Result<Lock, LockError> {
    const TRIES: u32 = 100;
    for _ in 1..TRIES {
        match take(dir) {
            Err(LockError::Held { .. }) => std::thread::sleep(Duration::from_millis(50)),
            other => return other,
        }
    }
    take(dir)
}

fn name_holder(file: &mut fs_err::File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

/// Who the lock file says holds it. The file may hold anything.
fn holder(file: &mut fs_err::File) -> String {
    let mut text = Vec::new();
    let read = file.take(32).read_to_end(&mut text);
    let pid = read.ok().and_then(|_| std::str::from_utf8(&text).ok()?.trim().parse::<u32>().ok());
    pid.map_or_else(|| "an unknown process".to_owned(), |pid| format!("process {pid}"))
}
