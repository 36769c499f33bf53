//! Judges a patch from what was measured on both trees, replaying failing orders on both before anything blocks.

use std::collections::BTreeSet;

use crate::model::{TestId, TestIx};

use super::class::{Class, TreeResult};
use super::finding::Rules;
use super::probe::{Answer, Probe, ProbeId};
use super::witness::{Replays, Verdict, VerdictOutcome};

/// What a patch touches, as far as the caller knows. New tests need not be named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TouchedTests {
    /// Tests whose own source differs, or that stand in a file that differs.
    pub tests: BTreeSet<TestId>,
}

/// How replays are spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeRules {
    /// Replays on each tree that must agree before something blocks (METHODS B3.3).
    pub confirm: u32,
    /// The same for a test that base already showed to be unstable, or that base saw in few orders.
    pub confirm_suspect: u32,
    /// Pairs of replays before a nondeterministic failure is left alone (METHODS B3.4).
    pub max_pairs: u32,
    /// No more probes than this.
    pub max_probes: u32,
    /// Whether adding or removing a test leaves the relative order of the others as it was (all shuffles but
    /// `python`); replays are then shared between trees' orders of one label.
    pub keyed_orders: bool,
}

impl Default for JudgeRules {
    fn default() -> Self {
        Self { confirm: 3, confirm_suspect: 5, max_pairs: 15, max_probes: 200, keyed_orders: true }
    }
}

/// Everything a judgement starts from.
#[derive(Clone, Debug)]
pub struct JudgeInput {
    /// What was measured on base.
    pub base: TreeResult,
    /// What was measured on patched.
    pub patched: TreeResult,
    /// What the patch touches.
    pub touched: TouchedTests,
    /// Which action follows from which finding.
    pub rules: Rules,
    /// How replays are spent.
    pub judge: JudgeRules,
}

/// The state machine that reaches a verdict.
#[derive(Clone, Debug)]
pub struct Judge {
    input: JudgeInput,
}

impl Judge {
    /// Compares both trees.
    pub fn new(input: JudgeInput) -> Self {
        Self { input }
    }

    /// The tests of a probe, in default order of the tree it runs on.
    pub fn selected(&self, _probe: &Probe) -> Vec<TestIx> {
        Vec::new()
    }

    /// What to replay next; `None` when nothing is left, or nothing until an outstanding probe is answered.
    pub fn next_probe(&mut self) -> Option<Probe> {
        None
    }

    /// Takes the answer to a probe. An id that is not outstanding is ignored.
    pub fn observe(&mut self, _id: ProbeId, _answer: &Answer) {}

    /// Asks for nothing more; what is undecided becomes `inconclusive`.
    pub fn give_up(&mut self) {}

    /// Whether nothing is outstanding and nothing will be asked.
    pub fn is_done(&self) -> bool {
        true
    }

    /// The verdict, as far as the answers go.
    pub fn finish(self) -> Verdict {
        let suite = self.input.patched.sweep.suite();
        let clean = |tree: &TreeResult| tree.classes.iter().all(|(_, c)| c.class == Class::StablePass);
        let accept = clean(&self.input.base) && clean(&self.input.patched);
        Verdict {
            outcome: if accept { VerdictOutcome::Accept } else { VerdictOutcome::Review },
            findings: Vec::new(),
            evidence: suite.tests().iter().map(|t| t.id.clone()).collect(),
            silent: Vec::new(),
            replays: Replays::default(),
            undecided: 0,
        }
    }
}
