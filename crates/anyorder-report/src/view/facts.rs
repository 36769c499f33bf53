//! What reports of a run and of a check have in common.

use std::time::Duration;

use anyorder_core::model::{Excerpt, Executor, OrderLabel, Outcome, OutcomeVector, Phase, TestId, Tree};
use anyorder_core::{order, stats};

/// Whose tests were run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Project {
    /// Its name: usually that of the folder or of `pyproject.toml`.
    pub name: String,
    /// Its top folder, as shown to the user.
    pub root: String,
}

/// The interpreter and what runs in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// Path of the interpreter.
    pub interpreter: String,
    /// `3.11.7`.
    pub python: String,
    /// `cpython`, `pypy`.
    pub implementation: String,
    /// `linux-x86_64`.
    pub platform: String,
    /// Version of pytest.
    pub pytest: String,
    /// Plugins that were loaded, with their versions.
    pub plugins: Vec<(String, String)>,
    /// Digest over all of it, lock files and distributions included.
    pub fingerprint: String,
}

/// The executor that was used, and why not another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutorView {
    /// Which.
    pub executor: Executor,
    /// Why, in words: `asked for`, `thread "poller" is alive after collection`.
    pub why: Option<String>,
}

/// What kept runs apart on disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxView {
    /// `overlay`, `tmp`, `none`.
    pub mode: String,
    /// Why not a stronger one.
    pub why: Option<String>,
}

/// Something of the user's configuration that was not in force while measuring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchedOff {
    /// What: `pytest-xdist`.
    pub what: String,
    /// How: `` `-n auto` ignored ``.
    pub how: String,
    /// Where it stood: `addopts`.
    pub whence: String,
}

/// How the run of an order ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndingView {
    /// Every test ran.
    Completed,
    /// The process died.
    Crashed {
        /// The test in which it died.
        culprit: Option<TestId>,
        /// Signal or exit code in words.
        how: String,
    },
    /// A test or the run took longer than allowed.
    TimedOut {
        /// The test that was running.
        culprit: Option<TestId>,
    },
    /// The executed order was not the one asked for.
    OutOfOrder {
        /// The position at which they part, from 0.
        position: usize,
    },
    /// Stopped by the user or by policy while it ran.
    Interrupted,
    /// Planned, never started.
    NotRun,
}

impl EndingView {
    /// The word for it, as in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Crashed { .. } => "crashed",
            Self::TimedOut { .. } => "timed_out",
            Self::OutOfOrder { .. } => "out_of_order",
            Self::Interrupted => "interrupted",
            Self::NotRun => "not_run",
        }
    }
}

/// One column of a matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderView {
    /// Its name.
    pub label: OrderLabel,
    /// Wall time; of all its runs together for `alone`.
    pub duration: Option<Duration>,
    /// Fixtures set up, where the runner counts them.
    pub fixture_setups: Option<u32>,
    /// How it ended.
    pub ending: EndingView,
    /// The store's id of the run, for `anyorder replay`.
    pub run: Option<String>,
    /// Whether it was measured in an earlier, interrupted sweep or taken from the cache.
    pub reused: bool,
}

impl OrderView {
    /// An order that ran to its end in `duration`.
    pub fn completed(label: OrderLabel, duration: Duration) -> Self {
        Self {
            label,
            duration: Some(duration),
            fixture_setups: None,
            ending: EndingView::Completed,
            run: None,
            reused: false,
        }
    }
}

/// One distinct way in which a test went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureView {
    /// The part of the test that failed, where known.
    pub phase: Option<Phase>,
    /// Exception type and raising line.
    pub signature: String,
    /// The runner's own account; untrusted.
    pub text: Excerpt,
}

/// What one order showed of one test on one tree, over all its runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The order.
    pub order: OrderLabel,
    /// The tree, where there are two.
    pub tree: Option<Tree>,
    /// One outcome a run of this order, the sweep's own first.
    pub outcomes: OutcomeVector,
    /// How many of the runs had an interpreter of their own.
    pub fresh: u32,
    /// Whether only the tests that both trees have were run.
    pub common_only: bool,
    /// The store's id of one of the runs, for `anyorder replay`.
    pub run: Option<String>,
    /// The tests of a short order, in sequence, up to the one it is about; empty for orders that a label makes.
    pub tests: Vec<TestId>,
    /// Flags with which `anyorder replay` reaches the tree, where that is not the working tree.
    pub flags: Vec<String>,
}

impl Seen {
    /// How many of the runs passed.
    pub fn passed(&self) -> usize {
        self.outcomes.0.iter().filter(|o| o.passed()).count()
    }

    /// How many runs there were.
    pub fn runs(&self) -> usize {
        self.outcomes.0.len()
    }

    /// The outcome of the first run that did not pass.
    pub fn not_passed(&self) -> Option<Outcome> {
        self.outcomes.0.iter().copied().find(|o| !o.passed())
    }
}

