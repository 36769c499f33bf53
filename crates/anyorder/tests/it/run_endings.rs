//! `anyorder run` on suites in which a test ends its process, hangs, or makes pytest itself give up.

use std::time::Instant;

use crate::fixture::Project;

/// A suite `a b X c d` in which X does something at one of its phases.
fn suite(phase: &str, deed: &str) -> String {
    let deed_in = |here: &str| if here == phase { deed } else { "pass" };
    format!(
        "import os, pytest, signal, sys, threading, time\n\
         def test_a(): pass\n\
         def test_b(): pass\n\
         @pytest.fixture\n\
         def thing():\n    {}\n    yield\n    {}\n\
         def test_x(thing):\n    {}\n\
         def test_c(): pass\n\
         def test_d(): pass\n",
        deed_in("setup"),
        deed_in("teardown"),
        deed_in("call")
    )
}

#[track_caller]
fn assert_blamed_on_x(phase: &str, deed: &str, executor: &str, how: &str) {
    let project = Project::of_tests(&suite(phase, deed));
    let document = project
        .anyorder(["run", "--orders", "default,reverse,seed:1", "--format", "json", "--executor", executor])
        .status(5)
        .answer()
        .json();
    let vectors = document.vectors();
    assert_eq!(vectors["test_it.py::test_x"], "CCC", "{phase} {deed} {executor}");
    for (id, vector) in &vectors {
        assert!(id.ends_with("test_x") || vector.chars().all(|c| "P-".contains(c)), "{id} {vector}");
    }
    // What stood behind it in an order was not seen there, and is not called passed.
    assert!(vectors["test_it.py::test_a"].starts_with("P-"), "{vectors:?}");
    assert!(vectors["test_it.py::test_d"].starts_with("-P"), "{vectors:?}");
    for order in document.rows("order_details") {
        assert_eq!(order["ending"], "crashed", "{order}");
        assert_eq!(order["culprit"], "test_it.py::test_x", "{order}");
        assert!(order["how"].as_str().unwrap().contains(how), "{order}");
    }
    let failure = &document.rows("failures")[0];
    assert_eq!(failure["phase"], phase, "{failure}");
}

#[test]
fn a_test_that_ends_its_process_is_blamed_in_the_phase_where_it_did() {
    for (phase, deed, executor, how) in [
        ("setup", "os._exit(0)", "fork", "0"),
        ("call", "os._exit(0)", "fork", "0"),
        ("teardown", "os._exit(0)", "fork", "0"),
        ("call", "os._exit(0)", "fresh", "0"),
        ("setup", "os.kill(os.getpid(), signal.SIGSEGV)", "fork", "signal 11"),
        ("teardown", "os.kill(os.getpid(), signal.SIGSEGV)", "fresh", "signal 11"),
        ("call", "os.kill(os.getpid(), signal.SIGKILL)", "fork", "signal 9"),
        ("teardown", "os.kill(os.getpid(), signal.SIGKILL)", "fork", "signal 9"),
        ("setup", "os.kill(os.getpid(), signal.SIGKILL)", "fresh", "signal 9"),
    ] {
        assert_blamed_on_x(phase, deed, executor, how);
    }
}

#[test]
fn a_process_that_is_replaced_by_one_that_exits_with_0_did_not_pass() {
    assert_blamed_on_x("call", "os.execv('/bin/true', ['true'])", "fork", "0");
}

#[test]
fn a_victim_that_kills_the_process_only_after_its_polluter_is_order_sensitive() {
    let tests = r"
import os
dirty = []
def test_polluter(): dirty.append(1)
def test_victim():
    if dirty: os._exit(0)
def test_other(): pass
";
    let project = Project::of_tests(tests);
    let document = project
        .anyorder(["run", "--orders", "default,alone,reverse", "--format", "json"])
        .status(1)
        .answer()
        .json();
    assert_eq!(document.vectors()["test_it.py::test_victim"], "CPP");
    assert_eq!(document.classes()["test_it.py::test_victim"], "order_sensitive");
    assert_ne!(document.classes()["test_it.py::test_other"], "order_sensitive");
}

