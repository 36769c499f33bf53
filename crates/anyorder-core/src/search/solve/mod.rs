//! One walk through the search with what is known; it ends at a conclusion, or at what must be run to go on.
//!
//! `steady` assumes that a sequence gives one outcome and runs each once. As soon as a sequence has given both, `noisy`
//! takes over, with the same answers: it repeats each question until the sequential test is sure.

mod members;
mod noisy;
mod steady;

use crate::model::TestIx;

use super::book::{Ask, Book, Key, Tally};
use super::minimiser::{Conclusion, Options};
use super::ranking::Ranking;
use super::sprt::{Leaning, lean};

/// What a search starts from.
#[derive(Clone, Debug)]
pub(super) struct Input {
    /// What stood before the goal in orders that hit it; shortest first.
    pub(super) prefixes: Vec<Vec<TestIx>>,
    pub(super) ranking: Ranking,
    pub(super) options: Options,
}

/// Known, or what must be run first.
type Known<T> = Result<T, Vec<Ask>>;

/// Runs that said nothing before a sequence is taken not to hit.
const LOST: u32 = 2;

/// Runs of failing orders that all miss before they are said not to reproduce: as many as the sequential test takes.
const REPRODUCE: u32 = 5;

pub(super) fn solve(input: &Input, book: &Book) -> Known<Conclusion> {
    if book.is_mixed() {
        Walk { input, book, noisy: true }.noisy()
    } else {
        Walk { input, book, noisy: false }.steady()
    }
}

/// One walk: the questions it can put to the book.
struct Walk<'a> {
    input: &'a Input,
    book: &'a Book,
    noisy: bool,
}

impl Walk<'_> {
    fn tally(&self, tests: &[TestIx]) -> Tally {
        self.book.tally(Key::of(tests))
    }

    /// What a tally says; `None` while it says too little.
    fn said(&self, tally: Tally) -> Option<bool> {
        if tally.seen() == 0 {
            return (tally.lost >= LOST).then_some(false);
        }
        if !self.noisy {
            return Some(tally.hits > 0);
        }
        leaning(tally, OFTEN)
    }

    /// Whether a sequence hits the goal's test behind it.
    fn hits(&self, tests: &[TestIx]) -> Known<bool> {
        let tally = self.tally(tests);
        self.said(tally).ok_or_else(|| vec![run(tests, tally.runs() + 1)])
    }

    /// The same of many sequences at once: the first of them that hits, as soon as all before it are known not to.
    fn first_hit<T: AsRef<[TestIx]>>(&self, sequences: &[T]) -> Known<Option<usize>> {
        let mut asks = Vec::new();
        for (n, tests) in sequences.iter().enumerate() {
            match self.hits(tests.as_ref()) {
                Ok(true) if asks.is_empty() => return Ok(Some(n)),
                Ok(true) => return Err(asks),
                Ok(false) => {}
                Err(ask) => asks.extend(ask),
            }
        }
        if asks.is_empty() { Ok(None) } else { Err(asks) }
    }

    /// Whether the goal's test is hit after each of so many tests of a sequence; all places in one run.
    fn trace(&self, tests: &[TestIx], places: &[usize]) -> Known<Vec<Option<bool>>> {
        let tallies: Vec<Tally> =
            Key::at(tests, places).into_iter().map(|key| self.book.tally(key)).collect();
        match tallies.iter().position(|tally| tally.runs() == 0) {
            None => Ok(tallies.into_iter().map(|t| (t.seen() > 0).then_some(t.hits > 0)).collect()),
            Some(unknown) => {
                let need = Key::of(&tests[..places[unknown]]);
                Err(vec![Ask { tests: tests.to_vec(), places: places.to_vec(), need, runs: 1 }])
            }
        }
    }

    /// The most suspicious of these tests, best first; at most so many.
    fn ranked(&self, tests: &[TestIx], most: usize) -> Vec<TestIx> {
        let mut ranked = tests.to_vec();
        ranked.sort_by_key(|test| self.input.ranking.rank(*test));
        ranked.truncate(most);
        ranked
    }
}

/// How often a nondeterministic goal is supposed to be hit (METHODS C, noise).
const OFTEN: f64 = 0.5;

/// What the sequential test says of a tally; `None` while it says too little.
fn leaning(tally: Tally, share: f64) -> Option<bool> {
    match lean(tally.hits, tally.misses, share) {
        Leaning::Hit => Some(true),
        Leaning::Miss => Some(false),
        Leaning::Open => None,
    }
}

/// A sequence with the goal's test at its end, until it was run so often.
fn run(tests: &[TestIx], runs: u32) -> Ask {
    Ask { tests: tests.to_vec(), places: vec![tests.len()], need: Key::of(tests), runs }
}

/// About `sqrt(len)` places up to `len`, evenly spaced; `len` is the last.
fn coarse(len: usize) -> Vec<usize> {
    let step = len.isqrt().max(1);
    let mut places: Vec<usize> = (step..len).step_by(step).collect();
    places.push(len);
    places
}
