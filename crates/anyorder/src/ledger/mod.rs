//! The ledger between its file, a measurement, and the commands that heed it. The rules are the core's.

mod listing;
mod term;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyorder_core::ledger::{Covered, Date, Effect, Ledger, Ledgers, apply, found};
use anyorder_core::model::TestIx;
use anyorder_core::verdict::{Class, TreeResult, Verdict};
use anyorder_runner::tree::{PreparedTree, TreeKind};
use anyorder_store::{LEDGER_FILE, LedgerError, LedgerFile};

use crate::clock;
use crate::exit_code::ExitCode;
use crate::hint::Failed;
use crate::project::Project;

pub use listing::{Chosen, Listing, chosen, measure};
pub use term::{issue, until};

/// The ledger of a project, on a day.
#[derive(Debug)]
pub struct Shelf {
    /// The file.
    pub file: LedgerFile,
    /// What the base of a check has.
    base: Ledger,
    /// The day.
    pub today: Date,
}

impl Shelf {
    /// Reads the ledger of a project; an empty one where there is no file.
    pub fn open(project: &Project) -> Result<Self, Failed> {
        let root = project.checkout.root();
        let file = LedgerFile::read(&folder(project), root).map_err(|e| failed(&e))?;
        Ok(Self { file, base: Ledger::default(), today: Date::of_unix_ms(clock::now_ms()) })
    }

    /// The same, with what the base of a check lists: a patch that takes an entry out does not win a test with it.
    #[must_use]
    pub fn beside(mut self, base: &PreparedTree, project: &Project) -> Self {
        let folder = folder(project);
        let within = folder.strip_prefix(&base.root).unwrap_or(Path::new(""));
        // What is not in the delta is the same on both sides, and a whiteout in it is no file. A base whose ledger is
        // wrong lists nothing: the change that mends it must be possible to check.
        if let TreeKind::Overlay { delta } = &base.kind
            && fs_err::symlink_metadata(delta.join(within).join(LEDGER_FILE)).is_ok_and(|m| m.is_file())
            && let Ok(file) = LedgerFile::read(&delta.join(within), delta)
        {
            self.base = file.ledger().clone();
        }
        self
    }

    /// The file as the user may name it: from where they stand.
    pub fn shown(&self, project: &Project) -> String {
        let path = self.file.path();
        path.strip_prefix(&project.cwd).unwrap_or(path).display().to_string()
    }

    /// The order-sensitive and flaky tests of a tree that have an entry.
    pub fn found(&self, tree: &TreeResult) -> BTreeMap<TestIx, Covered> {
        found(self.file.ledger(), self.today, tree)
    }

    /// Lays the ledger over a verdict.
    pub fn apply(&self, verdict: &mut Verdict, patched: &TreeResult) -> Effect {
        let ledgers = Ledgers { now: self.file.ledger(), base: &self.base };
        apply(ledgers, self.today, verdict, patched)
    }
}

/// Whether a tree has an order-sensitive or flaky test that no entry covers.
pub fn is_uncovered(tree: &TreeResult, known: &BTreeMap<TestIx, Covered>) -> bool {
    let wanting =
        tree.classes.iter().filter(|(_, c)| matches!(c.class, Class::OrderSensitive | Class::Flaky));
    wanting.map(|(ix, _)| ix).any(|ix| known.get(&ix).is_none_or(|listed| listed.covered.is_err()))
}

/// Where the file stands: beside the configuration that counts, else at the project's root.
fn folder(project: &Project) -> PathBuf {
    let beside = project.settings.config_path.as_deref().and_then(Path::parent);
    beside.unwrap_or_else(|| project.checkout.root()).to_path_buf()
}

/// A ledger that cannot be used, as an error of a command.
pub fn failed(error: &LedgerError) -> Failed {
    let code = match error {
        LedgerError::Wrong { .. }
        | LedgerError::Conflict { .. }
        | LedgerError::Newer { .. }
        | LedgerError::Outside { .. }
        | LedgerError::NotAFile { .. } => ExitCode::Usage,
        LedgerError::Io { .. } => ExitCode::CannotMeasure,
    };
    Failed::new(code, error)
}
