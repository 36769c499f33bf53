//! What every back end answers alike. A new back end gets the whole suite by one line at the end of this file.

use std::time::Duration;

use anyorder_core::model::{
    Ending, Excerpt, Executor, OrderLabel, Outcome, Peek, Phase, RunRecord, Seed, TestIx, TestResult, Tree,
};
use anyorder_store::{
    Artefact, CheckId, CheckRecord, RunId, Store, StoreError, SweepId, SweepKey, SweepState, order_file,
    read_order_file,
};

use super::samples::{failing, failure, hostile_names, key, run, seed, suite, suite_of, sweep};

/// A place where one store of a back end stands. It is empty at first and can be opened again and again.
trait Place {
    fn new() -> Self;
    fn open(&self) -> Store;
}

/// Stores in one sweep of a new store, and gives the numbers.
fn save(store: &mut Store, sweep: SweepId, records: &[RunRecord]) -> Vec<RunId> {
    store.lock().unwrap().save_runs(sweep, records, 7).unwrap()
}

fn new_sweep(store: &mut Store, tests: u32, labels: &[OrderLabel]) -> SweepId {
    sweep(&mut store.lock().unwrap(), "a", &suite(tests), labels)
}

fn a_run_comes_back_as_it_was(place: &impl Place) {
    let suite = suite(400);
    let mut store = place.open();
    let id = sweep(&mut store.lock().unwrap(), "a", &suite, &[OrderLabel::Default]);
    let mut records = Vec::new();
    let endings = [
        Ending::Completed,
        Ending::Crashed { culprit: None, how: "exited 0 before the end".to_owned() },
        Ending::Crashed { culprit: Some(TestIx(399)), how: "killed by signal 11\0\u{1b}[2J".to_owned() },
        Ending::TimedOut { culprit: None },
        Ending::TimedOut { culprit: Some(TestIx(0)) },
        Ending::OutOfOrder { position: 3 },
    ];
    for (attempt, ending) in (0..).zip(endings) {
        for executor in [Executor::Fresh, Executor::Fork] {
            let backwards: Vec<u32> = (0..400).rev().collect();
            let mut record = run(OrderLabel::SeedReverse(Seed(i128::MIN)), &backwards, &suite);
            for (n, result) in record.results.iter_mut().enumerate() {
                result.outcome = Outcome::ALL[n % 9];
                result.duration = Duration::from_micros(1 << (n % 63));
                let phase = [Phase::Setup, Phase::Call, Phase::Teardown][n % 3];
                result.failure = result.outcome.is_bad().then(|| failure(phase, &format!("text {n} \0 é")));
            }
            record.attempt = attempt;
            record.executor = executor;
            record.ending = ending.clone();
            record.fixture_setups = (attempt % 2 == 0).then_some(u32::MAX);
            if let Ending::OutOfOrder { position } = ending {
                record.results[position..].reverse();
            }
            records.push(record);
        }
    }
    let numbers = save(&mut store, id, &records);
    drop(store);
    let store = place.open();
    for (number, record) in numbers.iter().zip(&records) {
        assert_eq!(store.load_run(*number).unwrap(), *record);
        let summary = store.run(*number).unwrap();
        assert_eq!((summary.sweep, &summary.label), (id, record.order.label()));
        assert_eq!((summary.attempt, summary.executor), (record.attempt, record.executor));
        assert_eq!((summary.complete, summary.created_ms), (record.ending == Ending::Completed, 7));
    }
    assert_eq!(store.runs(id).unwrap().iter().map(|r| r.id).collect::<Vec<_>>(), numbers);
    let newest: Vec<RunId> = store.recent_runs(2).unwrap().iter().map(|r| r.id).collect();
    assert_eq!(newest, [numbers[11], numbers[10]]);
}

