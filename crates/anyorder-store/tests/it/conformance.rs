//! What every back end must do, whichever it is.

use anyorder_core::model::{OrderLabel, Suite, TestId, Tree};
use anyorder_store::{CheckRecord, RunId, Store, SweepState};

use crate::sample::{alone, key, run, seed, suite};

const LABELS: [OrderLabel; 2] = [OrderLabel::Default, OrderLabel::Alone];

fn fresh() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join(".anyorder")).unwrap();
    (dir, store)
}

#[test]
fn a_run_comes_back_as_it_was_stored() {
    let (_dir, mut store) = fresh();
    let suite = suite(30);
    let mut locked = store.lock().unwrap();
    let sweep = locked.begin_or_resume(&key("t"), &Tree::Base, &suite, &LABELS, 1, false).unwrap();
    let records = [run(OrderLabel::Default, 30, 0), run(seed(-3), 30, 2), alone(7, 30)];
    let ids = locked.save_runs(sweep.id, &records, 5).unwrap();
    for (id, record) in ids.iter().zip(&records) {
        assert_eq!(locked.load_run(*id).unwrap(), *record);
    }
    let listed = locked.runs(sweep.id).unwrap();
    assert_eq!(listed.iter().map(|r| r.id).collect::<Vec<_>>(), ids);
    assert_eq!(listed[1].label, seed(-3));
    assert_eq!((listed[1].attempt, listed[1].created_ms), (2, 5));
    assert_eq!(ids[0].to_string().parse(), Ok(ids[0]));
}

#[test]
fn the_same_run_counts_once_and_keeps_its_first_record() {
    let (_dir, mut store) = fresh();
    let suite = suite(4);
    let mut locked = store.lock().unwrap();
    let sweep = locked.begin_or_resume(&key("t"), &Tree::Base, &suite, &LABELS, 1, false).unwrap();
    let first = locked.save_runs(sweep.id, &[run(OrderLabel::Default, 4, 0)], 1).unwrap();
    let mut other = run(OrderLabel::Default, 4, 0);
    other.fixture_setups = Some(99);
    let again = locked.save_runs(sweep.id, &[other], 2).unwrap();
    assert_eq!(first, again);
    assert_eq!(locked.load_run(first[0]).unwrap().fixture_setups, Some(3));
    // Runs of different tests alone, and reruns, are different runs.
    let more = [alone(0, 4), alone(1, 4), alone(1, 4), run(OrderLabel::Default, 4, 1)];
    locked.save_runs(sweep.id, &more, 3).unwrap();
    assert_eq!(locked.runs(sweep.id).unwrap().len(), 4);
}

#[test]
fn a_sweep_is_found_again_by_key_suite_and_orders_only() {
    let (_dir, mut store) = fresh();
    let suite_a = suite(4);
    let mut locked = store.lock().unwrap();
    let mut begin = |tree: &str, suite: &Suite, labels: &[OrderLabel], resume| {
        locked.begin_or_resume(&key(tree), &Tree::Base, suite, labels, 1, resume).unwrap()
    };
    let first = begin("t", &suite_a, &LABELS, true);
    assert_eq!(first.state, SweepState::New);
    let again = begin("t", &suite_a, &LABELS, true);
    assert_eq!((again.id, again.state), (first.id, SweepState::Resumed));
    assert_ne!(begin("t", &suite_a, &LABELS, false).id, first.id);
    assert_eq!(begin("other tree", &suite_a, &LABELS, true).state, SweepState::New);
    assert_eq!(begin("t", &suite(5), &LABELS, true).state, SweepState::New);
    assert_eq!(begin("t", &suite_a, &LABELS[..1], true).state, SweepState::New);
}

#[test]
fn a_finished_sweep_is_complete_and_knows_its_suite() {
    let (_dir, mut store) = fresh();
    let suite = suite(12);
    let mut locked = store.lock().unwrap();
    let sweep = locked.begin_or_resume(&key("t"), &Tree::Base, &suite, &LABELS, 1, true).unwrap();
    locked.finish_sweep(sweep.id, 9).unwrap();
    let again = locked.begin_or_resume(&key("t"), &Tree::Base, &suite, &LABELS, 10, true).unwrap();
    assert_eq!((again.id, again.state), (sweep.id, SweepState::Complete));
    assert_eq!(locked.suite_of(sweep.id).unwrap(), suite);
}

#[test]
fn hostile_ids_are_distinct_and_come_back_to_the_letter() {
    let (_dir, mut store) = fresh();
    let names: Vec<serde_json::Value> = serde_json::from_str(include_str!("data/names.json")).unwrap();
    let mut ids: Vec<String> = names
        .iter()
        .map(|n| n.as_str().or_else(|| n["name"].as_str()).map_or_else(|| n.to_string(), str::to_owned))
        .collect();
    ids.push("x".repeat(100_000));
    ids.extend(["Case".to_owned(), "case".to_owned(), "é".to_owned(), "e\u{301}".to_owned()]);
    ids.sort();
    ids.dedup();
    assert!(ids.len() > 70, "{}", ids.len());
    let suite = Suite::from_raw_ids(ids.iter().map(String::as_str).chain(["case"]));
    let mut locked = store.lock().unwrap();
    let sweep = locked.begin_or_resume(&key("t"), &Tree::Base, &suite, &LABELS, 1, false).unwrap();
    let back = locked.suite_of(sweep.id).unwrap();
    assert_eq!(back, suite);
    assert!(back.find(&TestId::repeated("case", 2)).is_some());
}

#[test]
fn checks_are_listed_newest_first_and_open_whole() {
    let (_dir, mut store) = fresh();
    let mut locked = store.lock().unwrap();
    let check = |n: i64| CheckRecord {
        created_ms: n,
        verdict: "block".to_owned(),
        base: "abc".to_owned(),
        patches: vec!["a b.diff".to_owned()],
        document: format!("{{\"n\":{n}}}"),
    };
    let first = locked.save_check(&check(1)).unwrap();
    let second = locked.save_check(&check(2)).unwrap();
    let listed: Vec<_> = locked.checks().unwrap().into_iter().map(|c| c.id).collect();
    assert_eq!(listed, [second, first]);
    assert_eq!(locked.check_document(first).unwrap(), "{\"n\":1}");
}

#[test]
fn what_is_not_there_is_an_error_that_names_it() {
    let (_dir, store) = fresh();
    let run: RunId = "r404".parse().unwrap();
    assert_eq!(store.load_run(run).unwrap_err().to_string(), "there is no run r404 in the store");
    for text in ["", "r", "404", "r-1", "rx", "r1.5"] {
        assert!(text.parse::<RunId>().is_err(), "{text}");
    }
}
