//! `anyorder run`: what it says of plain suites, and which orders it runs.

use std::collections::BTreeMap;

use fs_err as fs;

use crate::fixture::{Project, python};

/// Each way in which a test's outcome can depend on order, or not.
pub(crate) const ALL_KINDS: &str = r#"
import os, pytest
state = {"dirty": False, "ready": False}

def test_polluter(): state["dirty"] = True
def test_setter(): state["ready"] = True
def test_victim(): assert not state["dirty"], "somebody left dirt"
def test_brittle(): assert state["ready"]
def test_plain(): pass
def test_fails(): assert 1 == 2
@pytest.mark.skip(reason="no")
def test_skipped(): pass
@pytest.mark.xfail
def test_known(): assert False
"#;

/// A test with two outcomes in one order: a coin that is thrown anew each time it runs, the same coins in the
/// same sequence: a folder outside the sandbox counts.
pub(crate) const FLAKY: &str = r#"
import hashlib, os, tempfile
def test_flaky():
    times = len(os.listdir(os.environ["COUNTER"]))
    tempfile.mkstemp(dir=os.environ["COUNTER"])
    assert hashlib.sha256(b"b%d" % times).digest()[0] % 2 == 0
"#;

/// Writes down which tests ran, in a file for each run.
pub(crate) const LOG: &str = r#"
import os
def pytest_runtest_logstart(nodeid):
    path = os.path.join(os.environ["LOG"], "%s-%d" % (os.environ["ANYORDER_RUN"], os.getpid()))
    with open(path, "a") as log:
        log.write(nodeid.replace("\n", "\\n") + "\n")
"#;

/// A folder beside the project.
pub(crate) fn folder(project: &Project, name: &str) -> std::path::PathBuf {
    let path = project.beside(name);
    fs::create_dir_all(&path).unwrap();
    path
}

/// The orders that were executed, as lists of ids, sorted.
pub(crate) fn executed(log: &std::path::Path) -> Vec<Vec<String>> {
    let mut runs: Vec<Vec<String>> = fs::read_dir(log)
        .unwrap()
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap().lines().map(str::to_owned).collect())
        .collect();
    runs.sort();
    runs
}

#[test]
fn a_clean_suite_is_called_clean_and_exits_with_0() {
    let project = Project::of_tests("def test_a(): pass\ndef test_b(): pass\n");
    let answer = project.anyorder(["run", "--seeds", "3"]).answer();
    answer.shows("no order dependence in 2 tests under 6 orders");
    answer.shows("3 independent seeds: one more order fails with a chance of at most 63.2 %");
    answer.shows("This does not exclude");
    answer.shows("2 tests are few");
}

#[test]
fn victims_brittle_failing_and_skipped_tests_are_told_apart_in_both_executors() {
    let project = Project::of_tests(ALL_KINDS);
    let run = |executor| {
        project
            .anyorder(["run", "--orders", "default,alone,reverse,seed:1..3", "--format", "json"])
            .args(["--executor", executor])
            .status(1)
            .answer()
            .json()
    };
    let (fork, fresh) = (run("fork"), run("fresh"));
    for document in [&fork, &fresh] {
        let classes = document.classes();
        let class = |name: &str| classes[format!("test_it.py::{name}").as_str()];
        assert_eq!(class("test_victim"), "order_sensitive");
        assert_eq!(class("test_brittle"), "order_sensitive");
        assert_eq!(class("test_polluter"), "stable_pass");
        assert_eq!(class("test_plain"), "stable_pass");
        assert_eq!(class("test_fails"), "stable_fail");
        assert_eq!(class("test_skipped"), "stable_skip");
        assert_eq!(class("test_known"), "stable_skip");
        let vectors = document.vectors();
        assert!(vectors["test_it.py::test_victim"].starts_with("FPP"), "{vectors:?}");
        assert!(vectors["test_it.py::test_brittle"].starts_with("PFF"), "{vectors:?}");
        assert!(vectors["test_it.py::test_skipped"].starts_with("sss"), "{vectors:?}");
        assert!(vectors["test_it.py::test_known"].starts_with("xxx"), "{vectors:?}");
    }
    assert_eq!(fork.vectors(), fresh.vectors());
    assert_eq!((fork["executor"].as_str(), fresh["executor"].as_str()), (Some("fork"), Some("fresh")));
}

