//! What attribution starts from.

use std::collections::BTreeMap;

use crate::model::{Order, OrderLabel, Outcome, Suite, TestIx};
use crate::order::Constraints;
use crate::search;
use crate::verdict::{Cell, Sweep, TreeResult};

/// One order that was run, with what is known of its tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenOrder {
    /// The tests as they ran, and the outcome of each where it says something about it: a test that was never reached
    /// because another one ended the process has none.
    pub tests: Vec<(TestIx, Option<Outcome>)>,
}

impl SeenOrder {
    /// What a sweep saw in the orders given; orders that it did not run are left out.
    pub fn of_sweep(sweep: &Sweep, orders: &[Order]) -> Vec<Self> {
        let seen = |order: &Order| {
            let column = sweep.column(order.label())?;
            let outcome = |ix: TestIx| match sweep.cell(column, ix) {
                Cell::Seen(outcome) => Some(outcome),
                Cell::Unplanned | Cell::Disturbed { .. } => None,
            };
            Some(Self { tests: order.tests().iter().map(|ix| (*ix, outcome(*ix))).collect() })
        };
        orders.iter().filter_map(seen).collect()
    }

    /// What stood before a test, and what became of it.
    pub(super) fn at(&self, test: TestIx) -> Option<(usize, Outcome)> {
        let place = self.tests.iter().position(|(ix, _)| *ix == test)?;
        Some((place, self.tests[place].1?))
    }
}

/// How much is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlameOptions {
    /// Whether interpreters may be forked: peeks, and cheap runs of few tests.
    pub forks: bool,
    /// All single predecessors are wanted, not one; by the matrix of each test before all that are looked at, or where
    /// that costs more than `matrix_limit` by groups.
    pub exhaustive: bool,
    /// The matrix may execute so many tests.
    pub matrix_limit: u64,
    /// So many candidates are tried as cleaners behind each found set; all when `exhaustive`.
    pub cleaners: usize,
    /// Whether the outcome at each place of a failing order is wanted. Needs forks.
    pub timeline: bool,
    /// Modules that may pollute when they are imported, the likeliest first.
    pub modules: Vec<String>,
    /// Runs with, and as many without, that a certificate takes (METHODS C: 5).
    pub certificate: u32,
    /// How each search spends; its `forks` is overruled by the above.
    pub search: search::Options,
    /// Searches for different tests that may go on at once. Tests that fail together are searched for one at a time.
    pub parallel: usize,
    /// No query is begun once so many tests were executed.
    pub budget: u64,
}

impl Default for BlameOptions {
    fn default() -> Self {
        Self {
            forks: true,
            exhaustive: false,
            matrix_limit: 200_000,
            cleaners: 32,
            timeline: false,
            modules: Vec::new(),
            certificate: 5,
            search: search::Options::default(),
            parallel: 1,
            budget: u64::MAX,
        }
    }
}

/// Everything an attribution starts from.
#[derive(Clone, Debug)]
pub struct BlameInput {
    /// The tree's tests.
    pub suite: Suite,
    /// The orders that were run.
    pub seen: Vec<SeenOrder>,
    /// What each test gave alone, by [`TestIx`], where it was run so.
    pub alone: Vec<Option<Outcome>>,
    /// The tests to be explained; the first are explained first.
    pub tests: Vec<TestIx>,
    /// Tests that must have run before a test, as declared, first to last: they run right before it wherever it does. Tests
    /// without any need no entry.
    pub needs: BTreeMap<TestIx, Vec<TestIx>>,
    /// How much is asked.
    pub options: BlameOptions,
}

impl BlameInput {
    /// From one tree's sweep and the sequences of its orders.
    pub fn from_tree(tree: &TreeResult, orders: &[Order], tests: Vec<TestIx>, options: BlameOptions) -> Self {
        let sweep = &tree.sweep;
        let suite = sweep.suite().clone();
        let column = sweep.column(&OrderLabel::Alone);
        let alone = |ix| match sweep.cell(column?, ix) {
            Cell::Seen(outcome) if outcome != Outcome::Absent => Some(outcome),
            Cell::Seen(_) | Cell::Unplanned | Cell::Disturbed { .. } => None,
        };
        let alone = suite.indices().map(alone).collect();
        let known = tests.into_iter().filter(|ix| ix.get() < suite.len()).collect();
        let seen = SeenOrder::of_sweep(sweep, orders);
        Self { seen, alone, tests: known, suite, needs: BTreeMap::new(), options }
    }

    /// The same with what is declared to run before each of the tests.
    #[must_use]
    pub fn with_declared(mut self, constraints: &Constraints) -> Self {
        let of =
            |test: &TestIx| Some((*test, constraints.prerequisites(*test))).filter(|(_, n)| !n.is_empty());
        self.needs = self.tests.iter().filter_map(of).collect();
        self
    }
}
