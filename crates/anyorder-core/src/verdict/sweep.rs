//! The outcomes of one tree's sweep, and what each cell may be used for.

use std::collections::BTreeMap;

use crate::model::{Ending, Executor, Matrix, OrderLabel, Outcome, RunRecord, Signature, Suite, TestIx};

use super::class::{Kind, Observation};

/// What one cell of a sweep says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// The test was not planned in this order (an isolation sweep of some tests only).
    Unplanned,
    /// Never reached: the named test ended the process first. No evidence about this one (PROMISES I5).
    Disturbed {
        /// The test that was running when the process ended.
        culprit: TestIx,
    },
    /// An outcome of its own. `Absent` here means absent without an explanation.
    Seen(Outcome),
}

impl Cell {
    /// What it says about the test, if anything.
    pub fn kind(self) -> Option<Kind> {
        match self {
            Self::Seen(outcome) => Some(Kind::of(outcome)),
            Self::Unplanned | Self::Disturbed { .. } => None,
        }
    }
}

/// One tree's sweep: its matrix, how each order was run, and how failures looked.
#[derive(Clone, Debug)]
pub struct Sweep {
    matrix: Matrix,
    columns: Vec<Column>,
    signatures: BTreeMap<(usize, TestIx), Signature>,
}

#[derive(Clone, Debug)]
struct Column {
    executor: Executor,
    /// The test that ended the process; never set for `alone`, where each test has its own.
    culprit: Option<TestIx>,
    /// `None`: every test of the suite.
    planned: Option<Vec<bool>>,
    /// The tests in the sequence they were asked to run in; empty for `alone` and where nobody told.
    sequence: Vec<TestIx>,
}

impl Sweep {
    /// A sweep of a suite in which nothing ran yet.
    pub fn new(suite: Suite) -> Self {
        Self { matrix: Matrix::new(suite), columns: Vec::new(), signatures: BTreeMap::new() }
    }

    /// A sweep of a suite that will have these columns, in this order, whichever run comes first. What is not recorded
    /// stays unplanned.
    pub fn planned(suite: Suite, labels: &[OrderLabel]) -> Self {
        let mut sweep = Self::new(suite);
        for label in labels {
            sweep.add_column(label, Executor::Fresh);
        }
        sweep
    }

    fn add_column(&mut self, label: &OrderLabel, executor: Executor) -> usize {
        let planned = Some(vec![false; self.matrix.suite().len()]);
        self.columns.push(Column { executor, culprit: None, planned, sequence: Vec::new() });
        self.matrix.add_order(label.clone())
    }

    /// The sweep that a matrix shows: every test planned in every order, all by one executor.
    ///
    /// In a full order a crashed or timed-out test explains the absence of others; `alone` explains nothing.
    pub fn from_matrix(matrix: Matrix, executor: Executor) -> Self {
        let ends = |column: usize| {
            matrix
                .suite()
                .indices()
                .find(|&ix| matches!(matrix.get(column, ix), Outcome::Crashed | Outcome::Timeout))
        };
        let columns = matrix
            .labels()
            .iter()
            .enumerate()
            .map(|(c, label)| Column {
                executor,
                culprit: if *label == OrderLabel::Alone { None } else { ends(c) },
                planned: None,
                sequence: Vec::new(),
            })
            .collect();
        Self { matrix, columns, signatures: BTreeMap::new() }
    }

    /// Takes in a run of the sweep. Runs of `alone` hold one test each and share a column; of any other order the
    /// last run recorded counts.
    ///
    /// Gives `false`, and takes nothing in, when the run is no part of a sweep's evidence: a rerun (`attempt` above
    /// 0), interrupted, or executed in another order than asked for.
    pub fn record(&mut self, run: &RunRecord) -> bool {
        if run.attempt > 0 || matches!(run.ending, Ending::Interrupted | Ending::OutOfOrder { .. }) {
            return false;
        }
        let label = run.order.label();
        let alone = *label == OrderLabel::Alone;
        let known = self.column(label);
        let column = match known {
            Some(column) => column,
            None => self.add_column(label, run.executor),
        };
        self.columns[column].executor = run.executor;
        if !alone {
            self.columns[column].culprit = culprit_of(run);
            self.columns[column].sequence = run.order.tests().to_vec();
        }
        for result in &run.results {
            self.matrix.set(column, result.test, result.outcome);
            if let Some(planned) = &mut self.columns[column].planned
                && let Some(slot) = planned.get_mut(result.test.get())
            {
                *slot = true;
            }
            if let Some(failure) = &result.failure {
                self.signatures.insert((column, result.test), failure.signature.clone());
            } else if known.is_some() {
                self.signatures.remove(&(column, result.test));
            }
        }
        true
    }

    /// The matrix, for vectors and glyphs.
    pub fn matrix(&self) -> &Matrix {
        &self.matrix
    }

    /// The suite.
    pub fn suite(&self) -> &Suite {
        self.matrix.suite()
    }

    /// The orders, column by column.
    pub fn labels(&self) -> &[OrderLabel] {
        self.matrix.labels()
    }

    /// The column of an order.
    pub fn column(&self, label: &OrderLabel) -> Option<usize> {
        self.labels().iter().position(|l| l == label)
    }

    /// How an order was run; fresh for one that was not.
    pub fn executor(&self, column: usize) -> Executor {
        self.columns.get(column).map_or(Executor::Fresh, |c| c.executor)
    }

    /// The tests of an order in the sequence in which they ran; empty for `alone`, and where only outcomes are known.
    pub fn sequence(&self, column: usize) -> &[TestIx] {
        self.columns.get(column).map_or(&[], |c| &c.sequence)
    }

    /// The test during which the process of an order ended early.
    pub fn culprit(&self, column: usize) -> Option<TestIx> {
        self.columns.get(column)?.culprit
    }

    /// What one cell says.
    pub fn cell(&self, column: usize, test: TestIx) -> Cell {
        let Some(meta) = self.columns.get(column) else { return Cell::Unplanned };
        if meta.planned.as_ref().is_some_and(|p| !p.get(test.get()).copied().unwrap_or(false)) {
            return Cell::Unplanned;
        }
        match (self.matrix.get(column, test), meta.culprit) {
            (Outcome::Absent, Some(culprit)) if culprit != test => Cell::Disturbed { culprit },
            (outcome, _) => Cell::Seen(outcome),
        }
    }

    /// The cell as an observation (attempt 0); `None` where nothing was planned.
    pub fn observation(&self, column: usize, test: TestIx) -> Option<Observation> {
        let (outcome, disturbed) = match self.cell(column, test) {
            Cell::Unplanned => return None,
            Cell::Disturbed { .. } => (Outcome::Absent, true),
            Cell::Seen(outcome) => (outcome, false),
        };
        Some(Observation {
            label: self.labels().get(column)?.clone(),
            attempt: 0,
            executor: self.executor(column),
            outcome,
            disturbed,
            signature: self.signatures.get(&(column, test)).cloned(),
        })
    }
}

/// The test during which a run ended early.
pub(super) fn culprit_of(run: &RunRecord) -> Option<TestIx> {
    match run.ending {
        Ending::Crashed { culprit, .. } | Ending::TimedOut { culprit } => culprit.or_else(|| {
            let ended = |o| matches!(o, Outcome::Crashed | Outcome::Timeout);
            run.results.iter().find(|r| ended(r.outcome)).map(|r| r.test)
        }),
        Ending::Completed | Ending::OutOfOrder { .. } | Ending::Interrupted => None,
    }
}
