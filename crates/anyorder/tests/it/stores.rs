//! Stores that cannot be used, and two commands at one store.

use fs_err as fs;
use rusqlite::Connection;

use crate::fixture::{Call, Project};

const CLEAN: &str = "def test_a(): pass\ndef test_b(): pass\n";

fn run(project: &Project) -> Call<'_> {
    project.anyorder(["run", "--quick"])
}

fn database(project: &Project) -> std::path::PathBuf {
    project.root.join(".anyorder/anyorder.db")
}

#[track_caller]
fn assert_refused_untouched(project: &Project, text: &str) {
    let before = fs::read(database(project)).unwrap();
    run(project).status(6).answer().refuses(text);
    assert_eq!(fs::read(database(project)).unwrap(), before, "the file was touched");
}

#[test]
fn a_store_of_a_newer_version_is_refused_and_names_that_version() {
    let project = Project::of_tests(CLEAN);
    run(&project).answer();
    let db = Connection::open(database(&project)).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    db.execute("UPDATE meta SET value = '9.9.9' WHERE key = 'writer'", []).unwrap();
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(db);
    assert_refused_untouched(&project, "9.9.9");
}

#[test]
fn a_file_that_is_no_store_is_refused_and_kept() {
    let project = Project::of_tests(CLEAN);
    fs::create_dir_all(project.root.join(".anyorder")).unwrap();
    fs::write(database(&project), "no database at all, but long enough to be taken for one".repeat(40))
        .unwrap();
    assert_refused_untouched(&project, "is damaged");
}

#[test]
fn a_damaged_store_is_refused_and_kept() {
    let project = Project::of_tests(CLEAN);
    run(&project).answer();
    let db = Connection::open(database(&project)).unwrap();
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(db);
    let mut bytes = fs::read(database(&project)).unwrap();
    let end = bytes.len();
    bytes[4096..end].fill(0xa5);
    fs::write(database(&project), bytes).unwrap();
    let answer = run(&project).status(6).answer();
    answer.refuses("store");
    assert!(!answer.err.contains("defect"), "{answer}");
}

#[test]
fn a_store_that_may_not_be_read_or_written_is_told() {
    let project = Project::of_tests(CLEAN);
    // A file where the folder should be: the same for every user, root included.
    fs::write(project.root.join(".anyorder"), "a file").unwrap();
    run(&project).status(6).answer().refuses(".anyorder");
}

#[test]
fn two_commands_at_one_store_do_not_mix_and_the_second_says_who_holds_it() {
    let slow = "import time\ndef test_a(): time.sleep(1)\ndef test_b(): time.sleep(1)\n";
    let project = Project::of_tests(slow);
    let first = project.anyorder(["run", "--orders", "default,seed:1..8", "--jobs", "1"]).start();
    while !database(&project).exists() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let pid = first.id().to_string();
    let second = project.anyorder(["run", "--quick"]).start().wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    let first = first.wait_with_output().unwrap();
    assert_eq!(second.status.code(), Some(6), "{said}");
    assert!(said.contains("another anyorder") && said.contains(&pid), "{said}");
    assert_eq!(first.status.code(), Some(0), "{}", String::from_utf8_lossy(&first.stderr));
    project.assert_nothing_survives();
}