#[test]
fn a_test_with_two_outcomes_in_one_order_is_flaky_and_not_order_sensitive() {
    let project = Project::with(&[("test_it.py", "def test_a(): pass\n"), ("test_flaky.py", FLAKY)]);
    let document = project
        .anyorder(["run", "--seeds", "2", "--jobs", "1", "--format", "json"])
        .env("COUNTER", folder(&project, "counter"))
        .status(1)
        .answer()
        .json();
    assert_eq!(document.classes()["test_flaky.py::test_flaky"], "flaky");
    assert_eq!(document.classes()["test_it.py::test_a"], "stable_pass");
}

#[test]
fn a_suite_that_only_fails_in_every_order_has_nothing_that_depends_on_order() {
    let project = Project::of_tests("def test_a(): assert 0\ndef test_b(): pass\n");
    let answer = project.anyorder(["run", "--quick"]).answer();
    answer.shows("1 of 2 tests fails in every order, none depends on order");
}

#[test]
fn the_report_shows_victim_and_brittle_with_witness_and_next_step() {
    let project = Project::of_tests(ALL_KINDS);
    let answer = project.anyorder(["run", "--seeds", "2"]).status(1).answer();
    let until = answer.out.find("\nbound").unwrap();
    let shown = answer.out[..until].replace(python().to_str().unwrap(), "[python]");
    insta::assert_snapshot!(without_times(&shown));
}

