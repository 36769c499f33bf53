//! Which revision to compare with.

use super::{Checkout, Rev, TreeError};
use crate::git::{Git, GitError};

impl Checkout {
    /// Finds a commit by any name that git knows.
    pub fn resolve(&self, name: &str) -> Result<Rev, TreeError> {
        let git = self.git()?;
        let oid = commit(git, name)?;
        let shallow = oid.is_none() && shallow(git)?;
        let oid = oid.ok_or_else(|| TreeError::UnknownRevision { name: name.to_owned(), shallow })?;
        Ok(Rev { oid, name: name.to_owned(), how: "as asked".to_owned() })
    }

    /// HEAD.
    pub fn head(&self) -> Result<Rev, TreeError> {
        self.resolve("HEAD")
    }

    /// What a change is compared with when nobody says: where HEAD left the upstream default branch, or HEAD itself where
    /// there is nothing but uncommitted changes.
    pub fn default_base(&self) -> Result<Rev, TreeError> {
        let git = self.git()?;
        let branch = answer(git, "symbolic-ref", &["-q", "--short", "HEAD"])?;
        if let Some(upstream) = Self::upstream_default(git, branch.as_deref())? {
            return self.merge_base(git, &upstream);
        }
        if self.has_uncommitted()? {
            return Ok(Rev { how: "HEAD, the base of the uncommitted changes".to_owned(), ..self.head()? });
        }
        Err(TreeError::NoDefaultBase { shallow: shallow(git)? })
    }

    /// The branch that a change is meant for.
    fn upstream_default(git: &Git, branch: Option<&str>) -> Result<Option<String>, TreeError> {
        let origin_head = answer(git, "symbolic-ref", &["-q", "refs/remotes/origin/HEAD"])?;
        let remote = origin_head
            .into_iter()
            .chain(["refs/remotes/origin/main", "refs/remotes/origin/master"].map(str::to_owned));
        for name in remote {
            if commit(git, &name)?.is_some() {
                return Ok(Some(name));
            }
        }
        if branch.is_some()
            && let Some(name) = answer(git, "rev-parse", &["--symbolic-full-name", "HEAD@{upstream}"])?
            && commit(git, &name)?.is_some()
        {
            return Ok(Some(name));
        }
        for name in ["main", "master"] {
            let full = format!("refs/heads/{name}");
            if branch != Some(name) && commit(git, &full)?.is_some() {
                return Ok(Some(full));
            }
        }
        Ok(None)
    }

    fn merge_base(&self, git: &Git, upstream: &str) -> Result<Rev, TreeError> {
        let name = upstream
            .strip_prefix("refs/remotes/")
            .or(upstream.strip_prefix("refs/heads/"))
            .unwrap_or(upstream);
        let unknown = || TreeError::UnknownRevision { name: name.to_owned(), shallow: false };
        let head = self.head()?;
        let theirs = commit(git, upstream)?.ok_or_else(unknown)?;
        let Some(oid) = answer(git, "merge-base", &[&head.oid, &theirs])? else {
            return Err(TreeError::NoMergeBase { with: name.to_owned(), shallow: shallow(git)? });
        };
        let how = if oid == head.oid {
            format!("HEAD, which `{name}` has already")
        } else {
            format!("merge base of HEAD and `{name}`")
        };
        let name = oid.get(..12).unwrap_or(&oid).to_owned();
        Ok(Rev { oid, name, how })
    }
}

/// The commit behind a name; names that could be taken for options are no names.
fn commit(git: &Git, name: &str) -> Result<Option<String>, TreeError> {
    if name.is_empty() || name.starts_with('-') || name.contains(['\0', '\n']) {
        return Ok(None);
    }
    let arguments = ["--verify", "--quiet", &format!("{name}^{{commit}}")];
    // `^NAME` is a revision to leave out, not a commit.
    Ok(answer(git, "rev-parse", &arguments)?.filter(|oid| oid.bytes().all(|byte| byte.is_ascii_hexdigit())))
}

/// The first line of the answer; `None` when git says no.
fn answer(git: &Git, subcommand: &str, arguments: &[&str]) -> Result<Option<String>, GitError> {
    match git.ask(subcommand, arguments).line() {
        Ok(line) if line.is_empty() => Ok(None),
        Ok(line) => Ok(line.lines().next().map(str::to_owned)),
        Err(GitError::Refused { .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

fn shallow(git: &Git) -> Result<bool, GitError> {
    Ok(answer(git, "rev-parse", &["--is-shallow-repository"])?.as_deref() == Some("true"))
}
