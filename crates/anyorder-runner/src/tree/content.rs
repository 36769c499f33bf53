//! A digest of a project's files, for trees without git.

use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use fs_err as fs;

use super::TreeError;
use super::products::{is_bytecode, is_environment, is_input};

/// Of a file larger than this many bytes, size and time stand for its content.
const LARGE: u64 = 16 << 20;

/// And of each file after this many bytes have been read.
const READ: u64 = 1 << 30;

/// BLAKE3 in hex of the names, types, modes and contents under `root`. Left out: environments, tool caches, compiled
/// Python, `.git`. Of files above 16 MiB, and of all files after the first GiB, size and time stand for the content.
pub fn content_digest(root: &Path) -> Result<String, TreeError> {
    digest(root, |_| true)
}

/// BLAKE3 in hex of what every tree of a checkout shares and a suite may read: compiled extensions and `.env` files, by
/// name and content. A rebuilt extension changes it, and with it whatever was measured before.
pub fn products_digest(root: &Path) -> Result<String, TreeError> {
    digest(root, is_input)
}

fn digest(root: &Path, counts: fn(&OsStr) -> bool) -> Result<String, TreeError> {
    let mut walk = Walk { root, counts, hasher: blake3::Hasher::new(), left: READ };
    walk.hasher.update(b"anyorder files 1\n");
    walk.folder(root).map_err(TreeError::io(format!("read the project in `{}`", root.display())))?;
    Ok(walk.hasher.finalize().to_hex().to_string())
}

/// A walk through a project, in order of names.
struct Walk<'a> {
    root: &'a Path,
    /// Which files count.
    counts: fn(&OsStr) -> bool,
    hasher: blake3::Hasher,
    /// Bytes that may still be read.
    left: u64,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path) -> io::Result<()> {
        let entries = match fs::read_dir(folder) {
            // Unreadable to us is unreadable to the suite.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && folder != self.root => {
                return Ok(());
            }
            other => other?,
        };
        let mut names = entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
        names.sort();
        for name in names.iter().filter(|name| !is_bytecode(name) && *name != ".git") {
            let path = folder.join(name);
            let data = match fs::symlink_metadata(&path) {
                Ok(data) => data,
                // Gone meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            if data.is_dir() {
                if !is_environment(&path) {
                    self.folder(&path)?;
                }
            } else if (self.counts)(name) {
                self.file(&path, &data)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, data: &std::fs::Metadata) -> io::Result<()> {
        let within = path.strip_prefix(self.root).unwrap_or(path).as_os_str().as_bytes();
        self.hasher.update(&(within.len() as u64).to_le_bytes()).update(within);
        if data.is_symlink() {
            let target = fs::read_link(path)?;
            self.hasher.update(b"link").update(&(target.as_os_str().len() as u64).to_le_bytes());
            self.hasher.update(target.as_os_str().as_bytes());
        } else if data.is_file() {
            self.content(path, data)?;
        }
        Ok(())
    }

    fn content(&mut self, path: &Path, data: &std::fs::Metadata) -> io::Result<()> {
        let kind: &[u8] = if data.mode() & 0o100 == 0 { b"file" } else { b"prog" };
        self.hasher.update(kind).update(&data.len().to_le_bytes());
        if data.len() > LARGE || data.len() > self.left {
            self.hasher.update(&data.mtime().to_le_bytes()).update(&data.mtime_nsec().to_le_bytes());
            return Ok(());
        }
        self.left -= data.len();
        let mut content = Vec::new();
        // A file that grows meanwhile is cut, so that its length stays true.
        match fs::File::open(path) {
            Ok(file) => file.take(data.len()).read_to_end(&mut content)?,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => 0,
            Err(error) => return Err(error),
        };
        self.hasher.update(blake3::hash(&content).as_bytes());
        Ok(())
    }
}
