//! What a test is on one tree: its class, and the observations that show it.

use crate::model::{Executor, OrderLabel, Outcome, OutcomeVector, Signature, TestId, TestIx};

use super::sweep::Sweep;

/// What a test is on one tree (DESIGN section 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Passed in every order.
    StablePass,
    /// Passed in no order.
    StableFail,
    /// Skipped, or failing as declared, in every order.
    StableSkip,
    /// Its outcome follows the order, and the same order gives the same outcome again.
    OrderSensitive,
    /// Two outcomes for one order.
    Flaky,
}

impl Class {
    /// The word for it, as in reports and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::StablePass => "stable_pass",
            Self::StableFail => "stable_fail",
            Self::StableSkip => "stable_skip",
            Self::OrderSensitive => "order_sensitive",
            Self::Flaky => "flaky",
        }
    }

    /// Whether the outcome was the same in every order.
    pub fn is_stable(self) -> bool {
        matches!(self, Self::StablePass | Self::StableFail | Self::StableSkip)
    }
}

/// What an outcome says, from best to worst. Two outcomes of one kind are no contradiction: a test that fails now in
/// its call and now in its teardown fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Passed.
    Pass,
    /// Passed although declared to fail.
    Xpass,
    /// Skipped, or failed as declared: nothing either way.
    Skip,
    /// Failed, error or timeout.
    Bad,
    /// The process died in it, or it is absent without an explanation.
    Gone,
}

impl Kind {
    /// The kind of an outcome that nothing disturbed.
    pub fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Passed => Self::Pass,
            Outcome::Xpassed => Self::Xpass,
            Outcome::Skipped | Outcome::Xfailed => Self::Skip,
            Outcome::Failed | Outcome::Error | Outcome::Timeout => Self::Bad,
            Outcome::Crashed | Outcome::Absent => Self::Gone,
        }
    }

    /// The class of a test that shows this kind in every order.
    pub fn stable_class(self) -> Class {
        match self {
            Self::Pass => Class::StablePass,
            Self::Xpass | Self::Skip => Class::StableSkip,
            Self::Bad | Self::Gone => Class::StableFail,
        }
    }

    /// The worst outcome that a failing order has to reach, among the kinds a test showed: a crash counts as a failure,
    /// except where the alternative is a failure too.
    pub fn threshold(kinds: impl IntoIterator<Item = Self> + Clone) -> Option<Self> {
        let worst = kinds.clone().into_iter().max()?;
        let best = kinds.into_iter().min()?;
        Some(if worst == Self::Gone && best < Self::Bad { Self::Bad } else { worst })
    }
}

/// One outcome of one test in one run of one order, kept whole.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Observation {
    /// The order.
    pub label: OrderLabel,
    /// 0 for the sweep's own run, 1 and up for reruns and replays.
    pub attempt: u32,
    /// How the run got its interpreter.
    pub executor: Executor,
    /// What became of the test.
    pub outcome: Outcome,
    /// The test was never reached because another one ended the process: says nothing (PROMISES I5).
    pub disturbed: bool,
    /// What the failure looks like, where it was told.
    pub signature: Option<Signature>,
}

impl Observation {
    /// What it says; `None` when it was disturbed.
    pub fn kind(&self) -> Option<Kind> {
        (!self.disturbed).then(|| Kind::of(self.outcome))
    }
}

/// The orders that show why a test is not stable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClassWitness {
    /// Each of the two orders gave the same outcome again and again.
    Order {
        /// The order with the worse outcome.
        failing: OrderLabel,
        /// The order with the better outcome.
        passing: OrderLabel,
    },
    /// This one order gave two outcomes.
    Chance {
        /// The order.
        order: OrderLabel,
    },
}

/// The class of one test, with what shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestClass {
    /// Its class.
    pub class: Class,
    /// Whether the reruns sufficed. `false` only for a test with differing outcomes whose reruns ended early; its
    /// class is then `order_sensitive` for want of a better word, and must be called unsettled.
    pub settled: bool,
    /// The orders that show it; none for a stable class or an unsettled one.
    pub witness: Option<ClassWitness>,
    /// The reruns of the same order that this test was watched in, by order and attempt. The sweep's own outcomes
    /// are in its matrix.
    pub reruns: Vec<Observation>,
    /// Orders of the sweep in which another test ended the process before this one, and no rerun made up for it.
    pub unreached: Vec<OrderLabel>,
    /// In at least one order fork always said one thing and fresh always another: the cause is outside the process.
    pub executors_disagree: bool,
}

/// The classes of all tests of one tree, by [`TestIx`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classes(pub(super) Vec<TestClass>);

impl Classes {
    /// The class of a test; `None` outside the suite.
    pub fn get(&self, test: TestIx) -> Option<&TestClass> {
        self.0.get(test.get())
    }

    /// All tests with their classes, in default order.
    pub fn iter(&self) -> impl Iterator<Item = (TestIx, &TestClass)> {
        (0u32..).map(TestIx).zip(&self.0)
    }

    /// The tests of one class, in default order.
    pub fn of(&self, class: Class) -> impl Iterator<Item = TestIx> + '_ {
        self.iter().filter(move |(_, c)| c.class == class).map(|(ix, _)| ix)
    }
}

/// What was measured on one tree: the sweep and the classes that followed from it.
#[derive(Clone, Debug)]
pub struct TreeResult {
    /// The sweep.
    pub sweep: Sweep,
    /// The classes of its tests.
    pub classes: Classes,
    /// How many reruns of the same order the classes took.
    pub reruns: u32,
}

impl TreeResult {
    /// Class and outcome vector of a test, if this tree has it.
    pub fn of(&self, id: &TestId) -> Option<(&TestClass, OutcomeVector)> {
        let ix = self.sweep.suite().find(id)?;
        Some((self.classes.get(ix)?, self.sweep.matrix().vector(ix)))
    }
}
