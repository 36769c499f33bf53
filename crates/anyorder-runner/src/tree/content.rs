//! A digest of a project's files, for trees without git.

use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use fs_err as fs;

use super::TreeError;
use super::products::{is_bytecode, is_environment};

/// Of a file larger than this many bytes, size and time stand for its content.
const LARGE: u64 = 16 << 20;

/// BLAKE3 in hex of the names, types, modes and contents under `root`. Left out: environments, tool caches, compiled
/// Python, `.git`. Of files above 16 MiB, size and time stand for the content.
pub fn content_digest(root: &Path) -> Result<String, TreeError> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"anyorder files 1\n");
    add_folder(&mut hasher, root, root)
        .map_err(TreeError::io(format!("read the project in `{}`", root.display())))?;
    Ok(hasher.finalize().to_hex().to_string())
}

fn add_folder(hasher: &mut blake3::Hasher, root: &Path, folder: &Path) -> io::Result<()> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name());
    }
    names.sort();
    for name in names.iter().filter(|name| !is_bytecode(name) && *name != ".git") {
        let path = folder.join(name);
        let data = fs::symlink_metadata(&path)?;
        if data.is_dir() {
            if !is_environment(&path) {
                add_folder(hasher, root, &path)?;
            }
            continue;
        }
        let within = path.strip_prefix(root).unwrap_or(&path).as_os_str().as_bytes();
        hasher.update(&(within.len() as u64).to_le_bytes()).update(within);
        if data.is_symlink() {
            let target = fs::read_link(&path)?;
            hasher.update(b"link").update(&(target.as_os_str().len() as u64).to_le_bytes());
            hasher.update(target.as_os_str().as_bytes());
        } else if data.is_file() {
            add_file(hasher, &path, &data)?;
        }
    }
    Ok(())
}

fn add_file(hasher: &mut blake3::Hasher, path: &Path, data: &std::fs::Metadata) -> io::Result<()> {
    let kind: &[u8] = if data.mode() & 0o100 == 0 { b"file" } else { b"prog" };
    hasher.update(kind).update(&data.len().to_le_bytes());
    if data.len() > LARGE {
        hasher.update(&data.mtime().to_le_bytes()).update(&data.mtime_nsec().to_le_bytes());
        return Ok(());
    }
    let mut content = Vec::new();
    // A file that grows meanwhile is cut, so that its length stays true.
    match fs::File::open(path) {
        Ok(file) => file.take(data.len()).read_to_end(&mut content)?,
        // Unreadable to us is unreadable to the suite.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => 0,
        Err(error) => return Err(error),
    };
    hasher.update(blake3::hash(&content).as_bytes());
    Ok(())
}
