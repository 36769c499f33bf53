//! A verdict, and what shows each of its findings.

use std::collections::BTreeMap;

use crate::model::{Executor, OrderLabel, OutcomeVector, Signature, TestId};

use super::class::{Class, Kind, Observation};
use super::finding::{Action, Finding};
use super::probe::Side;

/// A counterfactual of one order (METHODS B2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arm {
    /// Base tree, all of base's tests: D.
    BaseFull,
    /// Base tree, tests that both trees have: A.
    BaseCommon,
    /// Patched tree, tests that both trees have: B.
    PatchedCommon,
    /// Patched tree, all of its tests: C.
    PatchedFull,
}

impl Arm {
    /// METHODS' letter for it.
    pub fn letter(self) -> char {
        match self {
            Self::BaseFull => 'D',
            Self::BaseCommon => 'A',
            Self::PatchedCommon => 'B',
            Self::PatchedFull => 'C',
        }
    }

    /// The tree it runs on.
    pub fn side(self) -> Side {
        match self {
            Self::BaseFull | Self::BaseCommon => Side::Base,
            Self::PatchedCommon | Self::PatchedFull => Side::Patched,
        }
    }
}

/// What one test did in one order under one arm. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArmRow {
    arm: Arm,
    label: OrderLabel,
    observations: Vec<Observation>,
}

impl ArmRow {
    /// A row, unless there is nothing to show. Observations are put in order of attempt, the sweep's own first.
    pub(super) fn new(arm: Arm, label: OrderLabel, mut observations: Vec<Observation>) -> Option<Self> {
        observations.sort();
        (!observations.is_empty()).then_some(Self { arm, label, observations })
    }

    /// Which arm.
    pub fn arm(&self) -> Arm {
        self.arm
    }

    /// Which order.
    pub fn label(&self) -> &OrderLabel {
        &self.label
    }

    /// All runs of it: the sweep's own, same-order reruns, replays.
    pub fn observations(&self) -> &[Observation] {
        &self.observations
    }

    /// How many of the undisturbed runs did not pass, and how many there were.
    pub fn not_passed(&self) -> (usize, usize) {
        let kinds: Vec<Kind> = self.observations.iter().filter_map(Observation::kind).collect();
        (kinds.iter().filter(|k| **k != Kind::Pass).count(), kinds.len())
    }

    /// The outcomes of one executor's runs, a letter a run.
    pub fn outcomes(&self, executor: Executor) -> OutcomeVector {
        OutcomeVector(
            self.observations.iter().filter(|o| o.executor == executor).map(|o| o.outcome).collect(),
        )
    }
}

/// What shows a finding. It holds at least one observation: there is no finding without a witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    failing: Option<OrderLabel>,
    passing: Option<OrderLabel>,
    first: ArmRow,
    rest: Vec<ArmRow>,
}

impl Witness {
    pub(super) fn new(
        failing: Option<OrderLabel>,
        passing: Option<OrderLabel>,
        rows: Vec<ArmRow>,
    ) -> Option<Self> {
        let mut rows = rows.into_iter();
        Some(Self { failing, passing, first: rows.next()?, rest: rows.collect() })
    }

    /// The order that fails; none where nothing fails (a test that is gone, say).
    pub fn failing(&self) -> Option<&OrderLabel> {
        self.failing.as_ref()
    }

    /// An order that passes on the same tree.
    pub fn passing(&self) -> Option<&OrderLabel> {
        self.passing.as_ref()
    }

    /// The observations, by arm and order.
    pub fn rows(&self) -> impl Iterator<Item = &ArmRow> {
        std::iter::once(&self.first).chain(&self.rest)
    }

    /// The different failures seen, each once, sorted.
    pub fn signatures(&self) -> Vec<&Signature> {
        let mut all: Vec<&Signature> =
            self.rows().flat_map(|r| &r.observations).filter_map(|o| o.signature.as_ref()).collect();
        all.sort();
        all.dedup();
        all
    }
}

