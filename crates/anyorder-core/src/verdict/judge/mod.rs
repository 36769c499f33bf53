//! Judges a patch from what was measured on both trees, replaying failing orders on both before anything blocks.
//!
//! `triage` sorts the tests and gives each doubtful one a failing order; this module asks for replays of those
//! orders, shared by all tests that need them; `arms` decides from the counts; `conclude` writes the verdict.
//! `short` minimises a failing order first: the arms are then those of a few tests, and the full orders are replayed only
//! where these do not decide.

mod arms;
mod book;
mod candidate;
mod cause;
mod chance;
mod conclude;
mod cover;
mod moved;
mod new_test;
mod replays;
mod short;
mod short_replays;
mod triage;
mod view;

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Executor, TestId, TestIx};

use self::arms::Decision;
use self::book::{Book, Key, Scope};
use self::candidate::{Candidate, Plan};
use self::short::{Hunt, Sequences};
use self::triage::Triage;
use self::view::View;
use super::class::TreeResult;
use super::finding::{Finding, Rules};
use super::probe::{Answer, Probe, ProbeId, Selection, Side, Why};
use super::star::StarResult;
use super::witness::{Note, Verdict};

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
}
