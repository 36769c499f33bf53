//! What the world does to a store.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use anyorder_core::model::{OrderLabel, Tree};
use anyorder_store::{Artefact, LockError, OpenError, Store, StoreError};

use crate::sample::{key, run, suite};

#[test]
fn a_newer_store_is_refused_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    drop(Store::open(dir.path()).unwrap());
    let path = dir.path().join("anyorder.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    db.execute("UPDATE meta SET value = '9.9.9' WHERE key = 'writer'", []).unwrap();
    drop(db);
    let before = fs_err::read(&path).unwrap();
    let error = Store::open(dir.path()).unwrap_err();
    assert!(matches!(error, OpenError::Newer { found: 99, .. }), "{error}");
    assert!(error.to_string().contains("was written by anyorder 9.9.9"), "{error}");
    assert_eq!(fs_err::read(&path).unwrap(), before);
}

#[test]
fn a_file_that_is_no_database_is_refused_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("anyorder.db");
    fs_err::write(&path, "this is a letter, not a database. ".repeat(100)).unwrap();
    let error = Store::open(dir.path()).unwrap_err();
    assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
    assert!(fs_err::read_to_string(&path).unwrap().starts_with("this is a letter"));
}

#[test]
fn a_damaged_page_is_an_error_and_no_panic() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let suite = suite(500);
    let mut locked = store.lock().unwrap();
    let sweep =
        locked.begin_or_resume(&key("t"), &Tree::Base, &suite, &[OrderLabel::Default], 1, false).unwrap();
    let ids = locked.save_runs(sweep.id, &[run(OrderLabel::Default, 500, 0)], 1).unwrap();
    drop(locked);
    drop(store);
    let path = dir.path().join("anyorder.db");
    let mut bytes = fs_err::read(&path).unwrap();
    let len = bytes.len();
    bytes[4096..len].iter_mut().step_by(3).for_each(|b| *b ^= 0x5a);
    fs_err::write(&path, &bytes).unwrap();
    match Store::open(dir.path()) {
        Err(error) => assert!(matches!(error, OpenError::Damaged { .. } | OpenError::Sql { .. }), "{error}"),
        Ok(store) => assert!(store.load_run(ids[0]).is_err()),
    }
}

#[test]
fn a_store_in_a_place_that_cannot_be_written_is_one_clear_error() {
    let dir = tempfile::tempdir().unwrap();
    let blocked = dir.path().join("file");
    fs_err::write(&blocked, "").unwrap();
    let error = Store::open(&blocked.join(".anyorder")).unwrap_err();
    assert!(matches!(error, OpenError::Io { .. }), "{error}");
    assert!(error.to_string().contains(".anyorder"), "{error}");
}

#[test]
fn a_second_writer_is_told_who_holds_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let mut one = Store::open(dir.path()).unwrap();
    let mut two = Store::open(dir.path()).unwrap();
    let held = one.lock().unwrap();
    match two.lock() {
        Err(error @ LockError::Held { .. }) => {
            assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
        }
        other => panic!("{other:?}"),
    }
    drop(held);
    assert!(two.lock().is_ok());
}

#[test]
fn a_database_that_is_taken_away_while_in_use_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let suite = suite(3);
    let mut locked = store.lock().unwrap();
    let sweep =
        locked.begin_or_resume(&key("t"), &Tree::Base, &suite, &[OrderLabel::Default], 1, false).unwrap();
    fs_err::remove_file(dir.path().join("anyorder.db")).unwrap();
    let error = locked.save_runs(sweep.id, &[run(OrderLabel::Default, 3, 0)], 1).unwrap_err();
    assert!(matches!(error, StoreError::Gone(_)), "{error}");
}

#[test]
fn artefacts_are_whole_private_and_named_by_their_run() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let suite = suite(3);
    let mut locked = store.lock().unwrap();
    let sweep =
        locked.begin_or_resume(&key("t"), &Tree::Base, &suite, &[OrderLabel::Default], 1, false).unwrap();
    let id = locked.save_runs(sweep.id, &[run(OrderLabel::Default, 3, 0)], 1).unwrap()[0];
    locked.write_artefact(id, Artefact::OrderFile, b"one").unwrap();
    locked.write_artefact(id, Artefact::OrderFile, b"two").unwrap();
    assert_eq!(locked.read_artefact(id, Artefact::OrderFile).unwrap().unwrap(), b"two");
    assert_eq!(locked.read_artefact(id, Artefact::JunitXml).unwrap(), None);
    let path = locked.artefact_path(id, Artefact::OrderFile);
    assert!(path.ends_with(format!("runs/{id}/order.txt")), "{}", path.display());
    assert_eq!(fs_err::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs_err::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn git_is_told_to_ignore_the_store() {
    let dir = tempfile::tempdir().unwrap();
    drop(Store::open(dir.path()).unwrap());
    assert_eq!(fs_err::read_to_string(dir.path().join(".gitignore")).unwrap(), "*\n");
    // What the user wrote there stays.
    let mut file = fs_err::OpenOptions::new().append(true).open(dir.path().join(".gitignore")).unwrap();
    file.write_all(b"!keep\n").unwrap();
    drop(Store::open(dir.path()).unwrap());
    assert_eq!(fs_err::read_to_string(dir.path().join(".gitignore")).unwrap(), "*\n!keep\n");
}
