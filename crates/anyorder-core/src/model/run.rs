//! One execution of one order, with the evidence it left.

use std::sync::Arc;
use std::time::Duration;

use super::order::Order;
use super::outcome::{Outcome, Phase};
use super::suite::TestIx;

/// One state of the source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tree {
    /// Before the change.
    Base,
    /// After the change; the name of the candidate patch where several are judged.
    Patched(Option<Arc<str>>),
}

impl std::fmt::Display for Tree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Base => f.write_str("base"),
            Self::Patched(None) => f.write_str("patched"),
            Self::Patched(Some(name)) => write!(f, "patched:{name}"),
        }
    }
}

/// How a run got its interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Executor {
    /// An interpreter of its own.
    Fresh,
    /// A child forked from an interpreter that had collected.
    Fork,
}

impl Executor {
    /// The word for it: `fresh`, `fork`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Fork => "fork",
        }
    }
}

/// What a failure looks like apart from the values in it: exception type and raising line, normalised.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signature(pub Arc<str>);

/// A text of untrusted origin, cut in the middle when it is long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// Its beginning; the whole text when `total_bytes` is its length.
    pub head: String,
    /// Its end; empty when nothing was cut.
    pub tail: String,
    /// Length of the whole text in bytes.
    pub total_bytes: u64,
}

/// How a test that did not pass went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The phase in which it happened.
    pub phase: Phase,
    /// What it looks like.
    pub signature: Signature,
    /// The runner's own account.
    pub text: Excerpt,
}

/// The one record of one planned test in one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestResult {
    /// Which test.
    pub test: TestIx,
    /// What became of it.
    pub outcome: Outcome,
    /// Time from its start to its end on the monotonic clock; zero when it never started.
    pub duration: Duration,
    /// How it went wrong, where it did.
    pub failure: Option<Failure>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every test ran and the end marker came from the process that started.
    Completed,
    /// The process died: the culprit where one was running, and what is known of its death.
    Crashed {
        /// The test that was running.
        culprit: Option<TestIx>,
        /// Signal or exit code in words, such as `killed by signal 11` or `exited 0 before the end`.
        how: String,
    },
    /// A test, or the run itself, took longer than allowed and the process was ended.
    TimedOut {
        /// The test that was running.
        culprit: Option<TestIx>,
    },
    /// The executed order was not the one asked for.
    OutOfOrder {
        /// The position at which they part.
        position: usize,
    },
    /// Stopped by the user or by policy.
    Interrupted,
}

impl Ending {
    /// Whether the run went through to its end in the order asked for.
    pub fn is_complete(&self) -> bool {
        matches!(self, Self::Completed)
    }
}

/// Where in a run a test is to be peeked at: after so many tests of the order, in a child of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeekAt {
    /// How many tests of the order have run before it: 0 to the order's length.
    pub after: usize,
    /// The test.
    pub test: TestIx,
}

/// What a test did in a child that was forked in the middle of a run; the run went on as if it had not been.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peek {
    /// How many tests of the order had run before.
    pub after: usize,
    /// What came of it; absent when the run ended first.
    pub result: TestResult,
}

/// One run: exactly one [`TestResult`] for each test of its order, in executed order, absent ones last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRecord {
    /// What was asked for, and (unless `ending` says otherwise) executed.
    pub order: Order,
    /// 0 for the sweep's own run of this order, 1 and up for reruns of the same order.
    pub attempt: u32,
    /// How it got its interpreter.
    pub executor: Executor,
    /// One result a planned test.
    pub results: Vec<TestResult>,
    /// How it ended.
    pub ending: Ending,
    /// Wall time of the run.
    pub wall: Duration,
    /// How many fixtures were set up, where the runner counts them.
    pub fixture_setups: Option<u32>,
    /// One entry for each peek that was asked for, in the sequence in which they were.
    pub peeks: Vec<Peek>,
}

impl RunRecord {
    /// The outcome of a test in this run; `None` when it was not planned here.
    pub fn outcome_of(&self, test: TestIx) -> Option<Outcome> {
        self.results.iter().find(|r| r.test == test).map(|r| r.outcome)
    }

    /// Whether each planned test has exactly one record (PROMISES I1).
    pub fn is_accounted(&self) -> bool {
        let mut planned: Vec<TestIx> = self.order.tests().to_vec();
        let mut reported: Vec<TestIx> = self.results.iter().map(|r| r.test).collect();
        planned.sort_unstable();
        reported.sort_unstable();
        planned == reported
    }
}
