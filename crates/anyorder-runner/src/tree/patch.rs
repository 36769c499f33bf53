//! Applies a patch file to a git tree, in scratch.

use std::path::{Component, Path};

use fs_err as fs;

use super::error::Misfit;
use super::snapshot::Snapshot;
use super::{Checkout, Rev, TreeError};
use crate::git::{Answer, Scratch, fields, path_of};

impl Checkout {
    /// The git tree of `base` with the patch applied.
    pub(super) fn patched_tree(
        &self,
        snapshot: &Snapshot,
        base: &Rev,
        patch: &Path,
    ) -> Result<String, TreeError> {
        // A relative name is the user's: from where the user stands.
        let patch = &self.cwd().join(patch);
        let bytes =
            fs::read(patch).map_err(|source| TreeError::PatchUnreadable { patch: patch.clone(), source })?;
        if let Some(encoding) = transfer_encoding(&bytes) {
            return Err(TreeError::PatchEncoded { patch: patch.clone(), encoding });
        }
        match self.try_patch(snapshot, base, patch, &bytes) {
            // Mail programs and editors on Windows rewrite every line end; git writes its own lines with LF.
            Err(first @ (TreeError::PatchDoesNotApply { .. } | TreeError::PatchEmpty { .. })) => {
                match without_carriage_returns(&bytes) {
                    Some(plain) => self.try_patch(snapshot, base, patch, &plain).map_err(|_| first),
                    None => Err(first),
                }
            }
            other => other,
        }
    }

    fn try_patch(
        &self,
        snapshot: &Snapshot,
        base: &Rev,
        patch: &Path,
        bytes: &[u8],
    ) -> Result<String, TreeError> {
        let repository = self.repository()?;
        let scratch = Scratch { index: snapshot.folder.join("patch-index"), ..snapshot.scratch.clone() };
        repository.ask(&scratch, "read-tree", [&base.oid]).out()?;
        let mut empty = true;
        for part in mails(bytes) {
            let ask = |arguments: &[&str]| {
                repository.ask(&scratch, "apply", arguments).input(part.to_vec()).answer()
            };
            let named = ask(&["--numstat", "-z", "-"])?;
            if named.code == Some(0) {
                refuse_outside(patch, &named.out)?;
            }
            let answer = ask(&["--cached", "--whitespace=nowarn", "-p1", "-"])?;
            if answer.code == Some(0) {
                empty = false;
                continue;
            }
            match refusal(patch, base, part, &answer) {
                // A cover letter, or a commit without changes.
                TreeError::PatchEmpty { .. } => {}
                other => return Err(other),
            }
        }
        if empty {
            return Err(TreeError::PatchEmpty { patch: patch.to_path_buf() });
        }
        Ok(repository.ask(&scratch, "write-tree", ["--missing-ok"]).line()?)
    }
}

/// The mails of a series, or the whole file. Applied one by one, since a later one may build upon an earlier one's renames.
fn mails(bytes: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if at > start && starts_mail(line) {
            parts.push(&bytes[start..at]);
            start = at;
        }
        at += line.len();
    }
    parts.push(&bytes[start..]);
    parts
}

/// Whether git wrote this line above a mail: `From OBJECT-NAME Mon Sep 17 00:00:00 2001`.
fn starts_mail(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"From ") else { return false };
    let name = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    name >= 40 && rest[name..].starts_with(b" Mon Sep 17 00:00:00 2001")
}

fn refuse_outside(patch: &Path, numstat: &[u8]) -> Result<(), TreeError> {
    // `added TAB removed TAB path`, or both names of a rename by themselves.
    for entry in fields(numstat) {
        let named = path_of(entry.splitn(3, |byte| *byte == b'\t').nth(2).unwrap_or(entry));
        let outside = named.components().any(|part| match part {
            Component::Normal(name) => name.eq_ignore_ascii_case(".git"),
            Component::CurDir => false,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => true,
        });
        if outside {
            return Err(TreeError::PatchOutside {
                patch: patch.to_path_buf(),
                path: named.display().to_string(),
            });
        }
    }
    Ok(())
}

