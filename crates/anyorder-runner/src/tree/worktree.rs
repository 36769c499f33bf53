//! A tree in a folder of its own, for systems without overlays.
//!
//! Not made with `git worktree`, which would leave an entry in the user's repository when this process is killed: the
//! folder gets a small repository of its own that borrows the user's objects and copies the user's refs. Removing the folder
//! removes everything.

use std::collections::BTreeSet;
use std::fs::FileTimes;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use fs_err as fs;

use super::checkout::Repository;
use super::products::{is_bytecode, is_environment};
use super::{Checkout, PreparedTree, Source, TreeError, TreeKind, export};
use crate::git::{Git, Scratch, c_quoted, fields, path_of};

/// Products above this many bytes are linked to, not copied.
const LINKED: u64 = 32 << 20;

impl Checkout {
    /// The same tree in a folder of its own inside `scratch`, with the build products of the checkout copied in. The
    /// folder has the checkout's name, and goes with `scratch`.
    pub fn as_worktree(&self, tree: &PreparedTree, scratch: &Path) -> Result<PreparedTree, TreeError> {
        let Source::Git { tree: oid, commit, objects } = &tree.source else {
            return Err(TreeError::NotGit { cwd: self.cwd().to_path_buf() });
        };
        let repository = self.repository()?;
        let private = self.private_folder(scratch)?;
        let folder = private.join(self.root().file_name().unwrap_or("tree".as_ref()));
        fs::create_dir(&folder).map_err(TreeError::io("make a folder for the tree"))?;
        let scratch = Scratch { index: private.join("target-index"), objects: objects.clone() };
        let mut paths = export::all_files(repository, &scratch, oid)?;
        export::drop_outside_sparse(repository, &scratch, &mut paths)?;
        export::files(repository, &scratch, oid, &paths, &folder)?;
        let borrowing = Borrowing { repository, scratch: &scratch, commit };
        borrowing.repository_in(&folder)?;
        self.copy_products(repository, tree, &folder)?;
        Ok(PreparedTree { kind: TreeKind::Worktree { path: folder }, ..tree.clone() })
    }

    /// Copies what git does not track, and submodules, from the checkout.
    fn copy_products(
        &self,
        repository: &Repository,
        tree: &PreparedTree,
        folder: &Path,
    ) -> Result<(), TreeError> {
        let others = repository
            .git
            .ask("ls-files", ["--others", "--directory", "--no-empty-directory", "-z"])
            .out()?;
        let staged = repository.git.ask("ls-files", ["--stage", "-z"]).out()?;
        let modules = fields(&staged)
            .filter(|entry| entry.starts_with(b"160000 "))
            .filter_map(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1));
        let others = fields(&others).map(|name| name.strip_suffix(b"/").unwrap_or(name));
        let copying = Copying {
            from: self.root(),
            to: folder,
            left_out: tree.untracked.in_patch.iter().map(PathBuf::as_path).collect(),
        };
        for path in others.chain(modules).map(path_of) {
            let doing = TreeError::io(format!("copy `{}` into the tree", path.display()));
            copying.copy(&path).map_err(doing)?;
        }
        Ok(())
    }
}

/// Makes a repository that reads another's objects.
#[derive(Debug)]
struct Borrowing<'a> {
    repository: &'a Repository,
    scratch: &'a Scratch,
    commit: &'a str,
}

impl Borrowing<'_> {
    fn repository_in(&self, folder: &Path) -> Result<(), TreeError> {
        let git = Git::at(folder);
        let theirs = &self.repository.git;
        // Older versions of git know no other format than SHA-1, and no option to name it.
        let format = (self.commit.len() == 64).then_some("--object-format=sha256");
        git.ask("init", ["--quiet", "--template="].into_iter().chain(format)).out()?;
        let refs = theirs.ask(
            "for-each-ref",
            ["--format=%(objectname) %(refname)", "refs/heads", "refs/tags", "refs/remotes"],
        );
        let refs = refs.out()?;
        let shallow = folder.join(theirs.ask("rev-parse", ["--git-path", "shallow"]).path()?);
        let write = || -> io::Result<()> {
            let dir = folder.join(".git");
            let mut alternates = Vec::new();
            for objects in [&self.repository.objects, &self.scratch.objects] {
                alternates.extend_from_slice(c_quoted(objects.as_os_str()).as_encoded_bytes());
                alternates.push(b'\n');
            }
            fs::create_dir_all(dir.join("objects/info"))?;
            fs::write(dir.join("objects/info/alternates"), alternates)?;
            fs::write(dir.join("packed-refs"), refs)?;
            fs::write(dir.join("HEAD"), format!("{}\n", self.commit))?;
            if shallow.exists() {
                fs::copy(shallow, dir.join("shallow"))?;
            }
            fs::copy(&self.scratch.index, dir.join("index"))?;
            Ok(())
        };
        write().map_err(TreeError::io("give the tree a repository"))
    }
}

/// Copies files that git does not track.
#[derive(Debug)]
struct Copying<'a> {
    from: &'a Path,
    to: &'a Path,
    /// New files of the uncommitted changes.
    left_out: BTreeSet<&'a Path>,
}

impl Copying<'_> {
    fn copy(&self, path: &Path) -> io::Result<()> {
        let (from, to) = (self.from.join(path), self.to.join(path));
        let name = path.file_name().unwrap_or_default();
        if self.left_out.contains(path) || is_bytecode(name) || name == ".git" {
            return Ok(());
        }
        let data = match fs::symlink_metadata(&from) {
            Ok(data) => data,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let there = fs::symlink_metadata(&to);
        if data.is_dir() {
            if is_environment(&from) {
                return if there.is_ok() { Ok(()) } else { self.link(&from, &to) };
            }
            if there.as_ref().is_ok_and(|there| !there.is_dir()) || self.is_blocked(path) {
                return Ok(());
            }
            for entry in fs::read_dir(&from)? {
                self.copy(&path.join(entry?.file_name()))?;
            }
            return Ok(());
        }
        // What the tree has itself, it has in its own way.
        if there.is_ok() || self.is_blocked(path) {
            return Ok(());
        }
        if data.is_symlink() {
            self.make_parent(&to)?;
            return symlink(fs::read_link(&from)?, &to);
        }
        if !data.is_file() {
            return Ok(());
        }
        if data.len() > LINKED {
            return self.link(&from, &to);
        }
        self.make_parent(&to)?;
        fs::copy(&from, &to)?;
        let copy = fs::File::open(&to)?;
        copy.file().set_times(FileTimes::new().set_modified(data.modified()?))
    }

    /// Whether the tree has a file or a link where the path needs a folder.
    fn is_blocked(&self, path: &Path) -> bool {
        path.ancestors()
            .skip(1)
            .filter(|above| !above.as_os_str().is_empty())
            .any(|above| fs::symlink_metadata(self.to.join(above)).is_ok_and(|data| !data.is_dir()))
    }

    fn make_parent(&self, to: &Path) -> io::Result<()> {
        fs::create_dir_all(to.parent().unwrap_or(self.to))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.make_parent(to)?;
        symlink(from, to)
    }
}
