//! Where the file stands, and how it is read and written.

use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{LEDGER_FILE, LedgerError};

/// The file's place: links are resolved once, and never lead out of the project.
#[derive(Debug)]
pub(super) struct Place {
    /// As the user knows it.
    named: PathBuf,
    /// The file itself.
    file: PathBuf,
}

impl Place {
    /// The place in a folder of a project whose top is `root`.
    pub(super) fn find(folder: &Path, root: &Path) -> Result<Self, LedgerError> {
        let named = folder.join(LEDGER_FILE);
        let failed = |source| LedgerError::Io { path: named.clone(), source };
        match fs_err::symlink_metadata(&named) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { file: named.clone(), named });
            }
            Err(error) => return Err(failed(error)),
            Ok(meta) if meta.is_file() => return Ok(Self { file: named.clone(), named }),
            Ok(meta) if meta.is_symlink() => {}
            Ok(_) => return Err(LedgerError::NotAFile { path: named }),
        }
        let target = fs_err::canonicalize(&named).map_err(failed)?;
        let root = fs_err::canonicalize(root).map_err(failed)?;
        if !target.starts_with(&root) {
            return Err(LedgerError::Outside { path: named, target });
        }
        if !fs_err::metadata(&target).map_err(failed)?.is_file() {
            return Err(LedgerError::NotAFile { path: named });
        }
        Ok(Self { named, file: target })
    }

    pub(super) fn path(&self) -> &Path {
        &self.named
    }

    /// The text, `None` where there is no file.
    pub(super) fn read(&self) -> Result<Option<String>, LedgerError> {
        let bytes = match fs_err::read(&self.file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(LedgerError::Io { path: self.named.clone(), source }),
        };
        String::from_utf8(bytes).map(Some).map_err(|error| {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            LedgerError::Wrong {
                path: self.named.clone(),
                line: 1 + String::from_utf8_lossy(good).matches('\n').count(),
                why: "this is not UTF-8".to_owned(),
            }
        })
    }

    /// Writes the whole file or nothing of it.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), LedgerError> {
        let write = || -> io::Result<()> {
            let folder = self.file.parent().unwrap_or(Path::new("."));
            let mode = match fs_err::metadata(&self.file) {
                Ok(meta) => Some(meta.permissions().mode()),
                Err(_) => None,
            };
            // What the umask allows, as for any file of the project.
            let asked = std::fs::Permissions::from_mode(mode.unwrap_or(0o666));
            let mut file = tempfile::Builder::new()
                .prefix(".anyorder-lock-")
                .permissions(asked.clone())
                .tempfile_in(folder)?;
            file.write_all(bytes)?;
            if mode.is_some() {
                file.as_file().set_permissions(asked)?;
            }
            file.as_file().sync_all()?;
            file.persist(&self.file).map_err(|e| e.error)?;
            fs_err::File::open(folder)?.sync_all()
        };
        write().map_err(|source| LedgerError::Io { path: self.named.clone(), source })
    }
}
