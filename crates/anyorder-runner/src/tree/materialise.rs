//! From a snapshot and a git tree to a tree that can be run.

use std::path::{Path, PathBuf};

use super::snapshot::Snapshot;
use super::{ChangeKind, ChangedPath, Checkout, PreparedTree, Rev, Source, TreeError, TreeKind, delta};
use crate::git::{fields, path_of};

impl Checkout {
    /// The tree of a revision: the base of a comparison.
    pub fn at(&self, rev: &Rev, scratch: &Path) -> Result<PreparedTree, TreeError> {
        let snapshot = self.snapshot(scratch)?;
        let tree = self.tree_of(&rev.oid)?;
        self.prepared(snapshot, tree, rev, scratch)
    }

    /// `base` with a patch file applied; the uncommitted changes of the checkout are not in it.
    pub fn with_patch(&self, base: &Rev, patch: &Path, scratch: &Path) -> Result<PreparedTree, TreeError> {
        let snapshot = self.snapshot(scratch)?;
        let tree = self.patched_tree(&snapshot, base, patch)?;
        self.prepared(snapshot, tree, base, scratch)
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
    ) -> Result<PreparedTree, TreeError> {
        snapshot.refuse_dirty_submodules()?;
        let changed = self.changes(&snapshot, &self.tree_of(&base.oid)?, &tree)?;
        let kind = match delta::write(self, &snapshot, &tree, base)? {
            delta::Written::Nothing => TreeKind::Working,
            delta::Written::Delta(delta) => TreeKind::Overlay { delta },
            // No whiteouts here: a folder of its own instead.
            delta::Written::Impossible => TreeKind::Worktree { path: PathBuf::new() },
        };
        let impossible = kind == TreeKind::Worktree { path: PathBuf::new() };
        let digest = Digest::of(&tree).hex();
        let source = Source::Git { tree, commit: base.oid.clone(), objects: snapshot.scratch.objects };
        let (root, untracked) = (self.root().to_path_buf(), snapshot.untracked);
        let prepared = PreparedTree { kind, digest, changed, untracked, root, source };
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
