//! What the runs of one tree have shown so far: the matrix, how each order went, and each distinct failure once.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use anyorder_core::model::{Ending, Failure, Matrix, OrderLabel, Outcome, RunRecord, Suite, TestIx};
use anyorder_core::verdict::Sweep;
use anyorder_report::view::{EndingView, FailureAt, FailureView, OrderView};

/// What is known about one column of the matrix.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its order.
    pub label: OrderLabel,
    /// Wall time of its runs together.
    pub wall: Duration,
    /// Time of its tests together.
    pub test_time: Duration,
    /// Fixtures set up.
    pub fixture_setups: Option<u32>,
    /// The first ending that was not well.
    pub ending: Ending,
    /// Whether everything planned in it was run.
    pub over: bool,
    /// Tests that were reported in it.
    pub reported: usize,
    /// Which tests those were.
    seen: Vec<bool>,
    /// The store's id of its run, or of the first.
    pub run: Option<String>,
    /// Whether it came from an earlier sweep.
    pub reused: bool,
}

/// The sweep of one tree, as far as it is known.
#[derive(Clone, Debug)]
pub struct Book {
    matrix: Matrix,
    sweep: Sweep,
    reruns: Vec<(Option<String>, RunRecord)>,
    columns: Vec<Column>,
    failures: Vec<FailureView>,
    known: HashMap<String, usize>,
    failed_at: HashMap<TestIx, Vec<FailureAt>>,
    /// Runs that were made, by kind: the sweep's own, and reruns.
    pub runs: u32,
    /// Reruns and replays.
    pub replays: u32,
    /// All test time.
    pub test_time: Duration,
    /// Project modules that were loaded from outside the tree, and from where.
    pub foreign: BTreeMap<String, PathBuf>,
}

impl Book {
    /// An empty book of a suite's planned orders.
    pub fn new(suite: Suite, labels: &[OrderLabel]) -> Self {
        let tests = suite.len();
        let sweep = Sweep::planned(suite.clone(), labels);
        let mut matrix = Matrix::new(suite);
        let columns = labels
            .iter()
            .map(|label| {
                matrix.add_order(label.clone());
                Column {
                    label: label.clone(),
                    wall: Duration::ZERO,
                    test_time: Duration::ZERO,
                    fixture_setups: None,
                    ending: Ending::Completed,
                    over: false,
                    reported: 0,
                    seen: vec![false; tests],
                    run: None,
                    reused: false,
                }
            })
            .collect();
        Self {
            matrix,
            sweep,
            reruns: Vec::new(),
            columns,
            failures: Vec::new(),
            known: HashMap::new(),
            failed_at: HashMap::new(),
            runs: 0,
            replays: 0,
            test_time: Duration::ZERO,
            foreign: BTreeMap::new(),
        }
    }

    /// Takes in one finished run. `run` is the store's id of it, `reused` whether an earlier sweep made it.
    pub fn absorb(&mut self, record: &RunRecord, run: Option<&str>, reused: bool) {
        let test_time: Duration = record.results.iter().map(|r| r.duration).sum();
        self.test_time += test_time;
        if record.attempt > 0 {
            self.replays += 1;
            self.reruns.push((run.map(str::to_owned), record.clone()));
            return;
        }
        let label = record.order.label();
        let Some(at) = self.columns.iter().position(|c| c.label == *label) else { return };
        let mut own = record.clone();
        if *label == OrderLabel::Alone {
            own.results.retain(|r| record.order.tests().last() == Some(&r.test));
        }
        self.sweep.record(&own);
        for result in &record.results {
            // A test that runs alone brings its declared predecessors along; their cells are not these.
            if *label == OrderLabel::Alone && record.order.tests().last() != Some(&result.test) {
                continue;
            }
            self.matrix.set(at, result.test, result.outcome);
            if !std::mem::replace(&mut self.columns[at].seen[result.test.get()], true) {
                self.columns[at].reported += 1;
            }
            if let Some(failure) = &result.failure {
                self.note_failure(at, result.test, failure);
            }
        }
        if *label != OrderLabel::Alone {
            self.runs += 1;
        }
        let planned = self.matrix.suite().len();
        let column = &mut self.columns[at];
        column.wall += record.wall;
        column.test_time += test_time;
        column.fixture_setups = match (column.fixture_setups, record.fixture_setups) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        if column.ending.is_complete() {
            column.ending = record.ending.clone();
        }
        column.over = column.reported >= planned;
        column.run = column.run.take().or_else(|| run.map(str::to_owned));
        column.reused |= reused;
    }

