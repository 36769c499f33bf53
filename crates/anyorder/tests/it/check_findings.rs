//! `anyorder check`: each finding, as a base commit and a change that is planted to have it.

use crate::answer::Document;
use crate::fixture::Project;
use crate::run::{FLAKY, folder};

const CLEAN: &str = "def test_a(): pass\ndef test_b(): pass\n";

const PLAN: [&str; 4] = ["--orders", "default,alone,reverse,seed:1..2", "--format", "json"];

/// Judges the uncommitted change from `before` to `after`.
#[track_caller]
fn judged(before: &str, after: &str, status: i32) -> Document {
    judged_by("auto", before, after, status)
}

#[track_caller]
fn judged_by(executor: &str, before: &str, after: &str, status: i32) -> Document {
    let project = Project::of_tests(before);
    project.write("test_it.py", after);
    project.anyorder(["check", "--executor", executor]).args(PLAN).status(status).answer().json()
}

#[track_caller]
fn assert_found(document: &Document, verdict: &str, finding: &str, action: &str, test: &str) {
    let id = format!("test_it.py::{test}");
    assert_eq!(document["verdict"], verdict, "{:?}", document.findings());
    assert!(document.findings().contains(&(&id, finding, action)), "{:?}", document.findings());
    let row = document.rows("findings").iter().find(|f| f["id"] == id.as_str()).unwrap();
    assert!(!row["witness"]["seen"].as_array().unwrap().is_empty(), "no witness: {row}");
    let cited = document.words("evidence").contains(&id.as_str());
    assert_eq!(cited, action == "credit" || action == "evidence", "{:?}", document.words("evidence"));
}

#[test]
fn a_change_of_a_comment_is_accepted_and_every_passing_test_is_evidence() {
    let document = judged(CLEAN, &format!("# said\n{CLEAN}"), 0);
    assert_eq!(document["verdict"], "accept");
    assert!(document.findings().is_empty(), "{:?}", document.findings());
    assert_eq!(document.words("evidence"), ["test_it.py::test_a", "test_it.py::test_b"]);
}

#[test]
fn a_test_that_depends_on_order_since_the_patch_is_introduced_and_blocks() {
    let before = "d = []\ndef test_a(): pass\ndef test_b(): assert not d\n";
    let after = "d = []\ndef test_a(): d.append(1)\ndef test_b(): assert not d\n";
    for executor in ["fork", "fresh"] {
        let document = judged_by(executor, before, after, 1);
        assert_found(&document, "block", "introduced", "block", "test_b");
        assert_eq!(document.words("evidence"), ["test_it.py::test_a"]);
    }
}

#[test]
fn a_new_test_that_needs_an_earlier_one_is_coupled_and_blocks() {
    let before = "d = []\ndef test_a(): d.append(1)\n";
    let after = format!("{before}def test_new(): assert d\n");
    for executor in ["fork", "fresh"] {
        let document = judged_by(executor, before, &after, 1);
        assert_found(&document, "block", "new_test_coupled", "block", "test_new");
    }
}

#[test]
fn a_new_test_that_breaks_an_old_one_blocks() {
    let before = "d = []\ndef test_a(): assert not d\ndef test_b(): pass\n";
    let after = "d = []\ndef test_new(): d.append(1)\ndef test_a(): assert not d\ndef test_b(): pass\n";
    let document = judged(before, after, 1);
    assert_eq!(document["verdict"], "block");
    let findings = document.findings();
    let of_a = findings.iter().find(|f| f.0 == "test_it.py::test_a").unwrap();
    assert!(["introduced", "poisons_neighbours"].contains(&of_a.1), "{findings:?}");
}

#[test]
fn a_new_test_that_fails_in_every_order_blocks() {
    let document = judged(CLEAN, &format!("{CLEAN}def test_new(): assert 0\n"), 1);
    assert_found(&document, "block", "new_test_fails", "block", "test_new");
}

#[test]
fn a_test_that_fails_in_every_order_since_the_patch_regressed_and_blocks() {
    let document = judged(CLEAN, "def test_a(): assert 0\ndef test_b(): pass\n", 1);
    assert_found(&document, "block", "regressed", "block", "test_a");
    assert_eq!(document.words("evidence"), ["test_it.py::test_b"]);
}

#[test]
fn a_test_that_failed_and_passes_now_is_repaired_and_credited() {
    let document = judged("def test_a(): assert 0\ndef test_b(): pass\n", CLEAN, 0);
    assert_found(&document, "accept", "repaired", "credit", "test_a");
    assert_eq!(document.words("repaired"), ["test_it.py::test_a"]);
}

const COUPLED: &str = "d = []\ndef test_a(): d.append(1)\ndef test_b(): assert not d\ndef test_c(): pass\n";

#[test]
fn a_test_that_depended_on_order_before_is_not_the_patchs_fault_and_no_evidence() {
    let document = judged_by("fresh", COUPLED, &format!("{COUPLED}# said\n"), 0);
    assert_found(&document, "accept", "pre_existing", "freeze", "test_b");
}

#[test]
fn a_test_that_depended_on_order_and_does_no_more_is_fixed_and_credited() {
    let after = "d = []\ndef test_a(): pass\ndef test_b(): assert not d\ndef test_c(): pass\n";
    let document = judged(COUPLED, after, 0);
    assert_found(&document, "accept", "fixed", "credit", "test_b");
}

