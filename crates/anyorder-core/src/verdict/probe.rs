//! What a state machine asks to be run, and the answer to it.

use std::collections::BTreeMap;
use std::fmt;

use crate::model::{Executor, OrderLabel, Outcome, RunRecord, Signature, Suite, TestId, TestIx, TestResult};

use super::sweep::culprit_of;

/// One of the two trees that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Before the change.
    Base,
    /// After it.
    Patched,
}

impl Side {
    /// The word for it: `base`, `patched`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Patched => "patched",
        }
    }
}

/// Names a probe between `next_probe` and `observe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProbeId(pub u32);

/// Which tests of the order are run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Selection {
    /// All of the tree's tests.
    All,
    /// The tests that both trees have.
    Common,
    /// These; with the label `alone`, each in a run of its own.
    Only(Vec<TestId>),
    /// Just these, in this sequence; those that the tree lacks are left out.
    Sequence(Vec<TestId>),
}

/// Why something is run: for progress and for the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// The same order again: order or chance?
    SameOrder,
    /// Another test ended the process in this order; these tests were never reached.
    Unreached,
    /// A failing order in a fresh interpreter on the tree where it failed.
    Confirm,
    /// The same on the other tree.
    CrossReplay,
    /// With the tests that both trees have only.
    WithoutNewTests,
    /// A new test by itself.
    Alone,
    /// An order in which it passed.
    PassingOrder,
    /// Which tests before it matter.
    Minimise,
    /// A touched test before or behind each other test.
    Star,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SameOrder => "the same order again, to tell order from chance",
            Self::Unreached => "again, for the tests that a crash kept from running",
            Self::Confirm => "a failing order again, in a fresh interpreter",
            Self::CrossReplay => "the same order on the other tree",
            Self::WithoutNewTests => "the same order with the tests that both trees have",
            Self::Alone => "the test by itself",
            Self::PassingOrder => "an order in which it passed",
            Self::Minimise => "fewer tests, to see which of them matter",
            Self::Star => "one test before another, around what the patch touches",
        })
    }
}

/// A test to be run in a child of its own in the middle of a probe's run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProbePeek {
    /// After how many tests of the sequence.
    pub after: usize,
    /// The test.
    pub test: TestId,
}

/// One thing to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// To be given back with the answer.
    pub id: ProbeId,
    /// The tree to run on.
    pub side: Side,
    /// The order.
    pub label: OrderLabel,
    /// The tree whose order it is: the label is resolved on that tree's suite, and the tests that `side` lacks or
    /// `tests` leaves out are dropped. Makes no difference for keyed orders.
    pub order_of: Side,
    /// Which tests.
    pub tests: Selection,
    /// Whether tests behind the last watched one may be left out: nothing that runs later matters to it.
    pub may_stop: bool,
    /// Children to be forked on the way; only in a `Sequence` run by `Fork`. Sorted by place.
    pub peeks: Vec<ProbePeek>,
    /// How the run must get its interpreter.
    pub executor: Executor,
    /// Which run of this order on this tree with these tests it is, from 1: the key under which it can be stored.
    pub attempt: u32,
    /// The tests whose outcomes are waited for.
    pub watch: Vec<TestId>,
    /// Why.
    pub why: Why,
}

/// One watched test in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What became of it.
    pub outcome: Outcome,
    /// How its failure looked.
    pub signature: Option<Signature>,
    /// The test that ended the process before this one was reached.
    pub unreached_because_of: Option<TestId>,
}

/// What came of a probe. The default, in which nothing was seen, stands for a probe that could not be run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    seen: BTreeMap<TestId, Seen>,
    peeks: BTreeMap<(usize, TestId), Seen>,
}

impl Answer {
    /// The answer that a single run gives.
    pub fn from_run(suite: &Suite, run: &RunRecord, watch: &[TestId]) -> Self {
        let mut answer = Self::default();
        answer.add_run(suite, run, watch);
        answer
    }

    /// Adds what a run says about watched tests; `suite` is that of the run's tree.
    pub fn add_run(&mut self, suite: &Suite, run: &RunRecord, watch: &[TestId]) {
        let culprit = culprit_of(run);
        let watched: BTreeMap<TestIx, &TestId> =
            watch.iter().filter_map(|id| suite.find(id).map(|ix| (ix, id))).collect();
        let seen = |result: &TestResult| {
            let because = culprit.filter(|&c| result.outcome == Outcome::Absent && c != result.test);
            Seen {
                outcome: result.outcome,
                signature: result.failure.as_ref().map(|f| f.signature.clone()),
                unreached_because_of: because.map(|c| suite.id(c).clone()),
            }
        };
        for result in &run.results {
            let Some(&id) = watched.get(&result.test) else { continue };
            self.seen.insert(id.clone(), seen(result));
        }
        for peek in &run.peeks {
            self.peeks.insert((peek.after, suite.id(peek.result.test).clone()), seen(&peek.result));
        }
    }

    /// Adds what a child showed.
    pub fn add_peek(&mut self, after: usize, test: TestId, seen: Seen) {
        self.peeks.insert((after, test), seen);
    }

    /// Adds one test's outcome.
    pub fn add(&mut self, test: TestId, seen: Seen) {
        self.seen.insert(test, seen);
    }

    /// What was seen of a test in a child that was forked after so many tests.
    pub fn peek(&self, after: usize, test: &TestId) -> Option<&Seen> {
        self.peeks.get(&(after, test.clone()))
    }

    /// What was seen of a test.
    pub fn of(&self, test: &TestId) -> Option<&Seen> {
        self.seen.get(test)
    }
}
