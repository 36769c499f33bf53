//! From what was measured to what a report says.

use std::time::Duration;

use anyorder_core::model::{OrderLabel, TestIx};
use anyorder_core::stats;
use anyorder_core::verdict::Class;
use anyorder_report::view::{
    Bound, Cost, Environment, ExecutorView, Incomplete, RunView, SandboxView, SwitchedOff, TestView,
};
use anyorder_runner::Collection;

use crate::cost;
use crate::exit_code::ExitCode;
use crate::measure::{Collected, Measured, fingerprint};
use crate::project::Project;

/// The report of `run`.
pub fn run(project: &Project, measured: &Measured, wall: Duration, exit_code: ExitCode) -> RunView {
    let collection = measured.collected.session.collection();
    let mut view = RunView {
        project: project.view(),
        tree: "working tree".to_owned(),
        environment: environment(collection),
        executor: executor(&measured.collected),
        sandbox: sandbox(collection),
        switched_off: switched_off(collection),
        constraints: measured.collected.declared.tests,
        orders: measured.book.order_views(),
        tests: tests(measured),
        failures: measured.book.failures().to_vec(),
        causes: Vec::new(),
        bound: bound(measured),
        coverage: measured.coverage.into(),
        weaknesses: cost::weaknesses(measured.suite().len(), &measured.collected),
        incomplete: incomplete(measured).or_else(|| unseen(measured)),
        resumed: measured.reused,
        sweep: Some(measured.stored.id.to_string()),
        cost: spent(measured, wall),
        exit_code: exit_code.number(),
        invocation: project.invocation(),
    };
    view.causes = view.group();
    view
}

fn tests(measured: &Measured) -> Vec<TestView> {
    let run_of = |label: &OrderLabel| measured.run_of(label);
    measured
        .suite()
        .indices()
        .filter_map(|ix| TestView::of(&measured.result, ix, measured.book.failed_at(ix), &run_of))
        .collect()
}

/// The bound of a sweep.
pub fn bound(measured: &Measured) -> Bound {
    let sensitive: Vec<TestIx> = measured.result.classes.of(Class::OrderSensitive).collect();
    let (seeds, failing) = measured.book.seeds(&sensitive);
    let isolated = measured.book.columns().iter().any(|c| c.label == OrderLabel::Alone && c.over);
    Bound::of(&stats::Bound::new(seeds, failing, isolated), isolated)
}

/// What all of it took.
pub fn spent(measured: &Measured, wall: Duration) -> Cost {
    let book = &measured.book;
    let first = book.columns().iter().find(|c| c.label == OrderLabel::Default && c.over);
    let unit = first.map(|c| c.test_time.as_secs_f64()).filter(|s| *s > 0.0);
    Cost {
        wall,
        runs: book.runs + book.replays,
        replays: book.replays,
        suite_equivalents: unit.map(|unit| book.test_time.as_secs_f64() / unit),
    }
}

/// Why a sweep is not whole, if it is not.
pub fn incomplete(measured: &Measured) -> Option<Incomplete> {
    let missing = measured.book.unfinished();
    (measured.stopped || missing > 0).then(|| Incomplete {
        why: if measured.stopped { "interrupted" } else { "some orders could not be run" }.to_owned(),
        missing: count(missing),
        resumable: true,
    })
}

/// Tests that a crash or a hang kept from running in some orders: what was planned was run, and not all of it was seen.
fn unseen(measured: &Measured) -> Option<Incomplete> {
    let orders = match measured.book.with_absent() {
        0 => return None,
        1 => "1 order".to_owned(),
        n => format!("{n} orders"),
    };
    let why = format!("a crash or a hang kept tests from running in {orders}");
    Some(Incomplete { why, missing: 0, resumable: false })
}

/// The interpreter and what runs in it.
pub fn environment(collection: &Collection) -> Environment {
    let e = &collection.environment;
    Environment {
        interpreter: e.executable.display().to_string(),
        python: e.python.clone(),
        implementation: e.implementation.clone(),
        platform: e.platform.clone(),
        pytest: e.pytest.clone(),
        plugins: e.plugins.clone(),
        fingerprint: fingerprint(collection),
    }
}

/// The executor and why that one.
pub fn executor(collected: &Collected) -> ExecutorView {
    ExecutorView { executor: collected.executor, why: collected.executor_why.clone() }
}

/// What kept runs apart.
pub fn sandbox(collection: &Collection) -> SandboxView {
    SandboxView { mode: collection.sandbox.mode.clone(), why: collection.sandbox.why_not.clone() }
}

/// What was switched off.
pub fn switched_off(collection: &Collection) -> Vec<SwitchedOff> {
    let view = |o: &anyorder_runner::SwitchedOff| SwitchedOff {
        what: o.what.clone(),
        how: o.how.clone(),
        whence: o.source.clone(),
    };
    collection.switched_off.iter().map(view).collect()
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
