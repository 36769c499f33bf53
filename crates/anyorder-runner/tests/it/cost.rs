//! What the engine costs on top of the tests. Measured, not asserted: run it by name, in release mode, on a quiet machine.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyorder_core::model::Executor;
use anyorder_runner::Cancel;

use crate::fixture::{Count, Project, requests};

/// Processor time of this process so far, user and system.
fn own_time() -> Duration {
    let stat = fs_err::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}

fn measure(suite: &str, orders: &[Vec<u32>]) {
    let project = Project::pytest();
    project.file("test_it.py", suite);
    let (began, before) = (Instant::now(), own_time());
    let mut session = project.start().unwrap();
    let started = began.elapsed();
    let mut count = Count::default();
    let mut source = requests(&session, Executor::Fork, orders).into_iter();
    session.execute(&mut source, &mut count, &Cancel::new().unwrap()).unwrap();
    let (whole, own) = (began.elapsed(), own_time().saturating_sub(before));
    assert_eq!(count.0, orders.len());
    let mut line = String::new();
    write!(
        line,
        "start {started:.2?}, {} runs in {:.2?}, own processor time {own:.2?}",
        count.0,
        whole.saturating_sub(started)
    )
    .unwrap();
    let per_run = (whole.saturating_sub(started)) / u32::try_from(orders.len()).unwrap();
    write!(line, ", {per_run:.2?} a run").unwrap();
    fs_err::write("/dev/stderr", line + "\n").unwrap();
}

#[test]
#[ignore = "measures; run by name in release mode"]
fn twenty_orders_of_two_thousand_trivial_tests() {
    let suite = "import pytest\n@pytest.mark.parametrize('n', range(2000))\ndef test_n(n): pass";
    measure(suite, &vec![(0..2000).collect(); 20]);
}

#[test]
#[ignore = "measures; run by name in release mode"]
fn two_thousand_tests_each_alone() {
    let suite = "import pytest\n@pytest.mark.parametrize('n', range(2000))\ndef test_n(n): pass";
    let orders: Vec<Vec<u32>> = (0..2000).map(|n| vec![n]).collect();
    measure(suite, &orders);
}
