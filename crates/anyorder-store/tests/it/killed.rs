//! kill -9 at random instants: what was acknowledged is there, and nothing is there twice.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use anyorder_core::model::{OrderLabel, RunRecord, Suite, Tree};
use anyorder_store::{RunId, Store};

use super::{child, samples};

const TESTS: u32 = 60;

/// The `n`-th thing that the writer stores: mostly one run, sometimes a batch.
fn batch(n: u32, suite: &Suite) -> Vec<RunRecord> {
    let all: Vec<u32> = (0..TESTS).collect();
    let one = |label, attempt, tests: &[u32]| RunRecord { attempt, ..samples::run(label, tests, suite) };
    match n % 4 {
        0 => (0..20).map(|t| one(OrderLabel::Alone, n, &[t])).collect(),
        _ => vec![samples::failing(one(OrderLabel::Default, n, &all), n % TESTS, &"long text ".repeat(500))],
    }
}

/// Stores batch after batch until it is killed, saying each after it was acknowledged.
fn write_forever(dir: &Path) {
    let mut store = Store::open(dir).unwrap();
    let mut store = store.lock().unwrap();
    let suite = samples::suite(TESTS);
    let labels = [OrderLabel::Default, OrderLabel::Alone];
    let sweep =
        store.begin_or_resume(&samples::key("killed"), &Tree::Base, &suite, &labels, 0, true).unwrap();
    let first = store.runs(sweep.id).unwrap().iter().map(|r| r.attempt).max().unwrap_or(0);
    // The last batch is stored again, as an engine would that was killed before it heard of its own commit.
    for n in first.. {
        for id in store.save_runs(sweep.id, &batch(n, &suite), 0).unwrap() {
            child::say(&format!("{n} {id}"));
        }
    }
}

#[test]
fn a_killed_writer_loses_nothing_and_stores_nothing_twice() {
    if let Some(dir) = child::folder() {
        write_forever(&dir);
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged: BTreeSet<(u32, RunId)> = BTreeSet::new();
    let mut instant = 0x2545_f491_u32;
    for round in 0..20 {
        let mut writer =
            child::command("killed::a_killed_writer_loses_nothing_and_stores_nothing_twice", dir.path())
                .spawn()
                .unwrap();
        let mut stdout = writer.stdout.take().unwrap();
        let (heard, hear) = std::sync::mpsc::channel();
        let reader = std::thread::spawn(move || {
            let (mut said, mut piece) = (Vec::new(), [0; 4096]);
            loop {
                let n = stdout.read(&mut piece).unwrap();
                said.extend_from_slice(&piece[..n]);
                if n == 0 {
                    return said;
                }
                if said.windows(child::SAYS.len()).any(|w| w == child::SAYS.as_bytes()) {
                    // Nobody listens any more once the writer is killed.
                    let _ = heard.send(());
                }
            }
        });
        // The first rounds end while the store is being made or opened, the others while it is written to.
        if round >= 6 {
            hear.recv_timeout(Duration::from_secs(60)).unwrap();
        }
        instant = instant.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        std::thread::sleep(Duration::from_micros(u64::from(instant >> 8) % (5_000 << (round / 4))));
        writer.kill().unwrap();
        writer.wait().unwrap();
        for line in child::said(&reader.join().unwrap()) {
            let (n, id) = line.split_once(' ').unwrap();
            acknowledged.insert((n.parse().unwrap(), id.parse().unwrap()));
        }
        check(dir.path(), &acknowledged);
    }
    assert!(acknowledged.len() >= 20, "the writer hardly wrote: {}", acknowledged.len());
}

fn check(dir: &Path, acknowledged: &BTreeSet<(u32, RunId)>) {
    let mut store = Store::open(dir).unwrap();
    let integrity: String = rusqlite::Connection::open(dir.join("anyorder.db"))
        .unwrap()
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(integrity, "ok");
    let suite = samples::suite(TESTS);
    let labels = [OrderLabel::Default, OrderLabel::Alone];
    // The dead writer holds nothing.
    let mut store = store.lock().unwrap();
    let sweep =
        store.begin_or_resume(&samples::key("killed"), &Tree::Base, &suite, &labels, 0, true).unwrap();
    let runs = store.runs(sweep.id).unwrap();
    let stored: BTreeSet<(u32, RunId)> = runs.iter().map(|r| (r.attempt, r.id)).collect();
    assert!(acknowledged.is_subset(&stored), "{:?}", acknowledged.difference(&stored));
    // Nothing is missing in between, nothing is half there, nothing is twice.
    let mut found = runs.iter().map(|r| store.load_run(r.id).unwrap());
    let batches = runs.iter().map(|r| r.attempt + 1).max().unwrap_or(0);
    for wanted in (0..batches).flat_map(|n| batch(n, &suite)) {
        assert_eq!(found.next(), Some(wanted));
    }
    assert_eq!(found.next(), None);
}
