//! `anyorder check`: what is compared with what, several patches, reuse, drift.

use fs_err as fs;

use crate::answer::word;
use crate::fixture::Project;

const CLEAN: &str = "def test_a(): pass\ndef test_b(): pass\n";
const PLAN: [&str; 3] = ["--quick", "--format", "json"];

#[test]
fn with_nothing_changed_there_is_nothing_to_judge_and_the_exit_code_is_4() {
    let project = Project::of_tests(CLEAN);
    let answer = project.anyorder(["check", "--base", "HEAD"]).status(4).answer();
    answer.refuses("nothing differs from");
}

#[test]
fn uncommitted_and_untracked_files_count_as_the_patch() {
    let project = Project::of_tests(CLEAN);
    project.write("test_new.py", "def test_new(): assert 0\n");
    let document = project.anyorder(["check"]).args(PLAN).status(1).answer().json();
    assert_eq!(document.findings(), [("test_new.py::test_new", "new_test_fails", "block")]);
    let base = project.git(&["rev-parse", "HEAD"]);
    assert!(base.starts_with(word(&document["base"]["revision"])), "{}", document["base"]);
    assert!(word(&document["candidate"]).contains("1 untracked file"), "{}", document["candidate"]);
}

#[test]
fn ignored_files_are_there_in_both_trees_and_no_part_of_the_patch() {
    let tests = "import pathlib\ndef test_a(): assert pathlib.Path('.env').read_text() == 'x'\n";
    let project = Project::with(&[("test_it.py", tests), (".gitignore", ".env\n")]);
    project.write(".env", "x");
    project.write("test_it.py", format!("{tests}# said\n"));
    let document = project.anyorder(["check"]).args(PLAN).answer().json();
    assert_eq!(document.words("evidence"), ["test_it.py::test_a"]);
}

#[test]
fn the_base_of_a_branch_is_where_it_left_the_default_branch() {
    let project = Project::of_tests(CLEAN);
    let upstream = project.beside("upstream.git");
    project.git(&["clone", "-q", "--bare", ".", upstream.to_str().unwrap()]);
    project.git(&["remote", "add", "origin", upstream.to_str().unwrap()]);
    project.git(&["fetch", "-q", "origin"]);
    project.git(&["remote", "set-head", "origin", "main"]);
    let fork = project.git(&["rev-parse", "HEAD"]);
    project.git(&["checkout", "-q", "-b", "topic"]);
    project.write("test_it.py", "def test_a(): pass\ndef test_b(): assert 0\n");
    project.commit("break b");
    project.write("test_it.py", "def test_a(): pass\ndef test_b(): assert 0\n# more\n");
    let document = project.anyorder(["check"]).args(PLAN).status(1).answer().json();
    assert!(fork.starts_with(word(&document["base"]["revision"])), "{}", document["base"]);
    assert_eq!(document.findings(), [("test_it.py::test_b", "regressed", "block")]);
    // The same by name, and from a commit further on.
    let document = project.anyorder(["check", "--base", "HEAD"]).args(PLAN).answer().json();
    assert_eq!(document.findings(), [("test_it.py::test_b", "broken_on_base", "ignore")]);
}

#[test]
fn several_patches_are_judged_against_one_base_and_ranked() {
    let project = Project::of_tests(CLEAN);
    project.write("test_it.py", format!("{CLEAN}def test_c(): pass\n"));
    let good = project.take_patch("good.patch");
    project.write("test_it.py", "def test_a(): assert 0\ndef test_b(): pass\n");
    let bad = project.take_patch("bad.patch");
    let patches = ["--patch".as_ref(), bad.as_os_str(), "--patch".as_ref(), good.as_os_str()];
    let document = project.anyorder(["check"]).args(PLAN).args(patches).status(1).answer().json();
    let ranking: Vec<(&str, &str)> =
        document.rows("ranking").iter().map(|r| (word(&r["candidate"]), word(&r["verdict"]))).collect();
    assert_eq!(ranking, [("good.patch", "accept"), ("bad.patch", "block")]);
    assert_eq!(document["candidate"], "good.patch");
    assert_eq!(document["others"][0]["findings"][0]["finding"], "regressed");
    assert_eq!(project.git(&["status", "--porcelain", "--", "test_it.py"]), "");
}