fn runs_with_peeks_come_back_and_are_told_apart(place: &impl Place) {
    let suite = suite(9);
    let mut store = place.open();
    let id = new_sweep(&mut store, 9, &[seed(1)]);
    let peek = |after, test, outcome: Outcome| {
        let mut failure = failure(Phase::Setup, "é");
        failure.text = Excerpt::default();
        let failure = outcome.is_bad().then_some(failure);
        let duration = Duration::from_micros(7);
        Peek { after, result: TestResult { test: TestIx(test), outcome, duration, failure } }
    };
    let mut records = vec![run(seed(1), &[3, 1, 2], &suite); 3];
    records[1].peeks =
        vec![peek(0, 1, Outcome::Passed), peek(3, 8, Outcome::Failed), peek(3, 8, Outcome::Crashed)];
    records[2].peeks = vec![peek(1, 1, Outcome::Absent)];
    records.push(run(seed(1), &[], &suite));
    records[3].peeks = vec![peek(0, 4, Outcome::Timeout)];
    let numbers = save(&mut store, id, &records);
    for (number, record) in numbers.iter().zip(&records) {
        assert_eq!(store.load_run(*number).unwrap(), *record);
    }
    assert_eq!(numbers.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
    assert_eq!(save(&mut store, id, &records), numbers);
}

fn hostile_names_come_back_exactly(place: &impl Place) {
    let names = hostile_names();
    let suite = suite_of(&names);
    let mut store = place.open();
    let mut locked = store.lock().unwrap();
    let labels: Vec<OrderLabel> = names.iter().map(|n| OrderLabel::List(n.clone())).collect();
    let id = sweep(&mut locked, "hostile", &suite, &labels);
    let mut records = Vec::new();
    for (n, name) in (0_u32..).zip(&names) {
        records.push(failing(
            run(labels[n as usize].clone(), &[n, 0, 1, 2][..=usize::from(n > 2) * 3], &suite),
            n,
            name,
        ));
    }
    let numbers = locked.save_runs(id, &records, 1).unwrap();
    let order = order_file(suite.tests().iter().map(|t| t.id.clone()));
    locked.write_artefact(numbers[0], Artefact::OrderFile, order.as_bytes()).unwrap();
    drop(store);

    let store = place.open();
    assert_eq!(store.suite_of(id).unwrap(), suite);
    assert_eq!(store.labels_of(id).unwrap(), labels);
    for (number, record) in numbers.iter().zip(&records) {
        assert_eq!(store.load_run(*number).unwrap(), *record);
    }
    let matrix = store.matrix(id).unwrap();
    for (n, test) in suite.indices().take(names.len()).enumerate() {
        assert_eq!(matrix.get(n, test), Outcome::Failed, "{:?}", names[n]);
    }
    let order = store.read_artefact(numbers[0], Artefact::OrderFile).unwrap().unwrap();
    let ids = read_order_file(std::str::from_utf8(&order).unwrap()).unwrap();
    assert_eq!(ids, suite.tests().iter().map(|t| t.id.clone()).collect::<Vec<_>>());
}

fn a_run_is_stored_once(place: &impl Place) {
    let mut store = place.open();
    let id = new_sweep(&mut store, 3, &[seed(1)]);
    let suite = suite(3);
    let first = run(seed(1), &[2, 0, 1], &suite);
    let numbers = save(&mut store, id, std::slice::from_ref(&first));
    let later = failing(first.clone(), 0, "another outcome of the same run");
    assert_eq!(save(&mut store, id, &[later.clone(), later]), [numbers[0], numbers[0]]);
    assert_eq!(store.load_run(numbers[0]).unwrap(), first);
    assert_eq!(store.runs(id).unwrap().len(), 1);
}

fn runs_that_differ_in_anything_are_different_runs(place: &impl Place) {
    let mut store = place.open();
    let id = new_sweep(&mut store, 4, &[seed(1)]);
    let other = new_sweep(&mut store, 4, &[seed(1)]);
    let suite = suite(4);
    let first = run(seed(1), &[2, 0, 1, 3], &suite);
    let records = [
        first.clone(),
        RunRecord { attempt: 1, ..first.clone() },
        RunRecord { executor: Executor::Fresh, ..first.clone() },
        run(seed(2), &[2, 0, 1, 3], &suite),
        run(OrderLabel::SeedReverse(Seed(1)), &[2, 0, 1, 3], &suite),
        // Selections of one order.
        run(seed(1), &[2, 0, 1], &suite),
        run(seed(1), &[2, 0], &suite),
        run(seed(1), &[0, 2], &suite),
        run(seed(1), &[], &suite),
    ];
    let numbers = save(&mut store, id, &records);
    assert!(numbers.windows(2).all(|n| n[0] < n[1]), "{numbers:?}");
    assert_ne!(save(&mut store, other, &records[..1]), numbers[..1]);
    assert_eq!(save(&mut store, id, &records), numbers);
    for (number, record) in numbers.iter().zip(&records) {
        assert_eq!(store.load_run(*number).unwrap(), *record);
    }
}

fn each_test_alone_is_a_run_of_one_column(place: &impl Place) {
    let suite = suite(50);
    let mut store = place.open();
    let id = new_sweep(&mut store, 50, &[OrderLabel::Default, OrderLabel::Alone]);
    // Each declares to need the first test, which fails wherever it is not the subject.
    let alone: Vec<RunRecord> = (0..50)
        .map(|n| match n {
            0 => run(OrderLabel::Alone, &[0], &suite),
            _ => failing(run(OrderLabel::Alone, &[0, n], &suite), 0, "needed"),
        })
        .collect();
    let numbers = save(&mut store, id, &alone[..40]);
    assert_eq!(save(&mut store, id, &alone[30..40]), numbers[30..]);
    let matrix = store.matrix(id).unwrap();
    for n in 0..50 {
        let wanted = if n < 40 { Outcome::Passed } else { Outcome::Absent };
        assert_eq!(matrix.get(1, TestIx(n)), wanted, "{n}");
        assert_eq!(matrix.get(0, TestIx(n)), Outcome::Absent);
    }
}

fn the_matrix_is_made_of_the_sweeps_own_runs(place: &impl Place) {
    let suite = suite(3);
    let labels = [OrderLabel::Default, OrderLabel::Reverse, seed(1)];
    let mut store = place.open();
    let id = new_sweep(&mut store, 3, &labels);
    let other = new_sweep(&mut store, 3, &labels);
    let reverse = run(OrderLabel::Reverse, &[2, 1, 0], &suite);
    let records = [
        failing(run(OrderLabel::Default, &[0, 1, 2], &suite), 1, "x"),
        reverse.clone(),
        // A rerun, a replay in a fresh interpreter, and an order that was not planned.
        failing(RunRecord { attempt: 1, ..reverse.clone() }, 0, "x"),
        failing(RunRecord { executor: Executor::Fresh, ..reverse.clone() }, 0, "x"),
        failing(run(seed(9), &[2, 1, 0], &suite), 0, "x"),
    ];
    save(&mut store, id, &records);
    save(&mut store, other, &[failing(reverse, 0, "x")]);
    let matrix = store.matrix(id).unwrap();
    assert_eq!(matrix.labels(), labels);
    let vectors: Vec<String> = suite.indices().map(|t| matrix.vector(t).to_string()).collect();
    assert_eq!(vectors, ["PP-", "FP-", "PP-"]);
}

fn half_a_run_is_refused_and_its_batch_with_it(place: &impl Place) {
    let suite = suite(3);
    let mut store = place.open();
    let id = new_sweep(&mut store, 3, &[seed(1)]);
    let whole = run(seed(1), &[0, 1, 2], &suite);
    let mut interrupted = run(seed(2), &[0, 1, 2], &suite);
    interrupted.ending = Ending::Interrupted;
    let mut lost = run(seed(2), &[0, 1, 2], &suite);
    lost.results.pop();
    let mut twice = run(seed(2), &[0, 1, 2], &suite);
    twice.results[0].test = TestIx(1);
    let mut outside = run(seed(2), &[0, 1, 2], &suite);
    outside.results.push(TestResult { test: TestIx(3), ..outside.results[0].clone() });
    for half in [interrupted, lost, twice, outside] {
        let error = store.lock().unwrap().save_runs(id, &[whole.clone(), half], 1).unwrap_err();
        assert!(matches!(error, StoreError::Unfit { .. }), "{error:?}");
    }
    assert!(store.runs(id).unwrap().is_empty());
}

fn a_sweep_goes_on_where_it_was(place: &impl Place) {
    let suite = suite(3);
    let labels = [OrderLabel::Default, seed(1)];
    let mut store = place.open();
    let begin = |store: &mut Store, key: &SweepKey, resume| {
        store.lock().unwrap().begin_or_resume(key, &Tree::Base, &suite, &labels, 5, resume).unwrap()
    };
    let mine = key("mine");
    let first = begin(&mut store, &mine, true);
    assert_eq!(first.state, SweepState::New);
    save(&mut store, first.id, &[run(OrderLabel::Default, &[0, 1, 2], &suite)]);
    drop(store);

    let mut store = place.open();
    let again = begin(&mut store, &mine, true);
    assert_eq!((again.id, again.state), (first.id, SweepState::Resumed));
    assert_eq!(store.runs(again.id).unwrap().len(), 1);
    assert_eq!(store.find_complete(&mine).unwrap(), None);
    store.lock().unwrap().finish_sweep(first.id, 6).unwrap();
    let done = begin(&mut store, &mine, true);
    assert_eq!((done.id, done.state), (first.id, SweepState::Complete));

    let anew = begin(&mut store, &mine, false);
    assert_eq!(anew.state, SweepState::New);
    assert_ne!(anew.id, first.id);
    assert_eq!(begin(&mut store, &mine, true).id, anew.id, "the newest counts");
    assert_eq!(store.find_complete(&mine).unwrap(), Some(first.id));
}

fn a_sweep_of_anything_else_is_another(place: &impl Place) {
    let mut store = place.open();
    let mut locked = store.lock().unwrap();
    let labels = [OrderLabel::Default, seed(1)];
    let base = key("mine");
    let first = locked.begin_or_resume(&base, &Tree::Base, &suite(3), &labels, 5, true).unwrap();
    locked.finish_sweep(first.id, 6).unwrap();
    let other = || "other".to_owned();
    let keys = [
        SweepKey { tree_digest: other(), ..base.clone() },
        SweepKey { environment_digest: other(), ..base.clone() },
        SweepKey { plan_digest: other(), ..base.clone() },
        SweepKey { settings_digest: other(), ..base.clone() },
    ];
    for key in &keys {
        assert_eq!(locked.find_complete(key).unwrap(), None);
        let sweep = locked.begin_or_resume(key, &Tree::Base, &suite(3), &labels, 5, true).unwrap();
        assert_eq!(sweep.state, SweepState::New, "{key:?}");
    }
    let state = |locked: &mut anyorder_store::LockedStore<'_>, n, labels: &[OrderLabel]| {
        locked.begin_or_resume(&base, &Tree::Base, &suite(n), labels, 5, true).unwrap().state
    };
    assert_eq!(state(&mut locked, 4, &labels), SweepState::New);
    assert_eq!(state(&mut locked, 3, &labels[..1]), SweepState::New);
    assert_eq!(state(&mut locked, 3, &labels), SweepState::Complete);
}

