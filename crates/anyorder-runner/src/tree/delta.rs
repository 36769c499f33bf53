//! Writes a delta: what has to be laid over the working checkout so that a git tree appears there.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::FileTimes;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs_err as fs;

use super::products::is_bytecode;
use super::snapshot::Snapshot;
use super::{Checkout, Rev, TreeError, export};
use crate::git::{Scratch, fields, path_of};

/// What came of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// The checkout is the tree already.
    Nothing,
    /// The folder.
    Delta(PathBuf),
    /// Something has to be hidden, and this system makes no whiteouts.
    Impossible,
}

/// What differs between the checkout and a tree.
#[derive(Debug, Default)]
struct Difference {
    /// Paths that the tree has in its own way.
    write: Vec<PathBuf>,
    /// Paths that it lacks.
    hide: Vec<PathBuf>,
    /// Whether attributes differ, so that equal blobs may become unequal files.
    attributes: bool,
}

/// Marks a path of a delta as gone.
pub(super) type Hide = fn(&Path) -> io::Result<()>;

/// Writes the delta that turns the checkout, as `snapshot` saw it, into the git tree `tree`.
pub(super) fn write(
    checkout: &Checkout,
    snapshot: &Snapshot,
    tree: &str,
    rev: &Rev,
    hide: Hide,
) -> Result<Written, TreeError> {
    let repository = checkout.repository()?;
    let mut difference = difference(checkout, snapshot, tree, rev)?;
    if difference.attributes {
        difference.write = export::all_files(repository, &snapshot.scratch, tree)?;
    }
    export::drop_outside_sparse(repository, &snapshot.scratch, &mut difference.write)?;
    if difference.write.is_empty() && difference.hide.is_empty() {
        return Ok(Written::Nothing);
    }
    let delta = snapshot.folder.join("delta");
    fs::create_dir(&delta).map_err(TreeError::io("make the delta folder"))?;
    let scratch = Scratch { index: snapshot.folder.join("target-index"), ..snapshot.scratch.clone() };
    export::files(repository, &scratch, tree, &difference.write, &delta)?;
    let layer = Layer { root: checkout.root(), delta: &delta, mark: hide };
    let failed = || TreeError::io(format!("write the delta in `{}`", delta.display()));
    if difference.attributes {
        layer.drop_equal(&difference.write).map_err(failed())?;
    }
    match layer.hide_all(&difference.hide) {
        Ok(()) => {}
        Err(error) if whiteouts_refused(&error) => return Ok(Written::Impossible),
        Err(error) => return Err(failed()(error)),
    }
    layer.like_the_checkout(&delta).map_err(failed())?;
    Ok(Written::Delta(delta))
}

/// Whether an error says that this system or file system has no whiteouts for users.
fn whiteouts_refused(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported)
        || error.raw_os_error() == Some(rustix::io::Errno::PERM.raw_os_error())
        || error.raw_os_error() == Some(rustix::io::Errno::INVAL.raw_os_error())
}

fn difference(
    checkout: &Checkout,
    snapshot: &Snapshot,
    tree: &str,
    rev: &Rev,
) -> Result<Difference, TreeError> {
    let arguments = ["-r", "-z", "--raw", "--no-renames", "--no-ext-diff", &snapshot.tree, tree];
    let out = checkout.repository()?.ask(&snapshot.scratch, "diff-tree", arguments).out()?;
    let mut found = Difference::default();
    let mut fields = fields(&out);
    while let (Some(meta), Some(path)) = (fields.next(), fields.next().map(path_of)) {
        // `:old-mode new-mode old-oid new-oid STATUS`
        let is_module = meta.get(8..14) == Some(b"160000");
        if is_module && is_checked_out(&checkout.root().join(&path)) {
            return Err(TreeError::MovedSubmodule { path, tree: rev.name.clone() });
        }
        if path.file_name() == Some(OsStr::new(".gitattributes")) {
            found.attributes = true;
        }
        if is_module {
            // Never checked out here, so it is an empty folder in every tree.
            continue;
        }
        if meta.ends_with(b"D") {
            found.hide.push(path);
        } else {
            found.write.push(path);
        }
    }
    Ok(found)
}

/// Whether a submodule's folder has anything in it, or should have in another tree.
fn is_checked_out(folder: &Path) -> bool {
    match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => true,
    }
}

/// A delta and the folder it is laid over.
#[derive(Debug)]
struct Layer<'a> {
    root: &'a Path,
    delta: &'a Path,
    mark: Hide,
}

