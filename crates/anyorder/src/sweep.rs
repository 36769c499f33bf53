//! Runs the plan of one tree: what an earlier sweep has is taken from the store, the rest is run, and each run is
//! durable before it is counted.

use std::collections::{BTreeMap, HashSet};

use anyorder_core::model::{Executor, Order, OrderLabel, PeekAt, RunRecord, Suite, TestIx};
use anyorder_core::order::{self, Shuffle};
use anyorder_runner::{Event, Flow, Listener, RunRequest, RunSource, Session};
use anyorder_store::{LockedStore, Sweep as StoredSweep};

use crate::artefacts;
use crate::book::Book;
use crate::clock;
use crate::declared::DeclaredOrder;
use crate::hint::Failed;
use crate::progress::Progress;
use crate::signals::Watch;
use crate::stores;

/// Where a run's order comes from.
#[derive(Clone, Copy, Debug)]
pub struct OrderMaker<'a> {
    /// The tests.
    pub suite: &'a Suite,
    /// How seeds make orders.
    pub shuffle: Shuffle,
    /// What orders must keep.
    pub declared: &'a DeclaredOrder,
}

impl OrderMaker<'_> {
    /// The full order of a label.
    pub fn full(&self, label: &OrderLabel) -> Result<Order, Failed> {
        self.declared.order(label, self.suite, self.shuffle)
    }

    /// One test by itself, after what it declares to need.
    pub fn alone(&self, test: TestIx) -> Order {
        order::alone(self.suite, &self.declared.needed, test)
    }
}

/// Everything that a run is reported to.
#[derive(Debug)]
pub struct Outputs<'a, 's> {
    /// Where runs are stored.
    pub store: &'a mut LockedStore<'s>,
    /// Where progress is shown.
    pub progress: &'a mut Progress,
    /// Whether somebody pressed Ctrl-C.
    pub watch: &'a Watch,
}

/// One thing to run: an order, how it is made, and the how-manieth attempt it is.
#[derive(Clone, Debug)]
pub struct Task {
    /// The order's name.
    pub label: OrderLabel,
    /// The test, for `alone`.
    pub test: Option<TestIx>,
    /// The order itself where it is not the label's full one.
    pub order: Option<Order>,
    /// Children to be forked on the way.
    pub peeks: Vec<PeekAt>,
    /// 0 for the sweep's own run.
    pub attempt: u32,
    /// Which executor.
    pub executor: Executor,
}

/// Runs tasks in a session and enters their records into the store and the book. Gives the records of reruns
/// (attempts above 0) back, each with the place of its task in the list; those of the sweep itself stand in the book.
pub fn execute(
    session: &mut Session,
    maker: OrderMaker<'_>,
    tasks: Vec<Task>,
    stored: &StoredSweep,
    book: &mut Book,
    out: Outputs<'_, '_>,
) -> anyhow::Result<Vec<(usize, RunRecord)>> {
    let cancel = out.watch.cancel.clone();
    let mut queue = Queue { maker, tasks: tasks.into_iter(), next: 0, error: None };
    let mut recorder = Recorder {
        suite: maker.suite,
        stored,
        book,
        out,
        labels: BTreeMap::new(),
        waiting: Vec::new(),
        reruns: Vec::new(),
        suspects: HashSet::new(),
        error: None,
    };
    let ended = session.execute(&mut queue, &mut recorder, &cancel);
    recorder.flush();
    if let Some(error) = queue.error.take() {
        return Err(error.into());
    }
    if let Some(error) = recorder.error.take() {
        return Err(error);
    }
    ended.map_err(|e| Failed::cannot_measure(format!("could not run the orders: {e}")))?;
    Ok(recorder.reruns)
}

/// Makes orders one at a time, when the engine has room for one.
struct Queue<'a> {
    maker: OrderMaker<'a>,
    tasks: std::vec::IntoIter<Task>,
    next: u64,
    error: Option<Failed>,
}

