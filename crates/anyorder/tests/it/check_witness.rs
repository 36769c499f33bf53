//! `anyorder check`: each finding that a failing order shows, in both executors, and the command that the report prints
//! shows it again.

use crate::answer::word;
use crate::fixture::Project;

/// A change planted to have a finding: base, patched, and what is found about which test.
struct Plant {
    before: &'static str,
    after: &'static str,
    finding: &'static str,
    test: &'static str,
}

const PLANTS: [Plant; 10] = [
    Plant {
        before: "d = []\ndef test_a(): pass\ndef test_v(): assert not d\n",
        after: "d = []\ndef test_a(): d.append(1)\ndef test_v(): assert not d\n",
        finding: "introduced",
        test: "test_v",
    },
    Plant {
        before: "d = []\ndef test_a(): d.append(1)\n",
        after: "d = []\ndef test_a(): d.append(1)\ndef test_v(): assert d\n",
        finding: "new_test_coupled",
        test: "test_v",
    },
    Plant {
        before: "d = []\ndef test_a(): d.append(1)\n",
        after: "d = []\ndef test_a(): d.append(1)\ndef test_w(): assert not d\n",
        finding: "new_test_coupled",
        test: "test_w",
    },
    Plant {
        before: "d = []\ndef test_b(): pass\ndef test_v(): assert not d\n",
        after: "d = []\ndef test_n(): d.append(1)\ndef test_b(): pass\ndef test_v(): assert not d\n",
        finding: "poisons_neighbours",
        test: "test_v",
    },
    Plant {
        before: "def test_a(): pass\n",
        after: "def test_a(): pass\ndef test_v(): assert 0\n",
        finding: "new_test_fails",
        test: "test_v",
    },
    Plant {
        before: "def test_a(): pass\ndef test_v(): pass\n",
        after: "def test_a(): pass\ndef test_v(): assert 0\n",
        finding: "regressed",
        test: "test_v",
    },
    Plant {
        before: "import os\nd = []\ndef test_a(): pass\ndef test_v(): pass\n",
        after: "import os\nd = []\ndef test_a(): d.append(1)\ndef test_v():\n    if d: os._exit(0)\n",
        finding: "unexplained_absence",
        test: "test_v",
    },
    Plant {
        before: "d, e = [], []\ndef test_p(): d.append(1)\ndef test_v(): assert not d and not e\n",
        after: "d, e = [], []\ndef test_n(): e.append(1)\ndef test_p(): pass\ndef test_v(): assert not d and not e\n",
        finding: "replaced",
        test: "test_v",
    },
    Plant {
        before: "d = []\ndef test_p(): d.append(1)\ndef test_c(): d.clear()\ndef test_v(): assert not d\n",
        after: "d = []\ndef test_p(): d.append(1)\ndef test_v(): assert not d\n",
        finding: "exposed",
        test: "test_v",
    },
    Plant {
        before: "d = []\ndef test_p(): d.append(1)\ndef test_v(): assert not d\n",
        after: "d = []\ndef test_p(): d.append(1)\ndef test_n(): d.clear()\ndef test_v(): assert not d\n",
        finding: "masked",
        test: "test_v",
    },
];

#[track_caller]
fn assert_found_and_shown_again(plant: &Plant, executor: &str) {
    let project = Project::of_tests(plant.before);
    project.write("test_it.py", plant.after);
    let status = if plant.finding == "masked" { 3 } else { 1 };
    let call = project.anyorder(["check", "--executor", executor, "--format", "json"]);
    let document = call.args(["--orders", "default,alone,reverse"]).status(status).answer().json();
    let id = format!("test_it.py::{}", plant.test);
    let found = document.rows("findings").iter().find(|f| f["id"] == id.as_str());
    let found = found.unwrap_or_else(|| panic!("{} {executor}: {:?}", plant.finding, document.findings()));
    assert_eq!(found["finding"], plant.finding, "{executor}: {found}");
    let of_it = |c: &&serde_json::Value| c["number"] == found["cause"];
    let cause = document.rows("causes").iter().find(of_it).unwrap();
    let commands: Vec<&str> = cause["next"].as_array().unwrap().iter().map(word).collect();
    assert!(!commands.is_empty(), "{} has no command", plant.finding);
    for command in commands.iter().filter(|c| c.contains(" replay ") || c.contains(" -m pytest ")) {
        let mut shell = project.program("sh");
        let bin = std::path::Path::new(env!("CARGO_BIN_EXE_anyorder")).parent().unwrap().display();
        let line = format!("PATH='{bin}':$PATH; {command}");
        shell.args(["-c", &line]).env("ANYORDER_SCRATCH", project.beside("scratch"));
        let output = shell.env("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1").output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let code = output.status.code();
        assert_eq!(code, Some(1), "{} {executor}: `{command}` should fail: {said}", plant.finding);
        assert!(said.contains(plant.test), "{said}");
    }
}

#[test]
fn each_finding_is_reached_by_fork_and_its_command_shows_it_again() {
    for plant in &PLANTS {
        assert_found_and_shown_again(plant, "fork");
    }
}

#[test]
fn each_finding_is_reached_in_fresh_interpreters_and_its_command_shows_it_again() {
    for plant in &PLANTS {
        assert_found_and_shown_again(plant, "fresh");
    }
}

#[test]
fn a_coupling_that_no_order_of_the_plan_shows_is_found_by_the_star() {
    let before = "d = []\ndef test_a(): d.append(1)\ndef test_c(): d.clear()\n";
    let after = format!("{before}def test_new(): assert not d\n");
    let project = Project::of_tests(before);
    project.write("test_it.py", &after);
    let check = |more: &[&str], status| {
        let call = project.anyorder(["check", "--format", "json", "--orders", "default,alone"]).args(more);
        call.status(status).answer().json()
    };
    assert_eq!(check(&["--no-star"], 0)["verdict"], "accept");
    let document = check(&[], 1);
    assert_eq!(document.findings(), [("test_it.py::test_new", "new_test_coupled", "block")]);
    assert!(document["star"]["covered"].as_array().unwrap().iter().any(|t| t == "test_it.py::test_new"));
}

#[test]
fn a_budget_of_nothing_leaves_a_review_and_never_a_pass() {
    let plant = &PLANTS[0];
    let project = Project::of_tests(plant.before);
    project.write("test_it.py", plant.after);
    let call = project.anyorder(["check", "--budget", "0s", "--format", "json"]);
    let document = call.args(["--orders", "default,alone,reverse"]).status(3).answer().json();
    assert_eq!(document.findings(), [("test_it.py::test_v", "inconclusive", "review")]);
}

#[test]
fn five_hundred_cases_hurt_by_one_test_are_one_cause() {
    let suite = |leak: &str| {
        format!(
            "import pytest\nd = []\ndef test_a(): {leak}\n\
             @pytest.mark.parametrize('n', range(500))\ndef test_v(n): assert not d\n"
        )
    };
    let project = Project::of_tests(&suite("pass"));
    project.write("test_it.py", suite("d.append(1)"));
    let call = project.anyorder(["check", "--format", "json", "--no-star"]);
    let document = call.args(["--orders", "default,reverse,seed:1..2"]).status(1).answer().json();
    assert_eq!(document.rows("causes").len(), 1);
    assert_eq!(document.rows("findings").iter().filter(|f| f["finding"] == "introduced").count(), 500);
}
