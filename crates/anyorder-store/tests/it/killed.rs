//! kill -9 at random instants: what was acknowledged is there, once.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyorder_core::model::{OrderLabel, Tree};
use anyorder_store::{Store, SweepState};

use crate::sample::{key, run, seed, suite};

const VARIABLE: &str = "ANYORDER_STORE_TEST_DIR";
const TESTS: usize = 40;

fn labels() -> Vec<OrderLabel> {
    vec![OrderLabel::Default]
}

/// Not a test by itself: the process that is killed. Stores runs and says so, until it is ended.
#[test]
fn the_writer_that_is_killed() {
    #[expect(clippy::disallowed_methods, reason = "tells the writer's process from the test's")]
    let Some(dir) = std::env::var_os(VARIABLE) else { return };
    let mut store = Store::open(Path::new(&dir)).unwrap();
    let mut locked = store.lock().unwrap();
    let suite = suite(TESTS);
    let sweep = locked.begin_or_resume(&key("t"), &Tree::Base, &suite, &labels(), 1, true).unwrap();
    let done = locked.runs(sweep.id).unwrap().len();
    let mut out = std::io::stdout().lock();
    for n in (0..).skip(done) {
        locked.save_runs(sweep.id, &[run(seed(n), TESTS, 0)], n.try_into().unwrap()).unwrap();
        writeln!(out, "stored {n}").unwrap();
        out.flush().unwrap();
    }
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_is_there_twice() {
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged = BTreeSet::new();
    for round in 0..20_u64 {
        #[expect(clippy::disallowed_methods, reason = "the test starts itself")]
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args(["killed::the_writer_that_is_killed", "--exact", "--nocapture"])
            .env(VARIABLE, dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        let first = lines.by_ref().map_while(Result::ok).find_map(|l| number(&l));
        acknowledged.extend(first);
        std::thread::sleep(Duration::from_micros(round * 1_700));
        writer.kill().unwrap();
        acknowledged.extend(lines.map_while(Result::ok).filter_map(|l| number(&l)));
        writer.wait().unwrap();
    }
    let mut store = Store::open(dir.path()).unwrap();
    let mut locked = store.lock().unwrap();
    let sweep = locked.begin_or_resume(&key("t"), &Tree::Base, &suite(TESTS), &labels(), 1, true).unwrap();
    assert_eq!(sweep.state, SweepState::Resumed);
    let stored: Vec<OrderLabel> = locked.runs(sweep.id).unwrap().into_iter().map(|r| r.label).collect();
    let unique: BTreeSet<&OrderLabel> = stored.iter().collect();
    assert_eq!(unique.len(), stored.len());
    assert!(acknowledged.len() >= 20, "{}", acknowledged.len());
    for n in acknowledged {
        assert!(unique.contains(&seed(n)), "run {n} was acknowledged and is lost");
    }
    for run in locked.runs(sweep.id).unwrap() {
        assert_eq!(locked.load_run(run.id).unwrap().results.len(), TESTS);
    }
}

fn number(line: &str) -> Option<i128> {
    line.split("stored ").nth(1)?.trim().parse().ok()
}