impl RunSource for Queue<'_> {
    fn next_run(&mut self) -> Option<RunRequest> {
        let task = self.tasks.next()?;
        let order = match (task.order, task.test) {
            (Some(order), _) => order,
            (None, Some(test)) => self.maker.alone(test),
            (None, None) => match self.maker.full(&task.label) {
                Ok(order) => order,
                Err(error) => {
                    self.error = Some(error);
                    return None;
                }
            },
        };
        let run = self.next;
        self.next += 1;
        Some(RunRequest {
            run,
            order,
            attempt: task.attempt,
            executor: task.executor,
            peeks: task.peeks,
            imports: Vec::new(),
        })
    }
}

/// How many runs of single tests go into one transaction.
const BATCH: usize = 64;

/// Hears the engine.
struct Recorder<'a, 's> {
    suite: &'a Suite,
    stored: &'a StoredSweep,
    book: &'a mut Book,
    out: Outputs<'a, 's>,
    labels: BTreeMap<u64, OrderLabel>,
    waiting: Vec<(u64, RunRecord)>,
    reruns: Vec<(usize, RunRecord)>,
    suspects: HashSet<TestIx>,
    error: Option<anyhow::Error>,
}

impl Listener for Recorder<'_, '_> {
    fn event(&mut self, event: Event<'_>) -> Flow {
        match event {
            Event::Collecting | Event::Collected(_) | Event::TestStarted { .. } => {}
            Event::RunStarted(request) => {
                self.labels.insert(request.run, request.order.label().clone());
            }
            Event::TestFinished { run, result } => {
                if let Some(label) = self.labels.get(&run) {
                    self.out.progress.test_ended(label, result.outcome);
                }
                if result.outcome.is_bad() && self.suspects.insert(result.test) {
                    self.out.progress.suspects(self.suspects.len());
                }
            }
            Event::RunFinished { run, record } => {
                self.labels.remove(&run);
                self.finished(run, record);
            }
            Event::Foreign { origins, .. } => {
                for origin in origins {
                    if self.book.foreign.insert(origin.module.clone(), origin.file.clone()).is_none() {
                        let file = origin.file.display();
                        let note =
                            format!("`{}` was imported from `{file}`, not from this tree", origin.module);
                        self.out.progress.note(&note);
                    }
                }
            }
            Event::Note(note) => self.out.progress.note(&note),
        }
        if self.error.is_some() { Flow::Stop } else { Flow::Continue }
    }
}

impl Recorder<'_, '_> {
    fn finished(&mut self, run: u64, record: &RunRecord) {
        if matches!(record.ending, anyorder_core::model::Ending::Interrupted) {
            // Half a run is no run: it is made again from its start when the sweep goes on.
            return;
        }
        self.waiting.push((run, record.clone()));
        if *record.order.label() != OrderLabel::Alone || self.waiting.len() >= BATCH {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.waiting.is_empty() || self.error.is_some() {
            return;
        }
        let (runs, records): (Vec<u64>, Vec<RunRecord>) =
            std::mem::take(&mut self.waiting).into_iter().unzip();
        let ids = match self.out.store.save_runs(self.stored.id, &records, clock::now_ms()) {
            Ok(ids) => ids,
            Err(error) => {
                self.error = Some(stores::failed(&error).into());
                return;
            }
        };
        for ((run, record), id) in runs.into_iter().zip(records).zip(ids) {
            let bad = record.results.iter().any(|r| r.outcome.is_bad());
            if bad
                && *record.order.label() != OrderLabel::Alone
                && let Err(error) = artefacts::keep(self.out.store, id, &record, self.suite)
            {
                self.error = Some(error);
            }
            self.enter(run, record, &id.to_string());
        }
    }

    fn enter(&mut self, run: u64, record: RunRecord, id: &str) {
        self.book.absorb(&record, Some(id), false);
        if record.attempt > 0 {
            self.reruns.push((usize::try_from(run).unwrap_or(usize::MAX), record));
            return;
        }
        let label = record.order.label();
        let Some(at) = self.book.columns().iter().position(|c| c.label == *label) else { return };
        if self.book.columns()[at].over {
            let column = &self.book.columns()[at];
            let ending = (!column.ending.is_complete()).then(|| artefacts::ending_words(&column.ending));
            self.out.progress.order_done(label, self.book.counts(at), column.wall, ending);
        }
    }
}
