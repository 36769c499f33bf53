//! Turns revisions and patches into trees that can be run at the project's own path.
//!
//! The *working checkout* stays where it is and is never written to. Any other tree is a *delta*: a folder elsewhere
//! that holds the files in which it differs, and a whiteout (a character device 0/0) for each path that it lacks. The
//! agent lays it over the checkout. Where no overlay is to be had, [`Checkout::as_worktree`] makes a folder with the
//! whole tree. Build products and ignored files are there in every tree. Nothing here starts an interpreter.

mod base;
mod checkout;
mod content;
mod delta;
mod error;
mod export;
mod materialise;
mod patch;
mod products;
mod snapshot;
mod worktree;

use std::path::{Path, PathBuf};

pub use checkout::Checkout;
pub use content::{content_digest, products_digest};
pub use error::{Misfit, TreeError};

pub use crate::git::GitError;

/// A commit, and how it came to be the one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rev {
    /// The commit's object name, in full.
    pub oid: String,
    /// What it was called.
    pub name: String,
    /// A phrase that says how it was chosen, such as ``merge base of HEAD and `origin/main` ``.
    pub how: String,
}

/// A tree that is ready to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedTree {
    /// Where it is.
    pub kind: TreeKind,
    /// BLAKE3 in hex of the tree's content: the same for the same content, however and wherever it was reached.
    pub digest: String,
    /// What differs from the base revision that the tree was prepared against, sorted by path.
    pub changed: Vec<ChangedPath>,
    /// Files that git does not track.
    pub untracked: Untracked,
    /// The project's own path: top of the checkout.
    pub root: PathBuf,
    source: Source,
}

impl PreparedTree {
    /// Folders to lay over [`PreparedTree::root`], topmost first; empty for the working checkout and for a worktree.
    pub fn lower(&self) -> Vec<PathBuf> {
        match &self.kind {
            TreeKind::Overlay { delta } => vec![delta.clone()],
            TreeKind::Working | TreeKind::Worktree { .. } => Vec::new(),
        }
    }

    /// Changed files that have to be compiled before Python sees them. Compiled extensions are the same in every tree of
    /// a checkout, so a change in these files is not measured.
    pub fn changed_native_sources(&self) -> impl Iterator<Item = &Path> {
        let native = |path: &&Path| {
            let extension = path.extension().and_then(|extension| extension.to_str());
            extension.is_some_and(|extension| NATIVE.contains(&extension))
        };
        self.changed.iter().map(|changed| changed.path.as_path()).filter(native)
    }

    /// Where a path of the checkout is when this tree is run: itself, but for a tree in a folder of its own. A session of
    /// the tree has its `root` and `cwd` there.
    pub fn place(&self, path: &Path) -> PathBuf {
        match (&self.kind, path.strip_prefix(&self.root)) {
            (TreeKind::Worktree { path: folder }, Ok(within)) if within.as_os_str().is_empty() => {
                folder.clone()
            }
            (TreeKind::Worktree { path: folder }, Ok(within)) => folder.join(within),
            _ => path.to_path_buf(),
        }
    }

    /// `(project's path, where the tree really is)`, for a tree that is not at the project's own path.
    pub fn remap(&self) -> Option<(PathBuf, PathBuf)> {
        match &self.kind {
            TreeKind::Worktree { path } => Some((self.root.clone(), path.clone())),
            TreeKind::Working | TreeKind::Overlay { .. } => None,
        }
    }
}

/// Extensions of source that is compiled.
const NATIVE: &[&str] = &[
    "c", "cc", "cpp", "cxx", "h", "hh", "hpp", "pyx", "pxd", "pxi", "rs", "f", "f90", "for", "cu", "m", "mm",
    "go", "zig",
];

/// Where a tree is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeKind {
    /// The working checkout as it stands.
    Working,
    /// The working checkout with a folder laid over it.
    Overlay {
        /// That folder, outside the checkout.
        delta: PathBuf,
    },
    /// A folder of its own, with the whole tree in it.
    Worktree {
        /// That folder, outside the checkout.
        path: PathBuf,
    },
}

/// Where a tree's content can be read again.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    /// Not in git.
    Files,
    /// A git tree; its objects are in the folder or in the repository.
    Git { tree: String, commit: String, objects: PathBuf },
}

/// A path that differs between two trees.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangedPath {
    /// Relative to the top of the checkout.
    pub path: PathBuf,
    /// How.
    pub kind: ChangeKind,
}

/// How a path differs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// Its content, mode or type differs.
    Modified,
    /// It is gone.
    Deleted,
    /// It was somewhere else.
    Renamed {
        /// Where it was.
        from: PathBuf,
    },
}

/// Files of the working checkout that git does not track; sorted, relative to the top.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Untracked {
    /// New files that nobody has added yet: part of the uncommitted changes.
    pub in_patch: Vec<PathBuf>,
    /// Neither ignored nor tracked, but they look like build products or local settings: there in every tree.
    pub shared: Vec<PathBuf>,
    /// How many entries are ignored (a folder that is ignored as a whole counts once): there in every tree.
    pub ignored: usize,
}
