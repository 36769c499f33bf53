//! A test that needs a judgement, and the way to it.

use crate::model::{OrderLabel, TestId, TestIx};

use super::super::class::Kind;
use super::super::finding::Finding;
use super::super::witness::Note;

/// A test that gets a judgement.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) id: TestId,
    pub(super) base: Option<TestIx>,
    pub(super) patched: Option<TestIx>,
    pub(super) notes: Vec<Note>,
    pub(super) plan: Plan,
    /// The search for a short order that decides it, by its place among the searches.
    pub(super) hunt: Option<usize>,
    /// The test whose fate it shares: same file, same failure, same orders.
    pub(super) leader: Option<TestId>,
}

impl Candidate {
    pub(super) fn new(
        id: TestId,
        base: Option<TestIx>,
        patched: Option<TestIx>,
        notes: Vec<Note>,
        plan: Plan,
    ) -> Self {
        Self { id, base, patched, notes, plan, hunt: None, leader: None }
    }
}

/// How a test gets its judgement.
#[derive(Clone, Debug)]
pub(super) enum Plan {
    /// The sweeps suffice.
    Settled {
        finding: Finding,
        /// The order that shows it.
        order: OrderLabel,
    },
    /// Fails on patched in an order that base passes.
    PatchedFails(Failing),
    /// Fails on base in an order that patched passes.
    BaseFails(Failing),
    /// New, and not the same in every order.
    NewCoupled { failing: OrderLabel, passing: OrderLabel, target: Kind },
    /// New, and failing in every order.
    NewFails { order: OrderLabel, target: Kind },
    /// Fails in the same orders on both trees: of the same cause?
    PreExisting {
        order: OrderLabel,
        target: Kind,
        /// A touched test and this one behind it, where the star has shown that it fails there.
        pair: Option<OrderLabel>,
    },
    /// Another test kept it from running on patched: follows from what is found about that one.
    Unreached { order: OrderLabel, culprit: TestId, on_base_too: bool },
}

/// A failing order to be replayed on both trees.
#[derive(Clone, Debug)]
pub(super) struct Failing {
    pub(super) order: OrderLabel,
    /// How bad a replay must be to count as failing.
    pub(super) target: Kind,
    /// Replays on each tree that must agree.
    pub(super) need: u32,
}