fn checks_are_kept_the_newest_first(place: &impl Place) {
    let mut store = place.open();
    let record = |n: i64| CheckRecord {
        created_ms: n,
        verdict: "review".to_owned(),
        base: format!("main~{n}"),
        patches: hostile_names(),
        document: format!("{{\"n\": {n}}}"),
    };
    let ids: Vec<_> = (0..3).map(|n| store.lock().unwrap().save_check(&record(n)).unwrap()).collect();
    drop(store);
    let store = place.open();
    let checks = store.checks().unwrap();
    assert_eq!(checks.iter().map(|c| c.id).collect::<Vec<_>>(), [ids[2], ids[1], ids[0]]);
    assert_eq!(checks[0].patches, hostile_names());
    assert_eq!((checks[0].created_ms, &*checks[0].verdict, &*checks[0].base), (2, "review", "main~2"));
    assert_eq!(store.check_document(ids[1]).unwrap(), "{\"n\": 1}");
    for id in ids {
        assert_eq!(id.to_string().parse(), Ok(id), "what is shown can be typed");
    }
    let unknown: CheckId = "c99".parse().unwrap();
    let error = store.check_document(unknown).unwrap_err();
    assert_eq!(error.to_string(), "there is no check c99 in the store");
    for text in ["99", "r1", "c", "c-1", "c+1", "c99999999999999999999"] {
        assert!(text.parse::<CheckId>().is_err(), "{text}");
    }
}

