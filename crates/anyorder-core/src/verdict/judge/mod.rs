//! Judges a patch from what was measured on both trees, replaying failing orders on both before anything blocks.
//!
//! `triage` sorts the tests and gives each doubtful one a failing order; this module asks for replays of those
//! orders, shared by all tests that need them; `arms` decides from the counts; `conclude` writes the verdict.
//! A shorter failing order (one that was minimised) only has to become another `Key`: the arms stay the same.

mod arms;
mod book;
mod cause;
mod chance;
mod conclude;
mod cover;
mod moved;
mod new_test;
mod triage;
mod view;

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Executor, OrderLabel, TestId, TestIx};

use self::arms::{Arms, Case, Decision, SideCase, Step};
use self::book::{Book, Key, Scope};
use self::new_test::{NewTest, NewTestRun};
use self::triage::{Candidate, Failing, Plan, Triage};
use self::view::View;
use super::class::{Class, Kind, TreeResult};
use super::finding::{Finding, Rules};
use super::probe::{Answer, Probe, ProbeId, Selection, Side, Why};
use super::witness::{Arm, Note, Verdict};

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
    /// `python`); replays are then shared between the trees' orders of one label.
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
    triage: Triage,
    shape: Shape,
    book: Book,
    issued: u32,
    given_up: bool,
}

/// How the two suites differ.
#[derive(Clone, Copy, Debug)]
struct Shape {
    has_new: bool,
    has_removed: bool,
    /// The tests that both have stand in the same sequence in both default orders.
    same_default_order: bool,
}

/// One replay that an undecided test waits for.
type Wanted = (Key, Why);

/// Replays that said nothing about a test before it is left undecided.
const LOST_REPLAYS: usize = 3;

impl Judge {
    /// Compares both trees.
    pub fn new(input: JudgeInput) -> Self {
        let triage = Triage::new(View(&input.base), View(&input.patched), &input.judge);
        let (base, patched) = (input.base.sweep.suite(), input.patched.sweep.suite());
        let on_patched: Vec<TestIx> = base.tests().iter().filter_map(|t| patched.find(&t.id)).collect();
        let shape = Shape {
            has_new: on_patched.len() < patched.len(),
            has_removed: on_patched.len() < base.len(),
            same_default_order: on_patched.is_sorted(),
        };
        Self { input, triage, shape, book: Book::default(), issued: 0, given_up: false }
    }

    /// The tests of a probe, in default order of the tree it runs on.
    pub fn selected(&self, probe: &Probe) -> Vec<TestIx> {
        let (suite, other) = match probe.side {
            Side::Base => (self.input.base.sweep.suite(), self.input.patched.sweep.suite()),
            Side::Patched => (self.input.patched.sweep.suite(), self.input.base.sweep.suite()),
        };
        let mut chosen: Vec<TestIx> = match &probe.tests {
            Selection::All => suite.indices().collect(),
            Selection::Common => suite.indices().filter(|ix| other.find(suite.id(*ix)).is_some()).collect(),
            Selection::Only(ids) => ids.iter().filter_map(|id| suite.find(id)).collect(),
        };
        chosen.sort_unstable();
        chosen
    }

    /// The findings for which replays are still wanted.
    pub fn undecided(&self) -> Vec<TestId> {
        let open = self.triage.candidates.iter().filter(|c| self.next_of(c).is_err());
        open.map(|c| c.id.clone()).collect()
    }

    /// What to replay next; `None` when nothing is left, or nothing until an outstanding probe is answered.
    pub fn next_probe(&mut self) -> Option<Probe> {
        let (key, why, watch) = self.wanted()?;
        let id = ProbeId(self.issued);
        self.issued += 1;
        let tree = if key.side == Side::Base { &self.input.base } else { &self.input.patched };
        let attempt = self.book.ask(id, &key, &watch, View(tree).last_attempt(&key.label));
        Some(Probe {
            id,
            side: key.side,
            label: key.label,
            order_of: key.order_of,
            tests: match key.scope {
                Scope::Alone => Selection::Only(watch.clone()),
                Scope::All => Selection::All,
                Scope::Common => Selection::Common,
            },
            executor: Executor::Fresh,
            attempt,
            watch,
            why,
        })
    }

    /// Takes the answer to a probe. An id that is not outstanding is ignored.
    pub fn observe(&mut self, id: ProbeId, answer: &Answer) {
        self.book.take(id, answer);
    }