impl Layer<'_> {
    /// Takes out of the delta what the checkout has in just the same way.
    fn drop_equal(&self, paths: &[PathBuf]) -> io::Result<()> {
        for path in paths {
            let (mine, theirs) = (self.delta.join(path), self.root.join(path));
            if same_file(&mine, &theirs)? && !beyond_link(self.root, path) {
                fs::remove_file(&mine)?;
            }
        }
        Ok(())
    }

    fn hide_all(&self, paths: &[PathBuf]) -> io::Result<()> {
        let mut parents = BTreeSet::new();
        for path in paths {
            if self.hide(path)? {
                parents.extend(path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty()));
            }
        }
        // Children sort after their parents: deepest first.
        for parent in parents.into_iter().rev() {
            if self.is_emptied(parent)? {
                fs::remove_dir_all(self.delta.join(parent))?;
                (self.mark)(&self.delta.join(parent))?;
            }
        }
        Ok(())
    }

    /// Hides one path; says whether it was necessary.
    fn hide(&self, path: &Path) -> io::Result<bool> {
        let there = fs::symlink_metadata(self.root.join(path)).is_ok() && !beyond_link(self.root, path);
        // A file that stands where the path has a folder hides it, and so does a folder that stands in its place.
        let hidden = path.ancestors().skip(1).any(|above| {
            let above = fs::symlink_metadata(self.delta.join(above));
            above.is_ok_and(|data| !data.is_dir())
        });
        if !there || hidden || fs::symlink_metadata(self.delta.join(path)).is_ok() {
            return Ok(false);
        }
        if let Some(parent) = self.delta.join(path).parent() {
            fs::create_dir_all(parent)?;
        }
        (self.mark)(&self.delta.join(path))?;
        Ok(true)
    }

    /// Whether a folder has nothing left in it but compiled Python, which git would have left no folder for.
    fn is_emptied(&self, folder: &Path) -> io::Result<bool> {
        for entry in fs::read_dir(self.delta.join(folder))? {
            if !is_whiteout(&fs::symlink_metadata(entry?.path())?) {
                return Ok(false);
            }
        }
        let lower = self.root.join(folder);
        if !fs::symlink_metadata(&lower)?.is_dir() {
            return Ok(false);
        }
        for entry in fs::read_dir(lower)? {
            let name = entry?.file_name();
            let hidden = fs::symlink_metadata(self.delta.join(folder).join(&name)).is_ok();
            if !hidden && !is_bytecode(&name) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Gives folders of the delta the mode of those they merge with, and keeps each file's time apart from that of the
    /// file it covers: Python takes compiled code for fresh when size and second agree.
    fn like_the_checkout(&self, folder: &Path) -> io::Result<()> {
        let within = folder.strip_prefix(self.delta).unwrap_or(Path::new(""));
        let lower = self.root.join(within);
        if let Ok(data) = fs::symlink_metadata(&lower)
            && data.is_dir()
            && !beyond_link(self.root, within)
        {
            // Always writable to its owner, so that it can be removed.
            fs::set_permissions(
                folder,
                std::fs::Permissions::from_mode(data.permissions().mode() & 0o7777 | 0o700),
            )?;
        } else {
            fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))?;
        }
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let data = fs::symlink_metadata(&path)?;
            if data.is_dir() {
                self.like_the_checkout(&path)?;
            } else if data.is_file() {
                let name = path.file_name().unwrap_or_default();
                apart_in_time(&path, &data, &lower.join(name))?;
            }
        }
        Ok(())
    }
}

fn apart_in_time(path: &Path, data: &std::fs::Metadata, covered: &Path) -> io::Result<()> {
    let Ok(below) = fs::symlink_metadata(covered) else { return Ok(()) };
    if below.mtime() != data.mtime() {
        return Ok(());
    }
    // Read access is enough to set times on one's own file.
    let later = data.modified()? + Duration::from_secs(1);
    fs::File::open(path)?.file().set_times(FileTimes::new().set_modified(later))
}

/// Whether a folder above `path` is a symbolic link in the checkout: then git does not see what is behind it.
fn beyond_link(root: &Path, path: &Path) -> bool {
    path.ancestors()
        .skip(1)
        .filter(|above| !above.as_os_str().is_empty())
        .any(|above| fs::symlink_metadata(root.join(above)).is_ok_and(|data| data.is_symlink()))
}

fn same_file(mine: &Path, theirs: &Path) -> io::Result<bool> {
    let (Ok(a), Ok(b)) = (fs::symlink_metadata(mine), fs::symlink_metadata(theirs)) else { return Ok(false) };
    if a.file_type() != b.file_type() {
        return Ok(false);
    }
    if a.is_symlink() {
        return Ok(
            fs::read_link(mine)?.as_os_str().as_bytes() == fs::read_link(theirs)?.as_os_str().as_bytes()
        );
    }
    let executable = |data: &std::fs::Metadata| data.mode() & 0o100;
    Ok(executable(&a) == executable(&b) && a.len() == b.len() && fs::read(mine)? == fs::read(theirs)?)
}

fn is_whiteout(data: &std::fs::Metadata) -> bool {
    data.file_type().is_char_device() && data.rdev() == 0
}

/// Makes the mark by which an overlay knows that nothing is here: a character device 0/0, which Linux (since 5.8) lets
/// anybody make.
#[cfg(target_os = "linux")]
pub(super) fn whiteout(path: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    Ok(mknodat(CWD, path, FileType::CharacterDevice, Mode::empty(), 0)?)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn whiteout(_: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