fn artefacts_are_whole_and_replaced_whole(place: &impl Place) {
    let mut store = place.open();
    let id = new_sweep(&mut store, 1, &[seed(1)]);
    let number = save(&mut store, id, &[run(seed(1), &[0], &suite(1))])[0];
    assert_eq!(store.read_artefact(number, Artefact::JunitXml).unwrap(), None);
    let locked = store.lock().unwrap();
    for bytes in [&b"<long/>\0\xff"[..], b"short"] {
        locked.write_artefact(number, Artefact::JunitXml, bytes).unwrap();
        assert_eq!(locked.read_artefact(number, Artefact::JunitXml).unwrap().unwrap(), bytes);
    }
    assert_eq!(locked.read_artefact(number, Artefact::Output).unwrap(), None);
}

fn what_is_not_there_is_an_error_that_names_it(place: &impl Place) {
    let mut store = place.open();
    let run: RunId = "r17".parse().unwrap();
    for error in [store.run(run).unwrap_err(), store.load_run(run).unwrap_err()] {
        assert_eq!(error.to_string(), "there is no run r17 in the store");
    }
    let sweep = new_sweep(&mut store, 1, &[seed(1)]);
    let empty = PlaceOfNothing::open();
    let error = empty.store.matrix(sweep).unwrap_err();
    assert_eq!(error.to_string(), format!("there is no sweep {sweep} in the store"));
}

