//! What the commands of the ledger report, and how the ledger shows in other reports.

use std::collections::BTreeMap;

use anyorder_core::ledger::{Covered, Date, Effect, Entry, Standing};
use anyorder_core::model::{TestId, TestIx};

use super::check::{CandidateView, NotEvidenceView};
use super::facts::{Invocation, Project};
use super::run::RunView;
use crate::wording;

/// Which command reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerCommand {
    /// `anyorder ledger list`
    List,
    /// `anyorder ledger check`
    Check,
    /// `anyorder ledger prune`
    Prune,
    /// `anyorder freeze`
    Freeze,
    /// `anyorder quarantine`
    Quarantine,
}

impl LedgerCommand {
    /// The word for it, as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Check => "check",
            Self::Prune => "prune",
            Self::Freeze => "freeze",
            Self::Quarantine => "quarantine",
        }
    }
}

/// What was done to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// It is new.
    Written,
    /// It stands in the place of an older one of the same test.
    Renewed,
    /// It was taken out.
    Dropped,
}

impl Done {
    /// The word for it, as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Renewed => "renewed",
            Self::Dropped => "dropped",
        }
    }
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryView {
    /// The entry.
    pub entry: Entry,
    /// How it stands today, as far as was looked at.
    pub standing: Standing,
    /// What was done to it, if anything.
    pub done: Option<Done>,
    /// Remarks, a clause each.
    pub notes: Vec<String>,
    /// What to type next, if anything.
    pub next: Vec<String>,
}

/// A test that was not let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedView {
    /// The test.
    pub test: TestId,
    /// Why, one clause.
    pub why: String,
    /// What to do instead.
    pub advice: String,
}

/// What was measured for entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasurementView {
    /// The store's id of the sweep.
    pub sweep: String,
    /// In how many orders.
    pub orders: usize,
    /// Whether it was taken from the store, and not made anew.
    pub stored: bool,
}

/// What a command of the ledger did and found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerView {
    /// Which command.
    pub command: LedgerCommand,
    /// Whose tests.
    pub project: Project,
    /// The file, as shown to the user.
    pub file: String,
    /// The day.
    pub today: Date,
    /// The measurement, where one was needed.
    pub measured: Option<MeasurementView>,
    /// The entries it is about, by test.
    pub entries: Vec<EntryView>,
    /// Tests that were not let in.
    pub refused: Vec<RefusedView>,
    /// Tests that a pattern matched and that are nothing for the ledger.
    pub passed_over: usize,
    /// The exit code that the process will end with.
    pub exit_code: u8,
}

/// What the ledger has to say of a test in another report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedView {
    /// `frozen` or `quarantined`.
    pub kind: &'static str,
    /// Whether the entry covers what was found.
    pub covered: bool,
    /// Its last day, where it has one.
    pub until: Option<Date>,
    /// Where somebody works on it.
    pub issue: String,
    /// All of it as a clause: `frozen until 2027-01-05 (SHOP-7)`.
    pub text: String,
}

impl ListedView {
    /// An entry, and whether it covers what was found.
    pub fn of(listed: &Covered) -> Self {
        let entry = &listed.entry;
        let text = match &listed.covered {
            Ok(()) => wording::entry(entry),
            Err(why) => format!("{}, which does not cover this: {why}", wording::entry(entry)),
        };
        Self {
            kind: entry.word(),
            covered: listed.covered.is_ok(),
            until: entry.until(),
            issue: entry.issue().to_owned(),
            text,
        }
    }
}

impl EntryView {
    /// An entry and how it stands, with what to type about it.
    pub fn of(entry: &Entry, standing: Standing, invocation: &Invocation) -> Self {
        let test = entry.test().to_string();
        let next = match (standing, entry) {
            (Standing::Protects, _) => Vec::new(),
            (Standing::Gone, _) => vec![invocation.command(&["ledger", "prune", &test])],
            (_, Entry::Frozen(_)) => {
                let words = ["freeze", &test, "--for", "30d", "--issue", entry.issue()];
                vec![invocation.command(&words)]
            }
            (_, Entry::Quarantined(_)) => {
                vec![invocation.command(&["quarantine", &test, "--issue", entry.issue()])]
            }
        };
        Self { entry: entry.clone(), standing, done: None, notes: Vec::new(), next }
    }
}

impl RunView {
    /// Says of the tests that have an entry that they do. `found` is by the tests' places in the suite.
    pub fn list(&mut self, found: &BTreeMap<TestIx, Covered>) {
        let by_id: BTreeMap<&TestId, &Covered> =
            found.values().map(|listed| (listed.entry.test(), listed)).collect();
        for test in &mut self.tests {
            test.listed = by_id.get(&test.id).map(|listed| ListedView::of(listed));
        }
    }
}

impl CandidateView {
    /// Says what the ledger did to the verdict that this was made from.
    pub fn list(&mut self, effect: &Effect) {
        for finding in &mut self.findings {
            finding.listed = effect.findings.get(&finding.id).map(ListedView::of);
        }
        for withheld in &effect.withheld {
            let taken_out = if withheld.taken_out { ", which the patch takes out" } else { "" };
            let why = format!("{}{taken_out}", wording::entry(&withheld.entry));
            match self.not_evidence.iter_mut().find(|n| n.id == withheld.test) {
                Some(known) => known.why = why,
                None => self.not_evidence.push(NotEvidenceView { id: withheld.test.clone(), why }),
            }
        }
    }
}
