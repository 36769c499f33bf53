//! Sets that are known to hit some test: whom else they hit, and their proofs.

use std::collections::BTreeMap;

use crate::model::{Executor, TestIx};
use crate::search::{Leaning, lean};

use super::answers::{Ask, Setting};
use super::blame::Blame;
use super::certify::{Standing, Unit, prove};
use super::cleaners::Scan;
use super::goal::{Goal, Stage};
use super::query::Why;

/// Tests that a set hits, beyond the first, that are proven one by one; more are proven in one go.
const SINGLY: usize = 3;
/// Tests that were not proven in one go and get a proof of their own.
const SECOND_CHANCES: usize = 20;
/// Sets of one test that are certified; further ones stay suspects.
const CERTIFIED_SETS: usize = 8;

/// A set that hits at least one test.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) tests: Vec<TestIx>,
    pub(super) always: bool,
    pub(super) executor: Executor,
    /// Goals for which it is decided whether it hits them, by number.
    pub(super) told: BTreeMap<usize, bool>,
    /// The goals it hits, by number; the first is the one it was found for.
    pub(super) members: Vec<usize>,
    /// Without forks the goals it is tried on are run one after the other: these.
    pub(super) group: Vec<TestIx>,
    pub(super) units: Vec<Unit>,
    pub(super) cleaners: Scan,
}

/// What is known of a set and a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decided {
    Hits,
    Misses,
    Open,
}

impl Blame {
    /// The number of a set, which is new or known.
    pub(super) fn register(&mut self, tests: Vec<TestIx>, always: bool, executor: Executor) -> usize {
        if let Some(k) = self.sets.iter().position(|set| set.tests == tests) {
            return k;
        }
        let forks = self.input.options.forks;
        let ready = self.goals.iter().filter(|g| matches!(g.stage, Stage::Ready) && !forks).map(|g| g.test);
        let mut group: Vec<TestIx> =
            ready.filter(|ix| !tests.contains(ix) && !self.answers.has_needs(*ix)).collect();
        group.sort_unstable();
        self.sets.push(Known {
            tests,
            always,
            executor,
            told: BTreeMap::new(),
            members: Vec::new(),
            group,
            units: Vec::new(),
            cleaners: Scan::default(),
        });
        self.sets.len() - 1
    }

    pub(super) fn settle(&mut self, g: usize, k: usize) {
        if !self.goals[g].sets.contains(&k) {
            self.goals[g].sets.push(k);
            self.sets[k].members.push(g);
            let test = self.goals[g].test;
            for unit in &mut self.sets[k].units {
                unit.closed &= !unit.tests.contains(&test);
            }
        }
    }

    /// Whether a set hits a test, as far as is known.
    pub(super) fn decided(&self, k: usize, g: usize) -> Decided {
        let (set, goal) = (&self.sets[k], &self.goals[g]);
        if let Some(hits) = set.told.get(&g) {
            return if *hits { Decided::Hits } else { Decided::Misses };
        }
        if set.tests.contains(&goal.test) || (set.executor == Executor::Fresh && self.input.options.forks) {
            return Decided::Misses;
        }
        let setting = Setting::plain(self.executor());
        if !self.input.options.forks {
            return self.decided_in_group(k, g);
        }
        let tally = goal.tally(&self.answers, &setting, &set.tests);
        match (tally.hits, tally.misses) {
            (0, 0) => return if tally.lost >= 2 { Decided::Misses } else { Decided::Open },
            (0, _) => return Decided::Misses,
            (hits, misses) => match lean(hits, misses, 0.5) {
                Leaning::Hit => {}
                Leaning::Miss => return Decided::Misses,
                Leaning::Open => return Decided::Open,
            },
        }
        self.decided_by_parts(k, g, &[])
    }

    /// Without forks: twice hit behind the set and the tests that run before it, and not behind those alone.
    fn decided_in_group(&self, k: usize, g: usize) -> Decided {
        let (set, goal) = (&self.sets[k], &self.goals[g]);
        let Some(place) = self.place(k, g) else { return Decided::Misses };
        let setting = Setting::plain(Executor::Fresh);
        let beside = &set.group[..place];
        let with = goal.tally(&self.answers, &setting, &[&set.tests, beside].concat());
        let alone = goal.tally(&self.answers, &setting, beside);
        match (with.hits, alone.hits, alone.misses) {
            _ if with.misses + alone.hits > 0 || with.lost >= 2 || alone.lost >= 2 => Decided::Misses,
            (2.., 0, 1..) => self.decided_by_parts(k, g, beside),
            _ => Decided::Open,
        }
    }

    /// How many tests of a set's group run before a goal; none where one of those keeps ending the process. `None` for a
    /// goal that is not in the group.
    fn place(&self, k: usize, g: usize) -> Option<usize> {
        let (set, goal) = (&self.sets[k], &self.goals[g]);
        let place = set.group.iter().position(|ix| *ix == goal.test)?;
        let setting = Setting::plain(Executor::Fresh);
        let lost = |members: &[TestIx]| {
            let tests = [members, &set.group[..place]].concat();
            goal.tally(&self.answers, &setting, &tests).lost >= 2
        };
        Some(if lost(&set.tests) || lost(&[]) { 0 } else { place })
    }