#[test]
fn a_test_that_is_broken_on_both_is_ignored_and_no_evidence() {
    let before = "def test_a(): assert 0\ndef test_b(): pass\n";
    let document = judged(before, &format!("{before}# said\n"), 0);
    assert_found(&document, "accept", "broken_on_base", "ignore", "test_a");
    assert_eq!(document.words("evidence"), ["test_it.py::test_b"]);
}

#[test]
fn a_passing_test_that_is_gone_or_skipped_is_lost_evidence_and_wants_a_review() {
    let document = judged(CLEAN, "def test_b(): pass\n", 3);
    assert_found(&document, "review", "evidence_lost", "review", "test_a");
    let skipped = "import pytest\n@pytest.mark.skip\ndef test_a(): pass\ndef test_b(): pass\n";
    let document = judged(CLEAN, skipped, 3);
    assert_found(&document, "review", "evidence_lost", "review", "test_a");
}

#[test]
fn a_test_that_ends_the_process_in_some_order_since_the_patch_blocks_unexplained() {
    let before = "import os\nd = []\ndef test_a(): pass\ndef test_b(): pass\ndef test_c(): pass\n";
    let after = "import os\nd = []\ndef test_a(): d.append(1)\ndef test_b():\n    if d: os._exit(0)\ndef test_c(): pass\n";
    for executor in ["fork", "fresh"] {
        let document = judged_by(executor, before, after, 1);
        assert_found(&document, "block", "unexplained_absence", "block", "test_b");
    }
}

#[test]
fn a_flaky_test_is_quarantined_and_accepted() {
    let project = Project::with(&[("test_it.py", CLEAN), ("test_flaky.py", FLAKY)]);
    project.write("test_it.py", format!("{CLEAN}# said\n"));
    let document = project
        .anyorder(["check", "--jobs", "1"])
        .args(PLAN)
        .env("COUNTER", folder(&project, "counter"))
        .answer()
        .json();
    assert_eq!(document["verdict"], "accept", "{:?}", document.findings());
    assert_eq!(document.findings(), [("test_flaky.py::test_flaky", "flaky", "quarantine")]);
    assert_eq!(document.words("evidence"), ["test_it.py::test_a", "test_it.py::test_b"]);
}

#[test]
fn a_test_that_is_flaky_only_since_the_patch_wants_a_review() {
    let project = Project::with(&[("test_it.py", CLEAN), ("test_flaky.py", "def test_flaky(): pass\n")]);
    project.write("test_flaky.py", FLAKY);
    let document = project
        .anyorder(["check", "--jobs", "1"])
        .args(PLAN)
        .env("COUNTER", folder(&project, "counter"))
        .status(3)
        .answer()
        .json();
    assert_eq!(document["verdict"], "review", "{:?}", document.findings());
    assert_eq!(document.findings(), [("test_flaky.py::test_flaky", "destabilised", "review")]);
}

#[test]
fn the_configuration_may_change_what_a_finding_leads_to() {
    let project = Project::with(&[("test_it.py", CLEAN), ("anyorder.toml", "")]);
    project.write("test_it.py", "def test_b(): pass\n");
    project.write("anyorder.toml", "verdict = { evidence_lost = 'block' }\n");
    let document = project.anyorder(["check"]).args(PLAN).status(1).answer().json();
    assert_found(&document, "block", "evidence_lost", "block", "test_a");
    project.write("anyorder.toml", "verdict = { evidence-lots = 'block' }\n");
    let answer = project.anyorder(["check"]).args(PLAN).status(2).answer();
    answer.refuses("unknown finding `evidence-lots`").refuses("did you mean `evidence_lost`?");
    project.write("anyorder.toml", "verdict = { evidence_lost = 'blok' }\n");
    project.anyorder(["check"]).args(PLAN).status(2).answer().refuses("did you mean `block`?");
    project.write("anyorder.toml", "verdict = { regressed = 'freeze' }\n");
    project.anyorder(["check"]).args(PLAN).status(2).answer().refuses("regressed");
}

/// Three tests that depend on order and two flaky ones.
pub(crate) const TROUBLED: &str = r#"
import random
state = {}
def test_polluter(): state["dirty"] = True
def test_victim(): assert "dirty" not in state
def test_setter(): state["ready"] = True
def test_brittle(): assert "ready" in state
def test_other_victim(): assert "ready" not in state or "dirty" not in state
def test_flaky(): assert random.SystemRandom().random() < 0.5
def test_seldom_flaky(): assert random.SystemRandom().random() < 0.8
def test_plain(): pass
"#;

#[test]
fn a_null_patch_on_a_suite_with_coupled_and_flaky_tests_is_accepted_each_time() {
    let project = Project::of_tests(TROUBLED);
    project.write("test_it.py", format!("{TROUBLED}# a comment\n"));
    for _ in 0..2 {
        // So many orders that a coin does not fall on one side in all of them.
        let arguments = ["check", "--fresh-sweeps", "--seeds", "14", "--format", "json"];
        let document = project.anyorder(arguments).answer().json();
        assert_eq!(document["verdict"], "accept", "{:?}", document.findings());
        assert!(document.words("evidence").contains(&"test_it.py::test_plain"));
    }
}