/// Why we believe it: the orders to look at, the most telling first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Witness {
    /// What was seen.
    pub seen: Vec<Seen>,
    /// The shortest order known that shows it, in order.
    pub minimal_order: Vec<TestId>,
}

/// Tests (or findings) that go wrong together, through one cause as far as is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    /// Number in this report, from 1.
    pub number: u32,
    /// Indices into the report's `tests` (run) or `findings` (check), the one to show first.
    pub members: Vec<usize>,
    /// What is known about it beyond the witness of its first member, in one sentence.
    pub because: Option<String>,
}

/// The upper limit, at 95 %, of the chance that one more order fails (METHODS A4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Independent seeds that were run to their end; mirrored orders don't count.
    pub independent_seeds: u32,
    /// In how many of them an order-sensitive test failed.
    pub failing: u32,
    /// Upper end of the 95 % interval, a share; 1 without seeds.
    pub upper95: f64,
    /// Lower end of the two-sided interval, a share; 0 without failures.
    pub lower95: f64,
    /// The rule of three, 3/N, where there is no failure and at least 3 seeds; a share.
    pub rule_of_three: Option<f64>,
    /// A victim with this many cleaners or more could still be there.
    pub victim_cleaners: Option<u32>,
    /// A brittle test with this many state-setters or more could still be there.
    pub brittle_setters: Option<u32>,
    /// Whether every test was run alone, which excludes such brittle tests.
    pub isolated: bool,
}

impl Bound {
    /// The bound of a sweep; `isolated` when every test was run alone.
    pub fn of(bound: &stats::Bound, isolated: bool) -> Self {
        let not_excluded = bound.not_excluded.filter(|_| bound.independent_seeds > 0);
        Self {
            independent_seeds: bound.independent_seeds,
            failing: bound.failing,
            upper95: bound.upper95,
            lower95: bound.interval95.0,
            rule_of_three: (bound.failing == 0 && bound.independent_seeds >= 3)
                .then_some(bound.rule_of_three),
            victim_cleaners: not_excluded.map(|n| n.victim_cleaners),
            brittle_setters: not_excluded.and_then(|n| n.brittle_setters),
            isolated,
        }
    }
}

/// Which share of pairs of tests the sweep has exercised, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Coverage {
    /// One somewhere before the other.
    pub ordered_pairs: f64,
    /// One directly before the other.
    pub adjacent_pairs: f64,
    /// Whether `ordered_pairs` was counted over a sample of the tests.
    pub sampled: bool,
}

impl From<order::Coverage> for Coverage {
    fn from(coverage: order::Coverage) -> Self {
        Self {
            ordered_pairs: coverage.ordered_pairs,
            adjacent_pairs: coverage.adjacent_pairs,
            sampled: matches!(coverage.basis, order::Basis::Sampled { .. }),
        }
    }
}

/// Where the method is weak on this suite.
#[derive(Clone, Debug, PartialEq)]
pub enum Weakness {
    /// Fewer than 20 tests: few orders differ in what matters.
    FewTests {
        /// How many there are.
        tests: usize,
    },
    /// Declared sequences were kept, so that their inside was never permuted.
    DeclaredOrder {
        /// How many constraints.
        constraints: usize,
    },
    /// Tests use state outside the process that no run has for itself.
    StateOutside {
        /// What, in words.
        what: String,
    },
    /// The suite is too slow for the bound asked within the budget.
    TooSlow {
        /// The bound asked for, a share.
        asked: f64,
        /// The bound reached, a share.
        reached: f64,
    },
    /// Anything else, one sentence.
    Other(String),
}

/// Why a report is not the whole of what was planned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Incomplete {
    /// In words: `interrupted`, `budget of 300 s spent`.
    pub why: String,
    /// Orders (or replays) that were planned and not run.
    pub missing: u32,
    /// Whether `--resume` goes on from here.
    pub resumable: bool,
}

/// What it cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Wall time of everything.
    pub wall: Duration,
    /// Full orders run, reruns and replays included; runs of single tests not.
    pub runs: u32,
    /// Reruns and replays among them.
    pub replays: u32,
    /// All work in units of one default order.
    pub suite_equivalents: Option<f64>,
}

/// How the user called us, so that the commands we print work as they stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// What to type first; usually `anyorder`.
    pub program: String,
    /// Flags that select the same measurement, such as `--python` and its value.
    pub flags: Vec<String>,
    /// The user's arguments to pytest.
    pub pytest_args: Vec<String>,
    /// Whether `anyorder blame` exists.
    pub blame: bool,
}

impl Default for Invocation {
    fn default() -> Self {
        Self { program: "anyorder".to_owned(), flags: Vec::new(), pytest_args: Vec::new(), blame: false }
    }
}
