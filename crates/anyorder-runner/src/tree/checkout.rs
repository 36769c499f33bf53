//! The working checkout: where it is, and what can be made of it.

use std::path::{Path, PathBuf};

use super::{PreparedTree, Rev, Source, TreeError, TreeKind, Untracked, content_digest};
use crate::git::{Git, GitError};

/// Files that mark the top of a Python project.
const PROJECT_FILES: &[&str] = &["pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg", "setup.py"];

/// The working checkout, or a plain folder with a project in it. Never written to.
#[derive(Clone, Debug)]
pub struct Checkout {
    root: PathBuf,
    cwd: PathBuf,
    repository: Option<Repository>,
}

/// The repository behind a checkout.
#[derive(Clone, Debug)]
pub(super) struct Repository {
    pub(super) git: Git,
    /// The `.git` folder of this checkout.
    pub(super) dir: PathBuf,
    /// The folder of its objects.
    pub(super) objects: PathBuf,
}

impl Checkout {
    /// The git checkout around `cwd`.
    pub fn discover(cwd: &Path) -> Result<Self, TreeError> {
        let cwd = fs_err::canonicalize(cwd).map_err(TreeError::io("find the current folder"))?;
        let git = Git::at(&cwd);
        let root = match git.ask("rev-parse", ["--show-toplevel"]).path() {
            Ok(root) => root,
            Err(GitError::Refused { said, .. }) => return Err(why_not(&git, cwd.clone(), &said)),
            Err(other) => return Err(other.into()),
        };
        if root.as_os_str().is_empty() {
            return Err(why_not(&git, cwd.clone(), ""));
        }
        let git = Git::at(&root);
        let dir = git.ask("rev-parse", ["--absolute-git-dir"]).path()?;
        let objects = root.join(git.ask("rev-parse", ["--git-path", "objects"]).path()?);
        let checkout = Self { root: root.clone(), cwd, repository: Some(Repository { git, dir, objects }) };
        match checkout.head() {
            Ok(_) => Ok(checkout),
            Err(TreeError::UnknownRevision { .. }) => Err(TreeError::NoCommits { root }),
            Err(other) => Err(other),
        }
    }

    /// The project around `cwd` without git: the nearest folder with a project file, or `cwd` itself.
    pub fn plain(cwd: &Path) -> Result<Self, TreeError> {
        let cwd = fs_err::canonicalize(cwd).map_err(TreeError::io("find the current folder"))?;
        let marked = |folder: &&Path| PROJECT_FILES.iter().any(|name| folder.join(name).is_file());
        let root = cwd.ancestors().find(marked).unwrap_or(&cwd).to_path_buf();
        Ok(Self { root, cwd, repository: None })
    }

    /// Top of the checkout, where trees are mounted.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the user stands.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Whether there is a repository.
    pub fn has_git(&self) -> bool {
        self.repository.is_some()
    }

    pub(super) fn repository(&self) -> Result<&Repository, TreeError> {
        self.repository.as_ref().ok_or_else(|| TreeError::NotGit { cwd: self.cwd.clone() })
    }

    pub(super) fn git(&self) -> Result<&Git, TreeError> {
        Ok(&self.repository()?.git)
    }

    /// The working checkout as it stands, for `run`: nothing to compare with.
    pub fn working(&self, scratch: &Path) -> Result<PreparedTree, TreeError> {
        if self.has_git() {
            return self.working_against(None, scratch);
        }
        Ok(PreparedTree {
            kind: TreeKind::Working,
            digest: content_digest(&self.root)?,
            changed: Vec::new(),
            untracked: Untracked::default(),
            root: self.root.clone(),
            source: Source::Files,
        })
    }

    /// The working checkout as the patched tree: commits since `base` and uncommitted changes.
    pub fn patched_working(&self, base: &Rev, scratch: &Path) -> Result<PreparedTree, TreeError> {
        self.working_against(Some(base), scratch)
    }
}

/// Why there is no worktree at `cwd`.
fn why_not(git: &Git, cwd: PathBuf, said: &str) -> TreeError {
    if said.contains("dubious ownership") {
        let quoted = said.split('\'').nth(1).unwrap_or_default();
        return TreeError::DubiousOwnership { directory: quoted.to_owned(), cwd };
    }
    let is = |question: &str| git.ask("rev-parse", [question]).line().is_ok_and(|answer| answer == "true");
    if is("--is-bare-repository") {
        return TreeError::Bare { cwd };
    }
    if is("--is-inside-git-dir") {
        return TreeError::InsideGitDir { cwd };
    }
    TreeError::NotGit { cwd }
}
