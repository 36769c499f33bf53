//! What is known of each sequence, what is asked and not answered, and what it cost.

use std::collections::{BTreeMap, HashMap};

use crate::model::TestIx;

use super::minimiser::Spent;
use super::{Query, QueryId, Reply};

/// A sequence of tests, by a digest of 128 bits: sequences are long, and each place of a trace is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key(u64, u64);

impl Key {
    /// The empty sequence: the goal's test alone.
    pub(crate) const ALONE: Self = Self(0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344);

    /// The key of the sequence with one test more.
    fn then(self, test: TestIx) -> Self {
        Self(
            mix(self.0 ^ u64::from(test.0)),
            mix(self.1.wrapping_add(u64::from(test.0)).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        )
    }

    pub(crate) fn of(tests: &[TestIx]) -> Self {
        tests.iter().fold(Self::ALONE, |key, test| key.then(*test))
    }

    /// The keys of the first `places` tests, for each of the rising places.
    pub(crate) fn at(tests: &[TestIx], places: &[usize]) -> Vec<Self> {
        let mut keys = Vec::with_capacity(places.len());
        let (mut key, mut done) = (Self::ALONE, 0);
        for &place in places {
            while done < place.min(tests.len()) {
                key = key.then(tests[done]);
                done += 1;
            }
            keys.push(key);
        }
        keys
    }
}

/// The finaliser of splitmix64 (Steele, Lea and Flood 2014).
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// What the runs of one sequence said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) hits: u32,
    pub(crate) misses: u32,
    pub(crate) lost: u32,
}

impl Tally {
    /// Runs that said something.
    pub(crate) fn seen(self) -> u32 {
        self.hits + self.misses
    }

    /// All runs.
    pub(crate) fn runs(self) -> u32 {
        self.seen() + self.lost
    }
}

/// Something to run, until the sequence `need`, one of its places, has been run so many times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) tests: Vec<TestIx>,
    pub(super) places: Vec<usize>,
    pub(super) need: Key,
    pub(super) runs: u32,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Book {
    tallies: HashMap<Key, Tally>,
    outstanding: BTreeMap<QueryId, Query>,
    issued: u32,
    mixed: bool,
    best: Option<Vec<TestIx>>,
    spent: Spent,
}

impl Book {
    /// Takes in one run of a sequence that nobody asked for.
    pub(super) fn know(&mut self, tests: &[TestIx], hit: bool) {
        self.add(Key::of(tests), tests, Some(hit));
    }

    fn add(&mut self, key: Key, tests: &[TestIx], hit: Option<bool>) {
        let tally = self.tallies.entry(key).or_default();
        match hit {
            Some(true) => tally.hits += 1,
            Some(false) => tally.misses += 1,
            None => tally.lost += 1,
        }
        self.mixed |= tally.hits > 0 && tally.misses > 0;
        if hit == Some(true) && self.best.as_ref().is_none_or(|best| tests.len() < best.len()) {
            self.best = Some(tests.to_vec());
        }
    }

    pub(super) fn tally(&self, key: Key) -> Tally {
        self.tallies.get(&key).copied().unwrap_or_default()
    }

    /// Whether some sequence was hit once and not another time.
    pub(super) fn is_mixed(&self) -> bool {
        self.mixed
    }

    /// The shortest sequence that was ever hit.
    pub(super) fn best(&self) -> Option<&[TestIx]> {
        self.best.as_deref()
    }

    pub(super) fn spent(&self) -> Spent {
        self.spent
    }

    pub(super) fn is_waiting(&self) -> bool {
        !self.outstanding.is_empty()
    }

    /// Whether fewer runs of it are done and out than are asked for.
    pub(super) fn wants(&self, ask: &Ask) -> bool {
        let same = |q: &&Query| q.tests == ask.tests && q.places == ask.places;
        let out = self.outstanding.values().filter(same).count();
        u32::try_from(out).unwrap_or(u32::MAX).saturating_add(self.tally(ask.need).runs()) < ask.runs
    }

    /// The query for an ask; none while enough runs of it are out.
    pub(super) fn ask(&mut self, ask: &Ask) -> Option<Query> {
        if !self.wants(ask) {
            return None;
        }
        let id = QueryId(self.issued);
        self.issued += 1;
        let query = Query { id, tests: ask.tests.clone(), places: ask.places.clone() };
        self.outstanding.insert(id, query.clone());
        self.spent.add(&query);
        Some(query)
    }

    /// Takes a reply; one that nobody waits for is ignored.
    pub(super) fn take(&mut self, id: QueryId, reply: &Reply) {
        let Some(query) = self.outstanding.remove(&id) else { return };
        let keys = Key::at(&query.tests, &query.places);
        for (n, (key, &place)) in keys.into_iter().zip(&query.places).enumerate() {
            let known = query.tests.get(..place).unwrap_or(&query.tests);
            self.add(key, known, reply.hits.get(n).copied().flatten());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_of_a_trace_is_the_sequence_up_to_it() {
        let tests: Vec<TestIx> = [5, 3, 9, 0].map(TestIx).to_vec();
        let keys = Key::at(&tests, &[0, 1, 3, 4]);
        let expected = [0, 1, 3, 4].map(|place| Key::of(&tests[..place]));
        assert_eq!(keys, expected);
        assert_ne!(Key::of(&[TestIx(1), TestIx(2)]), Key::of(&[TestIx(2), TestIx(1)]));
    }

    #[test]
    fn an_answer_that_nobody_waits_for_is_ignored() {
        let mut book = Book::default();
        book.take(QueryId(7), &Reply { hits: vec![Some(true)] });
        assert_eq!(book.tally(Key::ALONE), Tally::default());
        let ask = Ask { tests: Vec::new(), places: vec![0], need: Key::ALONE, runs: 1 };
        let query = book.ask(&ask).unwrap();
        assert_eq!(book.ask(&ask), None, "one run of it is out");
        book.take(query.id, &Reply::default());
        assert_eq!(book.tally(Key::ALONE).lost, 1, "a reply without the place says nothing about it");
    }
}
