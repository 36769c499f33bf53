//! What `anyorder run` reports.

use anyorder_core::model::{OutcomeVector, TestId};
use anyorder_core::verdict::Class;

use super::facts::{
    Bound, Cause, Cost, Coverage, Environment, ExecutorView, FailureView, Incomplete, Invocation, OrderView,
    Project, SandboxView, SwitchedOff, Weakness, Witness,
};
use super::ledger::ListedView;
use crate::command;

/// Which failure a test had in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureAt {
    /// Index into the report's `orders`.
    pub order: usize,
    /// Index into the report's `failures`.
    pub failure: usize,
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestView {
    /// Its id.
    pub id: TestId,
    /// What its vector says.
    pub class: Class,
    /// One outcome an order.
    pub vector: OutcomeVector,
    /// How it failed, where it did.
    pub failures: Vec<FailureAt>,
    /// Why we believe its class; empty for stable tests.
    pub witness: Witness,
    /// Remarks, a clause each.
    pub notes: Vec<String>,
    /// What the ledger says of it, where it was found wanting and has an entry.
    pub listed: Option<ListedView>,
}

/// One tree under many orders.
#[derive(Clone, Debug, PartialEq)]
pub struct RunView {
    /// Whose tests.
    pub project: Project,
    /// Name of the tree: a revision, `working tree`.
    pub tree: String,
    /// What ran them.
    pub environment: Environment,
    /// How runs got their interpreter.
    pub executor: ExecutorView,
    /// What kept them apart.
    pub sandbox: SandboxView,
    /// What was switched off.
    pub switched_off: Vec<SwitchedOff>,
    /// Declared order that was kept: how many constraints.
    pub constraints: usize,
    /// The columns.
    pub orders: Vec<OrderView>,
    /// The rows, in default order.
    pub tests: Vec<TestView>,
    /// Distinct failures; `tests` point here.
    pub failures: Vec<FailureView>,
    /// Tests that go wrong together; members index `tests`. See [`RunView::group`].
    pub causes: Vec<Cause>,
    /// The bound.
    pub bound: Bound,
    /// The coverage.
    pub coverage: Coverage,
    /// Where the method is weak here.
    pub weaknesses: Vec<Weakness>,
    /// Set when not all that was planned was run.
    pub incomplete: Option<Incomplete>,
    /// How many orders came from an earlier sweep.
    pub resumed: usize,
    /// The store's id of the sweep.
    pub sweep: Option<String>,
    /// What it cost.
    pub cost: Cost,
    /// The exit code that the process will end with.
    pub exit_code: u8,
    /// How we were called.
    pub invocation: Invocation,
}

impl RunView {
    /// What a reader may want to type next about a test.
    pub fn next(&self, test: &TestView) -> Vec<String> {
        let order_sensitive = test.class == Class::OrderSensitive;
        if test.class == Class::StableFail && test.id.occurrence() == 1 && test.id.raw().contains("::") {
            // It needs no order to be seen.
            return vec![command::plain_pytest(&self.environment.interpreter, &test.id)];
        }
        command::next(
            &self.invocation,
            &self.environment.interpreter,
            &test.witness,
            &test.id,
            order_sensitive,
        )
    }
}
