//! Views from what the core concluded about runs.

use std::collections::HashMap;
use std::time::Duration;

use anyorder_core::model::{
    Ending, Excerpt, Executor, Failure, Order, OrderLabel, Outcome, Phase, RunRecord, Signature, Suite,
    TestIx, TestResult,
};
use anyorder_core::verdict::{Answer, ClassRules, Classifier, Side, Sweep, TreeResult};
use anyorder_report::view::*;

use crate::samples::seed;

/// What each test does in an order: a letter a test.
type World = HashMap<OrderLabel, &'static str>;

fn record(suite: &Suite, label: &OrderLabel, letters: &str, attempt: u32, executor: Executor) -> RunRecord {
    let results = suite.indices().zip(letters.chars()).map(|(test, letter)| {
        let outcome = Outcome::from_letter(letter).unwrap();
        TestResult {
            test,
            outcome,
            duration: Duration::from_millis(1),
            failure: outcome.is_bad().then(|| Failure {
                phase: Phase::Call,
                signature: Signature("AssertionError @ t.py: assert clean".into()),
                text: Excerpt::default(),
            }),
        }
    });
    RunRecord {
        order: Order::full(label.clone(), suite.indices().collect(), suite.len()).unwrap(),
        attempt,
        executor,
        results: results.collect(),
        ending: Ending::Completed,
        wall: Duration::from_secs(1),
        fixture_setups: None,
    }
}

fn measured(side: Side, suite: &Suite, orders: &[(OrderLabel, &'static str)]) -> TreeResult {
    let mut sweep = Sweep::new(suite.clone());
    for (label, letters) in orders {
        assert!(sweep.record(&record(suite, label, letters, 0, Executor::Fork)));
    }
    let world: World = orders.iter().cloned().collect();
    let mut classifier = Classifier::new(side, sweep, ClassRules::default());
    while let Some(probe) = classifier.next_probe() {
        let run = record(suite, &probe.label, world[&probe.label], probe.attempt, probe.executor);
        classifier.observe(probe.id, &Answer::from_run(suite, &run, &probe.watch));
    }
    classifier.finish()
}

fn suite() -> Suite {
    Suite::from_raw_ids(["t.py::put", "t.py::starts_empty", "t.py::other"])
}

#[test]
fn the_witness_of_a_class_counts_every_run_of_the_orders_that_show_it() {
    let suite = suite();
    let orders = [
        (OrderLabel::Default, "PFP"),
        (OrderLabel::Alone, "PPP"),
        (OrderLabel::Reverse, "PPP"),
        (seed(1), "PFP"),
    ];
    let tree = measured(Side::Base, &suite, &orders);
    let run_of = |label: &OrderLabel| (*label == OrderLabel::Default).then(|| "17".to_owned());
    let row = TestView::of(&tree, TestIx(1), Vec::new(), &run_of).unwrap();
    assert_eq!((row.class, row.vector.to_string().as_str()), (Class::OrderSensitive, "FPPF"));
    let seen: Vec<_> = row
        .witness
        .seen
        .iter()
        .map(|s| (s.order.to_string(), s.passed() == s.runs(), s.run.clone()))
        .collect();
    let failing = row.witness.seen.iter().find(|s| s.not_passed().is_some()).unwrap();
    assert!(failing.runs() > 1, "the reruns are counted: {seen:?}");
    assert_eq!(failing.passed(), 0);
    assert!(seen.iter().any(|(order, passed, _)| order == "alone" && *passed), "{seen:?}");
    let quiet = TestView::of(&tree, TestIx(0), Vec::new(), &run_of).unwrap();
    assert_eq!((quiet.class, quiet.witness), (Class::StablePass, Witness::default()));
    assert_eq!(TestView::of(&tree, TestIx(9), Vec::new(), &run_of), None);
}