    /// A part of a set may do for a test, which is then searched for by itself.
    fn decided_by_parts(&self, k: usize, g: usize, beside: &[TestIx]) -> Decided {
        let tests = &self.sets[k].tests;
        let setting = Setting::plain(self.executor());
        if tests.len() < 2 {
            return Decided::Hits;
        }
        for n in 0..tests.len() {
            let part = [without(tests, n).as_slice(), beside].concat();
            let tally = self.goals[g].tally(&self.answers, &setting, &part);
            match (tally.hits, tally.misses, tally.lost) {
                (0, 0, 0 | 1) => return Decided::Open,
                (0, ..) => {}
                _ => return Decided::Misses,
            }
        }
        Decided::Hits
    }

    /// Each known set before all tests that wait for it, in one row.
    pub(super) fn asks_of_known(&self) -> Vec<Ask> {
        let mut asks = Vec::new();
        let setting = Setting::plain(self.executor());
        let ready: Vec<usize> =
            (0..self.goals.len()).filter(|g| matches!(self.goals[*g].stage, Stage::Ready)).collect();
        for (k, set) in self.sets.iter().enumerate() {
            let open: Vec<usize> =
                ready.iter().copied().filter(|g| self.decided(k, *g) == Decided::Open).collect();
            if open.is_empty() {
                continue;
            }
            if !self.input.options.forks {
                asks.extend(self.group_asks(k, &open));
                continue;
            }
            let mut rows: BTreeMap<(u32, Vec<TestIx>), Vec<TestIx>> = BTreeMap::new();
            for g in open {
                let goal = &self.goals[g];
                let tally = goal.tally(&self.answers, &setting, &set.tests);
                if lean(tally.hits, tally.misses, 0.5) == Leaning::Hit {
                    for n in 0..set.tests.len() {
                        let part = without(&set.tests, n);
                        let known = goal.tally(&self.answers, &setting, &part);
                        if known.seen() == 0 {
                            rows.entry((known.runs() + 1, part)).or_default().push(goal.test);
                        }
                    }
                } else {
                    // Three hits in a row are enough.
                    let runs = if tally.hits > 0 { (tally.runs() + 1).max(3) } else { tally.runs() + 1 };
                    rows.entry((runs, set.tests.clone())).or_default().push(goal.test);
                }
            }
            let row = |((runs, tests), goals): ((u32, Vec<TestIx>), Vec<TestIx>)| {
                Ask::row(setting.clone(), &tests, goals, runs, Why::KnownSet)
            };
            asks.extend(rows.into_iter().map(row));
        }
        asks
    }

    /// With the set twice, without it once, then with parts of it, as long as one of the tests waits for it.
    fn group_asks(&self, k: usize, open: &[usize]) -> Vec<Ask> {
        let set = &self.sets[k];
        let alone =
            |g: &usize| self.place(k, *g) == Some(0) && set.group.first() != Some(&self.goals[*g].test);
        let (single, together): (Vec<usize>, Vec<usize>) = open.iter().copied().partition(alone);
        let mut asks = self.tail_asks(k, &together, &set.group);
        asks.extend(single.iter().flat_map(|g| self.tail_asks(k, &[*g], &[self.goals[*g].test])));
        asks
    }

    fn tail_asks(&self, k: usize, goals: &[usize], tail: &[TestIx]) -> Vec<Ask> {
        let set = &self.sets[k];
        let setting = Setting::plain(Executor::Fresh);
        let tally = |g: &usize, members: &[TestIx]| {
            let beside = &set.group[..self.place(k, *g).unwrap_or(0)];
            self.goals[*g].tally(&self.answers, &setting, &[members, beside].concat())
        };
        let ask = |members: &[TestIx], enough: u32| {
            let short = goals.iter().map(|g| tally(g, members)).filter(|t| t.seen() < enough);
            let runs = short.map(|t| t.runs() + 1).min()?;
            Some(Ask {
                setting: setting.clone(),
                tests: members.to_vec(),
                peeks: Vec::new(),
                tail: tail.to_vec(),
                why: Why::KnownSet,
                runs,
            })
        };
        let mut asks: Vec<Ask> = ask(&set.tests, 2).into_iter().chain(ask(&[], 1)).collect();
        if asks.is_empty() {
            asks.extend((0..set.tests.len()).filter_map(|n| ask(&without(&set.tests, n), 1)));
        }
        asks
    }

