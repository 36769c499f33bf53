//! Writes files of a git tree into a folder as a checkout of that tree would.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::TreeError;
use super::checkout::Repository;
use crate::git::{GitError, Scratch, fields, path_of};

/// Each file of a git tree; no submodules.
pub(super) fn all_files(
    repository: &Repository,
    scratch: &Scratch,
    tree: &str,
) -> Result<Vec<PathBuf>, TreeError> {
    let out = repository.ask(scratch, "ls-tree", ["-r", "-z", "--full-tree", tree]).out()?;
    let files = fields(&out).filter(|entry| !entry.starts_with(b"160000 "));
    Ok(files.filter_map(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1)).map(path_of).collect())
}

/// In a sparse checkout, files outside its patterns are in no tree.
pub(super) fn drop_outside_sparse(
    repository: &Repository,
    scratch: &Scratch,
    paths: &mut Vec<PathBuf>,
) -> Result<(), TreeError> {
    let sparse = repository.git.ask("config", ["--bool", "--get", "core.sparseCheckout"]).answer()?;
    if paths.is_empty() || !sparse.out.starts_with(b"true") {
        return Ok(());
    }
    let names = paths.iter().map(|path| path.as_os_str());
    let inside =
        match repository.ask(scratch, "sparse-checkout", ["check-rules", "-z"]).input_names(names).out() {
            Ok(out) => fields(&out).map(path_of).collect::<BTreeSet<_>>(),
            Err(error @ GitError::Refused { .. }) => return Err(TreeError::Sparse(error)),
            Err(error) => return Err(error.into()),
        };
    paths.retain(|path| inside.contains(path));
    Ok(())
}

/// Writes the named files of a git tree into a folder; `scratch.index` then holds that tree.
pub(super) fn files(
    repository: &Repository,
    scratch: &Scratch,
    tree: &str,
    paths: &[PathBuf],
    folder: &Path,
) -> Result<(), TreeError> {
    repository.ask(scratch, "read-tree", [tree]).out()?;
    if paths.is_empty() {
        return Ok(());
    }
    // The folder counts as the worktree, so that attributes come from the tree and not from the checkout.
    let ask = repository.ask(scratch, "checkout-index", ["--force", "--quiet", "-z", "--stdin"]);
    let names = paths.iter().map(|path| path.as_os_str());
    ask.inside(&repository.dir, folder).input_names(names).out()?;
    Ok(())
}
