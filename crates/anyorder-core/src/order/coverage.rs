//! How much of what orders could show a set of orders has exercised.

use crate::model::{Order, TestIx};

/// The most cells of one table of pairs, in bits: 12.5 MB. Up to 10,000 tests all pairs fit.
const MAX_CELLS: usize = 100_000_000;

const WORD: usize = u64::BITS as usize;

/// Which pairs were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// All.
    Exact,
    /// Those whose first test is one of this many, spread evenly over the default order: an estimate.
    Sampled {
        /// How many first tests.
        tests: usize,
    },
}

/// Shares of the n(n-1) ordered pairs of distinct tests, each from 0 to 1; 1 where there is no pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coverage {
    /// Pairs whose first test ran before the second in some order.
    pub ordered_pairs: f64,
    /// Pairs whose first test ran directly before the second in some order.
    pub adjacent_pairs: f64,
    /// Which pairs were counted.
    pub basis: Basis,
}

/// A table of bits, a row for each counted first test, a column a second test.
#[derive(Clone, Debug)]
struct Table {
    words: usize,
    bits: Vec<u64>,
}

impl Table {
    fn new(rows: usize, columns: usize) -> Self {
        let words = columns.div_ceil(WORD);
        Self { words, bits: vec![0; rows * words] }
    }

    fn row(&mut self, row: usize) -> &mut [u64] {
        &mut self.bits[row * self.words..][..self.words]
    }