    /// Decides which tests are proven together, as soon as nobody waits for the set any more.
    pub(super) fn form_units(&mut self) {
        if self.input.options.certificate == 0 {
            return;
        }
        let waiting = |goal: &Goal| matches!(goal.stage, Stage::Alone | Stage::Ready);
        for k in 0..self.sets.len() {
            self.close_units(k);
            let undecided = |g: usize| waiting(&self.goals[g]) && self.decided(k, g) == Decided::Open;
            if (0..self.goals.len()).any(undecided) {
                continue;
            }
            let units = self.new_units(k);
            self.sets[k].units.extend(units);
        }
    }

    fn new_units(&self, k: usize) -> Vec<Unit> {
        let set = &self.sets[k];
        let wanted = |g: &usize| self.goals[*g].sets.iter().take(CERTIFIED_SETS).any(|own| *own == k);
        let test = |g: usize| self.goals[g].test;
        let has_unit = |g: usize| set.units.iter().any(|unit| unit.tests.contains(&test(g)));
        // What fresh interpreters said while the set was looked for chose it, and proves nothing.
        let since = if set.executor == Executor::Fresh { self.answers.issued() } else { 0 };
        let single = |g: usize| Unit { set: k, tests: vec![test(g)], since, closed: false };
        let fresh: Vec<usize> =
            set.members.iter().copied().filter(wanted).filter(|g| !has_unit(*g)).collect();
        let mut units = Vec::new();
        let (first, rest) =
            if set.units.is_empty() { fresh.split_at(fresh.len().min(1)) } else { fresh.split_at(0) };
        units.extend(first.iter().map(|g| single(*g)));
        // What needs others before it is proven by itself.
        let (needy, rest): (Vec<usize>, Vec<usize>) =
            rest.iter().copied().partition(|g| self.answers.has_needs(test(*g)));
        units.extend(needy.into_iter().map(single));
        if rest.len() > SINGLY {
            let mut tests: Vec<TestIx> =
                rest.iter().map(|g| test(*g)).filter(|ix| !set.tests.contains(ix)).collect();
            tests.sort_unstable();
            // Without forks they were tried in this sequence already.
            let grouped = !set.group.is_empty() && tests.iter().all(|ix| set.group.contains(ix));
            let tests = if grouped { set.group.clone() } else { tests };
            units.push(Unit { set: k, tests, since, closed: false });
        } else {
            units.extend(rest.iter().map(|g| single(*g)));
        }
        units.extend(self.second_chances(k).into_iter().map(single));
        units
    }

    /// Tests whose proof in one go is closed and is none, and that have had no proof of their own.
    fn second_chances(&self, k: usize) -> Vec<usize> {
        let set = &self.sets[k];
        let singles = set.units.iter().filter(|unit| unit.tests.len() == 1).count();
        let failed = |g: &usize| {
            let goal = &self.goals[*g];
            let of = |unit: &&Unit| unit.tests.contains(&goal.test);
            let mut units = set.units.iter().filter(of);
            let (Some(unit), None) = (units.next(), units.next()) else { return false };
            if unit.tests.len() == 1 {
                return false;
            }
            let wanted = self.input.options.certificate;
            let (proof, standing) = prove(goal, &set.tests, unit, wanted, &self.answers);
            matches!(standing, Standing::Closed) && !proof.certified
        };
        set.members.iter().copied().filter(failed).take(SECOND_CHANCES.saturating_sub(singles)).collect()
    }

    /// Marks units in which nothing is to be run any more.
    fn close_units(&mut self, k: usize) {
        let (set, wanted) = (&self.sets[k], self.input.options.certificate);
        let closed = |unit: &Unit| {
            let goals =
                set.members.iter().map(|g| &self.goals[*g]).filter(|goal| unit.tests.contains(&goal.test));
            let mut standings = goals.map(|goal| prove(goal, &set.tests, unit, wanted, &self.answers).1);
            standings.all(|standing| matches!(standing, Standing::Closed))
        };
        let closed: Vec<bool> = set.units.iter().map(|unit| unit.closed || closed(unit)).collect();
        for (unit, closed) in self.sets[k].units.iter_mut().zip(closed) {
            unit.closed = closed;
        }
    }

    pub(super) fn asks_of_units(&self) -> Vec<Ask> {
        let mut asks: Vec<Ask> = Vec::new();
        for unit in self.sets.iter().flat_map(|set| &set.units).filter(|unit| !unit.closed) {
            let set = &self.sets[unit.set];
            for g in &set.members {
                let goal = &self.goals[*g];
                if !unit.tests.contains(&goal.test) {
                    continue;
                }
                let wanted = self.input.options.certificate;
                if let Standing::Open(open) = prove(goal, &set.tests, unit, wanted, &self.answers).1 {
                    asks.extend(open.into_iter().filter(|ask| !asks.contains(ask)).collect::<Vec<_>>());
                }
            }
        }
        asks
    }
}

/// A sequence without one of its members.
pub(super) fn without(tests: &[TestIx], n: usize) -> Vec<TestIx> {
    tests[..n].iter().chain(&tests[n + 1..]).copied().collect()
}
