//! Opening a store, and what can be wrong with one.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs_err::os::unix::fs::OpenOptionsExt;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::Access;

use crate::identity::FileId;
use crate::lock::{self, LockError};
use crate::sqlite::{migrations, network};

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
    /// It is damaged.
    #[error(
        "`{path}` is damaged ({why}); it is kept as it is: try `sqlite3` with `.recover`, or move it away to begin anew"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A database of something else.
    #[error(
        "`{path}` is a database, but not one of anyorder; it is kept as it is: move it away to begin anew"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Asked to read, and nothing was ever stored.
    #[error("nothing is stored in `{path}` yet")]
    Absent {
        /// The folder.
        path: PathBuf,
    },
    /// It can be seen but not written.
    #[error("`{path}` cannot be written ({source}): give yourself write access to it")]
    NotWritable {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It has to be made or brought up to date, and another process is at work in it.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// The file system refuses.
    #[error(transparent)]
    Io(#[from] io::Error),
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
    /// The database as it was opened.
    pub(crate) file: FileId,
    /// Whether commits go to the write-ahead log beside the database.
    pub(crate) wal: bool,
}

/// The database's name in the folder.
pub(crate) const FILE: &str = "anyorder.db";

/// How long another program may hold the database before we give up.
const PATIENCE: Duration = Duration::from_secs(60);

impl Store {
    /// Opens the store in this folder (`PROJECT/.anyorder`), creating both when they are not there. The folder tells
    /// git to ignore it; the files are readable by their owner only.
    pub fn open(dir: &Path) -> Result<Self, OpenError> {
        fs_err::create_dir_all(dir)?;
        let path = dir.join(FILE);
        create_new(&dir.join(".gitignore"), b"*\n", 0o644)?;
        create_new(&path, b"", 0o600)?;
        for place in [dir, &path] {
            writable(place)?;
        }
        let mut db = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let found = format_of(&db, &path)?;
        let failed = |source: rusqlite::Error| classify(&path, source);
        if found < migrations::NEWEST {
            // Two processes making one database, or one changing what another writes to, would meet here.
            let _lock = lock::take_soon(dir)?;
            journal(&db, dir).map_err(failed)?;
            migrations::run(&mut db, migrations::STEPS).map_err(failed)?;
        }
        let wal = journal(&db, dir).map_err(failed)?;
        Self::of(dir, db, wal)
    }

    /// Opens an existing store for reading only; nothing in the folder is changed.
    pub fn open_read_only(dir: &Path) -> Result<Self, OpenError> {
        let path = dir.join(FILE);
        if FileId::of(&path)?.is_none() {
            return Err(OpenError::Absent { path: dir.to_path_buf() });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let open = |name: &Path, flags| {
            let db = connect(name, flags)?;
            format_of(&db, &path).map(|found| (db, found))
        };
        let opened = match open(&path, flags) {
            // A database with a log wants to make a file beside it even for reading. Where it may not, and no log
            // is left to be read, nobody can be writing either, and the file is read by itself.
            Err(OpenError::Sql { source, .. }) if must_write(&source) && !log_of(&path).exists() => {
                open(&immutable(&path), flags | OpenFlags::SQLITE_OPEN_URI)
            }
            other => other,
        };
        match opened? {
            (_, 0) => Err(OpenError::Absent { path: dir.to_path_buf() }),
            (db, _) => Self::of(dir, db, false),
        }
    }

    fn of(dir: &Path, db: Connection, wal: bool) -> Result<Self, OpenError> {
        let file =
            FileId::of(&dir.join(FILE))?.ok_or_else(|| OpenError::Absent { path: dir.to_path_buf() })?;
        Ok(Self { dir: dir.to_path_buf(), db, file, wal })
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

/// The write-ahead log of a database.
pub(crate) fn log_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

fn create_new(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    use std::io::Write;
    match fs_err::OpenOptions::new().write(true).create_new(true).mode(mode).open(path) {
        Ok(mut file) => file.write_all(content),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

fn writable(path: &Path) -> Result<(), OpenError> {
    rustix::fs::access(path, Access::READ_OK | Access::WRITE_OK)
        .map_err(|e| OpenError::NotWritable { path: path.to_path_buf(), source: e.into() })
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, OpenError> {
    let failed = |source: rusqlite::Error| classify(path, source);
    let db = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(failed)?;
    db.busy_timeout(PATIENCE).map_err(failed)?;
    // The file may have come with somebody's repository.
    db.pragma_update(None, "trusted_schema", "OFF").map_err(failed)?;
    db.pragma_update(None, "cell_size_check", "ON").map_err(failed)?;
    Ok(db)
}

/// The format of a database, 0 of one in which nothing is yet.
fn format_of(db: &Connection, path: &Path) -> Result<u32, OpenError> {
    let failed = |source: rusqlite::Error| classify(path, source);
    let damaged = |why: String| OpenError::Damaged { path: path.to_path_buf(), why };
    // One snapshot: another process may be making the tables right now.
    let view = db.unchecked_transaction().map_err(failed)?;
    let number = |sql: &str| view.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(failed);
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    let application = number("PRAGMA application_id")?;
    let found = number("PRAGMA user_version")?;
    if (application, found, tables) == (0, 0, 0) {
        return Ok(0);
    }
    if application != i64::from(migrations::APPLICATION) {
        return Err(OpenError::Foreign { path: path.to_path_buf() });
    }
    let page = number("PRAGMA page_size")?.cast_unsigned();
    if torn(path, page) {
        return Err(damaged("its last page is cut short".to_owned()));
    }
    let found = u32::try_from(found).map_err(|_| damaged(format!("it says it has format {found}")))?;
    match found {
        0 => Err(damaged("it says it has format 0".to_owned())),
        1..=migrations::NEWEST => Ok(found),
        _ => {
            let writer = view.query_row("SELECT value FROM meta WHERE key = 'writer'", [], |row| row.get(0));
            Err(OpenError::Newer {
                path: path.to_path_buf(),
                writer: writer.unwrap_or_else(|_| "of a later version".to_owned()),
                found,
                known: migrations::NEWEST,
            })
        }
    }
}

/// Whether a database ends within a page and has no log to restore it from. SQLite would read zeros in its place.
fn torn(path: &Path, page: u64) -> bool {
    let size = |path: &Path| fs_err::metadata(path).map_or(0, |m| m.len());
    let cut = || size(path).checked_rem(page).is_some_and(|rest| rest > 0);
    // Whoever is at work there may have finished the page, and removed the log, while we looked.
    cut() && size(&log_of(path)) == 0 && cut()
}

/// Says how commits become durable, and whether they go to a log.
///
/// In the log, a commit survives any end of this process, kill -9 included, and costs no `fsync`; what the machine's
/// own death could take back is flushed to the disk with the end of a sweep and with a check
/// (`LockedStore::write_through`). A log needs memory shared between processes, which network file systems do not
/// have: there each commit is flushed.
fn journal(db: &Connection, dir: &Path) -> rusqlite::Result<bool> {
    let wanted = if network::holds(dir) { "TRUNCATE" } else { "WAL" };
    let got: String = db.pragma_update_and_check(None, "journal_mode", wanted, |row| row.get(0))?;
    let wal = got.eq_ignore_ascii_case("wal");
    db.pragma_update(None, "synchronous", if wal { "NORMAL" } else { "FULL" })?;
    Ok(wal)
}

fn must_write(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}

/// The name under which SQLite reads a file without looking for anything beside it.
fn immutable(path: &Path) -> PathBuf {
    let mut name = b"file:".to_vec();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'%' | b'?' | b'#' => name.extend_from_slice(format!("%{byte:02x}").as_bytes()),
            _ => name.push(byte),
        }
    }
    name.extend_from_slice(b"?immutable=1");
    OsString::from_vec(name).into()
}

fn classify(path: &Path, source: rusqlite::Error) -> OpenError {
    match source.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            OpenError::Damaged { path: path.to_path_buf(), why: source.to_string() }
        }
        _ => OpenError::Sql { path: path.to_path_buf(), source },
    }
}
