//! What can be wrong with the folder and the files in it. Nothing is lost, and the message says what to do.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyorder_core::model::{OrderLabel, RunRecord};
use anyorder_store::{Artefact, OpenError, RunId, Store, StoreError, SweepId};
use rusqlite::Connection;

use super::{child, samples};

/// A store with runs in it: the sweep, its runs and their records.
fn filled(dir: &Path, runs: u32) -> (SweepId, Vec<RunId>, Vec<RunRecord>) {
    let suite = samples::suite(200);
    let all: Vec<u32> = (0..200).collect();
    let records: Vec<RunRecord> = (0..runs)
        .map(|n| samples::failing(samples::run(samples::seed(n.into()), &all, &suite), n % 200, "why"))
        .collect();
    let mut store = Store::open(dir).unwrap();
    let mut store = store.lock().unwrap();
    let sweep = samples::sweep(&mut store, "a", &suite, &[samples::seed(0)]);
    let ids = store.save_runs(sweep, &records, 0).unwrap();
    (sweep, ids, records)
}

fn raw(dir: &Path) -> Connection {
    Connection::open(dir.join("anyorder.db")).unwrap()
}

/// Both ways to open fail, with the same message, and the database is not touched.
fn refused(dir: &Path) -> OpenError {
    let before = fs_err::read(dir.join("anyorder.db")).unwrap();
    let error = Store::open(dir).unwrap_err();
    assert_eq!(Store::open_read_only(dir).unwrap_err().to_string(), error.to_string());
    assert_eq!(fs_err::read(dir.join("anyorder.db")).unwrap(), before);
    error
}

#[test]
fn a_new_store_hides_itself_from_git_and_from_others() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("a/.anyorder");
    filled(&place, 1);
    let mut store = Store::open(&place).unwrap();
    let locked = store.lock().unwrap();
    locked.write_artefact("r1".parse().unwrap(), Artefact::Output, b"x").unwrap();
    assert_eq!(fs_err::read_to_string(place.join(".gitignore")).unwrap(), "*\n");
    for file in ["anyorder.db", "anyorder.db-wal", "anyorder.db-shm", "lock", "runs/r1/output.txt"] {
        let mode = fs_err::metadata(place.join(file)).map_or(0o600, |m| m.permissions().mode());
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    fs_err::write(place.join(".gitignore"), "mine").unwrap();
    drop(store);
    Store::open(&place).unwrap();
    assert_eq!(fs_err::read_to_string(place.join(".gitignore")).unwrap(), "mine");
}

#[test]
fn many_may_open_a_new_store_at_once() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert!(Store::open(dir.path()).unwrap().checks().unwrap().is_empty()));
        }
    });
}

#[test]
fn a_store_of_a_newer_version_is_refused_and_names_that_version() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path(), 1);
    raw(dir.path()).execute_batch("PRAGMA user_version = 99; UPDATE meta SET value = '7.3.1'").unwrap();
    let error = refused(dir.path());
    assert!(matches!(error, OpenError::Newer { found: 99, .. }), "{error:?}");
    assert!(error.to_string().contains("was written by anyorder 7.3.1 (format 99)"), "{error}");
    raw(dir.path()).execute_batch("PRAGMA user_version = 1").unwrap();
    Store::open(dir.path()).unwrap();
}

#[test]
fn a_format_that_never_was_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path(), 1);
    for version in [0, -1] {
        raw(dir.path()).pragma_update(None, "user_version", version).unwrap();
        assert!(matches!(refused(dir.path()), OpenError::Damaged { .. }), "{version}");
    }
}

#[test]
fn somebody_elses_database_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    raw(dir.path()).execute_batch("CREATE TABLE theirs (x); PRAGMA user_version = 1").unwrap();
    assert!(matches!(refused(dir.path()), OpenError::Foreign { .. }));
}

#[test]
fn a_text_in_place_of_the_database_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    fs_err::write(dir.path().join("anyorder.db"), "no database ".repeat(500)).unwrap();
    let error = refused(dir.path());
    assert!(matches!(error, OpenError::Damaged { .. }), "{error:?}");
    assert!(error.to_string().contains("kept as it is"), "{error}");
}

#[test]
fn a_truncated_database_is_damage_and_never_a_smaller_store() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path(), 40);
    let path = dir.path().join("anyorder.db");
    let whole = fs_err::read(&path).unwrap();
    // SQLite takes a file of one byte for a new one.
    for cut in (2..whole.len()).step_by(whole.len() / 23).chain([whole.len() - 1]) {
        fs_err::write(&path, &whole[..cut]).unwrap();
        let error = refused(dir.path());
        assert!(matches!(error, OpenError::Damaged { .. }), "{cut} of {}: {error:?}", whole.len());
    }
}

#[test]
fn a_corrupt_page_is_an_error_and_never_another_result() {
    let dir = tempfile::tempdir().unwrap();
    let (sweep, ids, records) = filled(dir.path(), 40);
    let path = dir.path().join("anyorder.db");
    let whole = fs_err::read(&path).unwrap();
    let mut damaged = 0;
    for page in 1..whole.len() / 4096 {
        for garbage in [0x00, 0xa5] {
            let mut bytes = whole.clone();
            bytes[page * 4096..(page + 1) * 4096].fill(garbage);
            fs_err::write(&path, &bytes).unwrap();
            let Ok(store) = Store::open(dir.path()) else {
                damaged += 1;
                continue;
            };
            damaged += u32::from(matches!(store.runs(sweep), Err(StoreError::Damaged(_))));
            let _ = store.matrix(sweep);
            for (id, record) in ids.iter().zip(&records) {
                match store.load_run(*id) {
                    Ok(mut found) => {
                        // Rows of the other table may be lost with their page: a text, never an outcome.
                        for (found, wanted) in found.results.iter_mut().zip(&record.results) {
                            found.failure = found.failure.take().or_else(|| wanted.failure.clone());
                        }
                        assert_eq!(found, *record);
                    }
                    Err(StoreError::Damaged(_)) => damaged += 1,
                    Err(error) => assert!(!error.to_string().is_empty()),
                }
            }
        }
    }
    assert!(damaged > 0);
    fs_err::write(&path, &whole).unwrap();
    assert_eq!(Store::open(dir.path()).unwrap().load_run(ids[39]).unwrap(), records[39]);
}

