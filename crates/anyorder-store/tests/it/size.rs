//! What storing costs.

use std::path::Path;
use std::time::Instant;

use anyorder_core::model::{OrderLabel, RunRecord};
use anyorder_store::Store;

use super::{child, samples};

const TESTS: u32 = 5_000;

/// The most memory that this process ever had, in KiB.
fn peak() -> u64 {
    let status = fs_err::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Stores and reads back a sweep of `runs` runs, and says how much more memory that took than the first ten.
fn store_and_read(dir: &Path, runs: u32) -> String {
    let suite = samples::suite(TESTS);
    let mut store = Store::open(dir).unwrap();
    let mut store = store.lock().unwrap();
    let labels: Vec<OrderLabel> = (0..runs).map(|n| samples::seed(n.into())).collect();
    let sweep = samples::sweep(&mut store, "a", &suite, &labels);
    let mut tests: Vec<u32> = (0..TESTS).collect();
    let mut writing = std::time::Duration::ZERO;
    let mut after_ten = 0;
    for (n, label) in (0_u32..).zip(&labels) {
        tests.rotate_left(1_237);
        let swap = (n as usize * 7) % tests.len();
        tests[..=swap].reverse();
        let record =
            samples::failing(samples::run(label.clone(), &tests, &suite), n % TESTS, "why it failed");
        let start = Instant::now();
        store.save_runs(sweep, &[record], 0).unwrap();
        writing += start.elapsed();
        if n == 9 {
            store.matrix(sweep).unwrap();
            store.load_run(store.recent_runs(1).unwrap()[0].id).unwrap();
            after_ten = peak();
        }
    }
    let start = Instant::now();
    let matrix = store.matrix(sweep).unwrap();
    let reading = start.elapsed();
    assert_eq!(matrix.labels().len(), labels.len());
    let grown = peak() - after_ten;
    let start = Instant::now();
    let ids: Vec<_> = store.runs(sweep).unwrap().iter().map(|r| r.id).collect();
    for id in ids {
        store.load_run(id).unwrap();
    }
    let loading = start.elapsed();

    let alone: Vec<RunRecord> = (0..TESTS).map(|t| samples::run(OrderLabel::Alone, &[t], &suite)).collect();
    let start = Instant::now();
    for batch in alone.chunks(64) {
        store.save_runs(sweep, batch, 0).unwrap();
    }
    let batches = start.elapsed();
    let size = store.stats().unwrap().database_bytes;
    format!(
        "{grown} KiB grown, {} KiB at most; {runs} runs of {TESTS} written in {writing:.2?}, matrix read in \
         {reading:.2?}, all loaded in {loading:.2?}, {TESTS} alone written in {batches:.2?}, {} MiB on disk",
        peak(),
        size >> 20
    )
}

/// Runs it in a process of its own, whose memory is not that of other tests.
fn measured(name: &str, runs: u32) -> Option<String> {
    if let Some(dir) = child::folder() {
        child::say(&store_and_read(&dir, runs));
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let output = child::command(name, dir.path()).arg("--include-ignored").output().unwrap();
    Some(child::said(&output.stdout).pop().expect("the child says what it measured"))
}

#[test]
fn memory_stays_flat_in_the_number_of_runs() {
    let Some(said) = measured("size::memory_stays_flat_in_the_number_of_runs", 100) else { return };
    let grown: u64 = said.split(' ').next().unwrap().parse().unwrap();
    // The matrix itself is a byte a cell: 450 KB more for ninety more runs. SQLite keeps 2 MB of pages.
    assert!(grown < 6_000, "{said}");
}

#[test]
#[ignore = "a measurement: run it in release, with --nocapture"]
fn a_thousand_runs_of_five_thousand_tests() {
    if let Some(said) = measured("size::a_thousand_runs_of_five_thousand_tests", 1_000) {
        child::say(&said);
    }
}