/// What git's refusal means.
fn refusal(patch: &Path, base: &Rev, bytes: &[u8], answer: &Answer) -> TreeError {
    let patch = patch.to_path_buf();
    let said: Vec<&str> = answer
        .said
        .lines()
        .map(|line| line.strip_prefix("error: ").unwrap_or(line))
        .filter(|line| !line.is_empty())
        .collect();
    if said.iter().any(|line| line.starts_with("No valid patches in input")) {
        return TreeError::PatchEmpty { patch };
    }
    let invalid = said
        .iter()
        .find_map(|line| line.strip_prefix("invalid path '").or(line.split("invalid path '").nth(1)));
    if let Some(path) = invalid {
        return TreeError::PatchOutside { patch, path: path.trim_end_matches('\'').to_owned() };
    }
    let mut misfits: Vec<Misfit> = Vec::new();
    for line in said {
        if let Some((file, at)) = line.strip_prefix("patch failed: ").and_then(|rest| rest.rsplit_once(':')) {
            let at = at.parse().ok();
            let hunk = at.and_then(|at| hunk_number(bytes, file, at)).zip(at);
            misfits.push(Misfit { file: file.to_owned(), hunk, why: "its context is not there".to_owned() });
        } else if let Some((file, why)) = line.split_once(": ") {
            // Git repeats each file: `FILE: patch does not apply`.
            if !misfits.iter().any(|known| known.file == file) {
                misfits.push(Misfit { file: file.to_owned(), hunk: None, why: why.to_owned() });
            }
        } else {
            misfits.push(Misfit { file: "patch".to_owned(), hunk: None, why: line.to_owned() });
        }
    }
    TreeError::PatchDoesNotApply { patch, base: format!("`{}`", base.name), misfits }
}

/// Which hunk of a file, from 1, starts at a line of the old side.
fn hunk_number(patch: &[u8], file: &str, line: usize) -> Option<usize> {
    let text = String::from_utf8_lossy(patch);
    let (mut within, mut number) = (false, 0);
    for row in text.lines() {
        if let Some(name) = row.strip_prefix("--- ").or_else(|| row.strip_prefix("+++ ")) {
            let name = name.split('\t').next().unwrap_or(name);
            let names_it = name.split_once('/').is_some_and(|(_, rest)| rest == file);
            within = if row.starts_with("--- ") { names_it } else { within || names_it };
            number = 0;
        } else if within && let Some(range) = row.strip_prefix("@@ -") {
            number += 1;
            let start = range.split([',', ' ']).next()?.parse::<usize>().ok()?;
            if start == line {
                return Some(number);
            }
        }
    }
    None
}

/// The encoding, where the file is a mail whose text is not written plainly.
fn transfer_encoding(bytes: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(bytes.get(..bytes.len().min(8192))?);
    let headers = head.lines().take_while(|line| !line.trim().is_empty());
    let found = headers.filter_map(|line| line.split_once(':')).find_map(|(name, value)| {
        name.eq_ignore_ascii_case("content-transfer-encoding").then(|| value.trim().to_ascii_lowercase())
    })?;
    matches!(found.as_str(), "base64" | "quoted-printable").then_some(found)
}

/// The patch with LF line ends, where its own headers have CRLF.
fn without_carriage_returns(bytes: &[u8]) -> Option<Vec<u8>> {
    let header = |line: &[u8]| {
        [b"diff --git ".as_slice(), b"--- ", b"+++ "].iter().any(|start| line.starts_with(start))
    };
    let mut lines = bytes.split(|byte| *byte == b'\n').filter(|line| header(line)).peekable();
    lines.peek()?;
    if !lines.all(|line| line.ends_with(b"\r")) {
        return None;
    }
    let mut plain = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\r\n") {
            Some(text) => plain.extend(text.iter().chain(b"\n")),
            None => plain.extend_from_slice(line),
        }
    }
    Some(plain)
}
