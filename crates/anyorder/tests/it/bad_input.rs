//! What cannot be measured is refused with one clear message and its exit code; nothing is lost by it.

use fs_err as fs;

use crate::fixture::Project;

const CLEAN: &str = "def test_a(): pass\ndef test_b(): pass\n";

#[test]
fn a_suite_without_tests_exits_with_4() {
    let project = Project::with(&[("readme.txt", "nothing\n")]);
    for command in ["run", "replay"] {
        let mut call = project.anyorder([command, "--quiet"]).status(4);
        if command == "replay" {
            call = call.args(["default"]);
        }
        call.answer().refuses("no tests");
    }
    let project = Project::of_tests(CLEAN);
    let answer = project.anyorder(["run", "--", "-k", "no_such_name"]).status(4).answer();
    answer.refuses("no tests");
}

#[test]
fn a_check_whose_base_has_no_tests_exits_with_4_and_says_which_tree() {
    let project = Project::with(&[("readme.txt", "nothing\n")]);
    project.write("test_new.py", CLEAN);
    project.anyorder(["check"]).status(4).answer().refuses("base");
}

#[test]
fn a_collection_error_exits_with_6_and_shows_it() {
    let project = Project::with(&[("test_it.py", CLEAN), ("test_wrong.py", "import no_such_module\n")]);
    let answer = project.anyorder(["run"]).status(6).answer();
    answer.refuses("no_such_module").refuses("test_wrong.py").refuses("nothing was run");
}

#[test]
fn a_collection_error_on_the_base_is_told_from_one_on_the_patched_tree() {
    let project = Project::of_tests("import no_such_module\n");
    project.write("test_it.py", CLEAN);
    project.anyorder(["check"]).status(6).answer().refuses("on the base tree");
    let project = Project::of_tests(CLEAN);
    project.write("test_it.py", "import no_such_module\n");
    let answer = project.anyorder(["check"]).status(6).answer();
    assert!(!answer.err.contains("on the base tree"), "{answer}");
    answer.refuses("no_such_module");
}

#[test]
fn arguments_that_pytest_refuses_are_told_in_its_words() {
    let project = Project::of_tests(CLEAN);
    let answer = project.anyorder(["run", "--", "--no-such-option"]).status(6).answer();
    answer.refuses("--no-such-option");
    let answer = project.anyorder(["run", "--", "no_such_file.py"]).status(6).answer();
    answer.refuses("no_such_file.py");
}

#[test]
fn an_interpreter_that_is_not_there_exits_with_6_and_says_what_was_tried() {
    let project = Project::of_tests(CLEAN);
    let gone = project.beside("gone/bin/python");
    let answer = project.anyorder(["run"]).python(Some(&gone)).status(6).answer();
    answer.refuses("gone/bin/python");
    let answer =
        project.anyorder(["run"]).python(None).env("PATH", project.beside("home")).status(6).answer();
    answer.refuses("python3");
}

#[test]
fn a_folder_that_is_no_repository_can_be_run_but_not_checked() {
    let project = Project::plain(&[("test_it.py", CLEAN)]);
    project.anyorder(["run", "--quick"]).answer();
    project.anyorder(["check"]).status(6).answer().refuses("git");
}

#[test]
fn a_repository_without_a_commit_is_told_so() {
    let project = Project::plain(&[("test_it.py", CLEAN)]);
    project.git(&["init", "-q", "-b", "main"]);
    project.anyorder(["run", "--quick"]).answer();
    project.anyorder(["check"]).status(6).answer().refuses("commit");
}

#[test]
fn a_revision_that_is_unknown_exits_with_6() {
    let project = Project::of_tests(CLEAN);
    project.anyorder(["check", "--base", "no-such-branch"]).status(6).answer().refuses("no-such-branch");
    project.anyorder(["check", "--base=--output=x"]).status(6).answer().refuses("--output=x");
}

