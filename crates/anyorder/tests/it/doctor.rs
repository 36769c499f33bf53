//! `anyorder doctor`.

use crate::fixture::{Project, python};

#[test]
fn doctor_says_what_it_found() {
    let project = Project::of_tests("def test_a(): pass\n");
    let answer = project.anyorder(["doctor"]).answer();
    answer.shows(python().to_str().unwrap()).shows("1 test").shows("executor").shows("sandbox");
    let document = project.anyorder(["doctor", "--format", "json"]).answer().json();
    assert_eq!(document["tests"], 1);
    assert!(!project.root.join(".anyorder").exists(), "asking leaves no store behind");
}

#[test]
fn doctor_names_the_plugins_that_are_switched_off() {
    let project = Project::of_tests("def test_a(): pass\n");
    project.anyorder(["doctor"]).with_plugins().answer().shows("pytest-randomly: re-ordering");
}

#[test]
fn doctor_says_why_a_suite_cannot_be_collected_and_exits_with_6() {
    let project = Project::of_tests("import no_such_module\n");
    let answer = project.anyorder(["doctor"]).status(6).answer();
    answer.shows("no_such_module").shows_not("\\n").shows_not("error: error");
}

#[test]
fn doctor_says_which_interpreters_were_tried() {
    let project = Project::of_tests("def test_a(): pass\n");
    let bare = project.beside("bare");
    let made = project.program(python()).args(["-m", "venv", "--without-pip"]).arg(&bare).status().unwrap();
    assert!(made.success());
    let answer = project
        .anyorder(["doctor"])
        .python(None)
        .env("VIRTUAL_ENV", &bare)
        .env("PATH", bare.join("bin"))
        .status(6)
        .answer();
    answer.shows("pytest").shows(bare.to_str().unwrap());
}

#[test]
fn doctor_says_why_fork_is_not_safe() {
    let conftest =
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n";
    let project = Project::with(&[("test_it.py", "def test_a(): pass\n"), ("conftest.py", conftest)]);
    project.anyorder(["doctor"]).answer().shows("fresh").shows("thread");
    let answer = project.anyorder(["run", "--quick", "--executor", "fork"]).status(6).answer();
    answer.refuses("thread").refuses("--executor auto");
}
