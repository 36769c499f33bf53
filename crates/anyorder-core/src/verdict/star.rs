//! The star sweep around the tests that a patch touches (METHODS A5): each of them before every other test and behind
//! every other test, so that a coupling of two which no seed happened to show is found all the same.
//!
//! A row runs one test and then, each in a child of its own, those that are looked at. What a row shows is held against
//! what the test does alone, and is shown again before it counts: a test that answers both ways is flaky, not coupled.
//! Where forking is not safe, each touched test is run once in front of all others and once behind them, in one process
//! each: what stands between two tests may then hide what the one does to the other.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Executor, OrderLabel, TestId, TestIx};

use super::class::{Class, Kind, Observation, TreeResult};
use super::judge::TouchedTests;
use super::probe::{Answer, Probe, ProbeId, ProbePeek, Selection, Side, Why};
use super::sweep::Cell;

/// How much a star may cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StarRules {
    /// No more children than this; touched tests that would take more are left out, and named.
    pub max_peeks: usize,
    /// Repetitions of a row that must agree before what it shows counts.
    pub repeats: u32,
    /// Repetitions of a row that shows both outcomes, and how many of all runs of it must not pass to count.
    pub spare_repeats: (u32, usize),
    /// How the patched tree is run: forked, or in fresh interpreters.
    pub executor: Executor,
    /// In fresh interpreters: no more runs of the whole suite than this.
    pub max_runs: usize,
    /// Tests that are never run without others: those that declare what must run before them.
    pub bound: BTreeSet<TestId>,
}

impl Default for StarRules {
    fn default() -> Self {
        Self {
            max_peeks: 20_000,
            repeats: 2,
            spare_repeats: (8, 4),
            executor: Executor::Fork,
            max_runs: 10,
            bound: BTreeSet::new(),
        }
    }
}

/// A test that does not pass behind others, though it does alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// What ran before: one test, but for what fresh interpreters showed.
    pub before: Vec<TestId>,
    /// The test that does not pass behind it.
    pub then: TestId,
    /// How bad it is there.
    pub kind: Kind,
    /// All runs of the pair.
    pub observations: Vec<Observation>,
}

/// What the star showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StarResult {
    /// Pairs that showed it in every repetition, or in too many for chance; one for each second test, the first in default
    /// order.
    pub pairs: Vec<Pair>,
    /// Pairs that showed both.
    pub by_chance: Vec<Pair>,
    /// The touched tests that were put before and behind all others.
    pub covered: Vec<TestId>,
    /// Those that were not, for cost or because they declare an order.
    pub left_out: Vec<TestId>,
    /// Children that were run.
    pub peeks: usize,
}

/// One row: tests that run one after the other, and those that are looked at.
#[derive(Clone, Debug)]
struct Row {
    sequence: Vec<usize>,
    then: Vec<usize>,
}

impl Row {
    /// One test, then children: all the clean ones behind a touched test, behind any other the touched ones.
    fn forked(
        first: usize,
        all: impl Iterator<Item = (usize, bool)>,
        touched: &BTreeSet<usize>,
        victims: &BTreeSet<usize>,
    ) -> Self {
        let centre = touched.contains(&first);
        let looked_at = |ix: usize, clean: bool| match centre {
            true => clean || victims.contains(&ix),
            false => clean && touched.contains(&ix),
        };
        let then = all.filter(|(ix, clean)| *ix != first && looked_at(*ix, *clean)).map(|(ix, _)| ix);
        Self { sequence: vec![first], then: then.collect() }
    }

    /// A touched test in front of all others, and behind them.
    fn fresh(touched: usize, all: impl Iterator<Item = (usize, bool)> + Clone) -> [Self; 2] {
        let others: Vec<usize> = all.clone().map(|(ix, _)| ix).filter(|ix| *ix != touched).collect();
        let clean = all.filter(|(_, clean)| *clean).map(|(ix, _)| ix);
        let (own, then): (Vec<usize>, Vec<usize>) = clean.partition(|ix| *ix == touched);
        let in_front = std::iter::once(touched).chain(others.clone()).collect();
        let behind = others.into_iter().chain([touched]).collect();
        [Self { sequence: in_front, then }, Self { sequence: behind, then: own }]
    }
}

fn by_fork(rules: &StarRules) -> bool {
    rules.executor == Executor::Fork
}

fn all_bad(seen: &[Observation]) -> bool {
    seen.iter().all(|o| o.kind().is_some_and(|k| k > Kind::Pass))
}

