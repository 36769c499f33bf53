//! From a snapshot and a git tree to a tree that can be run.

use std::path::Path;

use super::snapshot::Snapshot;
use super::{ChangeKind, ChangedPath, Checkout, PreparedTree, Rev, Source, TreeError, TreeKind, delta};
use crate::git::{fields, path_of};

impl Checkout {
    /// The tree of a revision: the base of a comparison.
    pub fn at(&self, rev: &Rev, scratch: &Path) -> Result<PreparedTree, TreeError> {
        let snapshot = self.snapshot(scratch)?;
        let tree = self.tree_of(&rev.oid)?;
        self.prepared(snapshot, tree, rev, scratch, delta::whiteout)
    }

    /// `base` with a patch file applied; the uncommitted changes of the checkout are not in it.
    pub fn with_patch(&self, base: &Rev, patch: &Path, scratch: &Path) -> Result<PreparedTree, TreeError> {
        let snapshot = self.snapshot(scratch)?;
        let tree = self.patched_tree(&snapshot, base, patch)?;
        self.prepared(snapshot, tree, base, scratch, delta::whiteout)
    }

    pub(super) fn working_against(
        &self,
        base: Option<&Rev>,
        scratch: &Path,
    ) -> Result<PreparedTree, TreeError> {
        let snapshot = self.snapshot(scratch)?;
        let changed = match base {
            Some(base) => {
                snapshot.refuse_dirty_submodules()?;
                self.changes(&snapshot, &self.tree_of(&base.oid)?, &snapshot.tree)?
            }
            None => Vec::new(),
        };
        let mut digest = Digest::of(&snapshot.tree);
        for (path, _) in snapshot.submodules.iter().filter(|(_, dirty)| *dirty) {
            digest.add(path, &super::content_digest(&self.root().join(path))?);
        }
        let commit = self.head()?.oid;
        let source = Source::Git { tree: snapshot.tree, commit, objects: snapshot.scratch.objects };
        let (root, untracked) = (self.root().to_path_buf(), snapshot.untracked);
        Ok(PreparedTree { kind: TreeKind::Working, digest: digest.hex(), changed, untracked, root, source })
    }

    fn prepared(
        &self,
        snapshot: Snapshot,
        tree: String,
        base: &Rev,
        scratch: &Path,
        hide: delta::Hide,
    ) -> Result<PreparedTree, TreeError> {
        snapshot.refuse_dirty_submodules()?;
        let changed = self.changes(&snapshot, &self.tree_of(&base.oid)?, &tree)?;
        let written = delta::write(self, &snapshot, &tree, base, hide)?;
        let impossible = written == delta::Written::Impossible;
        let kind = match written {
            delta::Written::Delta(delta) => TreeKind::Overlay { delta },
            delta::Written::Nothing | delta::Written::Impossible => TreeKind::Working,
        };
        let digest = Digest::of(&tree).hex();
        let source = Source::Git { tree, commit: base.oid.clone(), objects: snapshot.scratch.objects };
        let (root, untracked) = (self.root().to_path_buf(), snapshot.untracked);
        let prepared = PreparedTree { kind, digest, changed, untracked, root, source };
        // No whiteouts here: a folder of its own instead.
        if impossible { self.as_worktree(&prepared, scratch) } else { Ok(prepared) }
    }

    /// The git tree of a commit.
    pub(super) fn tree_of(&self, commit: &str) -> Result<String, TreeError> {
        Ok(self.git()?.ask("rev-parse", ["--verify", &format!("{commit}^{{tree}}")]).line()?)
    }

    /// What differs from `old` in `new`, renames found, sorted by path.
    fn changes(&self, snapshot: &Snapshot, old: &str, new: &str) -> Result<Vec<ChangedPath>, TreeError> {
        let arguments = ["-r", "-z", "--name-status", "--find-renames", "--no-ext-diff", old, new];
        let out = self.repository()?.ask(&snapshot.scratch, "diff-tree", arguments).out()?;
        let mut fields = fields(&out);
        let mut changed = Vec::new();
        while let (Some(status), Some(path)) = (fields.next(), fields.next().map(path_of)) {
            let (path, kind) = match status.first() {
                Some(b'A') => (path, ChangeKind::Added),
                Some(b'D') => (path, ChangeKind::Deleted),
                Some(b'R') => match fields.next() {
                    Some(to) => (path_of(to), ChangeKind::Renamed { from: path }),
                    None => break,
                },
                _ => (path, ChangeKind::Modified),
            };
            changed.push(ChangedPath { path, kind });
        }
        changed.sort();
        Ok(changed)
    }
}

/// A tree's digest: of git's own name for its content, and of what git's name leaves out.
struct Digest(blake3::Hasher);

impl Digest {
    fn of(tree: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"anyorder git tree 1\n").update(tree.as_bytes());
        Self(hasher)
    }

    fn add(&mut self, path: &Path, digest: &str) {
        self.0
            .update(b"\n")
            .update(path.as_os_str().as_encoded_bytes())
            .update(b"\0")
            .update(digest.as_bytes());
    }

    fn hex(&self) -> String {
        self.0.finalize().to_hex().to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use fs_err as fs;

    use super::*;
    use crate::git::Git;

    fn commit(git: &Git) {
        git.ask("add", ["-A"]).out().unwrap();
        let arguments = ["user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "x"];
        git.ask("-c", arguments).out().unwrap();
    }

    #[test]
    fn where_whiteouts_are_refused_a_folder_is_made_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("p");
        fs::create_dir(&root).unwrap();
        let git = Git::at(&root);
        git.ask("init", ["-q"]).out().unwrap();
        fs::write(root.join("a.py"), "1\n").unwrap();
        commit(&git);
        fs::write(root.join("b.py"), "1\n").unwrap();
        commit(&git);
        let checkout = Checkout::discover(&root).unwrap();
        let base = checkout.resolve("HEAD~1").unwrap();
        let refusals: [delta::Hide; 2] =
            [|_| Err(io::ErrorKind::Unsupported.into()), |_| Err(io::ErrorKind::PermissionDenied.into())];
        for hide in refusals {
            let scratch = folder.path().join("scratch");
            let snapshot = checkout.snapshot(&scratch).unwrap();
            let tree = checkout.tree_of(&base.oid).unwrap();
            let prepared = checkout.prepared(snapshot, tree, &base, &scratch, hide).unwrap();
            let TreeKind::Worktree { path } = &prepared.kind else { panic!("{:?}", prepared.kind) };
            assert!(path.join("a.py").exists() && !path.join("b.py").exists());
        }
    }
}
