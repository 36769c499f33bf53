//! What undoes a set: candidates one behind the other, the test after each; behind a cleaner the set is run anew.

use crate::model::{Executor, PeekAt, TestIx};

use super::answers::{Ask, Setting, Trial};
use super::blame::Blame;
use super::certify::{NEVER, Standing, prove};
use super::query::Why;

/// Candidates in the first run, and behind a cleaner; twice as many after each run without one.
const BLOCK: usize = 4;
/// Candidates in one run at the most.
const LARGEST: usize = 64;
/// Runs behind a cleaner that must all miss.
const SURE: u32 = 3;
/// With more tests than this behind one set, only the first is asked for its cleaners.
const SHARED: usize = 50;

/// How far the search for what undoes a set is.
#[derive(Clone, Debug, Default)]
pub(super) struct Scan {
    /// The candidates, once the set is proven.
    candidates: Option<Vec<TestIx>>,
    next: usize,
    /// Runs since the last cleaner.
    quiet: u32,
    /// One behind which the test was not hit.
    checking: Option<TestIx>,
    found: Vec<TestIx>,
    /// Whether every other test was tried.
    pub(super) all: bool,
}

impl Blame {
    /// Goes on with each set's cleaners, and lists what is to be run for them.
    pub(super) fn advance_cleaners(&mut self) -> Vec<Ask> {
        if !self.input.options.forks || self.input.options.cleaners == 0 {
            return Vec::new();
        }
        (0..self.sets.len()).flat_map(|k| self.advance_cleaners_of(k)).collect()
    }

    fn advance_cleaners_of(&mut self, k: usize) -> Vec<Ask> {
        let set = &self.sets[k];
        let Some(&g) = set.members.first() else { return Vec::new() };
        // Only the first set of a test: what undoes one polluter usually undoes the others.
        let first = self.goals[g].sets.first() == Some(&k);
        if !set.always
            || !first
            || set.executor == Executor::Fresh
            || self.goals[g].is_brittle()
            || !self.is_proven(k, g)
        {
            return Vec::new();
        }
        if set.cleaners.candidates.is_none() {
            let mut candidates = self.goals[g].cleaner_candidates(&self.input, &set.tests);
            let most =
                if self.input.options.exhaustive { candidates.len() } else { self.input.options.cleaners };
            let all = candidates.len() <= most;
            candidates.truncate(most);
            let scan = &mut self.sets[k].cleaners;
            scan.all = all;
            scan.candidates = Some(candidates);
        }
        loop {
            match self.scan(k, g) {
                Some(Ok(())) => {}
                Some(Err(ask)) => return vec![ask],
                None => return self.shared(k, g),
            }
        }
    }

    /// Its certificate is closed, and fresh interpreters do not contradict it.
    fn is_proven(&self, k: usize, g: usize) -> bool {
        let (set, goal, wanted) = (&self.sets[k], &self.goals[g], self.input.options.certificate);
        if wanted == 0 {
            return true;
        }
        let Some(unit) = set.units.iter().find(|unit| unit.tests.contains(&goal.test)) else { return false };
        let (proof, standing) = prove(goal, &set.tests, unit, wanted, &self.answers);
        let never = proof.with.hits == 0 && proof.with.runs >= NEVER;
        matches!(standing, Standing::Closed) && !never
    }

    /// One step: `Ok` where the answers sufficed, what is to be run where not, `None` at the end.
    fn scan(&mut self, k: usize, g: usize) -> Option<Result<(), Ask>> {
        let setting = Setting::plain(Executor::Fork);
        let (set, goal) = (&self.sets[k], &self.goals[g]);
        let scan = &set.cleaners;
        if let Some(cleaner) = scan.checking {
            let sequence = [set.tests.as_slice(), &[cleaner]].concat();
            let tally = goal.tally(&self.answers, &setting, &sequence);
            if tally.hits == 0 && tally.runs() < SURE {
                let ask = Ask::single(setting, &sequence, goal.test, SURE, Why::Cleaner);
                return Some(Err(ask));
            }
            let sure = tally.hits == 0 && tally.misses > 0;
            let scan = &mut self.sets[k].cleaners;
            scan.checking = None;
            scan.found.extend(sure.then_some(cleaner));
            return Some(Ok(()));
        }
        let candidates = scan.candidates.as_deref().unwrap_or_default();
        let block: Vec<TestIx> = candidates
            .iter()
            .skip(scan.next)
            .take((BLOCK << scan.quiet.min(8)).min(LARGEST))
            .copied()
            .collect();
        if block.is_empty() {
            return None;
        }
        let sequence = [set.tests.as_slice(), &block].concat();
        let places = set.tests.len() + 1..=sequence.len();
        let said: Vec<Option<bool>> = places
            .clone()
            .map(|place| {
                let trial = Trial::new(&setting, &sequence[..place], goal.test);
                self.answers.outcomes(&trial).next().map(|o| o.is_some_and(|o| !goal.is_hit(o)))
            })
            .collect();
        let clean = said.iter().position(|clean| *clean == Some(true));
        let known = said.iter().take_while(|clean| clean.is_some()).count();
        if clean.is_none_or(|n| n >= known) && known < block.len() {
            let peeks = places.map(|after| PeekAt { after, test: goal.test }).collect();
            let why = Why::Cleaner;
            return Some(Err(Ask { setting, tests: sequence, peeks, tail: Vec::new(), why, runs: 1 }));
        }
        let scan = &mut self.sets[k].cleaners;
        if let Some(n) = clean {
            scan.checking = Some(block[n]);
            scan.next += n + 1;
            scan.quiet = 0;
        } else {
            scan.next += block.len();
            scan.quiet += 1;
        }
        Some(Ok(()))
    }

    /// Tries what was found on the other tests of the set.
    fn shared(&mut self, k: usize, first: usize) -> Vec<Ask> {
        let setting = Setting::plain(Executor::Fork);
        let set = &self.sets[k];
        let found = set.cleaners.found.clone();
        let others: Vec<usize> = if set.members.len() > SHARED {
            Vec::new()
        } else {
            set.members
                .iter()
                .copied()
                .filter(|g| *g != first && self.goals[*g].sets.first() == Some(&k))
                .collect()
        };
        let mut asks = Vec::new();
        let mut clean: Vec<(usize, TestIx)> = found.iter().map(|cleaner| (first, *cleaner)).collect();
        for cleaner in &found {
            let sequence = [set.tests.as_slice(), &[*cleaner]].concat();
            let mut open = Vec::new();
            for g in others.iter().copied().filter(|g| self.goals[*g].test != *cleaner) {
                let tally = self.goals[g].tally(&self.answers, &setting, &sequence);
                if tally.runs() == 0 {
                    open.push(self.goals[g].test);
                } else if tally.hits == 0 && tally.misses > 0 {
                    clean.push((g, *cleaner));
                }
            }
            if !open.is_empty() {
                asks.push(Ask::row(setting.clone(), &sequence, open, 1, Why::Cleaner));
            }
        }
        for (g, cleaner) in clean {
            if !self.goals[g].cleaners.contains(&cleaner) {
                self.goals[g].cleaners.push(cleaner);
            }
        }
        asks
    }
}