/// The state machine of the sweep. It runs on the patched tree, forked.
#[derive(Clone, Debug)]
pub struct Star {
    ids: Vec<TestId>,
    rules: StarRules,
    rows: Vec<Row>,
    next_row: usize,
    /// Runs that did not pass at first, by row and test.
    hits: BTreeMap<(usize, usize), Vec<Observation>>,
    /// Repetitions asked for, by row.
    repeated: BTreeMap<usize, u32>,
    outstanding: BTreeMap<ProbeId, (usize, u32, Vec<usize>)>,
    issued: u32,
    peeks: usize,
    covered: Vec<TestId>,
    left_out: Vec<TestId>,
    given_up: bool,
}

impl Star {
    /// A star around what `touched` names and what base has not. Looked at are the tests that pass in every order so far,
    /// and behind a touched test also those that depend on order and pass alone: it may be one more polluter of theirs.
    pub fn new(base: &TreeResult, patched: &TreeResult, touched: &TouchedTests, rules: StarRules) -> Self {
        let suite = patched.sweep.suite();
        let before = base.sweep.suite();
        let ids: Vec<TestId> = suite.tests().iter().map(|t| t.id.clone()).collect();
        let alone = patched.sweep.column(&OrderLabel::Alone);
        let passing = |ix: TestIx, class: Class| {
            let stable = patched.classes.get(ix).is_some_and(|c| c.class == class);
            let by_itself = alone.is_some_and(|column| match patched.sweep.cell(column, ix) {
                Cell::Seen(outcome) => Kind::of(outcome) == Kind::Pass,
                Cell::Disturbed { .. } | Cell::Unplanned => false,
            });
            stable && (by_itself || rules.executor == Executor::Fresh) && !rules.bound.contains(suite.id(ix))
        };
        let clean: Vec<bool> = suite.indices().map(|ix| passing(ix, Class::StablePass)).collect();
        let victims = suite.indices().filter(|ix| by_fork(&rules) && passing(*ix, Class::OrderSensitive));
        let victims: BTreeSet<usize> = victims.map(TestIx::get).collect();
        // New tests first, then those whose own source differs, then the rest of their files (METHODS A5).
        let place = |ix: TestIx| match before.find(suite.id(ix)) {
            None => Some(0),
            Some(b) if before.info(b).source != suite.info(ix).source => Some(1),
            Some(_) => touched.tests.contains(suite.id(ix)).then_some(2),
        };
        let mut wanted: Vec<(u8, TestIx)> =
            suite.indices().filter_map(|ix| place(ix).map(|p| (p, ix))).collect();
        wanted.sort_unstable();
        let affordable = match rules.executor {
            Executor::Fork => rules.max_peeks / (2 * suite.len()).max(1),
            Executor::Fresh => rules.max_runs / 2,
        };
        let free = |ix: &TestIx| !rules.bound.contains(suite.id(*ix));
        let mut chosen = BTreeSet::new();
        let (mut covered, mut left_out) = (Vec::new(), Vec::new());
        for (_, ix) in wanted {
            if chosen.len() < affordable && free(&ix) && (alone.is_some() || !by_fork(&rules)) {
                chosen.insert(ix.get());
                covered.push(suite.id(ix).clone());
            } else {
                left_out.push(suite.id(ix).clone());
            }
        }
        let all = || (0..ids.len()).map(|ix| (ix, clean[ix]));
        let rows = match rules.executor {
            Executor::Fork => {
                let first = suite.indices().filter(free).map(TestIx::get);
                first.map(|first| Row::forked(first, all(), &chosen, &victims)).collect::<Vec<_>>()
            }
            Executor::Fresh => chosen.iter().flat_map(|touched| Row::fresh(*touched, all())).collect(),
        };
        let rows = rows.into_iter().filter(|row| !row.then.is_empty()).collect();
        Self {
            ids,
            rules,
            rows,
            next_row: 0,
            hits: BTreeMap::new(),
            repeated: BTreeMap::new(),
            outstanding: BTreeMap::new(),
            issued: 0,
            peeks: 0,
            covered,
            left_out,
            given_up: false,
        }
    }

    /// How many rows there are in all.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// What to run next; `None` when nothing is left, or nothing until an outstanding probe is answered.
    pub fn next_probe(&mut self) -> Option<Probe> {
        if self.given_up {
            return None;
        }
        if let Some((row, then)) = self.to_repeat() {
            let attempt = self.repeated.entry(row).or_insert(1);
            *attempt += 1;
            let attempt = *attempt;
            return Some(self.issue(row, attempt, then));
        }
        let row = self.next_row;
        let then = self.rows.get(row)?.then.clone();
        self.next_row += 1;
        Some(self.issue(row, 1, then))
    }