#[test]
fn a_record_that_contradicts_its_suite_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let (_, ids, _) = filled(dir.path(), 1);
    let wrong = |sql: &str| {
        let before = fs_err::read(dir.path().join("anyorder.db")).unwrap();
        raw(dir.path()).execute_batch(sql).unwrap();
        let error = Store::open(dir.path()).unwrap().load_run(ids[0]).unwrap_err();
        fs_err::write(dir.path().join("anyorder.db"), before).unwrap();
        error.to_string()
    };
    assert!(wrong("UPDATE suites SET size = 7").contains("run r1 cannot be read: test"));
    assert!(wrong("UPDATE runs SET record = x'09'").contains("unknown version 9"));
    assert!(wrong("UPDATE runs SET record = x'02'").contains("ends too early"));
    assert!(wrong("UPDATE runs SET label = 'sideways'").contains("`sideways` names no order"));
    assert!(wrong("UPDATE runs SET executor = 'spoon'").contains("unknown executor `spoon`"));
    assert!(wrong("UPDATE failures SET phase = 'lunch'").contains("unknown phase `lunch`"));
}

#[test]
fn reading_where_nothing_is_stored_makes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join(".anyorder");
    let error = Store::open_read_only(&place).unwrap_err();
    assert!(matches!(error, OpenError::Absent { .. }), "{error:?}");
    assert!(!place.exists());
    // A database killed before its first table is none yet.
    fs_err::create_dir(&place).unwrap();
    fs_err::write(place.join("anyorder.db"), "").unwrap();
    assert!(matches!(Store::open_read_only(&place).unwrap_err(), OpenError::Absent { .. }));
    Store::open(&place).unwrap();
}

#[test]
fn a_file_in_place_of_the_folder_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join(".anyorder");
    fs_err::write(&place, "a file").unwrap();
    let error = Store::open(&place).unwrap_err();
    assert!(matches!(error, OpenError::Io(_)), "{error:?}");
    assert!(error.to_string().contains(".anyorder"), "{error}");
}

#[test]
fn without_write_access_a_store_is_read_and_not_written() {
    let name = "opening::without_write_access_a_store_is_read_and_not_written";
    if let Some(place) = child::folder() {
        let error = Store::open(&place).unwrap_err();
        child::say(if matches!(error, OpenError::NotWritable { .. }) { "refused" } else { "opened" });
        let store = Store::open_read_only(&place).unwrap();
        child::say(&store.recent_runs(9).unwrap().len().to_string());
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("a b?c#d%e");
    filled(&place, 3);
    let mode = |path: &Path, mode| {
        fs_err::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(dir.path(), 0o755);
    mode(&place.join("anyorder.db"), 0o444);
    mode(&place, 0o555);
    let output = child::command_as_nobody(name, &place, dir.path()).output();
    mode(&place, 0o755);
    assert_eq!(child::said(&output.unwrap().stdout), ["refused", "3"]);
}

#[test]
fn a_store_deleted_in_use_is_said_to_be_gone() {
    let suite = samples::suite(2);
    let record = samples::run(OrderLabel::Default, &[0, 1], &suite);
    let deletions: [fn(&Path); 4] = [
        |place| fs_err::remove_dir_all(place).unwrap(),
        |place| fs_err::remove_file(place.join("anyorder.db")).unwrap(),
        |place| fs_err::remove_file(place.join("anyorder.db-wal")).unwrap(),
        |place| {
            fs_err::copy(place.join("anyorder.db"), place.join("copy")).unwrap();
            fs_err::rename(place.join("copy"), place.join("anyorder.db")).unwrap();
        },
    ];
    for (n, delete) in deletions.into_iter().enumerate() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join(".anyorder");
        let mut store = Store::open(&place).unwrap();
        let mut store = store.lock().unwrap();
        let sweep = samples::sweep(&mut store, "a", &suite, &[OrderLabel::Default]);
        delete(&place);
        let error = store.save_runs(sweep, std::slice::from_ref(&record), 0).unwrap_err();
        assert!(matches!(error, StoreError::Gone(_)), "{n}: {error:?}");
        assert!(error.to_string().contains("deleted or replaced while it was in use"));
        if n == 0 {
            let error = store.write_artefact("r1".parse().unwrap(), Artefact::Output, b"x").unwrap_err();
            assert!(matches!(error, StoreError::Gone(_)), "{error:?}");
            assert!(!place.exists(), "nothing is made anew behind the user's back");
        }
    }
}

#[test]
fn a_suite_is_stored_once_for_all_its_sweeps() {
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..3 {
        filled(dir.path(), 1);
    }
    let db = raw(dir.path());
    let count = |table: &str| -> u32 {
        db.query_row(&["SELECT count(*) FROM", table].join(" "), [], |row| row.get(0)).unwrap()
    };
    assert_eq!((count("sweeps"), count("suites"), count("tests")), (3, 1, 200));
}
