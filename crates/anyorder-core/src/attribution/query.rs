//! What attribution asks to be run, and the answer to it.

use std::fmt;

use crate::model::{Executor, Outcome, PeekAt, RunRecord, Suite, TestIx};

/// Names a query between `next_query` and `observe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueryId(pub u32);

/// What the interpreter collects before it runs anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Collect {
    /// The whole suite.
    All,
    /// Only the file of this test: what other files do when they are imported is not done.
    FileOf(TestIx),
}

/// Why something is run: for progress and for the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// The test by itself.
    Alone,
    /// A set that hits one test, before the others that are not explained.
    KnownSet,
    /// The search for what hits a test.
    Search,
    /// One test before all that are looked at.
    Matrix,
    /// The failing order in a fresh interpreter, as it does not fail in a forked one.
    OtherExecutor,
    /// The minimal order in a fresh interpreter, with and without what hits.
    Certificate,
    /// What undoes it.
    Cleaner,
    /// The test at each place of a failing order.
    Timeline,
    /// A module imported before the test.
    Import,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Alone => "the test by itself",
            Self::KnownSet => "a known polluter before the other tests",
            Self::Search => "looking for what changes the test's outcome",
            Self::Matrix => "one test before all that are looked at",
            Self::OtherExecutor => "the failing order in a fresh interpreter",
            Self::Certificate => "the minimal order in fresh interpreters, with and without",
            Self::Cleaner => "looking for what undoes it",
            Self::Timeline => "the test at each place of a failing order",
            Self::Import => "a module imported before the test",
        })
    }
}

/// One thing to run.
///
/// An interpreter collects, imports `imports` in their sequence, and runs `tests`, then `tail`. What is waited for: each peek,
/// and each test of the tail. Peeks are asked for in forked interpreters only; then, or in a sequence of a single test, the
/// tail is usually empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// To be given back with the answer.
    pub id: QueryId,
    /// Names what is run, the same in each process that knows the suite; with `attempt` the key under which the answer can
    /// be stored. Equal queries of different attempts have equal keys.
    pub key: String,
    /// Which run of this key it is, from 1.
    pub attempt: u32,
    /// How the run must get its interpreter.
    pub executor: Executor,
    /// What is collected.
    pub collect: Collect,
    /// Modules imported before the first test.
    pub imports: Vec<String>,
    /// The tests before, each at most once.
    pub tests: Vec<TestIx>,
    /// Tests to peek at on the way, by rising place.
    pub peeks: Vec<PeekAt>,
    /// Tests that are run behind them and waited for.
    pub tail: Vec<TestIx>,
    /// Why.
    pub why: Why,
}

impl Query {
    /// The whole sequence to run: the tests before, then the tail.
    pub fn sequence(&self) -> Vec<TestIx> {
        [self.tests.as_slice(), &self.tail].concat()
    }

    /// How many tests it executes, peeks included.
    pub fn cost(&self) -> u64 {
        (self.tests.len() + self.tail.len() + self.peeks.len()) as u64
    }

    pub(super) fn named(mut self, suite: &Suite) -> Self {
        let mut hash = blake3::Hasher::new();
        let mut part = |text: &str| {
            hash.update(&(text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        let id = |ix: TestIx| suite.tests().get(ix.get()).map(|t| t.id.to_string()).unwrap_or_default();
        part(self.executor.word());
        part(&match self.collect {
            Collect::All => String::new(),
            Collect::FileOf(ix) => id(ix),
        });
        for (word, count) in
            [("imports", self.imports.len()), ("tests", self.tests.len()), ("tail", self.tail.len())]
        {
            part(word);
            part(&count.to_string());
        }
        self.imports.iter().for_each(|module| part(module));
        self.tests.iter().chain(&self.tail).for_each(|ix| part(&id(*ix)));
        for peek in &self.peeks {
            part(&peek.after.to_string());
            part(&id(peek.test));
        }
        hash.finalize().to_hex()[..32].clone_into(&mut self.key);
        self
    }
}

/// What came of a query: an outcome for each of its peeks, in their sequence, then for each test of its tail. `None` where
/// nothing is known: never reached, or ended by another test. The default stands for a query that could not be run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The outcomes.
    pub outcomes: Vec<Option<Outcome>>,
}

impl Answer {
    /// The answer that a run of the query's sequence with its peeks gives.
    pub fn from_run(query: &Query, run: &RunRecord) -> Self {
        let told = |outcome: Outcome| (outcome != Outcome::Absent).then_some(outcome);
        let peek = |at: &PeekAt| {
            let of = run.peeks.iter().find(|p| p.after == at.after && p.result.test == at.test);
            of.and_then(|p| told(p.result.outcome))
        };
        let tail = |test: &TestIx| run.outcome_of(*test).and_then(told);
        Self { outcomes: query.peeks.iter().map(peek).chain(query.tail.iter().map(tail)).collect() }
    }
}
