//! Why a tree cannot be had.

use std::io;
use std::path::PathBuf;

use crate::git::GitError;

/// Why a tree cannot be had. Names of files are shown as they are: escaping is the reporter's.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// Git itself gave no answer.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Outside any repository.
    #[error("`{}` is not in a git repository; `check` compares two revisions and needs one (`run` does not)", cwd.display())]
    NotGit {
        /// Where it was looked for.
        cwd: PathBuf,
    },
    /// A repository without files.
    #[error("`{}` is a bare git repository without files to test; run in a clone of it", cwd.display())]
    Bare {
        /// Where it was looked for.
        cwd: PathBuf,
    },
    /// Inside `.git`.
    #[error("`{}` is inside a repository's `.git` folder; run in the checkout", cwd.display())]
    InsideGitDir {
        /// Where it was looked for.
        cwd: PathBuf,
    },
    /// Somebody else's repository.
    #[error(
        "git refuses the repository around `{}` because another user owns it; if you trust it: git config --global --add safe.directory '{directory}'",
        cwd.display()
    )]
    DubiousOwnership {
        /// Where it was looked for.
        cwd: PathBuf,
        /// The folder that git names.
        directory: String,
    },
    /// Nothing was ever committed.
    #[error("the repository `{}` has no commits, so there is no base to compare with; commit the base first", root.display())]
    NoCommits {
        /// Top of the checkout.
        root: PathBuf,
    },
    /// A name that git does not know.
    #[error("`{name}` is not a revision of this repository{}", shallow_hint(*shallow))]
    UnknownRevision {
        /// As given.
        name: String,
        /// Whether history is cut off.
        shallow: bool,
    },
    /// Two histories that do not meet.
    #[error("HEAD and `{with}` have no common ancestor here{}; or name the base: --base REV", shallow_hint(*shallow))]
    NoMergeBase {
        /// The upstream branch.
        with: String,
        /// Whether history is cut off.
        shallow: bool,
    },
    /// Nothing to take for a base.
    #[error(
        "cannot tell what to compare with: no upstream default branch, no other branch and no uncommitted changes{}; name the base: --base REV",
        shallow_hint(*shallow)
    )]
    NoDefaultBase {
        /// Whether history is cut off.
        shallow: bool,
    },
    /// Submodules with changes of their own.
    #[error("submodule `{}` has uncommitted changes, which cannot be told apart between two trees; commit or stash them there", path.display())]
    DirtySubmodule {
        /// Which one.
        path: PathBuf,
    },
    /// A tree that needs a submodule at another commit.
    #[error(
        "submodule `{}` is checked out at another commit than `{tree}` has it; trees with different submodules cannot be compared yet",
        path.display()
    )]
    MovedSubmodule {
        /// Which one.
        path: PathBuf,
        /// The tree that was to be prepared.
        tree: String,
    },
    /// The patch file cannot be read.
    #[error("cannot read the patch `{}`", patch.display())]
    PatchUnreadable {
        /// The file.
        patch: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file without changes.
    #[error("`{}` is not a patch: no change that git understands is in it", patch.display())]
    PatchEmpty {
        /// The file.
        patch: PathBuf,
    },
    /// The patch and the base do not fit.
    #[error("the patch `{}` does not apply to {base}: {}", patch.display(), misfit(misfits))]
    PatchDoesNotApply {
        /// The file.
        patch: PathBuf,
        /// What it was applied to.
        base: String,
        /// Each place where it does not fit.
        misfits: Vec<Misfit>,
    },
    /// The patch wants to write where no patch may.
    #[error("the patch `{}` touches `{path}`, which is outside the project's files", patch.display())]
    PatchOutside {
        /// The file.
        patch: PathBuf,
        /// Where it would write.
        path: String,
    },
    /// The patch is wrapped for transport.
    #[error("the patch `{}` is a mail encoded as {encoding}; decode it first, or apply it with `git am` and name the revisions", patch.display())]
    PatchEncoded {
        /// The file.
        patch: PathBuf,
        /// `base64` or `quoted-printable`.
        encoding: String,
    },
    /// A sparse checkout that this git cannot answer for.
    #[error("this is a sparse checkout, and telling which files belong to it needs git 2.41 or newer")]
    Sparse(#[source] GitError),
    /// Overlapping layers.
    #[error("the scratch folder `{}` is inside the project `{}`; a tree's layers must lie elsewhere", scratch.display(), root.display())]
    ScratchInside {
        /// The scratch folder.
        scratch: PathBuf,
        /// Top of the checkout.
        root: PathBuf,
    },
    /// A file operation failed.
    #[error("cannot {doing}")]
    Io {
        /// What was attempted.
        doing: String,
        /// Why not.
        source: io::Error,
    },
}

/// One place where a patch does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The file, as the patch names it.
    pub file: String,
    /// Line of the base at which the hunk expects its context, and the hunk's number in that file from 1.
    pub hunk: Option<(usize, usize)>,
    /// Git's words.
    pub why: String,
}

fn shallow_hint(shallow: bool) -> &'static str {
    if shallow {
        " (this is a shallow clone; `git fetch --unshallow` gets the rest of its history)"
    } else {
        ""
    }
}

fn misfit(misfits: &[Misfit]) -> String {
    let shown = 3;
    let mut said: Vec<String> = misfits
        .iter()
        .take(shown)
        .map(|misfit| match misfit.hunk {
            Some((number, line)) => format!("`{}` hunk {number} (line {line}): {}", misfit.file, misfit.why),
            None => format!("`{}`: {}", misfit.file, misfit.why),
        })
        .collect();
    if misfits.len() > shown {
        said.push(format!("and {} more", misfits.len() - shown));
    }
    said.join("; ")
}

impl TreeError {
    /// Wraps a failed file operation: `cannot DOING`.
    pub(super) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}