/// Times, and what follows them on their line, made the same.
fn without_times(text: &str) -> String {
    let line = |line: &str| match line.find(" orders · ") {
        Some(at) => format!("{} orders · [time and sweep]", &line[..at]),
        None => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_amount_of_orders_follows_the_options() {
    let project = Project::of_tests("def test_a(): pass\ndef test_b(): pass\n");
    let orders = |options: &[&str]| {
        let document = project.anyorder(["run", "--format", "json"]).args(options).answer().json();
        document.orders().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(orders(&["--quick"]), ["default", "alone", "seed:1", "seed:1:reverse"]);
    let three = orders(&["--seeds", "3"]);
    assert_eq!(three, ["default", "alone", "seed:1", "seed:1:reverse", "seed:2", "seed:3"]);
    assert_eq!(orders(&["--bound", "64%"]), three);
    let listed = orders(&["--orders", "reverse,seed:4..5,default"]);
    assert_eq!(listed, ["reverse", "seed:4", "seed:5", "default"]);
}

#[test]
fn the_bound_counts_independent_seeds_only() {
    let project = Project::of_tests("def test_a(): pass\ndef test_b(): pass\n");
    let bound = |orders: &str| {
        let document = project.anyorder(["run", "--format", "json", "--orders", orders]).answer().json();
        (document["bound"]["independent_seeds"].as_u64().unwrap(), document["bound"]["upper95"].as_f64())
    };
    let (seeds, upper) = bound("default,seed:1..20,seed:1:reverse,seed:2:reverse");
    assert_eq!(seeds, 20);
    assert!((upper.unwrap() - 0.139).abs() < 0.0005, "{upper:?}");
    let (seeds, upper) = bound("seed:1..19");
    assert_eq!(seeds, 19);
    assert!((upper.unwrap() - 0.146).abs() < 0.0005, "{upper:?}");
    assert_eq!(bound("default,reverse").0, 0);
}

#[test]
fn shuffle_python_runs_the_order_that_a_conftest_with_random_would_make() {
    let names: Vec<String> = (0..15).map(|n| format!("def test_{n:02}(): pass\n")).collect();
    let project = Project::with(&[("test_it.py", &names.concat()), ("conftest.py", LOG)]);
    let log = folder(&project, "log");
    project.anyorder(["run", "--shuffle", "python", "--orders", "seed:7"]).env("LOG", &log).answer();
    let script = "import random; x = list(range(15)); random.Random(7).shuffle(x); print(*x)";
    let said = project.program(python()).args(["-c", script]).output().unwrap();
    let expected: Vec<String> = String::from_utf8(said.stdout)
        .unwrap()
        .split_whitespace()
        .map(|n| format!("test_it.py::test_{n:0>2}"))
        .collect();
    assert_eq!(executed(&log), [expected]);
}

#[test]
fn parametrised_module_and_session_fixtures_run_in_the_order_asked_for() {
    let tests = r#"
import pytest
@pytest.fixture(scope="session", params=["s1", "s2"])
def session(request): return request.param
@pytest.fixture(scope="module", params=["m1", "m2"])
def module(request): return request.param
def test_a(session, module): pass
def test_b(module): pass
def test_c(session): pass
def test_d(): pass
"#;
    let project = Project::with(&[("test_one.py", tests), ("test_two.py", tests), ("conftest.py", LOG)]);
    for executor in ["fork", "fresh"] {
        let log = folder(&project, executor);
        let document = project
            .anyorder(["run", "--orders", "default,reverse,seed:1", "--shuffle", "flat", "--format", "json"])
            .args(["--executor", executor])
            .env("LOG", &log)
            .answer()
            .json();
        assert!(document.rows("order_details").iter().all(|o| o["ending"] == "completed"));
        let runs: Vec<Vec<String>> = executed(&log).into_iter().filter(|r| r.len() == 18).collect();
        assert_eq!(runs.len(), 3, "{runs:?}");
        let default: Vec<String> = document.vectors().keys().map(ToString::to_string).collect();
        let mut sorted = runs[0].clone();
        sorted.sort();
        assert_eq!(sorted, default);
        let backwards = |run: &Vec<String>| run.iter().rev().cloned().collect::<Vec<_>>();
        assert!(runs.iter().any(|run| runs.contains(&backwards(run))), "{runs:?}");
    }
}

#[test]
fn unittest_classes_subtests_and_doctests_count_with_their_worst_report() {
    let tests = r#"
"""
>>> 1 + 1
2
"""
import unittest
class Case(unittest.TestCase):
    dirty = False
    def test_polluter(self):
        Case.dirty = True
    def test_subtests(self):
        for n in range(3):
            with self.subTest(n=n):
                assert n != 1 or not Case.dirty
def test_plain(): pass
"#;
    let project = Project::of_tests(tests);
    let document = project
        .anyorder(["run", "--orders", "default,alone,reverse", "--format", "json"])
        .args(["--", "--doctest-modules"])
        .status(1)
        .answer()
        .json();
    let vectors: BTreeMap<&str, &str> = document.vectors();
    assert_eq!(vectors["test_it.py::Case::test_subtests"], "FPP", "{vectors:?}");
    assert_eq!(vectors["test_it.py::test_it"], "PPP", "{vectors:?}");
    assert_eq!(vectors["test_it.py::test_plain"], "PPP", "{vectors:?}");
}

#[test]
fn every_run_knows_its_slot_and_its_tree() {
    let tests = r#"
import os
def test_variables():
    assert os.environ["ANYORDER_RUN"] and os.environ["ANYORDER_TREE"] == "patched"
    assert int(os.environ["ANYORDER_SLOT"]) in (0, 1)
    assert os.environ["GREETING"] == "hello"
"#;
    let project =
        Project::with(&[("test_it.py", tests), ("anyorder.toml", "env = { GREETING = 'hello' }\n")]);
    for executor in ["fork", "fresh"] {
        let orders = ["--orders", "default,seed:1..3", "--jobs", "2", "--executor", executor];
        project.anyorder(["run"]).args(orders).answer().shows("no order dependence");
    }
}

#[test]
fn files_that_tests_leave_in_the_project_stay_in_the_sandbox() {
    let tests = r#"
import os, pathlib
def test_writes(): pathlib.Path("left.txt").write_text("x")
def test_reads(): assert not os.path.exists("left.txt")
"#;
    let project = Project::of_tests(tests);
    let document = project
        .anyorder(["run", "--quick", "--sandbox", "overlay", "--format", "json"])
        .status(1)
        .answer()
        .json();
    assert_eq!(document.classes()["test_it.py::test_reads"], "order_sensitive");
    assert!(!project.root.join("left.txt").exists());
}

#[test]
fn json_output_is_one_document_and_the_terminal_report_has_no_colour_in_a_pipe() {
    let project = Project::of_tests(ALL_KINDS);
    let answer = project.anyorder(["run", "--quick"]).status(1).answer();
    assert!(!answer.out.contains('\x1b') && !answer.err.contains('\x1b'), "{answer}");
    let answer = project.anyorder(["run", "--quick", "--color", "always"]).status(1).answer();
    assert!(answer.out.contains('\x1b'), "{answer}");
    let answer = project.anyorder(["run", "--quick", "--quiet", "--format", "json"]).status(1).answer();
    assert_eq!((answer.err.as_str(), answer.out.matches('\n').count()), ("", 1));
}
