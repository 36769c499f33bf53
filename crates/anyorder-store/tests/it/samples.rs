//! Suites, runs and keys to be stored.

use std::sync::Arc;
use std::time::Duration;

use anyorder_core::model::{
    Ending, Excerpt, Executor, Failure, Order, OrderLabel, Outcome, Phase, RunRecord, Seed, Signature, Suite,
    TestId, TestInfo, TestIx, TestResult, Tree,
};
use anyorder_store::{LockedStore, SweepId, SweepKey};

/// A suite of `n` plain tests.
pub(crate) fn suite(n: u32) -> Suite {
    Suite::from_raw_ids((0..n).map(|i| format!("tests/test_{}.py::test_{i}", i / 20)))
}

pub(crate) fn key(name: &str) -> SweepKey {
    SweepKey {
        tree_digest: format!("tree of {name}"),
        environment_digest: "environment".to_owned(),
        plan_digest: "plan".to_owned(),
        settings_digest: "settings".to_owned(),
    }
}

/// A new sweep.
pub(crate) fn sweep(
    store: &mut LockedStore<'_>,
    name: &str,
    suite: &Suite,
    labels: &[OrderLabel],
) -> SweepId {
    store.begin_or_resume(&key(name), &Tree::Patched(None), suite, labels, 1_000, false).unwrap().id
}

pub(crate) fn seed(n: i128) -> OrderLabel {
    OrderLabel::Seed(Seed(n))
}

pub(crate) fn indices(tests: &[u32]) -> Vec<TestIx> {
    tests.iter().copied().map(TestIx).collect()
}

/// A run of these tests in which everything passed.
pub(crate) fn run(label: OrderLabel, tests: &[u32], suite: &Suite) -> RunRecord {
    let order = Order::partial(label, indices(tests), suite.len()).unwrap();
    let results = order
        .tests()
        .iter()
        .map(|&test| TestResult {
            test,
            outcome: Outcome::Passed,
            duration: Duration::from_micros(1_500 + u64::from(test.0)),
            failure: None,
        })
        .collect();
    RunRecord {
        order,
        attempt: 0,
        executor: Executor::Fork,
        results,
        ending: Ending::Completed,
        wall: Duration::from_millis(20),
        fixture_setups: Some(3),
        peeks: Vec::new(),
    }
}

/// The same run with one test failing.
pub(crate) fn failing(mut run: RunRecord, test: u32, why: &str) -> RunRecord {
    let result = run.results.iter_mut().find(|r| r.test == TestIx(test)).unwrap();
    result.outcome = Outcome::Failed;
    result.failure = Some(failure(Phase::Call, why));
    run
}

pub(crate) fn failure(phase: Phase, text: &str) -> Failure {
    Failure {
        phase,
        signature: Signature(Arc::from(format!("AssertionError: {text}"))),
        text: Excerpt {
            head: text.to_owned(),
            tail: text.chars().rev().collect(),
            total_bytes: u64::MAX - text.len() as u64,
        },
    }
}

/// Names made to hurt: those of the corpus, and those that JSON or a list cannot carry.
pub(crate) fn hostile_names() -> Vec<String> {
    let text = include_str!("../data/names.json");
    let mut names: Vec<String> = serde_json::from_str(text).unwrap();
    assert_eq!(names.len(), 71);
    names.extend([
        "tests/test_a.py::test_x[\r\n\t\u{2028}\u{85}]".to_owned(),
        "TESTS/TEST_A.PY::TEST_X".to_owned(),
        "tests/test_a.py::test_x".to_owned(),
        "tests/test_a.py::test_x\0".to_owned(),
        "tests/test_a.py::test_x\0y".to_owned(),
        "y".repeat(100_000),
        format!("{}z", "y".repeat(99_999)),
        "\u{10ffff}\u{feff}".to_owned(),
        "r17".to_owned(),
        "\"quoted\"\t#2".to_owned(),
    ]);
    names
}

/// A suite of these names, each twice, with files and sources that do not follow from them.
pub(crate) fn suite_of(names: &[String]) -> Suite {
    let mut tests = Vec::new();
    for occurrence in 1..=2 {
        for (n, name) in (0_u64..).zip(names) {
            tests.push(TestInfo {
                id: TestId::repeated(name.as_str(), occurrence),
                file: Arc::from(name.chars().rev().collect::<String>()),
                source: (n % 3 > 0).then_some(u64::MAX - n),
            });
        }
    }
    Suite::new(tests).unwrap()
}
