//! Replays asked for, and what came of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Executor, OrderLabel, TestId};

use super::super::class::{Kind, Observation};
use super::super::probe::{Answer, ProbeId, Side};
use super::arms::Tally;

/// Which tests of an order a replay runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    /// The watched tests, each by itself.
    Alone,
    All,
    Common,
}

/// One order on one tree with one choice of tests: replays of it are interchangeable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) side: Side,
    pub(super) order_of: Side,
    pub(super) label: OrderLabel,
    pub(super) scope: Scope,
}

#[derive(Clone, Debug)]
struct Run {
    attempt: u32,
    watch: BTreeSet<TestId>,
    answer: Answer,
}

#[derive(Clone, Debug)]
struct Pending {
    key: Key,
    attempt: u32,
    watch: BTreeSet<TestId>,
}

/// All replays so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Book {
    runs: BTreeMap<Key, Vec<Run>>,
    pending: BTreeMap<ProbeId, Pending>,
    /// The last attempt handed out.
    attempts: BTreeMap<Key, u32>,
}

impl Book {
    /// Hands out the next replay of a key; attempts start behind `after`.
    pub(super) fn ask(&mut self, id: ProbeId, key: &Key, watch: &[TestId], after: u32) -> u32 {
        let attempt = self.attempts.entry(key.clone()).or_insert(after);
        *attempt += 1;
        let pending = Pending { key: key.clone(), attempt: *attempt, watch: watch.iter().cloned().collect() };
        self.pending.insert(id, pending);
        *attempt
    }

    /// Takes an answer; an id that is not outstanding is ignored.
    pub(super) fn take(&mut self, id: ProbeId, answer: &Answer) {
        let Some(Pending { key, attempt, watch }) = self.pending.remove(&id) else { return };
        let runs = self.runs.entry(key).or_default();
        runs.push(Run { attempt, watch, answer: answer.clone() });
        runs.sort_by_key(|r| r.attempt);
    }

    /// How often a key was handed out.
    pub(super) fn asked(&self, key: &Key) -> usize {
        let pending = self.pending.values().filter(|p| p.key == *key).count();
        self.runs.get(key).map_or(0, Vec::len) + pending
    }

    /// Whether a replay that will tell of this test is still out.
    pub(super) fn is_pending(&self, key: &Key, test: &TestId) -> bool {
        self.pending.values().any(|p| p.key == *key && p.watch.contains(test))
    }

    /// Whether anything is out.
    pub(super) fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Replays done, by key.
    pub(super) fn done(&self) -> impl Iterator<Item = (&Key, usize)> {
        self.runs.iter().map(|(key, runs)| (key, runs.len()))
    }

    /// What a test did in the replays of a key that watched it.
    pub(super) fn tally(&self, key: &Key, test: &TestId, target: Kind) -> Tally {
        let mut tally = Tally::default();
        for run in self.runs.get(key).into_iter().flatten().filter(|r| r.watch.contains(test)) {
            match observation(key, run, test).and_then(|o| o.kind()) {
                None => tally.lost += 1,
                Some(kind) if kind >= target => {
                    tally.hits += 1;
                    tally.gone |= kind == Kind::Gone;
                }
                Some(_) => tally.misses += 1,
            }
        }
        tally
    }

    /// The same as observations.
    pub(super) fn observations(&self, key: &Key, test: &TestId) -> Vec<Observation> {
        let runs = self.runs.get(key).into_iter().flatten().filter(|r| r.watch.contains(test));
        runs.filter_map(|r| observation(key, r, test)).collect()
    }

    /// The test that kept another one from running in some replay.
    pub(super) fn culprit(&self, test: &TestId) -> Option<&TestId> {
        let mut seen = self.runs.values().flatten().filter_map(|r| r.answer.of(test));
        seen.find_map(|s| s.unreached_because_of.as_ref())
    }
}

fn observation(key: &Key, run: &Run, test: &TestId) -> Option<Observation> {
    let seen = run.answer.of(test)?;
    Some(Observation {
        label: key.label.clone(),
        attempt: run.attempt,
        executor: Executor::Fresh,
        outcome: seen.outcome,
        disturbed: seen.unreached_because_of.is_some(),
        signature: seen.signature.clone(),
    })
}
