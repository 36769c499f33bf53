//! Which tests need a judgement, and how each can get one.

use std::collections::BTreeSet;

use crate::model::{OrderLabel, TestId, TestIx};

use super::super::class::{Class, ClassWitness, Kind, TestClass};
use super::super::finding::Finding;
use super::super::probe::Side;
use super::super::star::StarResult;
use super::super::sweep::Cell;
use super::super::witness::Note;
use super::JudgeRules;
use super::cover::{Open, cover, narrowed};
use super::moved::Moves;
use super::short;
use super::view::View;

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
    fn new(id: TestId, base: Option<TestIx>, patched: Option<TestIx>, notes: Vec<Note>, plan: Plan) -> Self {
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

/// All tests of both trees, sorted by what is to be done.
#[derive(Clone, Debug, Default)]
pub(super) struct Triage {
    pub(super) candidates: Vec<Candidate>,
    /// Passing in every order of patched, and nothing speaks against them.
    pub(super) evidence: BTreeSet<TestIx>,
    /// Saying nothing.
    pub(super) silent: Vec<TestId>,
}

/// Orders a stable outcome must have been seen in, on each tree, to need fewer replays or none.
const MANY_ORDERS: usize = 5;
/// Orders that base must have passed for three replays to suffice (METHODS B1: 8.4e-5 with 20).
const CLEAN_ORDERS: usize = 10;

impl Triage {
    pub(super) fn new(base: View<'_>, patched: View<'_>, rules: &JudgeRules, star: &StarResult) -> Self {
        let mut sorting = Sorting { base, patched, rules, star, open: Vec::new(), triage: Self::default() };
        for ix in patched.suite().indices() {
            let id = patched.suite().id(ix);
            match base.suite().find(id) {
                Some(before) => sorting.common(id, before, ix),
                None => sorting.new_test(id, ix),
            }
        }
        let moves = Moves::new(base.suite(), patched.suite());
        for ix in base.suite().indices() {
            if patched.suite().find(base.suite().id(ix)).is_none() {
                sorting.removed(ix, &moves);
            }
        }
        let ranks = patched.labels().iter().chain(base.labels()).collect::<Vec<_>>();
        sorting.triage.candidates.extend(cover(sorting.open, &ranks));
        sorting.triage
    }
}

struct Sorting<'a> {
    base: View<'a>,
    patched: View<'a>,
    rules: &'a JudgeRules,
    star: &'a StarResult,
    /// Candidates whose failing order is still to be chosen among several.
    open: Vec<Open<'a>>,
    triage: Triage,
}