/// What a coupled test lacks or suffers from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Passes alone, fails after a polluter.
    Victim,
    /// Fails alone, passes after a state-setter.
    Brittle,
}

impl Role {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Victim => "victim",
            Self::Brittle => "brittle",
        }
    }
}

/// Something to be said beside a finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Note {
    /// Replays ended before a decision: budget spent, or the caller gave up.
    BudgetSpent,
    /// Forked runs fail, fresh ones pass, or the other way round: the cause is outside the process.
    ExecutorsDisagree,
    /// Never reached in some orders because this test ended the process.
    Unreached {
        /// The test that was running when the process ended.
        culprit: TestId,
    },
    /// The process ended while this very test ran.
    EndsTheProcess,
    /// Not on the patched tree, but a new test there looks like it.
    MovedTo(TestId),
    /// Failed on base in every order, and passes on patched in some orders only.
    PartlyRepaired,
    /// Skipped on the patched tree.
    SkippedOnPatched,
    /// Not collected on the patched tree.
    GoneOnPatched,
    /// Judged by what was found about this test: same file, same failure in the same orders.
    SameAs(TestId),
    /// Its class on this tree was not settled by reruns.
    ClassUnsettled(Side),
}

/// A test on one tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideData {
    /// Its class there.
    pub class: Class,
    /// Its outcomes over that tree's sweep.
    pub vector: OutcomeVector,
}

/// What is found about one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The test.
    pub test: TestId,
    /// What is found.
    pub finding: Finding,
    /// What follows.
    pub action: Action,
    /// What it is on base, if base has it.
    pub base: Option<SideData>,
    /// What it is on patched, if patched has it.
    pub patched: Option<SideData>,
    /// Victim or brittle, where the finding is a coupling and the test ran alone.
    pub role: Option<Role>,
    /// Whether the patch touches it.
    pub touched: bool,
    /// Further remarks, sorted.
    pub notes: Vec<Note>,
    /// What shows it.
    pub witness: Witness,
    /// Findings with the same number have the same cause as far as can be told; from 1, in order of gravity.
    pub cause: u32,
}

/// The whole verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VerdictOutcome {
    /// Nothing speaks against the patch.
    Accept,
    /// A person must look.
    Review,
    /// The patch must not be merged as it is.
    Block,
}

impl VerdictOutcome {
    /// What findings and evidence together lead to: the gravest action decides, and where nothing speaks against a patch
    /// and nothing for it, a person must look.
    pub fn of(findings: &[Judgement], evidence: &[TestId]) -> Self {
        match findings.iter().map(|j| j.action).max() {
            Some(Action::Block) => Self::Block,
            Some(Action::Review) => Self::Review,
            _ if evidence.is_empty() => Self::Review,
            _ => Self::Accept,
        }
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Review => "review",
            Self::Block => "block",
        }
    }
}

/// How much was run again to reach the verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replays {
    /// Replays of an order on base.
    pub base: u32,
    /// Replays of an order on patched.
    pub patched: u32,
    /// Of those, how many ran single tests only.
    pub alone: u32,
}

/// What is decided about a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The whole verdict: the gravest action among the findings.
    pub outcome: VerdictOutcome,
    /// The findings, gravest action first, then by cause and in default order.
    pub findings: Vec<Judgement>,
    /// The tests that may be cited for the patch, in default order of the patched tree.
    pub evidence: Vec<TestId>,
    /// Tests without a finding that say nothing: skipped on patched, or never passing on base and gone.
    pub silent: Vec<TestId>,
    /// How much was run again.
    pub replays: Replays,
    /// How many findings were left undecided because the replays ended.
    pub undecided: usize,
    /// The short orders that witnesses name, each with its tests in sequence.
    pub sequences: BTreeMap<OrderLabel, Vec<TestId>>,
    /// The touched tests that were put before and behind all others, and those that were not.
    pub star: StarCover,
}

/// Around which tests the star sweep was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StarCover {
    /// These were put before and behind all others.
    pub covered: Vec<TestId>,
    /// These were not.
    pub left_out: Vec<TestId>,
}
