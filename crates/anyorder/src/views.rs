//! From what was measured to what a report says.

use std::time::Duration;

use anyorder_core::model::{Executor, OrderLabel, OutcomeVector, TestIx, Tree};
use anyorder_core::stats;
use anyorder_core::verdict::{Class as CoreClass, ClassWitness, TestClass};
use anyorder_report::view::{
    Bound, Class, Cost, Environment, ExecutorView, Incomplete, RunView, SandboxView, Seen, SwitchedOff,
    TestView, Witness,
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
        incomplete: incomplete(measured),
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
    let suite = measured.suite();
    measured
        .result
        .classes
        .iter()
        .map(|(ix, class)| TestView {
            id: suite.id(ix).clone(),
            class: word(class.class),
            vector: measured.book.vector(ix),
            failures: measured.book.failed_at(ix),
            witness: witness(measured, ix, class, None),
        })
        .collect()
}

/// Why we believe a test's class: its failing and its passing order, with everything seen of them.
pub fn witness(measured: &Measured, test: TestIx, class: &TestClass, tree: Option<&Tree>) -> Witness {
    let labels: Vec<&OrderLabel> = match &class.witness {
        Some(ClassWitness::Order { failing, passing }) => vec![failing, passing],
        Some(ClassWitness::Chance { order }) => vec![order],
        None => Vec::new(),
    };
    let mut seen: Vec<Seen> = labels.into_iter().map(|l| seen(measured, test, class, l, tree)).collect();
    let alone_known = measured.plan.labels().contains(&OrderLabel::Alone);
    if !seen.is_empty() && alone_known && seen.iter().all(|s| s.order != OrderLabel::Alone) {
        seen.push(self::seen(measured, test, class, &OrderLabel::Alone, tree));
    }
    seen.retain(|s| !s.outcomes.0.is_empty());
    Witness { seen, minimal_order: Vec::new() }
}

fn seen(
    measured: &Measured,
    test: TestIx,
    class: &TestClass,
    label: &OrderLabel,
    tree: Option<&Tree>,
) -> Seen {
    let sweep = measured.book.sweep();
    let own = sweep.column(label).and_then(|c| sweep.observation(c, test));
    let all: Vec<_> = own.iter().chain(class.reruns.iter().filter(|o| o.label == *label)).collect();
    Seen {
        order: label.clone(),
        tree: tree.cloned(),
        outcomes: OutcomeVector(all.iter().map(|o| o.outcome).collect()),
        fresh: count(all.iter().filter(|o| o.executor == Executor::Fresh).count()),
        run: measured.book.run_of(label).filter(|_| *label != OrderLabel::Alone).map(str::to_owned),
    }
}

/// A class as reports name it.
pub fn word(class: CoreClass) -> Class {
    match class {
        CoreClass::StablePass => Class::StablePass,
        CoreClass::StableFail => Class::StableFail,
        CoreClass::StableSkip => Class::StableSkip,
        CoreClass::OrderSensitive => Class::OrderSensitive,
        CoreClass::Flaky => Class::Flaky,
    }
}

/// The bound of a sweep.
pub fn bound(measured: &Measured) -> Bound {
    let sensitive: Vec<TestIx> = measured.result.classes.of(CoreClass::OrderSensitive).collect();
    let (seeds, failing) = measured.book.seeds(&sensitive);
    let isolated = measured.book.columns().iter().any(|c| c.label == OrderLabel::Alone && c.over);
    Bound::of(&stats::Bound::new(seeds, failing), isolated)
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
