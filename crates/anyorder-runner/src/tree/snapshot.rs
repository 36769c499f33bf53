//! The working checkout's effective content as a git tree, made in scratch: tracked files as they stand in the
//! folder (staged or not), and new files that nobody has added yet.

use std::ffi::OsStr;
use std::fs::FileTimes;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use fs_err as fs;

use super::checkout::Repository;
use super::products::{self, Folders};
use super::{Checkout, TreeError, Untracked};
use crate::git::{self, Ask, Scratch, fields, path_of};

/// The checkout at one moment.
#[derive(Debug)]
pub(super) struct Snapshot {
    /// A private folder for the tree that is being prepared.
    pub(super) folder: PathBuf,
    /// Index and objects in it.
    pub(super) scratch: Scratch,
    /// The git tree of the effective content.
    pub(super) tree: String,
    /// What git does not track.
    pub(super) untracked: Untracked,
    /// Submodules, and whether each has uncommitted changes.
    pub(super) submodules: Vec<(PathBuf, bool)>,
}

impl Repository {
    /// A command that reads the repository and writes to scratch only.
    pub(super) fn ask<S: AsRef<OsStr>>(
        &self,
        scratch: &Scratch,
        name: &str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Ask {
        self.git.ask(name, arguments).scratch(scratch, &self.objects)
    }
}

impl Snapshot {
    /// The first submodule with uncommitted changes is an error: they belong to no revision of this repository.
    pub(super) fn refuse_dirty_submodules(&self) -> Result<(), TreeError> {
        match self.submodules.iter().find(|(_, dirty)| *dirty) {
            Some((path, _)) => Err(TreeError::DirtySubmodule { path: path.clone() }),
            None => Ok(()),
        }
    }
}

impl Checkout {
    /// Takes a snapshot into a new folder inside `scratch`.
    pub(super) fn snapshot(&self, scratch: &Path) -> Result<Snapshot, TreeError> {
        let repository = self.repository()?;
        let folder = self.private_folder(scratch)?;
        let scratch = git::scratch_in(&folder, "index").map_err(TreeError::io("make a scratch index"))?;
        copy_index(repository, self.root(), &scratch)?;
        repository.ask(&scratch, "add", ["--update"]).out()?;
        let untracked = self.untracked(repository, &scratch)?;
        if !untracked.in_patch.is_empty() {
            let names = untracked.in_patch.iter().map(|path| path.as_os_str());
            repository.ask(&scratch, "update-index", ["--add", "-z", "--stdin"]).input_names(names).out()?;
        }
        let submodules = submodules(repository, &scratch)?;
        let tree = repository.ask(&scratch, "write-tree", ["--missing-ok"]).line()?;
        Ok(Snapshot { folder, scratch, tree, untracked, submodules })
    }

    /// Whether anything is changed, staged or new.
    pub(super) fn has_uncommitted(&self) -> Result<bool, TreeError> {
        let git = self.git()?;
        let arguments = ["--porcelain", "-z", "--untracked-files=all", "--no-renames"];
        let out = git.ask("status", arguments).out()?;
        let mut folders = Folders::of(self.root());
        Ok(fields(&out).any(|entry| match entry.strip_prefix(b"?? ") {
            Some(path) => !path.ends_with(b"/") && !products::is_product(&path_of(path), &mut folders),
            None => true,
        }))
    }

    /// A new private folder in `scratch`, which must not lie inside the checkout.
    pub(super) fn private_folder(&self, scratch: &Path) -> Result<PathBuf, TreeError> {
        fs::create_dir_all(scratch).map_err(TreeError::io("make the scratch folder"))?;
        let scratch = fs::canonicalize(scratch).map_err(TreeError::io("find the scratch folder"))?;
        if scratch.starts_with(self.root()) {
            return Err(TreeError::ScratchInside { scratch, root: self.root().to_path_buf() });
        }
        let folder = tempfile::Builder::new().prefix("tree-").tempdir_in(&scratch);
        Ok(folder.map_err(TreeError::io(format!("make a folder in `{}`", scratch.display())))?.keep())
    }

    fn untracked(&self, repository: &Repository, scratch: &Scratch) -> Result<Untracked, TreeError> {
        let others = ["--others", "--exclude-standard", "-z"];
        let out = repository.ask(scratch, "ls-files", others).out()?;
        let mut untracked = Untracked::default();
        let mut folders = Folders::of(self.root());
        for name in fields(&out) {
            // A slash at the end marks a repository inside this one.
            let path = path_of(name.strip_suffix(b"/").unwrap_or(name));
            if name.ends_with(b"/") || products::is_product(&path, &mut folders) || self.is_huge(&path) {
                untracked.shared.push(path);
            } else {
                untracked.in_patch.push(path);
            }
        }
        let ignored = ["--others", "--ignored", "--exclude-standard", "--directory", "-z"];
        untracked.ignored = fields(&repository.ask(scratch, "ls-files", ignored).out()?).count();
        untracked.in_patch.sort();
        untracked.shared.sort();
        Ok(untracked)
    }

    fn is_huge(&self, path: &Path) -> bool {
        fs::symlink_metadata(self.root().join(path)).is_ok_and(|data| data.len() > products::HUGE)
    }
}

/// Copies the user's index with its time: git compares it with those of files to notice changes made within one tick.
fn copy_index(repository: &Repository, root: &Path, scratch: &Scratch) -> Result<(), TreeError> {
    let index = root.join(repository.git.ask("rev-parse", ["--git-path", "index"]).path()?);
    if !index.exists() {
        return Ok(());
    }
    let fail = || TreeError::io("copy the index");
    let modified = fs::metadata(&index).and_then(|data| data.modified()).map_err(fail())?;
    fs::copy(&index, &scratch.index).map_err(fail())?;
    let copy = fs::OpenOptions::new().write(true).open(&scratch.index).map_err(fail())?;
    copy.file().set_times(FileTimes::new().set_modified(modified)).map_err(fail())
}

/// The submodules that are checked out, and whether each has uncommitted changes of its own.
fn submodules(repository: &Repository, scratch: &Scratch) -> Result<Vec<(PathBuf, bool)>, TreeError> {
    let listed = repository.ask(scratch, "ls-files", ["--stage", "-z"]).out()?;
    let links = fields(&listed).filter(|entry| entry.starts_with(b"160000 "));
    let paths: Vec<PathBuf> =
        links.filter_map(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1)).map(path_of).collect();
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let arguments =
        ["--porcelain=v2", "-z", "--untracked-files=no", "--ignore-submodules=none", "--no-renames"];
    let out = repository.ask(scratch, "status", arguments).out()?;
    // `1 XY SCMU mode mode mode oid oid path`, where M says that tracked files inside are modified.
    let dirty: Vec<&OsStr> = fields(&out)
        .filter_map(|entry| {
            let parts: Vec<&[u8]> = entry.splitn(9, |byte| *byte == b' ').collect();
            let modified = parts.get(2)?.get(2) == Some(&b'M');
            parts.get(8).filter(|_| modified).map(|path| OsStr::from_bytes(path))
        })
        .collect();
    Ok(paths.into_iter().map(|path| (path.clone(), dirty.contains(&path.as_os_str()))).collect())
}
