//! Plugins and options that would re-order, retry, stop early or spread tests are switched off and named.

use crate::answer::word;
use crate::fixture::Project;
use crate::run::ALL_KINDS;

const ADDOPTS: &str = "[pytest]\naddopts = -n auto --cov --reruns 2 -x -p randomly\n";

#[test]
fn everything_that_disturbs_measuring_is_switched_off_and_named() {
    // pytest loads `-p randomly` by its module's name only where such a module exists.
    let project = Project::with(&[
        ("test_it.py", ALL_KINDS),
        ("pytest.ini", ADDOPTS),
        ("randomly.py", "from pytest_randomly import *\n"),
    ]);
    let bare = Project::of_tests(ALL_KINDS);
    let orders = ["run", "--orders", "default,alone,reverse,seed:1..2", "--format", "json"];
    let expected = bare.anyorder(orders).status(1).answer().json();
    for executor in ["fork", "fresh"] {
        let document =
            project.anyorder(orders).args(["--executor", executor]).with_plugins().status(1).answer().json();
        assert_eq!(document.vectors(), expected.vectors(), "{executor}");
        assert_eq!(document.classes(), expected.classes(), "{executor}");
        let off = document.rows("switched_off");
        for what in ["pytest-xdist", "pytest-cov", "pytest-rerunfailures", "pytest-randomly", "pytest"] {
            assert!(off.iter().any(|o| word(&o["what"]) == what), "{what} is not named in {off:?}");
        }
    }
    assert!(!project.root.join(".coverage").exists());
}

#[test]
fn options_on_the_command_line_and_in_the_environment_are_switched_off_too() {
    let project = Project::of_tests(ALL_KINDS);
    let document = project
        .anyorder(["run", "--quick", "--format", "json", "--", "-n", "2", "-x"])
        .env("PYTEST_ADDOPTS", "--reruns 3 --lf")
        .with_plugins()
        .status(1)
        .answer()
        .json();
    let off = document.rows("switched_off");
    let hows: Vec<&str> = off.iter().map(|o| word(&o["how"])).collect();
    for option in ["-n", "-x", "--reruns", "--lf"] {
        assert!(hows.iter().any(|how| how.contains(option)), "{option} is not named in {off:?}");
    }
    assert_eq!(document.classes()["test_it.py::test_fails"], "stable_fail");
}

#[test]
fn selections_of_tests_are_left_to_the_user() {
    let project = Project::of_tests(ALL_KINDS);
    let document = project
        .anyorder(["run", "--quick", "--format", "json", "--", "-k", "plain or setter"])
        .answer()
        .json();
    let ids: Vec<&str> = document.vectors().keys().copied().collect();
    assert_eq!(ids, ["test_it.py::test_plain", "test_it.py::test_setter"]);
}