    /// A row with pairs that were not shown often enough, none of it being out.
    fn to_repeat(&self) -> Option<(usize, Vec<usize>)> {
        let (always, mixed) = (self.rules.repeats, self.rules.repeats + self.rules.spare_repeats.0);
        let wanted = |seen: &[Observation]| if all_bad(seen) { 1 + always } else { 1 + mixed };
        let out: BTreeSet<usize> = self.outstanding.values().map(|(row, ..)| *row).collect();
        let open = |((_, _), seen): &(&(usize, usize), &Vec<Observation>)| seen.len() < wanted(seen) as usize;
        let mut by_row: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (&(row, then), _) in self.hits.iter().filter(open) {
            if !out.contains(&row) && self.repeated.get(&row).copied().unwrap_or(1) <= mixed {
                by_row.entry(row).or_default().push(then);
            }
        }
        by_row.pop_first()
    }

    fn issue(&mut self, row: usize, attempt: u32, then: Vec<usize>) -> Probe {
        let id = ProbeId(self.issued);
        self.issued += 1;
        self.peeks += then.len();
        let named = |ix: &usize| self.ids[*ix].clone();
        let tests = self.rows[row].sequence.iter().map(named).collect();
        let watched: Vec<TestId> = then.iter().map(named).collect();
        let (peeks, watch) = match self.rules.executor {
            Executor::Fork => {
                (watched.into_iter().map(|test| ProbePeek { after: 1, test }).collect(), Vec::new())
            }
            Executor::Fresh => (Vec::new(), watched),
        };
        self.outstanding.insert(id, (row, attempt, then));
        Probe {
            id,
            side: Side::Patched,
            label: OrderLabel::List("star".to_owned()),
            order_of: Side::Patched,
            tests: Selection::Sequence(tests),
            may_stop: self.rules.executor == Executor::Fresh,
            peeks,
            executor: self.rules.executor,
            attempt,
            watch,
            why: Why::Star,
        }
    }

    /// Takes the answer to a probe. An id that is not outstanding is ignored.
    pub fn observe(&mut self, id: ProbeId, answer: &Answer) {
        let Some((row, attempt, then)) = self.outstanding.remove(&id) else { return };
        for then in then {
            let seen = match self.rules.executor {
                Executor::Fork => answer.peek(1, &self.ids[then]),
                Executor::Fresh => answer.of(&self.ids[then]),
            };
            let Some(seen) = seen else { continue };
            let observation = Observation {
                label: OrderLabel::List("star".to_owned()),
                attempt,
                executor: self.rules.executor,
                outcome: seen.outcome,
                disturbed: seen.unreached_because_of.is_some(),
                signature: seen.signature.clone(),
            };
            let Some(kind) = observation.kind() else { continue };
            if attempt > 1 {
                self.hits.entry((row, then)).or_default().push(observation);
            } else if kind > Kind::Pass {
                self.hits.insert((row, then), vec![observation]);
            }
        }
    }

    /// Asks for nothing more. Pairs that were not shown often enough count for nothing.
    pub fn give_up(&mut self) {
        self.given_up = true;
    }

    /// Whether nothing is outstanding and nothing will be asked.
    pub fn is_done(&self) -> bool {
        let open = !self.given_up && (self.next_row < self.rows.len() || self.to_repeat().is_some());
        self.outstanding.is_empty() && !open
    }

    /// What was shown.
    pub fn finish(self) -> StarResult {
        let (mut covered, mut left_out) = (self.covered, self.left_out);
        if self.given_up {
            left_out.append(&mut covered);
        }
        let mut result = StarResult { covered, left_out, peeks: self.peeks, ..StarResult::default() };
        let (mut coupled, mut chance) = (BTreeSet::new(), BTreeSet::new());
        let wanted = 1 + self.rules.repeats as usize;
        for ((row, then), mut observations) in self.hits {
            observations.sort();
            let kinds: Vec<Kind> = observations.iter().filter_map(Observation::kind).collect();
            let Some(&kind) = kinds.iter().filter(|k| **k > Kind::Pass).min() else { continue };
            let bad = kinds.iter().filter(|k| **k > Kind::Pass).count();
            let mixed = kinds.contains(&Kind::Pass);
            let counts = if mixed { bad >= self.rules.spare_repeats.1 } else { kinds.len() >= wanted };
            let named = |ix: &usize| self.ids[*ix].clone();
            let before = self.rows[row].sequence.iter().take_while(|ix| **ix != then).map(named).collect();
            let pair = Pair { before, then: named(&then), kind, observations };
            if counts && coupled.insert(then) {
                result.pairs.push(pair);
            } else if mixed && !counts && chance.insert(then) {
                result.by_chance.push(pair);
            }
        }
        result.by_chance.retain(|pair| !result.pairs.iter().any(|p| p.then == pair.then));
        result
    }
}
