//! Judges a patch from what was measured on both trees, replaying failing orders on both before anything blocks.
//!
//! `triage` sorts the tests and gives each doubtful one a failing order; this module asks for replays of those
//! orders, shared by all tests that need them; `arms` decides from the counts; `conclude` writes the verdict.
//! `short` minimises a failing order first: the arms are then those of a few tests, and the full orders are replayed only
//! where these do not decide.

mod arms;
mod book;
mod cause;
mod chance;
mod conclude;
mod cover;
mod moved;
mod new_test;
mod short;
mod triage;
mod view;

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Executor, OrderLabel, TestId, TestIx};

use self::arms::{Arms, Case, Decision, SideCase, Step};
use self::book::{Book, Key, Scope};
use self::new_test::{NewTest, NewTestRun};
use self::short::{Hunt, Sequences};
use self::triage::{Candidate, Failing, Plan, Triage};
use self::view::View;
use super::class::{Class, Kind, TreeResult};
use super::finding::{Finding, Rules};
use super::probe::{Answer, Probe, ProbeId, Selection, Side, Why};
use super::star::StarResult;
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
        Self { confirm: 3, confirm_suspect: 5, max_pairs: 15, max_probes: 5000, keyed_orders: true }
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
    /// What the star around the touched tests showed.
    pub star: StarResult,
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
    hunts: Vec<Hunt>,
    sequences: Sequences,
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
        let (before, after) = (View(&input.base), View(&input.patched));
        let mut triage = Triage::new(before, after, &input.judge, &input.star);
        let hunts = short::hunts(&mut triage, before, after);
        let sequences = short::of_star(&input.star);
        let (base, patched) = (input.base.sweep.suite(), input.patched.sweep.suite());
        let on_patched: Vec<TestIx> = base.tests().iter().filter_map(|t| patched.find(&t.id)).collect();
        let shape = Shape {
            has_new: on_patched.len() < patched.len(),
            has_removed: on_patched.len() < base.len(),
            same_default_order: on_patched.is_sorted(),
        };
        Self { input, triage, shape, book: Book::default(), hunts, sequences, issued: 0, given_up: false }
    }

    /// The tests of a probe: those of a sequence in it, others in default order of the tree it runs on.
    pub fn selected(&self, probe: &Probe) -> Vec<TestIx> {
        let (suite, other) = match probe.side {
            Side::Base => (self.input.base.sweep.suite(), self.input.patched.sweep.suite()),
            Side::Patched => (self.input.patched.sweep.suite(), self.input.base.sweep.suite()),
        };
        let mut chosen: Vec<TestIx> = match &probe.tests {
            Selection::All => suite.indices().collect(),
            Selection::Common => suite.indices().filter(|ix| other.find(suite.id(*ix)).is_some()).collect(),
            Selection::Only(ids) | Selection::Sequence(ids) => {
                ids.iter().filter_map(|id| suite.find(id)).collect()
            }
        };
        if !matches!(probe.tests, Selection::Sequence(_)) {
            chosen.sort_unstable();
        }
        chosen
    }

    /// The findings for which replays are still wanted.
    pub fn undecided(&self) -> Vec<TestId> {
        let open = self.triage.candidates.iter().filter(|c| self.next_of(c).is_err());
        open.map(|c| c.id.clone()).collect()
    }

    /// What to replay next; `None` when nothing is left, or nothing until an outstanding probe is answered.
    pub fn next_probe(&mut self) -> Option<Probe> {
        let id = ProbeId(self.issued);
        if let Some(probe) = self.next_of_search(id) {
            self.issued += 1;
            return Some(probe);
        }
        let (key, why, watch) = self.wanted()?;
        self.issued += 1;
        let tree = if key.side == Side::Base { &self.input.base } else { &self.input.patched };
        let attempt = self.book.ask(id, &key, &watch, View(tree).last_attempt(&key.label));
        Some(Probe {
            id,
            side: key.side,
            label: key.label.clone(),
            order_of: key.order_of,
            tests: match (self.sequences.get(&key.label), key.scope) {
                (Some(sequence), scope) => self.on_sequence(sequence, scope),
                (None, Scope::Alone) => Selection::Only(watch.clone()),
                (None, Scope::All) => Selection::All,
                (None, Scope::Common) => Selection::Common,
            },
            may_stop: true,
            peeks: Vec::new(),
            executor: Executor::Fresh,
            attempt,
            watch,
            why,
        })
    }

    /// What a search wants to be run next.
    fn next_of_search(&mut self, id: ProbeId) -> Option<Probe> {
        if self.is_spent() {
            return None;
        }
        let (base, patched) = (View(&self.input.base), View(&self.input.patched));
        let view = |side| if side == Side::Base { base } else { patched };
        self.hunts.iter_mut().find_map(|hunt| hunt.next_probe(id, view(hunt.side)))
    }

    fn on_sequence(&self, sequence: &[TestId], scope: Scope) -> Selection {
        let common = |id: &&TestId| scope != Scope::Common || self.is_common(id);
        Selection::Sequence(sequence.iter().filter(common).cloned().collect())
    }

    fn is_common(&self, id: &TestId) -> bool {
        let on = |tree: &TreeResult| tree.sweep.suite().find(id).is_some();
        on(&self.input.base) && on(&self.input.patched)
    }

    /// Takes the answer to a probe. An id that is not outstanding is ignored.
    pub fn observe(&mut self, id: ProbeId, answer: &Answer) {
        let (base, patched) = (View(&self.input.base), View(&self.input.patched));
        for hunt in &mut self.hunts {
            if hunt.observe(id, answer) {
                let view = if hunt.side == Side::Base { base } else { patched };
                if hunt.is_done()
                    && let Some((label, tests)) = hunt.found(view)
                {
                    self.sequences.insert(label, tests);
                }
                return;
            }
        }
        self.book.take(id, answer);
    }

    fn is_spent(&self) -> bool {
        self.given_up || self.issued >= self.input.judge.max_probes
    }

    /// Asks for nothing more; what is undecided becomes `inconclusive`.
    pub fn give_up(&mut self) {
        self.given_up = true;
    }

    /// Whether nothing is outstanding and nothing will be asked.
    pub fn is_done(&self) -> bool {
        let waiting = self.book.is_waiting() || self.hunts.iter().any(Hunt::is_waiting);
        let searching = !self.is_spent() && self.hunts.iter().any(|hunt| !hunt.is_done());
        !waiting && !searching && self.wanted().is_none()
    }

    /// The verdict, as far as the answers go.
    pub fn finish(self) -> Verdict {
        conclude::conclude(&self)
    }

    /// The replay that serves best, with the tests that wait for it: fewest done so far, so that trees alternate;
    /// then the cheapest; then the one that most tests wait for.
    fn wanted(&self) -> Option<(Key, Why, Vec<TestId>)> {
        if self.is_spent() {
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
                !self.sequences.contains_key(&key.label),
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
        if let Some(leader) = &candidate.leader {
            let leader = self.triage.candidates.iter().find(|c| c.id == *leader);
            let decision = leader.map(|l| self.next_of(l).map(|d| d.with(Note::SameAs(l.id.clone()))));
            // It waits for what its leader waits for, and asks nothing of its own.
            return decision.unwrap_or(Err(Vec::new())).map_err(|_| Vec::new());
        }
        if let Some(hunt) = candidate.hunt.and_then(|at| self.hunts.get(at)) {
            if !hunt.is_done() && !self.is_spent() {
                return Err(Vec::new());
            }
            if let Some((label, _)) = hunt.found(self.view(hunt.side))
                && let Some(result) = self.short_replay(candidate, &label)
            {
                return result;
            }
        }
        if let Plan::PreExisting { pair: Some(label), .. } = &candidate.plan
            && let Some(result) = self.short_replay(candidate, label)
        {
            return result;
        }
        match &candidate.plan {
            Plan::PreExisting { .. } => Ok(Decision::new(Finding::PreExisting)),
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

    fn view(&self, side: Side) -> View<'_> {
        View(if side == Side::Base { &self.input.base } else { &self.input.patched })
    }

    /// What replays of a short order lead to; `None` where the full orders have to decide.
    fn short_replay(
        &self,
        candidate: &Candidate,
        label: &OrderLabel,
    ) -> Option<Result<Decision, Vec<Wanted>>> {
        let shown = |mut decision: Decision| {
            decision.shown = Some(label.clone());
            decision
        };
        match &candidate.plan {
            Plan::PatchedFails(failing) => {
                let short = Failing { order: label.clone(), ..failing.clone() };
                let again = self.key(Arm::PatchedFull, label, Side::Patched);
                let reproduced = self.book.tally(&again, &candidate.id, failing.target).hits > 0;
                match self.cross_replay(candidate, &short, Side::Patched) {
                    Err(wanted) => Some(Err(wanted)),
                    Ok(_) if !reproduced => None,
                    Ok(decision) if Self::short_order_decides(decision.finding) => {
                        let missing = self.seen_in_full(candidate, failing, decision.finding)?;
                        Some(if missing.is_empty() { Ok(shown(decision)) } else { Err(missing) })
                    }
                    Ok(_) => None,
                }
            }
            Plan::BaseFails(failing) => {
                let (a, c) = (
                    self.key(Arm::BaseCommon, label, Side::Base),
                    self.key(Arm::PatchedFull, label, Side::Base),
                );
                let tally = |key: &Key| self.book.tally(key, &candidate.id, failing.target);
                let (before, after) = (tally(&a), tally(&c));
                let lost = before.lost.max(after.lost) >= LOST_REPLAYS;
                let removed = self.sequences.get(label)?.iter().any(|id| !self.is_common(id));
                if removed || lost || before.misses > 0 || after.hits > 0 {
                    return None;
                }
                let need = failing.need as usize;
                let wanted: Vec<Wanted> =
                    [(before.hits, a, Why::Confirm), (after.misses, c, Why::CrossReplay)]
                        .into_iter()
                        .filter(|(seen, ..)| *seen < need)
                        .map(|(_, key, why)| (key, why))
                        .collect();
                Some(if wanted.is_empty() { Ok(shown(Decision::new(Finding::Fixed))) } else { Err(wanted) })
            }
            Plan::PreExisting { order, target, .. } => {
                let result = self.same_cause(candidate, order, label, *target)?;
                Some(result.map(shown))
            }
            Plan::NewCoupled { failing, passing, target } => {
                let brittle = *failing == OrderLabel::Alone;
                let (failing, passing) = if brittle { (failing, label) } else { (label, passing) };
                let passing = if brittle { passing } else { &OrderLabel::Alone };
                match self.new_coupled(candidate, failing, passing, *target) {
                    Ok(decision) if Self::short_order_decides(decision.finding) => Some(Ok(shown(decision))),
                    Ok(_) => None,
                    Err(wanted) => Some(Err(wanted)),
                }
            }
            _ => None,
        }
    }

    /// Whether what a test fails behind on patched makes it fail on base as well; if not, the patch brought a cause of its
    /// own, beside the old one or in its place.
    fn same_cause(
        &self,
        candidate: &Candidate,
        order: &OrderLabel,
        label: &OrderLabel,
        target: Kind,
    ) -> Option<Result<Decision, Vec<Wanted>>> {
        let key = |arm, label| self.key(arm, label, Side::Patched);
        let (a, b, c) =
            (key(Arm::BaseCommon, label), key(Arm::PatchedCommon, label), key(Arm::PatchedFull, label));
        let tally = |key: &Key| self.book.tally(key, &candidate.id, target);
        let (base, common, patched) = (tally(&a), tally(&b), tally(&c));
        let need = self.input.judge.confirm_suspect as usize;
        if patched.misses > 0
            || base.is_mixed()
            || [base, common, patched].iter().any(|t| t.lost >= LOST_REPLAYS)
        {
            return None;
        }
        if base.hits >= 2 && patched.hits >= 2 {
            return Some(Ok(Decision::new(Finding::PreExisting)));
        }
        let wanted = if base.hits > 0 { 2 } else { need };
        let mut ask = Vec::new();
        if patched.hits < wanted {
            ask.push((c, Why::Confirm));
        }
        if base.runs() < wanted {
            ask.push((a, Why::CrossReplay));
        }
        if !ask.is_empty() {
            return Some(Err(ask));
        }
        let brings_new = self.sequences.get(label)?.iter().any(|id| !self.is_common(id));
        if !brings_new {
            return Some(Ok(Decision::new(Finding::Introduced)));
        }
        // Is the old cause still there? Without the new tests the order that fails on both shows it.
        let old = self.key(Arm::PatchedCommon, order, Side::Patched);
        let old = (self.book.tally(&old, &candidate.id, target), old);
        let finding = match old.0 {
            tally if tally.hits > 0 => Finding::PoisonsNeighbours,
            tally if tally.lost >= LOST_REPLAYS => return None,
            tally if tally.misses < need => return Some(Err(vec![(old.1, Why::WithoutNewTests)])),
            _ => Finding::Replaced,
        };
        Some(Ok(Decision::new(finding)))
    }

    /// Findings that a short order shows as well as a full one; others depend on tests that it leaves out.
    fn short_order_decides(finding: Finding) -> bool {
        matches!(
            finding,
            Finding::Introduced
                | Finding::PoisonsNeighbours
                | Finding::UnexplainedAbsence
                | Finding::NewTestCoupled
                | Finding::Destabilised
        )
    }

    /// What is still to be seen of the full order before a short one may block (METHODS B3.5): that base passes it, for
    /// another polluter might do there what this one does here, and that patched passes it without new tests where one of
    /// those is blamed. `None` when it was seen to be otherwise.
    fn seen_in_full(
        &self,
        candidate: &Candidate,
        failing: &Failing,
        finding: Finding,
    ) -> Option<Vec<Wanted>> {
        let mut missing = Vec::new();
        let base = View(&self.input.base).kind_in(&failing.order, candidate.base?);
        let same = self.is_keyed(&failing.order) && !self.shape.has_removed;
        if !(same && base.is_some_and(|k| k < failing.target)) {
            let key = self.key(Arm::BaseCommon, &failing.order, Side::Patched);
            match self.book.tally(&key, &candidate.id, failing.target) {
                tally if tally.hits > 0 || tally.lost >= LOST_REPLAYS => return None,
                tally if tally.misses == 0 => missing.push((key, Why::CrossReplay)),
                _ => {}
            }
        }
        if finding == Finding::PoisonsNeighbours {
            let key = self.key(Arm::PatchedCommon, &failing.order, Side::Patched);
            match self.book.tally(&key, &candidate.id, failing.target) {
                tally if tally.hits > 0 || tally.lost >= LOST_REPLAYS => return None,
                tally if tally.misses == 0 => missing.push((key, Why::WithoutNewTests)),
                _ => {}
            }
        }
        Some(missing)
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
        let (has_new, has_removed) = match self.sequences.get(&failing.order) {
            Some(sequence) => {
                let lacks = |view: View<'_>| sequence.iter().any(|id| view.suite().find(id).is_none());
                (lacks(base), lacks(patched))
            }
            None => (self.shape.has_new && !alone, self.shape.has_removed && !alone),
        };
        Case {
            need: failing.need as usize,
            max_pairs: self.input.judge.max_pairs as usize,
            has_new,
            has_removed,
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
        let common = matches!(arm, Arm::BaseCommon | Arm::PatchedCommon);
        if let Some(sequence) = self.sequences.get(label) {
            let scope = if common && sequence.iter().any(|id| !self.is_common(id)) {
                Scope::Common
            } else {
                Scope::All
            };
            return Key { side, order_of: side, label: label.clone(), scope };
        }
        let keyed = self.is_keyed(label);
        let others = match side {
            Side::Base => self.shape.has_removed,
            Side::Patched => self.shape.has_new,
        };
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
