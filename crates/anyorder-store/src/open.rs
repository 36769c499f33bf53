//! Opening a store, and what can be wrong with one.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::sqlite::migrations;

/// Why a store cannot be used. The file is never touched then.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A newer anyorder wrote it.
    #[error(
        "`{path}` was written by anyorder {writer} (format {found}); this one knows formats up to {known}: use that version, or move the file away"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version that wrote it.
        writer: String,
        /// Its format.
        found: u32,
        /// The newest format known here.
        known: u32,
    },
    /// It is damaged, or not a database.
    #[error("`{path}` is damaged or no store ({why}); it is kept as it is: move it away to begin anew")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        why: String,
    },
    /// The file system refuses.
    #[error("could not open `{path}`: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// SQLite refuses.
    #[error("could not open `{path}`: {source}")]
    Sql {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
}

/// What was measured in one project. Reads need no lock; see [`Store::lock`] for writing.
#[derive(Debug)]
pub struct Store {
    pub(crate) dir: PathBuf,
    pub(crate) db: Connection,
}

const FILE: &str = "anyorder.db";

impl Store {
    /// Opens the store in this folder (`PROJECT/.anyorder`), creating both when they are not there. The folder tells
    /// git to ignore it.
    pub fn open(dir: &Path) -> Result<Self, OpenError> {
        let io = |path: &Path| {
            let path = path.to_path_buf();
            move |source| OpenError::Io { path, source }
        };
        fs_err::create_dir_all(dir).map_err(io(dir))?;
        let ignore = dir.join(".gitignore");
        if !ignore.exists() {
            fs_err::write(&ignore, "*\n").map_err(io(&ignore))?;
        }
        Self::with_flags(dir, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens an existing store for reading only.
    pub fn open_read_only(dir: &Path) -> Result<Self, OpenError> {
        Self::with_flags(dir, OpenFlags::SQLITE_OPEN_READ_ONLY)
    }

    fn with_flags(dir: &Path, flags: OpenFlags) -> Result<Self, OpenError> {
        let path = dir.join(FILE);
        let failed = |source: rusqlite::Error| classify(&path, source);
        let mut db =
            Connection::open_with_flags(&path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(failed)?;
        db.busy_timeout(std::time::Duration::from_secs(60)).map_err(failed)?;
        let found: u32 = db.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(failed)?;
        if found > migrations::NEWEST {
            let writer = db.query_row("SELECT value FROM meta WHERE key = 'writer'", [], |row| row.get(0));
            return Err(OpenError::Newer {
                path: path.clone(),
                writer: writer.unwrap_or_else(|_| "of a later version".to_owned()),
                found,
                known: migrations::NEWEST,
            });
        }
        if !flags.contains(OpenFlags::SQLITE_OPEN_READ_ONLY) {
            // In WAL mode with synchronous=NORMAL a committed run survives any end of this process, kill -9
            // included; only the machine's own death can take the last commits back (PROMISES 1, SQLite).
            db.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
            db.pragma_update(None, "synchronous", "NORMAL").map_err(failed)?;
            migrations::run(&mut db, found).map_err(failed)?;
        }
        Ok(Self { dir: dir.to_path_buf(), db })
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

fn classify(path: &Path, source: rusqlite::Error) -> OpenError {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    match source.sqlite_error_code() {
        Some(DatabaseCorrupt | NotADatabase) => {
            OpenError::Damaged { path: path.to_path_buf(), why: source.to_string() }
        }
        _ => OpenError::Sql { path: path.to_path_buf(), source },
    }
}
