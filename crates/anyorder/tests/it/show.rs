//! `anyorder show`.

use rusqlite::Connection;
use serde_json::Value;

use crate::fixture::Project;

const BASE: &str = "state = []\ndef test_a(): state.append(1)\ndef test_b(): pass\n";
const BAD: &str = "state = []\ndef test_a(): state.append(1)\ndef test_b(): assert not state\n";

/// A project with two checks: one that blocks, and one that accepts.
fn checked() -> (Project, String) {
    let project = Project::of_tests(BASE);
    project.write("test_it.py", BAD);
    let bad = project.anyorder(["check", "--seeds", "3"]).status(1).answer();
    project.write("test_it.py", BASE.replace("pass", "assert True"));
    project.anyorder(["check", "--seeds", "3"]).answer();
    (project, bad.out)
}

#[test]
fn checks_are_listed_the_newest_first_and_each_can_be_shown_again() {
    let (project, bad) = checked();
    let list = project.anyorder(["show"]).answer();
    let lines: Vec<&str> = list.out.lines().collect();
    assert!(lines[0].starts_with("c2") && lines[0].contains("accept"), "{list}");
    assert!(lines[1].starts_with("c1") && lines[1].contains("block"), "{list}");
    let document = project.anyorder(["show", "--format", "json"]).answer().json();
    let shown: Vec<_> = document.rows("checks").iter().map(|c| (&c["check"], &c["verdict"])).collect();
    assert_eq!(shown, [(&"c2".into(), &"accept".into()), (&"c1".into(), &"block".into())]);

    let again = project.anyorder(["show", "c1"]).answer();
    assert_eq!(again.out, bad, "the report reads as it did");
    let answer = project.anyorder(["show", "c1", "--format", "json"]).answer();
    let document: Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!((&document["schema"], &document["check"]), (&"anyorder/check/1".into(), &"c1".into()));
    assert_eq!(document["verdict"], "block");
}

#[test]
fn without_a_store_there_is_nothing_to_list_and_no_store_is_made() {
    let project = Project::plain(&[]);
    project.anyorder(["show"]).answer().shows("no check is stored yet");
    let document = project.anyorder(["show", "--format", "json"]).answer().json();
    assert!(document.rows("checks").is_empty());
    project.anyorder(["show", "c1"]).status(2).answer().refuses("there is no check `c1`");
    assert!(!project.root.join(".anyorder").exists());
}

#[test]
fn what_is_no_check_is_refused() {
    let (project, _) = checked();
    project.anyorder(["show", "c9"]).status(2).answer().refuses("there is no check `c9`");
    for name in ["9", "r1", "c", "c-1", "latest"] {
        project.anyorder(["show", name]).status(2).answer().refuses("is no check: write its number");
    }
}

#[test]
fn a_document_of_another_version_is_shown_as_it_stands() {
    let (project, _) = checked();
    let db = Connection::open(project.root.join(".anyorder/anyorder.db")).unwrap();
    db.execute(
        "UPDATE checks SET document = '{\"schema\":\"anyorder/check/9\",\"news\":\"::error::\\u001b[2J\"}'",
        [],
    )
    .unwrap();
    drop(db);
    let answer = project.anyorder(["show", "c2"]).answer();
    answer.shows("\"schema\": \"anyorder/check/9\"");
    assert!(!answer.out.contains('\u{1b}'), "{answer}");
}