    /// Asks for nothing more; what is undecided becomes `inconclusive`.
    pub fn give_up(&mut self) {
        self.given_up = true;
    }

    /// Whether nothing is outstanding and nothing will be asked.
    pub fn is_done(&self) -> bool {
        !self.book.is_waiting() && self.wanted().is_none()
    }

    /// The verdict, as far as the answers go.
    pub fn finish(self) -> Verdict {
        conclude::conclude(&self)
    }

    /// The replay that serves best, with the tests that wait for it: fewest done so far, so that trees alternate;
    /// then the cheapest; then the one that most tests wait for.
    fn wanted(&self) -> Option<(Key, Why, Vec<TestId>)> {
        if self.given_up || self.issued >= self.input.judge.max_probes {
            return None;
        }
        let mut waiting: BTreeMap<Key, (Why, Vec<TestId>)> = BTreeMap::new();
        for candidate in &self.triage.candidates {
            for (key, why) in self.next_of(candidate).err().into_iter().flatten() {
                if !self.book.is_pending(&key, &candidate.id) {
                    waiting.entry(key).or_insert((why, Vec::new())).1.push(candidate.id.clone());
                }
            }
        }
        let rank = |key: &Key, tests: &[TestId]| {
            (
                self.book.asked(key),
                key.scope != Scope::Alone,
                usize::MAX - tests.len(),
                key.side == Side::Base,
            )
        };
        let (key, (why, tests)) = waiting.into_iter().min_by_key(|(key, (_, tests))| rank(key, tests))?;
        Some((key, why, tests))
    }

    /// What is decided about a candidate, or the replays it waits for.
    fn next_of(&self, candidate: &Candidate) -> Result<Decision, Vec<Wanted>> {
        match &candidate.plan {
            Plan::Settled { finding, .. } => Ok(Decision::new(*finding)),
            // Follows from another test's finding; nothing is to be run.
            Plan::Unreached { .. } => Ok(Decision::new(Finding::UnexplainedAbsence)),
            Plan::PatchedFails(failing) => self.cross_replay(candidate, failing, Side::Patched),
            Plan::BaseFails(failing) => self.cross_replay(candidate, failing, Side::Base),
            Plan::NewCoupled { failing, passing, target } => {
                self.new_coupled(candidate, failing, passing, *target)
            }
            Plan::NewFails { order, target } => self.new_fails(candidate, order, *target),
        }
    }

    fn cross_replay(
        &self,
        candidate: &Candidate,
        failing: &Failing,
        fails_on: Side,
    ) -> Result<Decision, Vec<Wanted>> {
        let (Some(b), Some(p)) = (candidate.base, candidate.patched) else {
            return Ok(Decision::new(Finding::Inconclusive));
        };
        let key = |arm| self.key(arm, &failing.order, fails_on);
        let tally = |arm| self.book.tally(&key(arm), &candidate.id, failing.target);
        let arms = Arms {
            base_full: tally(Arm::BaseFull),
            base_common: tally(Arm::BaseCommon),
            patched_common: tally(Arm::PatchedCommon),
            patched_full: tally(Arm::PatchedFull),
        };
        let case = self.case(failing, fails_on, b, p);
        let step = match fails_on {
            Side::Patched => case.patched_fails(&arms),
            Side::Base => case.base_fails(&arms),
        };
        let asked = match step {
            Step::Decided(decision) => return Ok(decision),
            Step::Ask(asked) => asked,
        };
        if asked.iter().any(|arm| tally(*arm).lost >= LOST_REPLAYS) {
            return Ok(self.lost(&candidate.id));
        }
        let why = |arm: Arm| match arm {
            Arm::PatchedCommon => Why::WithoutNewTests,
            _ if arm.side() == fails_on => Why::Confirm,
            _ => Why::CrossReplay,
        };
        Err(asked.into_iter().map(|arm| (key(arm), why(arm))).collect())
    }

