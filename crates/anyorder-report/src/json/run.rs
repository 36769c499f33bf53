//! `anyorder/run/1`.

use serde::Serialize;

use super::ledger::Listed;
use super::parts::{
    Bound, Cost, Coverage, Environment, Failure, Id, Incomplete, Label, OrderDetail, Project, Sandbox,
    SwitchedOff, Weakness, Witness, failures, labels, order_details, switched_off, weaknesses,
};
use crate::view::{Class, RunView, TestView};

#[derive(Serialize)]
pub(super) struct Document<'a> {
    schema: &'static str,
    complete: bool,
    exit_code: u8,
    incomplete: Option<Incomplete<'a>>,
    project: Project<'a>,
    tree: &'a str,
    sweep: Option<&'a str>,
    orders: Vec<Label<'a>>,
    order_details: Vec<OrderDetail<'a>>,
    classes: Classes,
    tests: Vec<Test<'a>>,
    causes: Vec<Cause<'a>>,
    failures: Vec<Failure<'a>>,
    bound: Bound,
    coverage: Coverage,
    weaknesses: Vec<Weakness>,
    switched_off: Vec<SwitchedOff<'a>>,
    constraints_kept: usize,
    executor: &'static str,
    executor_why: Option<&'a str>,
    sandbox: Sandbox<'a>,
    environment: Environment<'a>,
    resumed: usize,
    cost: Cost,
}

/// How many tests there are of each class.
#[derive(Serialize, Default)]
struct Classes {
    stable_pass: usize,
    stable_fail: usize,
    stable_skip: usize,
    order_sensitive: usize,
    flaky: usize,
}

#[derive(Serialize)]
struct Test<'a> {
    id: Id<'a>,
    class: &'static str,
    vector: String,
    cause: Option<u32>,
    failures: Vec<FailureAt<'a>>,
    witness: Option<Witness<'a>>,
    notes: &'a [String],
    ledger: Option<Listed<'a>>,
}

#[derive(Serialize)]
struct FailureAt<'a> {
    order: Label<'a>,
    failure: usize,
}

#[derive(Serialize)]
struct Cause<'a> {
    number: u32,
    tests: Vec<Id<'a>>,
    because: Option<&'a str>,
    next: Vec<String>,
}

impl<'a> Document<'a> {
    pub(super) fn of(view: &'a RunView) -> Self {
        Self {
            schema: "anyorder/run/1",
            complete: view.incomplete.is_none(),
            exit_code: view.exit_code,
            incomplete: view.incomplete.as_ref().map(Incomplete::of),
            project: Project::of(&view.project),
            tree: &view.tree,
            sweep: view.sweep.as_deref(),
            orders: labels(&view.orders),
            order_details: order_details(&view.orders),
            classes: classes(&view.tests),
            tests: tests(view),
            causes: causes(view),
            failures: failures(&view.failures),
            bound: Bound::of(&view.bound),
            coverage: Coverage::of(&view.coverage),
            weaknesses: weaknesses(&view.weaknesses),
            switched_off: switched_off(&view.switched_off),
            constraints_kept: view.constraints,
            executor: view.executor.executor.word(),
            executor_why: view.executor.why.as_deref(),
            sandbox: Sandbox::of(&view.sandbox),
            environment: Environment::of(&view.environment),
            resumed: view.resumed,
            cost: Cost::of(&view.cost),
        }
    }
}

fn classes(tests: &[TestView]) -> Classes {
    let mut classes = Classes::default();
    for test in tests {
        *match test.class {
            Class::StablePass => &mut classes.stable_pass,
            Class::StableFail => &mut classes.stable_fail,
            Class::StableSkip => &mut classes.stable_skip,
            Class::OrderSensitive => &mut classes.order_sensitive,
            Class::Flaky => &mut classes.flaky,
        } += 1;
    }
    classes
}

fn tests(view: &RunView) -> Vec<Test<'_>> {
    let mut cause_of = vec![None; view.tests.len()];
    for cause in &view.causes {
        for &member in &cause.members {
            if let Some(slot) = cause_of.get_mut(member) {
                *slot = Some(cause.number);
            }
        }
    }
    let failure_at = |test: &'_ TestView| {
        let known = |f: &&crate::view::FailureAt| f.failure < view.failures.len();
        test.failures
            .iter()
            .filter(known)
            .filter_map(|f| {
                Some(FailureAt { order: Label(&view.orders.get(f.order)?.label), failure: f.failure })
            })
            .collect()
    };
    view.tests
        .iter()
        .zip(cause_of)
        .map(|(test, cause)| Test {
            id: Id(&test.id),
            class: test.class.word(),
            vector: test.vector.to_string(),
            cause,
            failures: failure_at(test),
            witness: (!test.witness.seen.is_empty()).then(|| Witness::of(&test.witness)),
            notes: &test.notes,
            ledger: test.listed.as_ref().map(Listed::of),
        })
        .collect()
}

fn causes(view: &RunView) -> Vec<Cause<'_>> {
    view.causes
        .iter()
        .map(|cause| {
            let members: Vec<&TestView> = cause.members.iter().filter_map(|&at| view.tests.get(at)).collect();
            Cause {
                number: cause.number,
                tests: members.iter().map(|t| Id(&t.id)).collect(),
                because: cause.because.as_deref(),
                next: members.first().map_or_else(Vec::new, |t| view.next(t)),
            }
        })
        .collect()
}