#[test]
fn a_patch_file_is_judged_without_the_working_trees_changes() {
    let project = Project::of_tests(CLEAN);
    project.write("test_it.py", format!("{CLEAN}def test_c(): pass\n"));
    let good = project.take_patch("good.patch");
    project.write("test_it.py", "def test_a(): assert 0\n");
    let patch = ["--patch".as_ref(), good.as_os_str()];
    let document = project.anyorder(["check"]).args(PLAN).args(patch).answer().json();
    assert_eq!(document.words("evidence").len(), 3);
}

#[test]
fn a_base_that_was_measured_before_is_not_run_again() {
    let project = Project::of_tests(CLEAN);
    project.write("test_it.py", format!("{CLEAN}# one\n"));
    let first = project.anyorder(["check"]).args(PLAN).answer().json();
    assert_eq!(first["base"]["cached"], false);
    project.write("test_it.py", format!("{CLEAN}# two\n"));
    let second = project.anyorder(["check"]).args(PLAN).answer().json();
    assert_eq!(second["base"]["cached"], true);
    assert_eq!(second["patched"]["cached"], false);
    let third = project.anyorder(["check", "--fresh-sweeps"]).args(PLAN).answer().json();
    assert_eq!(third["base"]["cached"], false);
}

#[test]
fn trees_with_different_lock_files_are_not_compared_unless_that_is_said() {
    let project = Project::with(&[("test_it.py", CLEAN), ("uv.lock", "version = 1\n")]);
    project.write("uv.lock", "version = 2\n");
    let answer = project.anyorder(["check"]).args(PLAN).status(6).answer();
    answer.refuses("the lock file `uv.lock`").refuses("--allow-env-drift");
    let document = project.anyorder(["check", "--allow-env-drift"]).args(PLAN).answer().json();
    assert_eq!(document.words("environment_drift"), ["the lock file `uv.lock`"]);
    let answer = project.anyorder(["check", "--allow-env-drift", "--quick"]).answer();
    answer.shows("uv.lock");
}

#[test]
fn a_check_from_a_folder_inside_the_project_judges_that_folder() {
    let project = Project::with(&[("test_it.py", "def test_a(): assert 0\n"), ("part/test_part.py", CLEAN)]);
    project.write("part/test_part.py", format!("{CLEAN}# said\n"));
    let directory = ["-C", "part"];
    let document = project.anyorder(["check"]).args(directory).args(PLAN).answer().json();
    assert_eq!(document.words("evidence").len(), 2);
}

#[test]
fn the_report_of_an_accepted_and_of_a_blocked_change_can_be_read() {
    let before = "d = []\ndef test_a(): pass\ndef test_b(): assert not d\n";
    let project = Project::of_tests(before);
    project.write("test_it.py", "d = []\ndef test_a(): d.append(1)\ndef test_b(): assert not d\n");
    let blocked = project.anyorder(["check", "--seeds", "2"]).status(1).answer();
    let until = blocked.out.find("\nbound").unwrap();
    insta::assert_snapshot!(redacted(&blocked.out[..until]));
    project.write("test_it.py", format!("{before}# said\n"));
    let accepted = project.anyorder(["check", "--seeds", "2"]).answer();
    let until = accepted.out.find("\nbound").unwrap();
    insta::assert_snapshot!(redacted(&accepted.out[..until]));
}

/// Text up to the first thing that differs from run to run, paths and commits made the same.
fn redacted(text: &str) -> String {
    let python = crate::fixture::python();
    let text = text.replace(python.to_str().unwrap(), "[python]");
    let mut lines: Vec<String> = Vec::new();
    let mut head = true;
    for line in text.lines() {
        // The lines under the headline name commit and time.
        if head && line.starts_with("  ") {
            continue;
        }
        head = lines.is_empty();
        lines.push(line.to_owned());
    }
    lines.join("\n")
}

#[test]
fn a_null_patch_leaves_the_store_as_the_only_trace() {
    let project = Project::of_tests(CLEAN);
    project.write("test_it.py", format!("{CLEAN}# said\n"));
    project.anyorder(["check", "--quick"]).answer();
    assert_eq!(project.git(&["status", "--porcelain"]), " M test_it.py");
    assert!(fs::metadata(project.root.join(".anyorder/anyorder.db")).unwrap().is_file());
}