    fn case(&self, failing: &Failing, fails_on: Side, b: TestIx, p: TestIx) -> Case {
        let (base, patched) = (View(&self.input.base), View(&self.input.patched));
        let side = |view: View<'_>, ix| SideCase {
            class: view.class(ix).map_or(Class::Flaky, |c| c.class),
            forked: view.forked(&failing.order, ix),
            rate: view.rate(ix, failing.target),
        };
        let (other, ix) = match fails_on {
            Side::Patched => (base, b),
            Side::Base => (patched, p),
        };
        let alone = failing.order == OrderLabel::Alone;
        Case {
            need: failing.need as usize,
            max_pairs: self.input.judge.max_pairs as usize,
            has_new: self.shape.has_new && !alone,
            has_removed: self.shape.has_removed && !alone,
            other_ran_it: other.kind_in(&failing.order, ix).is_some(),
            base: side(base, b),
            patched: side(patched, p),
        }
    }

    fn new_coupled(
        &self,
        candidate: &Candidate,
        failing: &OrderLabel,
        passing: &OrderLabel,
        target: Kind,
    ) -> Result<Decision, Vec<Wanted>> {
        let key = |run| {
            let label = match run {
                NewTestRun::Failing => failing,
                NewTestRun::Passing => passing,
                NewTestRun::Alone => &OrderLabel::Alone,
            };
            self.key(Arm::PatchedFull, label, Side::Patched)
        };
        let tally = |run| self.book.tally(&key(run), &candidate.id, target);
        let test = NewTest {
            failing: tally(NewTestRun::Failing),
            passing: tally(NewTestRun::Passing),
            alone: tally(NewTestRun::Alone),
        };
        let decision = test.coupled(self.input.judge.confirm as usize, self.forked(candidate, failing));
        let why = |run| match run {
            NewTestRun::Failing => Why::Confirm,
            NewTestRun::Passing => Why::PassingOrder,
            NewTestRun::Alone => Why::Alone,
        };
        self.or_lost(candidate, target, decision, |run| (key(run), why(run)))
    }

    fn new_fails(
        &self,
        candidate: &Candidate,
        order: &OrderLabel,
        target: Kind,
    ) -> Result<Decision, Vec<Wanted>> {
        let key = self.key(Arm::PatchedFull, order, Side::Patched);
        let test = NewTest { failing: self.book.tally(&key, &candidate.id, target), ..NewTest::default() };
        let decision = test.fails(2, self.forked(candidate, order));
        self.or_lost(candidate, target, decision, |_| (key.clone(), Why::Confirm))
    }

    fn or_lost(
        &self,
        candidate: &Candidate,
        target: Kind,
        decision: Result<Decision, Vec<NewTestRun>>,
        wanted: impl Fn(NewTestRun) -> Wanted,
    ) -> Result<Decision, Vec<Wanted>> {
        let asked: Vec<Wanted> = match decision {
            Ok(decision) => return Ok(decision),
            Err(asked) => asked.into_iter().map(wanted).collect(),
        };
        let lost = |(key, _): &Wanted| self.book.tally(key, &candidate.id, target).lost >= LOST_REPLAYS;
        if asked.iter().any(lost) { Ok(self.lost(&candidate.id)) } else { Err(asked) }
    }

    fn forked(&self, candidate: &Candidate, label: &OrderLabel) -> bool {
        candidate.patched.is_some_and(|p| View(&self.input.patched).forked(label, p))
    }

    /// Replays keep saying nothing about the test.
    fn lost(&self, test: &TestId) -> Decision {
        let note = match self.book.culprit(test) {
            Some(culprit) => Note::Unreached { culprit: culprit.clone() },
            None => Note::BudgetSpent,
        };
        Decision::new(Finding::Inconclusive).with(note)
    }

    /// Which replay an arm of a failing order is; arms that run the same thing share one.
    fn key(&self, arm: Arm, label: &OrderLabel, fails_on: Side) -> Key {
        let side = arm.side();
        if *label == OrderLabel::Alone {
            return Key { side, order_of: side, label: label.clone(), scope: Scope::Alone };
        }
        let keyed = self.is_keyed(label);
        let others = match side {
            Side::Base => self.shape.has_removed,
            Side::Patched => self.shape.has_new,
        };
        let common = matches!(arm, Arm::BaseCommon | Arm::PatchedCommon);
        if common && (others || !(keyed || fails_on == side)) {
            let order_of = if keyed { side } else { fails_on };
            return Key { side, order_of, label: label.clone(), scope: Scope::Common };
        }
        Key { side, order_of: side, label: label.clone(), scope: Scope::All }
    }

    /// Whether both trees' orders of this label put the tests that both have into the same sequence.
    fn is_keyed(&self, label: &OrderLabel) -> bool {
        match label {
            OrderLabel::Default | OrderLabel::Reverse => self.shape.same_default_order,
            OrderLabel::Alone => true,
            OrderLabel::Seed(_) | OrderLabel::SeedReverse(_) => self.input.judge.keyed_orders,
            OrderLabel::List(_) => false,
        }
    }
}