    fn count(&self) -> u64 {
        self.bits.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

fn set(bits: &mut [u64], ix: usize) {
    bits[ix / WORD] |= 1 << (ix % WORD);
}

/// Counts the pairs that orders exercise, order by order.
///
/// One order costs n²/64 word operations: it is read backwards, and the set of tests seen so far, which are those that
/// come later, is added to the row of each test. Memory is two tables of at most 12.5 MB, however many orders.
#[derive(Clone, Debug)]
pub struct CoverageCounter {
    tests: usize,
    sample: usize,
    ordered: Table,
    adjacent: Table,
}

impl CoverageCounter {
    /// Nothing exercised yet, for a suite of `tests` tests.
    pub fn new(tests: usize) -> Self {
        Self::with_limit(tests, MAX_CELLS)
    }

    fn with_limit(tests: usize, max_cells: usize) -> Self {
        let sample = (max_cells / tests.max(1)).clamp(1, tests.max(1)).min(tests);
        Self { tests, sample, ordered: Table::new(sample, tests), adjacent: Table::new(sample, tests) }
    }

    /// The row of a first test, if its pairs are counted: rows stand for the tests at `row * tests / sample`.
    fn row_of(&self, ix: usize) -> Option<usize> {
        if self.sample == self.tests {
            return Some(ix);
        }
        let row = (ix * self.sample).div_ceil(self.tests);
        (row < self.sample && row * self.tests / self.sample == ix).then_some(row)
    }

    /// Counts an executed order. It need not hold every test; tests outside the suite are ignored.
    pub fn add(&mut self, order: &Order) {
        let mut later = vec![0u64; self.tests.div_ceil(WORD)];
        let mut next: Option<usize> = None;
        let here = order.tests().iter().copied().map(TestIx::get).filter(|&ix| ix < self.tests);
        for ix in here.rev() {
            if let Some(row) = self.row_of(ix) {
                self.ordered.row(row).iter_mut().zip(&later).for_each(|(cell, later)| *cell |= later);
                if let Some(next) = next {
                    set(self.adjacent.row(row), next);
                }
            }
            set(&mut later, ix);
            next = Some(ix);
        }
    }

    /// What the orders so far have exercised.
    pub fn coverage(&self) -> Coverage {
        let pairs = self.sample as u64 * (self.tests as u64).saturating_sub(1);
        let share = |table: &Table| if pairs == 0 { 1.0 } else { table.count() as f64 / pairs as f64 };
        let basis =
            if self.sample == self.tests { Basis::Exact } else { Basis::Sampled { tests: self.sample } };
        Coverage { ordered_pairs: share(&self.ordered), adjacent_pairs: share(&self.adjacent), basis }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::model::{OrderLabel, Seed, Suite};
    use crate::order::{Constraints, Shuffle, make};

    fn suite(tests: usize) -> Suite {
        Suite::from_raw_ids((0..tests).map(|n| format!("test_{}.py::test_{n}", n / 10)))
    }

    fn orders(suite: &Suite, seeds: i128) -> impl Iterator<Item = Order> {
        (1..=seeds).map(|seed| {
            make(&OrderLabel::Seed(Seed(seed)), suite, Shuffle::Mixed, &Constraints::none()).unwrap()
        })
    }

    #[test]
    fn an_order_and_its_reverse_exercise_every_ordered_pair() {
        let suite = suite(70);
        let mut counter = CoverageCounter::new(70);
        for label in [OrderLabel::Default, OrderLabel::Reverse] {
            counter.add(&make(&label, &suite, Shuffle::Mixed, &Constraints::none()).unwrap());
            let covered = counter.coverage();
            let both = label == OrderLabel::Reverse;
            assert_eq!(covered.ordered_pairs.to_bits(), (if both { 1.0f64 } else { 0.5 }).to_bits());
        }
        let adjacent = counter.coverage().adjacent_pairs;
        assert!((adjacent - 2.0 * 69.0 / (70.0 * 69.0)).abs() < 1e-12, "{adjacent}");
        assert_eq!(counter.coverage().basis, Basis::Exact);
    }

    #[test]
    fn the_shares_equal_a_plain_count_of_the_pairs() {
        for tests in [2, 3, 64, 65, 130] {
            let suite = suite(tests);
            let (mut ordered, mut adjacent) = (BTreeSet::new(), BTreeSet::new());
            let mut counter = CoverageCounter::new(tests);
            for order in orders(&suite, 4).map(|order| order.restricted(|ix| ix.0 % 5 != 4)) {
                counter.add(&order);
                let tests = order.tests();
                adjacent.extend(tests.windows(2).map(|pair| (pair[0], pair[1])));
                for (n, first) in tests.iter().enumerate() {
                    ordered.extend(tests[n + 1..].iter().map(|second| (*first, *second)));
                }
            }
            let all = (tests * (tests - 1)) as f64;
            let covered = counter.coverage();
            assert!((covered.ordered_pairs - ordered.len() as f64 / all).abs() < 1e-12);
            assert!((covered.adjacent_pairs - adjacent.len() as f64 / all).abs() < 1e-12);
        }
    }

    #[test]
    fn a_sample_says_so_and_comes_near() {
        let suite = suite(900);
        let mut exact = CoverageCounter::new(900);
        let mut sampled = CoverageCounter::with_limit(900, 130 * 900);
        for order in orders(&suite, 6) {
            exact.add(&order);
            sampled.add(&order);
        }
        let (exact, sampled) = (exact.coverage(), sampled.coverage());
        assert_eq!(sampled.basis, Basis::Sampled { tests: 130 });
        assert!((exact.ordered_pairs - sampled.ordered_pairs).abs() < 0.01, "{exact:?} {sampled:?}");
        assert!((exact.adjacent_pairs - sampled.adjacent_pairs).abs() < 0.001, "{exact:?} {sampled:?}");
    }

    #[test]
    fn each_sampled_row_belongs_to_one_test() {
        for (tests, sample) in [(900, 130), (7, 3), (1000, 999), (5, 1)] {
            let counter = CoverageCounter::with_limit(tests, sample * tests);
            let rows: Vec<usize> = (0..tests).filter_map(|ix| counter.row_of(ix)).collect();
            assert_eq!(rows, (0..sample).collect::<Vec<_>>(), "{sample} of {tests}");
        }
    }

    #[test]
    fn where_there_is_no_pair_all_are_covered() {
        for tests in [0, 1] {
            let covered = CoverageCounter::new(tests).coverage();
            assert!(covered.ordered_pairs >= 1.0 && covered.adjacent_pairs >= 1.0);
            assert_eq!(covered.basis, Basis::Exact);
        }
    }
}
