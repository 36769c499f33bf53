//! `anyorder replay`.

use crate::answer::word;
use crate::fixture::Project;
use crate::run::{ALL_KINDS, LOG, executed, folder};

fn project() -> Project {
    Project::with(&[("test_it.py", ALL_KINDS), ("conftest.py", LOG)])
}

#[test]
fn a_stored_run_is_run_again_in_the_very_same_order() {
    let project = project();
    let first = folder(&project, "first");
    let orders = ["run", "--orders", "seed:1", "--format", "json"];
    let document = project.anyorder(orders).env("LOG", &first).answer().json();
    let run = word(&document.rows("order_details")[0]["run"]);
    let again = folder(&project, "again");
    project.anyorder(["replay", run]).env("LOG", &again).status(1).answer().shows("without anyorder");
    assert!(executed(&first).contains(&executed(&again)[0]));
}

#[test]
fn an_order_a_test_and_a_file_of_ids_can_be_replayed() {
    let project = project();
    let log = folder(&project, "log");
    let replay =
        |what: &str, status| project.anyorder(["replay", what]).env("LOG", &log).status(status).answer();
    replay("default", 1);
    replay("seed:3:reverse", 1);
    replay("test_it.py::test_plain", 0).shows("test_it.py::test_plain");
    replay("test_it.py::test_brittle", 1);
    std::fs::write(project.beside("pair.txt"), "test_it.py::test_polluter\ntest_it.py::test_victim\n")
        .unwrap();
    let answer = replay("../pair.txt", 1);
    answer.shows("test_it.py::test_polluter test_it.py::test_victim");
    assert!(
        executed(&log)
            .contains(&vec!["test_it.py::test_polluter".to_owned(), "test_it.py::test_victim".to_owned()])
    );
}

#[test]
fn a_replay_can_be_cut_and_repeated() {
    let project = project();
    let log = folder(&project, "log");
    let arguments = ["replay", "default", "--until", "test_it.py::test_setter", "--times", "3"];
    project.anyorder(arguments).env("LOG", &log).answer();
    let runs = executed(&log);
    assert_eq!(runs.len(), 3);
    assert!(runs.iter().all(|run| run.len() == 2), "{runs:?}");
}

#[test]
fn a_replay_on_another_revision_runs_that_revisions_tests() {
    let project = Project::of_tests("def test_a(): assert 0\n");
    project.write("test_it.py", "def test_a(): pass\n");
    project.anyorder(["replay", "default"]).answer();
    project.anyorder(["replay", "default", "--rev", "HEAD"]).status(1).answer();
    let patch = project.take_patch("repair.patch");
    project.anyorder(["replay", "default"]).status(1).answer();
    project.anyorder(["replay", "default", "--patch"]).args([&patch]).answer();
}

#[test]
fn what_cannot_be_replayed_is_refused() {
    let project = project();
    let log = folder(&project, "log");
    let replay =
        |what: &str, status| project.anyorder(["replay", what]).env("LOG", &log).status(status).answer();
    replay("nonsense", 2).refuses("`nonsense` is no stored run, no order, no test and no file");
    replay("r99", 6).refuses("r99");
    project.anyorder(["run", "--orders", "seed:1", "--format", "json"]).env("LOG", &log).answer();
    replay("r99", 6).refuses("r99");
    std::fs::write(project.beside("odd.txt"), "test_it.py::test_gone\n").unwrap();
    replay("../odd.txt", 2).refuses("test_gone");
}

#[test]
fn a_stored_run_whose_tests_are_gone_is_refused_with_a_hint() {
    let project = Project::of_tests("def test_a(): pass\ndef test_b(): pass\n");
    let document = project.anyorder(["run", "--orders", "seed:1", "--format", "json"]).answer().json();
    project.write("test_it.py", "def test_a(): pass\n");
    let run = word(&document.rows("order_details")[0]["run"]);
    let answer = project.anyorder(["replay", run]).status(6).answer();
    answer.refuses("test_b").refuses("check that out first");
}
