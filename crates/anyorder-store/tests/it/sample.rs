//! Suites and runs to store.

use std::sync::Arc;
use std::time::Duration;

use anyorder_core::model::{
    Ending, Excerpt, Executor, Failure, Order, OrderLabel, Outcome, Phase, RunRecord, Seed, Signature, Suite,
    TestIx, TestResult,
};
use anyorder_store::SweepKey;

pub(crate) fn suite(tests: usize) -> Suite {
    Suite::from_raw_ids((0..tests).map(|n| format!("tests/test_{}.py::test_{n}", n % 7)))
}

pub(crate) fn key(tree: &str) -> SweepKey {
    SweepKey {
        tree_digest: tree.to_owned(),
        environment_digest: "environment".to_owned(),
        plan_digest: "plan".to_owned(),
        settings_digest: "settings".to_owned(),
    }
}

pub(crate) fn seed(n: i128) -> OrderLabel {
    OrderLabel::Seed(Seed(n))
}

/// A run of all tests backwards; every tenth test fails.
pub(crate) fn run(label: OrderLabel, tests: usize, attempt: u32) -> RunRecord {
    let order: Vec<TestIx> = (0..u32::try_from(tests).unwrap()).rev().map(TestIx).collect();
    run_of(label, order, tests, attempt)
}

/// A run of one test by itself.
pub(crate) fn alone(test: u32, tests: usize) -> RunRecord {
    run_of(OrderLabel::Alone, vec![TestIx(test)], tests, 0)
}

fn run_of(label: OrderLabel, order: Vec<TestIx>, tests: usize, attempt: u32) -> RunRecord {
    let results = order
        .iter()
        .map(|&test| {
            let failed = test.0 % 10 == 0;
            TestResult {
                test,
                outcome: if failed { Outcome::Failed } else { Outcome::Passed },
                duration: Duration::from_micros(u64::from(test.0) * 17),
                failure: failed.then(|| Failure {
                    phase: Phase::Call,
                    signature: Signature(Arc::from("AssertionError @ a.py:assert x")),
                    text: Excerpt {
                        head: "E\u{0}\u{1b}[31m é".to_owned(),
                        tail: "end".to_owned(),
                        total_bytes: 9_999,
                    },
                }),
            }
        })
        .collect();
    RunRecord {
        order: Order::partial(label, order, tests).unwrap(),
        attempt,
        executor: Executor::Fork,
        results,
        ending: Ending::Crashed { culprit: Some(TestIx(1)), how: "killed by signal 9".to_owned() },
        wall: Duration::from_micros(123_456),
        fixture_setups: Some(3),
    }
}
