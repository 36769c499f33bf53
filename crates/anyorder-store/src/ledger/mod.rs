//! `anyorder.lock.toml`: the ledger as a file in the user's repository, made for code review.
//!
//! Entries stand sorted by test, one field a line; what is written twice is the same bytes. Comments stay where they
//! are, as long as their entry does. What the file says is checked like a measurement: an unknown key, a vector that no
//! order-sensitive test can have, and two entries of one test are errors that name the line.

mod decode;
mod encode;
mod orders;
mod place;

use std::io;
use std::path::{Path, PathBuf};

use anyorder_core::ledger::Ledger;
use toml_edit::DocumentMut;

use self::place::Place;

/// The file's name.
pub const LEDGER_FILE: &str = "anyorder.lock.toml";

/// The format that this version reads and writes.
const VERSION: i64 = 1;

/// Why a ledger file cannot be used. It is never touched then.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// What stands in it is wrong.
    #[error("`{path}`, line {line}: {why}")]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong, and what to do.
        why: String,
    },
    /// Git left the marks of a merge conflict in it.
    #[error(
        "`{path}`, line {line}: a merge conflict is not resolved: keep the entries of both sides, one for each test"
    )]
    Conflict {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// A newer anyorder wrote it.
    #[error("`{path}` has version {found}, this anyorder knows version 1: use the one that wrote it")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
    },
    /// It leads out of the project.
    #[error("`{path}` leads to `{target}`, out of the project: put the file itself in its place")]
    Outside {
        /// The file.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// It is no file.
    #[error("`{path}` is not a file: move it away")]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file system refuses.
    #[error("could not use `{path}`: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The ledger of a project, and the text that it stands in.
#[derive(Debug)]
pub struct LedgerFile {
    place: Place,
    document: DocumentMut,
    /// Whether its lines end in CR LF.
    crlf: bool,
    ledger: Ledger,
}

impl LedgerFile {
    /// Reads `anyorder.lock.toml` in a folder of a project whose top is `root`; an empty ledger where there is none.
    pub fn read(folder: &Path, root: &Path) -> Result<Self, LedgerError> {
        let place = Place::find(folder, root)?;
        let Some(text) = place.read()? else {
            return Ok(Self { place, document: encode::empty(), crlf: false, ledger: Ledger::default() });
        };
        let crlf = text.contains("\r\n");
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text).replace("\r\n", "\n");
        let (document, ledger) = decode::document(&text).map_err(|wrong| match wrong {
            decode::Wrong::At { line, why } => LedgerError::Wrong { path: place.path().into(), line, why },
            decode::Wrong::Conflict { line } => LedgerError::Conflict { path: place.path().into(), line },
            decode::Wrong::Newer(found) => LedgerError::Newer { path: place.path().into(), found },
        })?;
        Ok(Self { place, document, crlf, ledger })
    }

    /// What stands in it.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Where it stands, or would.
    pub fn path(&self) -> &Path {
        self.place.path()
    }

    /// Puts a ledger in the place of the one that was read: whole or not at all, the file's mode kept. Entries that did
    /// not change keep their text.
    pub fn write(&mut self, ledger: Ledger) -> Result<(), LedgerError> {
        encode::update(&mut self.document, &ledger);
        let text = self.document.to_string();
        let text = if self.crlf { text.replace('\n', "\r\n") } else { text };
        self.place.write(text.as_bytes())?;
        self.ledger = ledger;
        Ok(())
    }
}
