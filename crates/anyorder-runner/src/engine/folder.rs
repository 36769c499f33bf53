//! The session's private folder: the socket, the agent, one folder a run. Gone when the session is.

use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Longest path of a Unix socket that every system takes, with its closing zero.
const SUN_PATH: usize = 104;

/// A private folder, and another one with a short path where the socket needs it.
#[derive(Debug)]
pub(crate) struct Folder {
    top: TempDir,
    short: Option<TempDir>,
    /// Where the temporary files of runs appear to be; stays empty.
    temporary: Option<TempDir>,
}

impl Folder {
    /// Makes it under `scratch`; the socket goes under `short_scratch` where the path would be too long.
    pub(crate) fn create(scratch: &Path, short_scratch: &Path) -> io::Result<Self> {
        let scratch = std::path::absolute(scratch)?;
        let top = private(&scratch)?;
        let fits = top.path().join("socket").as_os_str().len() < SUN_PATH;
        let short_scratch = std::path::absolute(short_scratch)?;
        let short = if fits { None } else { Some(private(&short_scratch)?) };
        // Paths of temporary files are just longer without it.
        let temporary = private(&short_scratch).ok();
        Ok(Self { top, short, temporary })
    }

    /// Where the engine listens.
    pub(crate) fn socket(&self) -> PathBuf {
        self.short.as_ref().unwrap_or(&self.top).path().join("socket")
    }

    /// An empty folder with a short path, for mounting the temporary folder of each run in its own namespace.
    pub(crate) fn temporary(&self) -> Option<&Path> {
        self.temporary.as_ref().map(TempDir::path)
    }

    /// Writes a file that only this user can read.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        let path = self.top.path().join(name);
        let mut options = fs_err::OpenOptions::new();
        fs_err::os::unix::fs::OpenOptionsExt::mode(options.write(true).create_new(true), 0o600);
        options.open(&path)?.write_all(bytes)?;
        Ok(path)
    }

    /// A new folder that only this user can enter.
    pub(crate) fn subfolder(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.top.path().join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        remove_tree(self.top.path());
    }
}

fn private(parent: &Path) -> io::Result<TempDir> {
    let only_me = std::fs::Permissions::from_mode(0o700);
    tempfile::Builder::new().prefix("s").rand_bytes(5).permissions(only_me).tempdir_in(parent)
}

/// Removes a folder and all in it, also where a test took permissions away. What cannot be removed stays.
pub(crate) fn remove_tree(path: &Path) {
    if fs_err::remove_dir_all(path).is_ok() {
        return;
    }
    open_up(path);
    let _ = fs_err::remove_dir_all(path);
}

fn open_up(folder: &Path) {
    let _ = fs_err::set_permissions(folder, std::fs::Permissions::from_mode(0o700));
    let Ok(entries) = fs_err::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}

/// `bytes` random bytes from the system, in hexadecimal.
pub(crate) fn random_hex(bytes: usize) -> io::Result<String> {
    let mut random = vec![0; bytes];
    fs_err::File::open("/dev/urandom")?.read_exact(&mut random)?;
    let digit = |nibble: u8| char::from_digit(nibble.into(), 16).unwrap_or('0');
    Ok(random.iter().flat_map(|b| [digit(b >> 4), digit(b & 15)]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deep_scratch_folder_still_gets_a_socket() {
        let scratch = tempfile::tempdir().unwrap();
        let deep = scratch.path().join("d".repeat(120));
        fs_err::create_dir(&deep).unwrap();
        let folder = Folder::create(&deep, scratch.path()).unwrap();
        assert!(std::os::unix::net::UnixListener::bind(folder.socket()).is_ok());
        assert!(folder.subfolder("x").unwrap().starts_with(&deep));
    }

    #[test]
    fn what_it_writes_is_private_and_goes_with_it() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = Folder::create(scratch.path(), scratch.path()).unwrap();
        let file = folder.write("a", b"x").unwrap();
        let run = folder.subfolder("r").unwrap();
        let mode = |p: &Path| fs_err::metadata(p).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(&run), mode(folder.top.path())), (0o600, 0o700, 0o700));
        fs_err::create_dir_all(run.join("locked/inner")).unwrap();
        fs_err::set_permissions(run.join("locked"), std::fs::Permissions::from_mode(0o0)).unwrap();
        drop(folder);
        assert_eq!(fs_err::read_dir(scratch.path()).unwrap().count(), 0, "the short one too");
    }
}
