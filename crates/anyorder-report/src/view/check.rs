//! What `anyorder check` reports.

use anyorder_core::model::{OutcomeVector, TestId};
use anyorder_core::verdict::{Action, Class, Finding, VerdictOutcome};

use super::facts::{
    Bound, Cause, Cost, Coverage, Environment, ExecutorView, FailureView, Incomplete, Invocation, OrderView,
    Project, SandboxView, SwitchedOff, Weakness, Witness,
};
use super::ledger::ListedView;
use crate::command;

/// One tree of a check.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TreeDescription {
    /// What the user called it: `main`, `a.diff`, `uncommitted changes`.
    pub name: String,
    /// The commit or content it stands for, shortened for reading.
    pub revision: Option<String>,
    /// How many tests it has.
    pub tests: usize,
    /// The orders it was run in.
    pub orders: Vec<OrderView>,
    /// Its bound; `None` when nothing was measured.
    pub bound: Option<Bound>,
    /// Its coverage.
    pub coverage: Coverage,
    /// Whether the measurement came from the cache.
    pub cached: bool,
}

/// One side of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideView {
    /// The class there.
    pub class: Class,
    /// The vector there, over that tree's orders.
    pub vector: OutcomeVector,
}

/// What the patch did to one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindingView {
    /// The test.
    pub id: TestId,
    /// What.
    pub finding: Finding,
    /// What follows.
    pub action: Action,
    /// On base; `None` for a new test.
    pub base: Option<SideView>,
    /// On patched; `None` for a removed test.
    pub patched: Option<SideView>,
    /// Why we believe it.
    pub witness: Witness,
    /// The number of its [`Cause`].
    pub cause: u32,
    /// How it fails; index into the candidate's `failures`.
    pub failure: Option<usize>,
    /// What remains open, for `inconclusive`, and remarks; a clause each.
    pub notes: Vec<String>,
    /// What the ledger says of it, where it has an entry.
    pub listed: Option<ListedView>,
    /// What to type next, where that is known already: from a stored report.
    pub next: Option<Vec<String>>,
}

/// A test that may be cited for the patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceView {
    /// The test.
    pub id: TestId,
    /// Whether it failed before the patch: the strongest evidence.
    pub repaired: bool,
}

/// A test that may not, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotEvidenceView {
    /// The test.
    pub id: TestId,
    /// One clause: `order-sensitive on both trees`, `skipped in every order`.
    pub why: String,
}

/// One patch, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateView {
    /// The patched tree.
    pub patched: TreeDescription,
    /// The verdict.
    pub verdict: VerdictOutcome,
    /// The findings, the gravest first.
    pub findings: Vec<FindingView>,
    /// Distinct failures; findings point here.
    pub failures: Vec<FailureView>,
    /// Findings that go together; members index `findings`. See [`CandidateView::group`].
    pub causes: Vec<Cause>,
    /// Tests that may be cited, in default order.
    pub evidence: Vec<EvidenceView>,
    /// Tests that may not.
    pub not_evidence: Vec<NotEvidenceView>,
    /// The touched tests that were put before and behind all others.
    pub starred: Vec<TestId>,
    /// Those that were not.
    pub not_starred: Vec<TestId>,
    /// Set when not all that was planned was run.
    pub incomplete: Option<Incomplete>,
    /// What judging it cost, base not included.
    pub cost: Cost,
}

/// A base and the patches judged against it.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckView {
    /// Whose tests.
    pub project: Project,
    /// What ran them.
    pub environment: Environment,
    /// What differs between the environments of the trees, when that was allowed.
    pub environment_drift: Vec<String>,
    /// How runs got their interpreter.
    pub executor: ExecutorView,
    /// What kept them apart.
    pub sandbox: SandboxView,
    /// What was switched off.
    pub switched_off: Vec<SwitchedOff>,
    /// Declared order that was kept: how many constraints.
    pub constraints: usize,
    /// The tree before.
    pub base: TreeDescription,
    /// The patches, the best first.
    pub candidates: Vec<CandidateView>,
    /// Where the method is weak here.
    pub weaknesses: Vec<Weakness>,
    /// How many orders came from an earlier sweep.
    pub resumed: usize,
    /// The store's id of the check.
    pub check: Option<String>,
    /// What all of it cost.
    pub cost: Cost,
    /// The exit code that the process will end with.
    pub exit_code: u8,
    /// How we were called.
    pub invocation: Invocation,
}

impl CheckView {
    /// What a reader may want to type next about a finding; nothing where all is well.
    pub fn next(&self, finding: &FindingView) -> Vec<String> {
        if let Some(next) = &finding.next {
            return next.clone();
        }
        if finding.action.is_evidence() {
            return Vec::new();
        }
        let sides = [&finding.patched, &finding.base];
        let order_sensitive = sides.into_iter().flatten().any(|side| side.class == Class::OrderSensitive);
        command::next(
            &self.invocation,
            &self.environment.interpreter,
            &finding.witness,
            &finding.id,
            order_sensitive,
        )
    }
}
