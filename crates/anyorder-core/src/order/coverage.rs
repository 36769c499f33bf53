//! Which pairs of tests a sweep has exercised, so that "clean" has a number.

use crate::model::{Order, TestIx};

/// Shares from 0 to 1 of all ordered pairs of distinct tests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Coverage {
    /// One somewhere before the other in some order.
    pub ordered_pairs: f64,
    /// One directly before the other in some order.
    pub adjacent_pairs: f64,
    /// Whether `ordered_pairs` was counted over a sample of the tests.
    pub sampled: bool,
}

/// Counts coverage order by order. Memory is the square of the tests in bits, up to 8 MB.
#[derive(Clone, Debug)]
pub struct CoverageCounter {
    tests: usize,
    /// Row of each test among those that are counted.
    row: Vec<Option<u32>>,
    rows: usize,
    words: usize,
    after: Vec<u64>,
    adjacent: Vec<u64>,
}

/// Above this many tests ordered pairs are counted among this many, evenly spread.
const MOST: usize = 8_000;

impl CoverageCounter {
    /// Nothing exercised yet of a suite of this many tests.
    pub fn new(tests: usize) -> Self {
        let rows = tests.min(MOST);
        let mut row = vec![None; tests];
        for at in 0..rows {
            row[at * tests / rows] = u32::try_from(at).ok();
        }
        let words = rows.div_ceil(64);
        Self { tests, row, rows, words, after: vec![0; rows * words], adjacent: Vec::new() }
    }

    /// Adds an order that ran.
    pub fn add(&mut self, order: &Order) {
        let mut later = vec![0_u64; self.words];
        let place = |t: &TestIx| self.row.get(t.get()).copied().flatten().map(|r| r as usize);
        for test in order.tests().iter().rev() {
            let Some(row) = place(test) else { continue };
            let own = &mut self.after[row * self.words..][..self.words];
            own.iter_mut().zip(&later).for_each(|(a, b)| *a |= b);
            later[row / 64] |= 1 << (row % 64);
        }
        let key = |pair: &[TestIx]| u64::from(pair[0].0) << 32 | u64::from(pair[1].0);
        self.adjacent.extend(order.tests().windows(2).map(key));
        if self.adjacent.len() > 4_000_000 {
            self.adjacent.sort_unstable();
            self.adjacent.dedup();
        }
    }

    /// What has been exercised.
    pub fn coverage(&self) -> Coverage {
        let share = |count: usize, tests: usize| {
            if tests < 2 { 1.0 } else { count as f64 / (tests as f64 * (tests - 1) as f64) }
        };
        let mut adjacent = self.adjacent.clone();
        adjacent.sort_unstable();
        adjacent.dedup();
        let ordered = self.after.iter().map(|w| w.count_ones() as usize).sum();
        Coverage {
            ordered_pairs: share(ordered, self.rows),
            adjacent_pairs: share(adjacent.len(), self.tests),
            sampled: self.rows < self.tests,
        }
    }
}