#[test]
fn a_test_that_hangs_is_stopped_at_its_limit_and_called_a_timeout() {
    let tests = "import time\ndef test_a(): pass\ndef test_hangs(): time.sleep(600)\ndef test_b(): pass\n";
    let project = Project::of_tests(tests);
    for executor in ["fork", "fresh"] {
        let started = Instant::now();
        let document = project
            .anyorder(["run", "--orders", "default", "--test-timeout", "1", "--format", "json"])
            .args(["--executor", executor])
            .status(5)
            .answer()
            .json();
        assert!(started.elapsed().as_secs() < 60);
        assert_eq!(document.vectors()["test_it.py::test_hangs"], "T");
        let order = &document.rows("order_details")[0];
        assert_eq!(
            (order["ending"].as_str(), order["culprit"].as_str()),
            (Some("timed_out"), Some("test_it.py::test_hangs"))
        );
    }
}

#[test]
fn an_internal_error_of_pytest_in_some_orders_is_a_crash_with_a_culprit() {
    let tests = r"
broken = []
def test_breaks(): broken.append(1)
def test_a(): pass
def test_b(): pass
";
    let conftest = r#"
import pytest
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    import test_it
    if test_it.broken and report.nodeid.endswith("test_a"):
        raise RuntimeError("the plugin is broken")
"#;
    let project = Project::with(&[("test_it.py", tests), ("conftest.py", conftest)]);
    let document = project
        .anyorder(["run", "--orders", "default,reverse", "--format", "json"])
        .status(1)
        .answer()
        .json();
    let details = document.rows("order_details");
    assert_eq!(details[0]["ending"], "crashed", "{details:?}");
    assert!(details[0]["culprit"].as_str().is_some(), "{details:?}");
    assert_eq!(details[1]["ending"], "completed", "{details:?}");
}

#[test]
fn what_a_test_does_to_its_process_does_not_reach_the_next_order() {
    let tests = r#"
import os, random, sys
def test_a(): assert "X" not in os.environ and sys.path and os.getcwd()
def test_b():
    for name in [n for n in os.environ if n != "PYTEST_CURRENT_TEST"]:
        del os.environ[name]
    os.environ["X"] = "1"
    del sys.path[:]
    os.chdir("/")
    random.seed(1)
"#;
    let project = Project::of_tests(tests);
    let document = project
        .anyorder(["run", "--orders", "default,seed:1..3,reverse,alone", "--format", "json"])
        .status(1)
        .answer()
        .json();
    let vectors = document.vectors();
    assert_eq!(vectors["test_it.py::test_b"], "PPPPPP");
    assert!(vectors["test_it.py::test_a"].starts_with('P') && vectors["test_it.py::test_a"].ends_with("FP"));
    assert_eq!(document.classes()["test_it.py::test_a"], "order_sensitive");
}

#[test]
fn a_process_that_a_test_leaves_behind_is_ended() {
    let tests = r#"
import subprocess, sys
def test_leaves(): subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
def test_b(): pass
"#;
    let project = Project::of_tests(tests);
    let started = Instant::now();
    for executor in ["fork", "fresh"] {
        project
            .anyorder(["run", "--orders", "default,reverse", "--executor", executor])
            .with_notes()
            .answer();
    }
    assert!(started.elapsed().as_secs() < 100);
}

#[test]
fn the_first_process_of_a_container_measures_and_cleans_up_like_any_other() {
    let project = Project::of_tests(
        "import subprocess\n\
         def test_a(): subprocess.Popen(['sleep', '300'])\n\
         def test_b(): subprocess.Popen(['sleep', '300'], start_new_session=True)\n",
    );
    if !project.can_contain() {
        return;
    }
    let call = project.anyorder(["run", "--orders", "default,reverse", "--format", "json"]).with_notes();
    let document = call.in_a_container().answer().json();
    assert_eq!(document.vectors()["test_it.py::test_b"], "PP");
}

#[test]
fn a_hang_in_the_default_order_is_told_with_its_stack_before_the_plan_goes_on() {
    let project = Project::of_tests(&suite("call", "time.sleep(100)"));
    let answer = project
        .anyorder(["run", "--orders", "default,seed:1", "--test-timeout", "2", "--format", "json"])
        .status(5)
        .answer();
    answer.tells("`test_it.py::test_x` was ended at its limit of 2 s in the default order");
    answer.tells("test_it.py\", line 10 in test_x");
    answer.tells("--deselect test_it.py::test_x");
    let document = answer.json();
    assert_eq!(document["complete"], false);
    assert!(document["incomplete"]["why"].as_str().unwrap().contains("kept tests from running in 2 orders"));
}
