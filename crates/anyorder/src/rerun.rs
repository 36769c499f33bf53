//! Runs what the core's state machines ask for, and answers them.

use std::collections::HashMap;

use anyorder_core::model::{Executor, Order, OrderLabel, PeekAt, RunRecord, Suite, TestIx};
use anyorder_core::verdict::{Answer, Classifier, Probe, ProbePeek, Selection};
use anyorder_runner::Session;
use anyorder_store::Sweep as StoredSweep;

use crate::book::Book;
use crate::hint::Failed;
use crate::sweep::{self, OrderMaker, Outputs, Task};

/// Tells order from chance on one tree: runs what the classifier asks for until it asks no more.
pub fn classify(
    session: &mut Session,
    maker: OrderMaker<'_>,
    stored: &StoredSweep,
    book: &mut Book,
    classifier: &mut Classifier,
    out: Outputs<'_, '_>,
    jobs: usize,
) -> anyhow::Result<()> {
    let Outputs { store, progress, watch } = out;
    loop {
        let mut probes = Vec::new();
        while let Some(probe) = classifier.next_probe() {
            probes.push(probe);
        }
        if probes.is_empty() {
            return Ok(());
        }
        progress.activity(&format!("running {}", probes[0].why));
        let mut planned = Vec::new();
        for probe in &probes {
            planned.push(tasks_of(probe, maker, None, 0)?);
        }
        let out = Outputs { store, progress, watch };
        let answers = ask(session, maker, &probes, planned, stored, book, out, jobs)?;
        if watch.exit_code().is_some() {
            classifier.give_up();
            return Ok(());
        }
        for (probe, answer) in probes.iter().zip(&answers) {
            classifier.observe(probe.id, answer);
        }
    }
}

/// Reruns of one order that are wanted in a row, at the most.
const IN_A_ROW: u32 = 3;

/// Runs the tasks of each probe, unless the store has them, and makes an answer for each.
///
/// The state machines ask for one rerun of an order after the other. Where there are `jobs` to spare, the attempts that
/// most probably come next are run at the same time; when they are asked for, their records are there.
#[expect(clippy::too_many_arguments, reason = "everything that a run is made of and reported to")]
pub fn ask(
    session: &mut Session,
    maker: OrderMaker<'_>,
    probes: &[Probe],
    planned: Vec<Vec<Task>>,
    stored: &StoredSweep,
    book: &mut Book,
    out: Outputs<'_, '_>,
    jobs: usize,
) -> anyhow::Result<Vec<Answer>> {
    let mut answers: Vec<Answer> = probes.iter().map(|_| Answer::default()).collect();
    let mut known: HashMap<Key, Vec<&RunRecord>> = HashMap::new();
    for (_, record) in book.reruns() {
        known.entry(key_of(record)).or_default().push(record);
    }
    // One order is also run with some of its tests only: a record answers for its own sequence and no other.
    let find = |task: &Task| {
        let fits = |record: &&RunRecord| match &task.order {
            Some(order) => record.order.tests() == order.tests() && same_peeks(record, &task.peeks),
            None => task.test.is_some() || record.order.len() == maker.suite.len(),
        };
        known.get(&key(task)).into_iter().flatten().copied().find(fits)
    };
    let mut tasks = Vec::new();
    let mut owner = Vec::new();
    for (at, own) in planned.into_iter().enumerate() {
        for task in own {
            if let Some(record) = find(&task) {
                answers[at].add_run(maker.suite, record, &probes[at].watch);
            } else {
                tasks.push(task);
                owner.push(Some(at));
            }
        }
    }
    if !tasks.is_empty() && tasks.len() < jobs {
        for task in ahead(&tasks, jobs) {
            if find(&task).is_none() {
                tasks.push(task);
                owner.push(None);
            }
        }
    }
    if !tasks.is_empty() {
        for (task, record) in sweep::execute(session, maker, tasks, stored, book, out)? {
            if let Some(Some(at)) = owner.get(task) {
                answers[*at].add_run(maker.suite, &record, &probes[*at].watch);
            }
        }
    }
    Ok(answers)
}

fn same_peeks(record: &RunRecord, peeks: &[PeekAt]) -> bool {
    let seen = record.peeks.iter().map(|p| PeekAt { after: p.after, test: p.result.test });
    seen.eq(peeks.iter().copied())
}

/// The next attempts of these tasks, as many as there are jobs without work.
fn ahead(tasks: &[Task], jobs: usize) -> Vec<Task> {
    let last = |task: &Task| task.attempt % 500 >= IN_A_ROW;
    let next = |task: &Task, by: u32| Task { attempt: task.attempt + by, ..task.clone() };
    (1..IN_A_ROW)
        .flat_map(|by| tasks.iter().filter(move |t| !last(&next(t, by - 1))).map(move |t| next(t, by)))
        .take(jobs - tasks.len())
        .collect()
}

/// What a probe means in tasks. `order` is its full order where it is not the label's order on this tree, and
/// `offset` is added to the attempt, so that different selections of one order are stored apart.
pub fn tasks_of(
    probe: &Probe,
    maker: OrderMaker<'_>,
    order: Option<Order>,
    offset: u32,
) -> Result<Vec<Task>, Failed> {
    let at = |peek: &ProbePeek| Some(PeekAt { after: peek.after, test: maker.suite.find(&peek.test)? });
    let task = |test, order| Task {
        label: probe.label.clone(),
        test,
        order,
        peeks: probe.peeks.iter().filter_map(at).collect(),
        attempt: probe.attempt + offset,
        executor: probe.executor,
    };
    if probe.label == OrderLabel::Alone {
        let tests = match &probe.tests {
            Selection::Only(ids) => ids.iter().filter_map(|id| maker.suite.find(id)).collect(),
            Selection::All | Selection::Common | Selection::Sequence(_) => {
                maker.suite.indices().collect::<Vec<_>>()
            }
        };
        return Ok(tests.into_iter().map(|test| task(Some(test), None)).collect());
    }
    let mut order = match order {
        None if probe.may_stop => Some(maker.full(&probe.label)?),
        order => order,
    };
    if probe.may_stop {
        let watched: Vec<TestIx> = probe.watch.iter().filter_map(|id| maker.suite.find(id)).collect();
        order = order.map(|order| order.until_last_of(&watched));
    }
    Ok(vec![task(None, order)])
}

type Key = (OrderLabel, u32, Executor, Option<TestIx>);

fn key(task: &Task) -> Key {
    (task.label.clone(), task.attempt, task.executor, task.test)
}

fn key_of(record: &RunRecord) -> Key {
    let label = record.order.label().clone();
    let subject = if label == OrderLabel::Alone { record.order.tests().last().copied() } else { None };
    (label, record.attempt, record.executor, subject)
}

/// The tests that a selection means on a suite, as a filter.
pub fn selected(suite: &Suite, other: &Suite, selection: &Selection) -> Vec<bool> {
    suite
        .tests()
        .iter()
        .map(|test| match selection {
            Selection::All => true,
            Selection::Common => other.find(&test.id).is_some(),
            Selection::Only(ids) | Selection::Sequence(ids) => ids.contains(&test.id),
        })
        .collect()
}