fn stats_count_what_is_stored(place: &impl Place) {
    let mut store = place.open();
    let id = new_sweep(&mut store, 2, &[seed(1)]);
    let numbers = save(&mut store, id, &[run(seed(1), &[0, 1], &suite(2)), run(seed(2), &[0, 1], &suite(2))]);
    store.lock().unwrap().write_artefact(numbers[0], Artefact::Output, b"12345").unwrap();
    let stats = store.stats().unwrap();
    assert_eq!((stats.sweeps, stats.runs, stats.checks, stats.artefact_bytes), (1, 2, 0, 5));
    assert!(stats.database_bytes > 0);
}

/// A store in which nothing was ever stored.
struct PlaceOfNothing {
    store: Store,
    _dir: tempfile::TempDir,
}

impl PlaceOfNothing {
    fn open() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { store: Store::open(dir.path()).unwrap(), _dir: dir }
    }
}

macro_rules! conformance_suite {
    ($back_end:ident, $place:ty) => {
        conformance_suite!(@stamp $back_end, $place,
            a_run_comes_back_as_it_was
            runs_with_peeks_come_back_and_are_told_apart
            hostile_names_come_back_exactly
            a_run_is_stored_once
            runs_that_differ_in_anything_are_different_runs
            each_test_alone_is_a_run_of_one_column
            the_matrix_is_made_of_the_sweeps_own_runs
            half_a_run_is_refused_and_its_batch_with_it
            a_sweep_goes_on_where_it_was
            a_sweep_of_anything_else_is_another
            checks_are_kept_the_newest_first
            artefacts_are_whole_and_replaced_whole
            what_is_not_there_is_an_error_that_names_it
            stats_count_what_is_stored
        );
    };
    (@stamp $back_end:ident, $place:ty, $($test:ident)*) => {
        mod $back_end {
            use super::Place;

            $(
                #[test]
                fn $test() {
                    super::$test(&<$place>::new());
                }
            )*
        }
    };
}

/// SQLite in a folder.
struct Folder(tempfile::TempDir);

impl Place for Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn open(&self) -> Store {
        Store::open(self.0.path()).unwrap()
    }
}

conformance_suite!(sqlite, super::Folder);
