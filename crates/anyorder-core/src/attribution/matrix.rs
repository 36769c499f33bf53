//! Every single predecessor of all tests that are looked at: rows of one test, or of a group where those are too dear.

use std::collections::BTreeSet;

use crate::model::{Executor, TestIx};

use super::answers::{Ask, Setting};
use super::blame::Blame;
use super::goal::Stage;
use super::input::BlameOptions;
use super::query::Why;

/// Groups that are worked on at once.
const WINDOW: usize = 32;

/// How far the matrix is.
#[derive(Clone, Debug, Default)]
pub(super) struct Matrix {
    /// Groups of tests not yet told apart; `None` until what each test gives alone is known.
    groups: Option<Vec<Vec<TestIx>>>,
    next: usize,
    /// Groups between the first that is not done and the end of the window: done ones.
    done: Vec<bool>,
    asks: Vec<Ask>,
    finished: bool,
    /// Whether each test had a row of its own, so that no cleaner in its group could hide it.
    pub(super) singles: bool,
    goals: Vec<usize>,
}

impl Matrix {
    /// A matrix, where one is asked for and possible.
    pub(super) fn wanted(options: &BlameOptions) -> Option<Self> {
        (options.exhaustive && options.forks).then(Self::default)
    }

    pub(super) fn is_done(&self) -> bool {
        self.finished
    }

    pub(super) fn asks(&self) -> &[Ask] {
        &self.asks
    }

    /// Whether a goal had its place in it.
    pub(super) fn covers(&self, g: usize) -> bool {
        self.finished && self.singles && self.goals.contains(&g)
    }
}

impl Blame {
    /// Takes in what rows said; whether the matrix came to its end.
    pub(super) fn advance_matrix(&mut self) -> bool {
        let Some(mut matrix) = self.matrix.take() else { return false };
        let ended = !matrix.finished && self.work(&mut matrix);
        self.matrix = Some(matrix);
        ended
    }

    fn work(&mut self, matrix: &mut Matrix) -> bool {
        if self.goals.iter().any(|g| matches!(g.stage, Stage::Alone)) {
            return false;
        }
        if matrix.groups.is_none() {
            matrix.goals =
                (0..self.goals.len()).filter(|g| matches!(self.goals[*g].stage, Stage::Ready)).collect();
            let n = self.input.suite.len();
            let cost = (n as u64).saturating_mul(1 + matrix.goals.len() as u64);
            matrix.singles = cost <= self.input.options.matrix_limit;
            let size = if matrix.singles { 1 } else { n.isqrt().max(1) };
            let all: Vec<TestIx> = self.input.suite.indices().collect();
            let groups: Vec<Vec<TestIx>> = all.chunks(size).map(<[TestIx]>::to_vec).collect();
            matrix.done = vec![false; groups.len()];
            matrix.groups = Some(groups);
        }
        let groups = matrix.groups.as_deref().unwrap_or_default();
        let mut asks = Vec::new();
        let mut open = 0;
        let mut hits: BTreeSet<TestIx> = BTreeSet::new();
        for (group, done) in groups.iter().zip(&mut matrix.done).skip(matrix.next) {
            if *done {
                continue;
            }
            let mut wanted = Vec::new();
            let mut found = Vec::new();
            self.explore(group, &matrix.goals, &mut wanted, &mut found);
            if wanted.is_empty() {
                *done = true;
                hits.extend(found);
            } else {
                asks.extend(wanted);
                open += 1;
                if open >= WINDOW {
                    break;
                }
            }
        }
        while matrix.next < groups.len() && matrix.done[matrix.next] {
            matrix.next += 1;
        }
        matrix.finished = matrix.next >= groups.len();
        matrix.asks = asks;
        for test in hits {
            self.register(vec![test], true, Executor::Fork);
        }
        matrix.finished
    }

    /// The tests of a group that hit one of the goals, by halving it; what is to be run to tell.
    fn explore(&self, tests: &[TestIx], goals: &[usize], asks: &mut Vec<Ask>, found: &mut Vec<TestIx>) {
        let setting = Setting::plain(Executor::Fork);
        let mut unknown = Vec::new();
        let mut split = Vec::new();
        for &g in goals {
            let goal = &self.goals[g];
            if tests.contains(&goal.test) {
                // Not behind itself: behind the halves that it is not in.
                if tests.len() > 1 {
                    split.push(g);
                }
                continue;
            }
            let tally = goal.tally(&self.answers, &setting, tests);
            if tally.runs() == 0 {
                unknown.push(goal.test);
            } else if tally.hits > 0 {
                split.push(g);
            }
        }
        if !unknown.is_empty() {
            asks.push(Ask::row(setting, tests, unknown, 1, Why::Matrix));
        }
        if split.is_empty() {
            return;
        }
        if let [test] = tests {
            found.push(*test);
            return;
        }
        let (left, right) = tests.split_at(tests.len() / 2);
        self.explore(left, &split, asks, found);
        self.explore(right, &split, asks, found);
    }
}