impl Sorting<'_> {
    fn common(&mut self, id: &TestId, b: TestIx, p: TestIx) {
        let (Some(before), Some(after)) = (self.base.class(b), self.patched.class(p)) else { return };
        if self.unreached(id, Some(b), p, after) {
            return;
        }
        let base_silent = self.base.kinds(b).is_empty();
        match (before.class, after.class) {
            // Where base depends on order, its failing order tells more: is the cause gone, or only hidden?
            (known, Class::StablePass) if known != Class::OrderSensitive && self.starred(id, Some(b), p) => {}
            (Class::StablePass | Class::StableSkip, Class::StablePass) => self.evidence(p),
            (Class::StableFail, Class::StablePass) if base_silent => self.evidence(p),
            (Class::StableFail, Class::StablePass) => self.repaired(id, b, p),
            (Class::OrderSensitive, Class::StablePass) => self.base_fails(id, b, p, before),
            (Class::StableSkip, Class::StableSkip) => self.triage.silent.push(id.clone()),
            (Class::StableFail, Class::StableSkip) => {
                self.settle(id, Some(b), Some(p), Finding::BrokenOnBase, vec![Note::SkippedOnPatched]);
            }
            (_, Class::StableSkip) => {
                self.settle(id, Some(b), Some(p), Finding::EvidenceLost, vec![Note::SkippedOnPatched]);
            }
            (Class::StableFail, Class::StableFail) if self.got_worse(b, p) || base_silent => {
                self.patched_fails(id, b, p, before, after);
            }
            (Class::StableFail, Class::StableFail) => {
                self.settle(id, Some(b), Some(p), Finding::BrokenOnBase, Vec::new());
            }
            // A coin falls on one side a few times in a row.
            (Class::StableFail, Class::Flaky) if !base_silent && self.base.kinds(b).len() < MANY_ORDERS => {
                self.settle(id, Some(b), Some(p), Finding::Flaky, Vec::new());
            }
            (Class::StableFail, Class::OrderSensitive | Class::Flaky) if !base_silent => {
                self.settle(id, Some(b), Some(p), Finding::Inconclusive, vec![Note::PartlyRepaired]);
            }
            (Class::Flaky, Class::StablePass | Class::Flaky) | (Class::OrderSensitive, Class::Flaky) => {
                self.settle(id, Some(b), Some(p), Finding::Flaky, Vec::new());
            }
            (_, Class::StableFail | Class::OrderSensitive | Class::Flaky) => {
                self.patched_fails(id, b, p, before, after);
            }
        }
    }

    fn new_test(&mut self, id: &TestId, p: TestIx) {
        let Some(after) = self.patched.class(p) else { return };
        if self.unreached(id, None, p, after) {
            return;
        }
        let Some(target) = self.patched.threshold(p) else { return self.triage.silent.push(id.clone()) };
        let plan = match after.class {
            Class::StablePass if self.starred(id, None, p) => return,
            Class::StablePass => return self.evidence(p),
            Class::StableSkip => return self.triage.silent.push(id.clone()),
            Class::Flaky => return self.settle(id, None, Some(p), Finding::Destabilised, Vec::new()),
            Class::StableFail => match self.preferred(&self.patched.failing(p, target)) {
                Some(order) => Plan::NewFails { order, target },
                None => return,
            },
            Class::OrderSensitive => match self.coupling(p, target, after) {
                Some((failing, passing)) => Plan::NewCoupled { failing, passing, target },
                None => return,
            },
        };
        self.candidate(id, None, Some(p), plan, unsettled_notes(None, Some(after)));
    }

    /// Whether the star has shown that a test which passes in every order of the sweep does not always.
    fn starred(&mut self, id: &TestId, b: Option<TestIx>, p: TestIx) -> bool {
        if let Some(at) = self.star.pairs.iter().position(|pair| pair.then == *id) {
            let order = short::pair_label(at);
            let target = self.star.pairs[at].kind;
            let plan = match b {
                None => Plan::NewCoupled { failing: order, passing: OrderLabel::Alone, target },
                Some(_) => Plan::PatchedFails(Failing { order, target, need: self.rules.confirm_suspect }),
            };
            self.candidate(id, b, Some(p), plan, Vec::new());
            return true;
        }
        let Some(at) = self.star.by_chance.iter().position(|pair| pair.then == *id) else { return false };
        let finding = if b.is_some() { Finding::Flaky } else { Finding::Destabilised };
        let plan = Plan::Settled { finding, order: short::chance_label(at) };
        self.candidate(id, b, Some(p), plan, Vec::new());
        true
    }

    /// A failing and a passing order of a new test; `alone` is taken where it can be, for it costs least.
    fn coupling(&self, p: TestIx, target: Kind, after: &TestClass) -> Option<(OrderLabel, OrderLabel)> {
        let kinds = self.patched.kinds(p);
        let pick = |fails: bool, shown: Option<&OrderLabel>| {
            let fitting = || kinds.iter().filter(|(_, k)| (*k >= target) == fails).map(|(l, _)| *l);
            fitting()
                .find(|l| **l == OrderLabel::Alone)
                .or_else(|| fitting().find(|l| Some(*l) == shown))
                .or_else(|| fitting().next())
                .cloned()
        };
        let (failing, passing) = match &after.witness {
            Some(ClassWitness::Order { failing, passing }) => (Some(failing), Some(passing)),
            Some(ClassWitness::Chance { .. }) | None => (None, None),
        };
        pick(true, failing).zip(pick(false, passing))
    }

    fn removed(&mut self, b: TestIx, moves: &Moves) {
        let id = self.base.suite().id(b);
        if self.base.class(b).is_some_and(|c| c.class == Class::StablePass) {
            let destination = moves.to(id).cloned().map(Note::MovedTo);
            let notes = std::iter::once(Note::GoneOnPatched).chain(destination).collect();
            self.settle(id, Some(b), None, Finding::EvidenceLost, notes);
        } else {
            self.triage.silent.push(id.clone());
        }
    }

    fn evidence(&mut self, p: TestIx) {
        self.triage.evidence.insert(p);
    }

    /// Whether another test kept this one from showing that it is clean.
    fn unreached(&mut self, id: &TestId, b: Option<TestIx>, p: TestIx, after: &TestClass) -> bool {
        let shown_nothing = self.patched.kinds(p).is_empty();
        if after.unreached.is_empty() || !(after.class == Class::StablePass || shown_nothing) {
            return false;
        }
        let culprits = after.unreached.iter().find_map(|label| {
            let column = self.patched.0.sweep.column(label)?;
            match self.patched.0.sweep.cell(column, p) {
                Cell::Disturbed { culprit } => {
                    Some((label.clone(), self.patched.suite().id(culprit).clone()))
                }
                Cell::Seen(_) | Cell::Unplanned => None,
            }
        });
        let Some((order, culprit)) = culprits else { return false };
        let base_test = |id: &TestId| self.base.suite().find(id);
        let same_order =
            b.and_then(|b| self.base.class(b)).is_some_and(|before| before.unreached.contains(&order));
        // A crash by chance hits other orders each time.
        let on_base_too = same_order
            || base_test(&culprit).is_some_and(|c| self.base.kinds(c).iter().any(|(_, k)| *k == Kind::Gone));
        let note = Note::Unreached { culprit: culprit.clone() };
        self.candidate(id, b, Some(p), Plan::Unreached { order, culprit, on_base_too }, vec![note]);
        true
    }

    /// Patched dies in it, or loses it, where base only fails.
    fn got_worse(&self, b: TestIx, p: TestIx) -> bool {
        let worst = |view: View<'_>, ix| view.kinds(ix).into_iter().map(|(_, k)| k).max();
        worst(self.patched, p) == Some(Kind::Gone) && worst(self.base, b) < Some(Kind::Gone)
    }

    fn repaired(&mut self, id: &TestId, b: TestIx, p: TestIx) {
        let orders = |view: View<'_>, ix| view.kinds(ix).len();
        if orders(self.base, b) >= MANY_ORDERS && orders(self.patched, p) >= MANY_ORDERS {
            return self.settle(id, Some(b), Some(p), Finding::Repaired, Vec::new());
        }
        let Some(target) = self.base.threshold(b) else { return };
        let failing = Failing { order: OrderLabel::Default, target, need: self.rules.confirm };
        let plan = Plan::BaseFails(failing);
        let candidate = Candidate::new(id.clone(), Some(b), Some(p), Vec::new(), plan);
        let failing = self.base.failing(b, target);
        let order = self.preferred(&failing).and_then(|l| failing.get(&l).copied());
        self.open.push((candidate, order.into_iter().collect()));
    }

    fn base_fails(&mut self, id: &TestId, b: TestIx, p: TestIx, before: &TestClass) {
        let Some(target) = self.base.threshold(b) else { return };
        let failing = Failing { order: OrderLabel::Default, target, need: self.rules.confirm };
        let notes = unsettled_notes(Some(before), None);
        let candidate = Candidate::new(id.clone(), Some(b), Some(p), notes, Plan::BaseFails(failing));
        let mut orders = self.base.failing(b, target);
        let passed = |l: &&OrderLabel| self.patched.kind_in(l, p).is_some();
        if orders.iter().any(passed) {
            orders.retain(passed);
        }
        let orders = narrowed(orders, before);
        self.open.push((candidate, orders));
    }

    fn patched_fails(&mut self, id: &TestId, b: TestIx, p: TestIx, before: &TestClass, after: &TestClass) {
        let Some(target) = self.target(b, p, before) else { return };
        let on_patched = self.patched.failing(p, target);
        let on_base = self.base.failing(b, target);
        let mut only: BTreeSet<&OrderLabel> = on_patched.difference(&on_base).copied().collect();
        let shared = only.len() < on_patched.len();
        let passed = |l: &&OrderLabel| self.base.kind_in(l, b).is_some();
        if shared || only.iter().any(passed) {
            // An order that base never reached the test in says nothing.
            only.retain(passed);
        }
        let notes = unsettled_notes(Some(before), Some(after));
        if only.is_empty() {
            let finding = match before.class {
                Class::Flaky => Finding::Flaky,
                _ if after.class == Class::Flaky => Finding::Flaky,
                Class::StableFail => Finding::BrokenOnBase,
                _ => return self.pre_existing(id, b, p, target, notes),
            };
            return self.settle(id, Some(b), Some(p), finding, notes);
        }
        let need = self.need(b, p, before, after);
        let plan = Plan::PatchedFails(Failing { order: OrderLabel::Default, target, need });
        let candidate = Candidate::new(id.clone(), Some(b), Some(p), notes, plan);
        let orders = if after.class.is_stable() {
            self.preferred(&only).and_then(|l| only.get(&l).copied()).into_iter().collect()
        } else {
            narrowed(only, after)
        };
        self.open.push((candidate, orders));
    }

    fn pre_existing(&mut self, id: &TestId, b: TestIx, p: TestIx, target: Kind, notes: Vec<Note>) {
        let Some(order) = self.shown_in(Some(b), Some(p), Finding::PreExisting) else {
            return self.triage.silent.push(id.clone());
        };
        let touched = |before: &[TestId]| before.iter().all(|first| self.star.covered.contains(first));
        let pair = self.star.pairs.iter().position(|pair| pair.then == *id && touched(&pair.before));
        let pair = pair.map(short::pair_label);
        self.candidate(id, Some(b), Some(p), Plan::PreExisting { order, target, pair }, notes);
    }

    /// How bad patched must be for a difference to base: a crash counts as a failure unless base only fails too.
    fn target(&self, b: TestIx, p: TestIx, before: &TestClass) -> Option<Kind> {
        let worst = self.patched.kinds(p).into_iter().map(|(_, k)| k).max()?;
        let base_fails = before.class == Class::StableFail && self.got_worse(b, p);
        Some(if worst == Kind::Gone && !base_fails { Kind::Bad } else { worst })
    }

    /// How many replays must agree before this test may block.
    fn need(&self, b: TestIx, p: TestIx, before: &TestClass, after: &TestClass) -> u32 {
        let orders = |view: View<'_>, ix| view.kinds(ix).len();
        let many = orders(self.base, b) >= MANY_ORDERS && orders(self.patched, p) >= MANY_ORDERS;
        let base_clean = before.class.is_stable();
        if base_clean && after.class == Class::StableFail && many {
            return self.rules.confirm.min(2);
        }
        // Reruns of the same order that agreed on patched are as good as many clean orders on base; where they did
        // not agree, three replays that do are not enough.
        let shown = after.class != Class::Flaky && (after.settled || orders(self.base, b) >= CLEAN_ORDERS);
        if base_clean && shown { self.rules.confirm } else { self.rules.confirm_suspect }
    }

    fn settle(
        &mut self,
        id: &TestId,
        base: Option<TestIx>,
        patched: Option<TestIx>,
        finding: Finding,
        notes: Vec<Note>,
    ) {
        let order = self.shown_in(base, patched, finding);
        match order {
            Some(order) => self.candidate(id, base, patched, Plan::Settled { finding, order }, notes),
            None => self.triage.silent.push(id.clone()),
        }
    }

    /// The order that shows a finding which the sweeps settle.
    fn shown_in(
        &self,
        base: Option<TestIx>,
        patched: Option<TestIx>,
        finding: Finding,
    ) -> Option<OrderLabel> {
        let sides = [(self.patched, patched), (self.base, base)];
        let both = sides.into_iter().filter_map(|(view, ix)| Some((view, ix?)));
        let witness = |view: View<'_>, ix| match view.class(ix)?.witness.clone()? {
            ClassWitness::Chance { order } => Some((order, true)),
            ClassWitness::Order { failing, .. } => Some((failing, false)),
        };
        let by_chance = matches!(finding, Finding::Flaky | Finding::Destabilised);
        if by_chance && let Some((order, _)) = both.clone().find_map(|(v, ix)| witness(v, ix).filter(|w| w.1))
        {
            return Some(order);
        }
        if finding == Finding::PreExisting
            && let (Some(b), Some(p)) = (base, patched)
        {
            let target = self.patched.threshold(p)?;
            let (on_base, on_patched) = (self.base.failing(b, target), self.patched.failing(p, target));
            let shared: BTreeSet<_> = on_base.intersection(&on_patched).copied().collect();
            let shown = [(self.patched, p), (self.base, b)]
                .into_iter()
                .find_map(|(v, ix)| witness(v, ix).map(|w| w.0).filter(|l| shared.contains(l)));
            return shown.or_else(|| self.preferred(&shared));
        }
        if let Some((order, _)) = both.clone().find_map(|(v, ix)| witness(v, ix)) {
            return Some(order);
        }
        both.flat_map(|(v, ix)| v.kinds(ix))
            .map(|(l, _)| l)
            .min_by_key(|l| **l != OrderLabel::Default)
            .cloned()
    }

    fn preferred(&self, orders: &BTreeSet<&OrderLabel>) -> Option<OrderLabel> {
        let columns = self.patched.labels().iter().chain(self.base.labels());
        orders
            .get(&OrderLabel::Default)
            .copied()
            .or_else(|| columns.filter(|l| **l != OrderLabel::Alone).find(|l| orders.contains(l)))
            .or_else(|| orders.first().copied())
            .cloned()
    }

    fn candidate(
        &mut self,
        id: &TestId,
        base: Option<TestIx>,
        patched: Option<TestIx>,
        plan: Plan,
        notes: Vec<Note>,
    ) {
        let candidate = Candidate::new(id.clone(), base, patched, notes, plan);
        self.triage.candidates.push(candidate);
    }
}

fn unsettled_notes(before: Option<&TestClass>, after: Option<&TestClass>) -> Vec<Note> {
    let sides = [(Side::Base, before), (Side::Patched, after)];
    let unsettled = sides.into_iter().filter(|(_, class)| class.is_some_and(|c| !c.settled));
    unsettled.map(|(side, _)| Note::ClassUnsettled(side)).collect()
}