    fn note_failure(&mut self, column: usize, test: TestIx, failure: &Failure) {
        let key = failure.signature.0.to_string();
        let failures = &mut self.failures;
        let index = *self.known.entry(key).or_insert_with(|| {
            failures.push(FailureView {
                phase: Some(failure.phase),
                signature: failure.signature.0.to_string(),
                text: failure.text.clone(),
            });
            failures.len() - 1
        });
        self.failed_at.entry(test).or_default().push(FailureAt { order: column, failure: index });
    }

    /// The matrix.
    pub fn matrix(&self) -> &Matrix {
        &self.matrix
    }

    /// The sweep as the state machines of the core want it.
    pub fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// Reruns and replays, with the store's ids.
    pub fn reruns(&self) -> &[(Option<String>, RunRecord)] {
        &self.reruns
    }

    /// The columns, in plan order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Distinct failures.
    pub fn failures(&self) -> &[FailureView] {
        &self.failures
    }

    /// Where a test failed and how, in plan order.
    pub fn failed_at(&self, test: TestIx) -> Vec<FailureAt> {
        let mut at = self.failed_at.get(&test).cloned().unwrap_or_default();
        at.sort_by_key(|f| f.order);
        at
    }

    /// The run that the store holds for an order.
    pub fn run_of(&self, label: &OrderLabel) -> Option<&str> {
        self.columns.iter().find(|c| c.label == *label)?.run.as_deref()
    }

    /// Tests that a column has no report of.
    pub fn missing(&self, column: usize) -> impl Iterator<Item = TestIx> {
        let seen = self.columns.get(column).map(|c| &c.seen);
        self.matrix.suite().indices().filter(move |t| seen.is_some_and(|s| !s[t.get()]))
    }

    /// How many tests had each outcome in a column.
    pub fn counts(&self, column: usize) -> Vec<(Outcome, u32)> {
        let mut counts: Vec<(Outcome, u32)> = Outcome::ALL.into_iter().map(|o| (o, 0)).collect();
        for test in self.matrix.suite().indices() {
            let outcome = self.matrix.get(column, test);
            if let Some(count) = counts.iter_mut().find(|(o, _)| *o == outcome) {
                count.1 += 1;
            }
        }
        counts.retain(|(_, n)| *n > 0);
        counts
    }

    /// Orders that were not run to their end.
    pub fn unfinished(&self) -> usize {
        self.columns.iter().filter(|c| !c.over).count()
    }

    /// In how many orders a planned test was never reported, as behind a crash: nothing is known of it there.
    pub fn with_absent(&self) -> usize {
        let absent = |at: &usize| self.counts(*at).iter().any(|(o, _)| *o == Outcome::Absent);
        (0..self.columns.len()).filter(absent).count()
    }

    /// Independent seeds that went through to their end, and in how many of them one of these tests did not pass.
    pub fn seeds(&self, watched: &[TestIx]) -> (u32, u32) {
        let whole = |c: &Column| c.over && c.label.is_independent_seed() && c.ending.is_complete();
        let mut seeds = 0;
        let mut failing = 0;
        for (at, _) in self.columns.iter().enumerate().filter(|(_, c)| whole(c)) {
            seeds += 1;
            failing += u32::from(watched.iter().any(|t| !self.matrix.get(at, *t).passed()));
        }
        (seeds, failing)
    }

    /// The columns as a report shows them.
    pub fn order_views(&self) -> Vec<OrderView> {
        let id = |t: &Option<TestIx>| t.map(|t| self.matrix.suite().id(t).clone());
        self.columns
            .iter()
            .map(|c| OrderView {
                label: c.label.clone(),
                duration: (c.reported > 0).then_some(c.wall),
                fixture_setups: c.fixture_setups,
                ending: match &c.ending {
                    _ if c.reported == 0 => EndingView::NotRun,
                    Ending::Completed if !c.over => EndingView::Interrupted,
                    Ending::Completed => EndingView::Completed,
                    Ending::Crashed { culprit, how } => {
                        EndingView::Crashed { culprit: id(culprit), how: how.clone() }
                    }
                    Ending::TimedOut { culprit } => EndingView::TimedOut { culprit: id(culprit) },
                    Ending::OutOfOrder { position } => EndingView::OutOfOrder { position: *position },
                    Ending::Interrupted => EndingView::Interrupted,
                },
                run: c.run.clone(),
                reused: c.reused,
            })
            .collect()
    }
}
