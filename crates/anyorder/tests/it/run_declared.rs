//! Order that a suite or its configuration declares is kept in every order, and counted.

use crate::fixture::Project;
use crate::run::{LOG, executed, folder};

/// Runs three seeds of a suite and gives what was executed, only of the runs of whole orders.
fn orders_of(project: &Project, tests: usize) -> Vec<Vec<String>> {
    let log = folder(project, "log");
    let arguments = ["run", "--orders", "reverse,seed:1..5", "--shuffle", "flat"];
    let document = project
        .anyorder(arguments)
        .args(["--format", "json"])
        .with_plugins()
        .env("LOG", &log)
        .answer()
        .json();
    assert!(document["constraints_kept"].as_u64().unwrap() > 0);
    executed(&log).into_iter().filter(|run| run.len() == tests).collect()
}

#[track_caller]
fn assert_before(run: &[String], a: &str, b: &str) {
    let at = |name: &str| run.iter().position(|id| id.ends_with(name)).unwrap();
    assert!(at(a) < at(b), "{a} must come before {b} in {run:?}");
}

#[test]
fn sequential_groups_of_the_configuration_stay_together_in_their_order() {
    let tests = (0..8).map(|n| format!("def test_{n}(): pass\n")).collect::<Vec<_>>().concat();
    let config = "[[sequential]]\nname = 'a story'\ntests = ['*::test_3', '*::test_5', '*::test_1']\n";
    let project = Project::with(&[("test_it.py", &tests), ("anyorder.toml", config), ("conftest.py", LOG)]);
    let runs = orders_of(&project, 8);
    assert_eq!(runs.len(), 6, "{runs:?}");
    for run in runs {
        let at = run.iter().position(|id| id.ends_with("test_3")).unwrap();
        assert!(run[at + 1].ends_with("test_5") && run[at + 2].ends_with("test_1"), "{run:?}");
    }
}

#[test]
fn pytest_order_marks_are_kept() {
    let tests = r"
import pytest
def test_a(): pass
@pytest.mark.order(2)
def test_second(): pass
def test_b(): pass
@pytest.mark.order(1)
def test_first(): pass
def test_c(): pass
";
    let project = Project::with(&[("test_it.py", tests), ("conftest.py", LOG)]);
    let runs = orders_of(&project, 5);
    assert_eq!(runs.len(), 6, "{runs:?}");
    for run in runs {
        assert_before(&run, "test_first", "test_second");
    }
}

#[test]
fn the_default_order_is_the_one_that_pytest_order_makes() {
    let tests = r"
import pytest
done = []
def test_a(): pass
@pytest.mark.order(2)
def test_second(): assert done
def test_b(): pass
@pytest.mark.order(1)
def test_first(): done.append(1)
@pytest.mark.order(-1)
def test_last(): pass
def test_c(): pass
";
    let project = Project::with(&[("test_it.py", tests), ("conftest.py", LOG)]);
    let log = folder(&project, "log");
    let document = project
        .anyorder(["run", "--orders", "default", "--format", "json"])
        .with_plugins()
        .env("LOG", &log)
        .answer()
        .json();
    assert_eq!(document.vectors()["test_it.py::test_second"], "P");
    let mut expected =
        ["first", "second", "a", "b", "c", "last"].map(|n| format!("test_it.py::test_{n}")).to_vec();
    assert_eq!(executed(&log), [expected.clone()]);
    let again = folder(&project, "again");
    project.anyorder(["replay", "default"]).with_plugins().env("LOG", &again).answer();
    assert_eq!(executed(&again), [expected.clone()]);
    // Without the plugin the marks mean nothing.
    let bare = folder(&project, "bare");
    project.anyorder(["run", "--orders", "default"]).env("LOG", &bare).status(0).with_notes().answer();
    expected.sort();
    assert_ne!(executed(&bare), [expected]);
}

#[test]
fn pytest_dependency_marks_are_kept_even_when_a_test_runs_alone() {
    let tests = r#"
import pytest
def test_a(): pass
done = []
@pytest.mark.dependency(name="base")
def test_base(): done.append(1)
@pytest.mark.dependency(depends=["base"])
def test_needs(): assert done
def test_b(): pass
"#;
    let project = Project::with(&[("test_it.py", tests), ("conftest.py", LOG)]);
    let document = project
        .anyorder([
            "run",
            "--orders",
            "default,alone,reverse,seed:1..3",
            "--shuffle",
            "flat",
            "--format",
            "json",
        ])
        .with_plugins()
        .env("LOG", folder(&project, "log"))
        .answer()
        .json();
    assert_eq!(document.vectors()["test_it.py::test_needs"], "PPPPPP", "{:?}", document.vectors());
    assert!(document["constraints_kept"].as_u64().unwrap() > 0);
}

#[test]
fn a_group_that_matches_no_test_is_said() {
    let config = "[[sequential]]\ntests = ['*::test_gone', '*::test_lost']\n";
    let project = Project::with(&[("test_it.py", "def test_a(): pass\n"), ("anyorder.toml", config)]);
    let answer = project.anyorder(["run", "--quick"]).with_notes().answer();
    assert!(answer.err.contains("no test matches"), "{answer}");
}