#[test]
fn a_patch_that_does_not_apply_or_is_none_exits_with_6_and_names_it() {
    let project = Project::of_tests(CLEAN);
    let wrong = "diff --git a/test_it.py b/test_it.py\n--- a/test_it.py\n+++ b/test_it.py\n@@ -1,2 +1,2 @@\n-def test_x(): pass\n+def test_y(): pass\n def test_z(): pass\n";
    for (name, text) in [("wrong.patch", wrong), ("prose.patch", "this is no patch\n"), ("empty.patch", "")] {
        let path = project.beside(name);
        fs::write(&path, text).unwrap();
        let answer = project.anyorder(["check", "--patch"]).args([&path]).status(6).answer();
        answer.refuses(name);
    }
    let gone = project.beside("gone.patch");
    project.anyorder(["check", "--patch"]).args([&gone]).status(2).answer().refuses("gone.patch");
}

#[test]
fn a_dirty_submodule_is_refused() {
    let project = Project::of_tests(CLEAN);
    let inner = Project::with(&[("lib.py", "V = 1\n")]);
    project.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        inner.root.to_str().unwrap(),
        "lib",
    ]);
    project.commit("add a submodule");
    project.write("test_it.py", format!("{CLEAN}# said\n"));
    project.anyorder(["check", "--quick"]).answer();
    project.write("lib/lib.py", "V = 2\n");
    let answer = project.anyorder(["check", "--quick"]).status(6).answer();
    answer.refuses("submodule").refuses("lib");
}

#[test]
fn an_unknown_key_of_the_configuration_exits_with_2_and_a_suggestion() {
    let project = Project::with(&[("test_it.py", CLEAN), ("anyorder.toml", "seed = 3\n")]);
    let answer = project.anyorder(["run"]).status(2).answer();
    answer.refuses("unknown key `seed`").refuses("did you mean `seeds`?").refuses("anyorder.toml");
    let project =
        Project::with(&[("test_it.py", CLEAN), ("pyproject.toml", "[tool.anyorder]\nshufle = 'flat'\n")]);
    let answer = project.anyorder(["run"]).status(2).answer();
    answer.refuses("did you mean `shuffle`?").refuses("pyproject.toml");
    let project = Project::with(&[("test_it.py", CLEAN), ("anyorder.toml", "seeds = \n")]);
    project.anyorder(["run"]).status(2).answer().refuses("anyorder.toml");
    let project = Project::with(&[("test_it.py", CLEAN), ("anyorder.toml", "seeds = 'many'\n")]);
    project.anyorder(["run"]).status(2).answer().refuses("seeds");
}

#[test]
fn orders_bounds_and_shuffles_that_do_not_exist_exit_with_2() {
    let project = Project::of_tests(CLEAN);
    for (arguments, said) in [
        (["--orders", "default,sideways"], "sideways"),
        (["--orders", "seed:x"], "seed:x"),
        (["--orders", ""], "orders"),
        (["--orders", "seed:9..3"], "seed:9..3"),
        (["--bound", "5"], "`5` is no bound"),
        (["--bound", "0%"], "0%"),
        (["--shuffle", "nestd"], "did you mean `nested`?"),
    ] {
        let answer = project.anyorder(["run"]).args(arguments).status(2).answer();
        answer.refuses(said);
    }
    assert!(!project.root.join(".anyorder").exists(), "nothing was begun");
}

#[test]
fn a_folder_that_is_not_there_exits_with_2() {
    let project = Project::of_tests(CLEAN);
    project.anyorder(["run", "-C", "no/such/folder"]).status(2).answer().refuses("no/such/folder");
}

#[test]
fn a_scratch_folder_that_is_not_there_is_told_before_anything_runs() {
    let project = Project::of_tests(CLEAN);
    let answer = project.anyorder(["run"]).env("ANYORDER_SCRATCH", project.beside("gone")).status(6).answer();
    answer.refuses("ANYORDER_SCRATCH");
}
