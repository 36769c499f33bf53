//! One writer at a time.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyorder_store::{LockError, Store, StoreError};

use super::{child, samples};

fn refusal(dir: &Path) -> String {
    let error = Store::open(dir).unwrap().lock().unwrap_err();
    assert!(matches!(error, LockError::Held { .. }), "{error:?}");
    error.to_string()
}

#[test]
fn the_second_writer_is_told_who_the_first_is() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = Store::open(dir.path()).unwrap();
    let locked = first.lock().unwrap();
    let message = refusal(dir.path());
    assert!(message.contains(&format!("(process {})", std::process::id())), "{message}");
    assert!(Store::open_read_only(dir.path()).unwrap().checks().unwrap().is_empty(), "readers need no lock");
    drop(locked);
    Store::open(dir.path()).unwrap().lock().unwrap();
}

#[test]
fn the_lock_of_a_killed_process_is_free() {
    let name = "locking::the_lock_of_a_killed_process_is_free";
    if let Some(dir) = child::folder() {
        let mut store = Store::open(&dir).unwrap();
        let _locked = store.lock().unwrap();
        child::say("locked");
        // Until the parent goes away, whatever happens to it.
        let _ = std::io::stdin().read(&mut [0]);
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut holder = child::command(name, dir.path()).stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("locked")));
    let message = refusal(dir.path());
    assert!(message.contains(&format!("(process {})", holder.id())), "{message}");
    holder.kill().unwrap();
    holder.wait().unwrap();
    Store::open(dir.path()).unwrap().lock().unwrap();
}

#[test]
fn whatever_stands_in_the_lock_file_is_no_reason_to_believe_it() {
    let dir = tempfile::tempdir().unwrap();
    let lock = dir.path().join("lock");
    for text in [&b"1\n"[..], b"process 4", b"\xff\xfe\x1b[2J", &b"9".repeat(100_000)] {
        fs_err::write(&lock, text).unwrap();
        let mut store = Store::open(dir.path()).unwrap();
        let locked = store.lock().unwrap();
        assert_eq!(fs_err::read_to_string(&lock).unwrap(), format!("{}\n", std::process::id()));
        fs_err::write(&lock, text).unwrap();
        let message = refusal(dir.path());
        let known = message.contains("(process 1)") || message.contains("(an unknown process)");
        assert!(known, "{message}");
        drop(locked);
    }
}

#[test]
fn a_link_in_place_of_the_lock_file_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let precious = dir.path().join("precious");
    fs_err::write(&precious, "kept").unwrap();
    let mut store = Store::open(&dir.path().join("store")).unwrap();
    let lock = dir.path().join("store/lock");
    fs_err::remove_file(&lock).unwrap();
    fs_err::os::unix::fs::symlink(&precious, &lock).unwrap();
    let error = store.lock().unwrap_err();
    assert!(matches!(error, LockError::Io(_)), "{error:?}");
    assert_eq!(fs_err::read_to_string(&precious).unwrap(), "kept");
}

#[test]
fn whoever_deletes_the_lock_file_does_not_get_two_writers() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = Store::open(dir.path()).unwrap();
    let mut first = first.lock().unwrap();
    fs_err::remove_file(dir.path().join("lock")).unwrap();
    let mut second = Store::open(dir.path()).unwrap();
    let mut second = second.lock().unwrap();
    let suite = samples::suite(1);
    samples::sweep(&mut second, "a", &suite, &[]);
    let key = samples::key("a");
    let tree = anyorder_core::model::Tree::Base;
    let error = first.begin_or_resume(&key, &tree, &suite, &[], 0, false).unwrap_err();
    assert!(matches!(error, StoreError::Gone(_)), "{error:?}");
}
