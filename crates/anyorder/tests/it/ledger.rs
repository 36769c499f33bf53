//! `anyorder freeze`, `anyorder quarantine`, `anyorder ledger`, and what the ledger does to `run` and `check`.

use fs_err as fs;

use crate::answer::word;
use crate::fixture::{Call, Project};
use crate::run::{ALL_KINDS, FLAKY, folder};

const FILE: &str = "anyorder.lock.toml";
const VICTIM: &str = "test_it.py::test_victim";
const BRITTLE: &str = "test_it.py::test_brittle";

/// Orders in which victim and brittle test both fail and pass.
const ORDERS: [&str; 2] = ["--orders", "default,alone,reverse,seed:1..3"];

fn project() -> Project {
    Project::with(&[("test_it.py", ALL_KINDS)])
}

fn freeze<'p>(project: &'p Project, tests: &[&str]) -> Call<'p> {
    let call = project.anyorder(["freeze"]).args(tests).args(["--for", "30d", "--issue", "SHOP-7"]);
    call.args(ORDERS).writing(FILE)
}

fn run(project: &Project) -> Call<'_> {
    project.anyorder(["run"]).args(ORDERS)
}

fn text(project: &Project) -> String {
    fs::read_to_string(project.root.join(FILE)).unwrap()
}

/// Changes the file as somebody with an editor would.
#[track_caller]
fn edit(project: &Project, from: &str, to: &str) {
    let text = text(project);
    assert!(text.contains(from), "no `{from}` in\n{text}");
    project.write(FILE, text.replace(from, to));
}

/// A day long ago in the place of the entries' last day.
#[track_caller]
fn expire(project: &Project) {
    let text = text(project);
    let line = text.lines().find(|l| l.starts_with("freeze_until = ")).unwrap().to_owned();
    edit(project, &line, "freeze_until = 2020-01-31");
}

#[test]
fn a_frozen_test_is_written_down_as_it_was_measured() {
    let project = project();
    let answer = freeze(&project, &[VICTIM]).args(["--polluter", "test_it.py::test_polluter"]).answer();
    answer.shows("✓ 1 frozen").shows("did not pass in").shows("AssertionError").shows("measured in sweep s1");
    let text = text(&project);
    for line in [
        "test = \"test_it.py::test_victim\"",
        "class = \"order_sensitive\"",
        "orders = [\"default\", \"alone\", \"reverse\", \"seed:1..3\"]",
        "seeds = 3",
        "polluters = [\"test_it.py::test_polluter\"]",
        "issue = \"SHOP-7\"",
    ] {
        assert!(text.lines().any(|l| l == line), "no `{line}` in\n{text}");
    }
    assert!(text.contains("vector = \"FPP"), "{text}");
}

#[test]
fn only_order_sensitive_tests_are_frozen_and_each_refusal_says_why() {
    let project = project();
    let names = ["test_it.py::test_fails", "test_it.py::test_plain", "test_it.py::test_skipped"];
    let answer = freeze(&project, &names).status(1).answer();
    answer.shows("it fails in every order: that is no order dependence, and can never be frozen");
    answer.shows("it passes in all 6 orders that were run").shows("it is skipped, or fails as declared");
    assert!(!project.root.join(FILE).exists(), "nothing to write, nothing written");
    // What can be frozen is, beside what cannot.
    let answer =
        freeze(&project, &[VICTIM, "test_it.py::test_fails"]).args(["--format", "json"]).status(1).answer();
    let document = answer.json();
    assert_eq!(document["entries"][0]["id"], VICTIM);
    assert_eq!(document["refused"][0]["id"], "test_it.py::test_fails");
    // The store had just this measurement.
    assert_eq!(document["measured"]["stored"], true);
}

#[test]
fn a_pattern_freezes_what_depends_on_order_and_passes_over_the_rest() {
    let project = project();
    let document = freeze(&project, &["test_it.py::*"]).args(["--format", "json"]).answer().json();
    let ids: Vec<&str> = document.rows("entries").iter().map(|e| word(&e["id"])).collect();
    assert_eq!(ids, [VICTIM, BRITTLE]);
    assert_eq!(document["passed_over"], 6);
    let answer = freeze(&project, &["test_it.py::test_pl*"]).status(1).answer();
    answer.shows("nothing frozen").shows("1 test that a pattern matched: not order-sensitive");
}

#[test]
fn a_command_that_says_too_little_or_nonsense_is_refused() {
    let project = project();
    let refused = |arguments: &[&str], said: &str| {
        let answer = project.anyorder(["freeze", VICTIM]).args(arguments).args(ORDERS).status(2).answer();
        assert!(answer.err.contains(said), "{arguments:?}: {answer}");
        assert_eq!(answer.out, "");
    };
    refused(&["--issue", "x"], "--until <DATE>");
    refused(&["--for", "30d"], "--issue <REF>");
    refused(&["--for", "30d", "--until", "2999-01-01", "--issue", "x"], "cannot be used with");
    refused(&["--for", "a while", "--issue", "x"], "`--for a while` is no time");
    refused(&["--until", "2020-01-01", "--issue", "x"], "is over");
    refused(&["--for", "30d", "--issue", "  "], "`--issue` is empty");
    freeze(&project, &["test_it.py::test_viktim"])
        .status(2)
        .answer()
        .refuses("did you mean `test_it.py::test_victim`?");
    freeze(&project, &[VICTIM])
        .args(["--polluter", "nobody"])
        .status(2)
        .answer()
        .refuses("`nobody` is no test");
    assert!(!project.root.join(FILE).exists());
}

#[test]
fn a_run_whose_findings_are_all_frozen_exits_with_0_and_names_the_entries() {
    let project = project();
    freeze(&project, &[VICTIM]).answer();
    let answer = run(&project).status(1).answer();
    answer.shows("2 of 8 tests depend on order, 1 of them frozen or quarantined").shows("(SHOP-7)");
    freeze(&project, &[BRITTLE]).answer();
    let answer = run(&project).answer();
    answer.shows("all of them are frozen or quarantined").shows("note frozen until");
    let document = run(&project).args(["--format", "json"]).answer().json();
    let victim = document.rows("tests").iter().find(|t| t["id"] == VICTIM).unwrap().clone();
    assert_eq!((&victim["ledger"]["kind"], &victim["ledger"]["covered"]), (&"frozen".into(), &true.into()));

    expire(&project);
    let answer = run(&project).status(1).answer();
    answer.shows("frozen until 2020-01-31 (SHOP-7), which does not cover this: expired on 2020-02-01");
}

#[test]
fn a_new_failure_of_a_frozen_test_is_not_covered() {
    let project = project();
    freeze(&project, &[VICTIM, BRITTLE]).answer();
    let worse = "def test_victim(): assert not state[\"dirty\"] or {}[\"gone\"]";
    let old = "def test_victim(): assert not state[\"dirty\"], \"somebody left dirt\"";
    project.write("test_it.py", ALL_KINDS.replace(old, worse));
    let answer = run(&project).status(1).answer();
    answer.shows("it fails in a way that the entry does not know: KeyError");
    answer.shows("1 of them frozen or quarantined");
}

#[test]
fn a_renewal_measures_again_and_says_how_it_compares() {
    let project = project();
    freeze(&project, &[VICTIM]).answer();
    expire(&project);
    let document = freeze(&project, &[VICTIM]).args(["--format", "json"]).answer().json();
    assert_eq!(document["measured"]["stored"], false, "a renewal is never silent");
    let entry = &document["entries"][0];
    assert_eq!((&entry["done"], &entry["renewed"]["change"]), (&"renewed".into(), &"same".into()));
    assert!(text(&project).contains("change = \"same\""), "{}", text(&project));
    run(&project).status(1).answer().shows("1 of them frozen or quarantined");

    // Mended: there is nothing to renew, and the entry can go.
    project.write("test_it.py", ALL_KINDS.replace("assert not state[\"dirty\"]", "assert True"));
    let before = text(&project);
    let answer = freeze(&project, &[VICTIM]).status(1).answer();
    answer.shows("it passes in all 6 orders").shows("anyorder ledger prune test_it.py::test_victim");
    assert_eq!(text(&project), before);
    project.anyorder(["ledger", "prune", VICTIM]).writing(FILE).answer().shows("1 entry dropped");
    assert!(!text(&project).contains("test_victim"));
}

#[test]
fn a_stored_sweep_of_another_tree_or_plan_is_not_taken() {
    let project = project();
    let stored =
        |call: Call<'_>| call.args(["--format", "json"]).answer().json()["measured"]["stored"].clone();
    run(&project).status(1).answer();
    assert_eq!(stored(freeze(&project, &[VICTIM])), true);
    fs::remove_file(project.root.join(FILE)).unwrap();
    let other = project
        .anyorder(["freeze", VICTIM, "--for", "1w", "--issue", "x", "--orders", "default,alone,seed:9"])
        .writing(FILE);
    assert_eq!(stored(other), false);
    fs::remove_file(project.root.join(FILE)).unwrap();
    project.write("test_it.py", format!("{ALL_KINDS}\ndef test_more(): pass\n"));
    assert_eq!(stored(freeze(&project, &[VICTIM])), false);
}

#[test]
fn the_ledger_is_listed_checked_and_pruned() {
    let project = project();
    project.anyorder(["ledger", "list"]).answer().shows("nothing is frozen or quarantined");
    project.anyorder(["ledger", "check"]).python(None).answer().shows("nothing is frozen or quarantined");
    project.anyorder(["ledger", "prune"]).python(None).answer().shows("nothing to drop");
    freeze(&project, &[VICTIM, BRITTLE]).answer();
    project.anyorder(["ledger", "check"]).answer().shows("2 entries, each of them protects");

    let gone = ALL_KINDS.replace("test_brittle", "test_renamed");
    project.write("test_it.py", &gone);
    let lines = text(&project);
    let last = lines.lines().rfind(|l| l.starts_with("freeze_until")).unwrap();
    project.write(FILE, lines.replacen(last, "freeze_until = 2020-01-31", 2));
    let answer = project.anyorder(["ledger", "check"]).status(1).answer();
    answer.shows("1 expired, 1 gone, of 2 entries").shows("expired on 2020-02-01");
    answer.shows("next anyorder freeze test_it.py::test_victim --for 30d --issue SHOP-7");
    answer.shows("next anyorder ledger prune test_it.py::test_brittle");
    let document = project.anyorder(["ledger", "check", "--format", "json"]).status(1).answer().json();
    let standings: Vec<&str> = document.rows("entries").iter().map(|e| word(&e["standing"])).collect();
    assert_eq!(standings, ["gone", "expired"]);
    // Listing looks at the day only, and blames nobody.
    let document = project.anyorder(["ledger", "list", "--format", "json"]).answer().json();
    let standings: Vec<&str> = document.rows("entries").iter().map(|e| word(&e["standing"])).collect();
    assert_eq!(standings, ["expired", "expired"]);

    let answer = project.anyorder(["ledger", "prune"]).writing(FILE).answer();
    answer.shows("1 entry dropped").shows("frozen dropped test_it.py::test_brittle");
    let answer = project.anyorder(["ledger", "prune", "--expired"]).writing(FILE).answer();
    answer.shows("frozen dropped test_it.py::test_victim");
    project.anyorder(["ledger", "check"]).answer();
    project.anyorder(["ledger", "prune", "nobody"]).status(2).answer().refuses("`nobody` is no entry");
}

#[test]
fn a_test_that_the_command_line_leaves_out_is_not_gone() {
    let project = Project::with(&[("test_it.py", ALL_KINDS), ("sub/test_sub.py", "def test_s(): pass\n")]);
    freeze(&project, &[VICTIM]).answer();
    project.anyorder(["ledger", "check", "--", "sub"]).answer().shows("1 entry, each of them protects");
    project.anyorder(["ledger", "prune", "--", "sub"]).answer().shows("nothing to drop");
    project.anyorder(["ledger", "check", "-C", "sub"]).answer();
}

#[test]
fn a_flaky_test_is_quarantined_until_it_is_edited() {
    let project = Project::with(&[("test_it.py", "def test_a(): pass\n"), ("test_flaky.py", FLAKY)]);
    let counter = |name| folder(&project, name);
    let quarantine = |tests: &[&str]| {
        let call = project.anyorder(["quarantine"]).args(tests).args(["--issue", "SHOP-8", "--seeds", "2"]);
        call.args(["--jobs", "1"]).env("COUNTER", counter("one")).writing(FILE)
    };
    let answer = quarantine(&["test_flaky.py::test_flaky", "test_it.py::test_a"]).status(1).answer();
    answer
        .shows("1 quarantined, 1 refused")
        .shows("runs of one order")
        .shows("nothing shows that it is flaky");
    let text = text(&project);
    assert!(text.contains("[[quarantined]]") && text.contains("class = \"flaky\"\nsource = \""), "{text}");

    let run = |status| {
        let call = project.anyorder(["run", "--seeds", "2", "--jobs", "1"]).env("COUNTER", counter("two"));
        call.status(status).answer()
    };
    run(0).shows("quarantined until its source or its failure changes (SHOP-8)");
    project.anyorder(["ledger", "check"]).answer();
    project.write("test_flaky.py", FLAKY.replace("== 0", "!= 1"));
    let answer = project.anyorder(["ledger", "check"]).status(1).answer();
    answer.shows("1 lapsed, of 1 entry").shows("lapsed: source changed");
    answer.shows("next anyorder quarantine test_flaky.py::test_flaky --issue SHOP-8");
    project.anyorder(["ledger", "prune", "--expired"]).writing(FILE).answer().shows("1 entry dropped");
}

#[test]
fn an_order_sensitive_test_is_not_quarantined() {
    let project = project();
    let call = project.anyorder(["quarantine", VICTIM, "--issue", "x"]).args(ORDERS).status(1);
    call.answer().shows("each order gave the same outcome again and again").shows("`anyorder freeze` is for");
}

#[test]
fn a_check_keeps_a_frozen_test_out_of_the_evidence_even_when_it_passes() {
    let project = project();
    freeze(&project, &[VICTIM]).answer();
    project.commit("frozen");
    let mended = ALL_KINDS.replace("assert not state[\"dirty\"]", "assert True");
    project.write("test_it.py", &mended);
    project.commit("mended");
    project.write("test_it.py", format!("{mended}\ndef test_more(): pass\n"));
    let document =
        project.anyorder(["check", "--base", "HEAD", "--format", "json"]).args(ORDERS).answer().json();
    assert!(!document.words("evidence").contains(&VICTIM));
    assert!(document.words("evidence").contains(&"test_it.py::test_more"));
    let kept_out = document.rows("not_evidence").iter().find(|n| n["id"] == VICTIM).unwrap();
    assert!(word(&kept_out["why"]).starts_with("frozen until"), "{kept_out}");
}

#[test]
fn a_review_of_what_was_there_before_is_let_through_for_a_frozen_test_and_for_no_other() {
    let project = Project::with(&[
        ("test_it.py", ALL_KINDS),
        ("anyorder.toml", "[verdict]\npre_existing = \"review\"\n"),
    ]);
    project.write("test_more.py", "def test_more(): pass\n");
    let check = || project.anyorder(["check"]).args(ORDERS);
    check().status(3).answer().shows("review: working tree");
    freeze(&project, &[VICTIM]).answer();
    let document = check().args(["--format", "json"]).status(3).answer().json();
    let found = document.findings();
    assert!(found.contains(&(VICTIM, "pre_existing", "freeze")), "{found:?}");
    assert!(found.contains(&(BRITTLE, "pre_existing", "review")), "{found:?}");
    freeze(&project, &[BRITTLE]).answer();
    let answer = check().answer();
    answer.shows("accept").shows("pre_existing test_it.py::test_victim").shows("frozen until");
    expire(&project);
    check().status(3).answer().shows("which does not cover this: expired on 2020-02-01");
}

#[test]
fn an_entry_does_not_excuse_what_a_patch_introduces() {
    let base = ALL_KINDS.replace("assert not state[\"dirty\"], \"somebody left dirt\"", "assert True");
    let project = Project::with(&[("test_it.py", base.as_str())]);
    project.write("test_it.py", ALL_KINDS);
    freeze(&project, &[VICTIM]).answer();
    let answer = project.anyorder(["check"]).args(ORDERS).status(1).answer();
    answer.shows("block: working tree").shows("an entry never covers `introduced`");
}

#[test]
fn a_ledger_that_is_wrong_is_refused_with_its_line_before_anything_is_run() {
    let project = project();
    freeze(&project, &[VICTIM]).answer();
    edit(&project, "freeze_until", "freeze_untill");
    for arguments in [
        vec!["run", "--quick"],
        vec!["ledger", "list"],
        vec!["ledger", "check"],
        vec!["freeze", VICTIM, "--for", "1d", "--issue", "x"],
    ] {
        let answer = project.anyorder(&arguments).status(2).answer();
        answer.refuses("line 13: unknown key `frozen.freeze_untill`");
    }
    project.write(FILE, "<<<<<<< ours\nversion = 1\n=======\nversion = 1\n>>>>>>> theirs\n");
    project.anyorder(["run", "--quick"]).status(2).answer().refuses("a merge conflict is not resolved");
}

#[test]
fn the_ledger_stands_beside_the_configuration() {
    let project = Project::with(&[("app/test_it.py", ALL_KINDS), ("app/anyorder.toml", "seeds = 2\n")]);
    let call = project.anyorder(["freeze", VICTIM, "--for", "1d", "--issue", "x", "-C", "app"]).args(ORDERS);
    call.writing("app/anyorder.lock.toml").answer();
    assert!(project.root.join("app").join(FILE).exists());
    project.anyorder(["ledger", "list", "-C", "app"]).answer().shows("1 entry");
}

#[test]
fn a_project_without_git_has_a_ledger_too() {
    let project = Project::plain(&[("test_it.py", ALL_KINDS)]);
    freeze(&project, &[VICTIM, BRITTLE]).answer();
    run(&project).answer();
}

#[test]
fn a_patch_that_takes_an_entry_out_does_not_win_its_test_as_evidence() {
    let project = project();
    freeze(&project, &[VICTIM]).answer();
    project.commit("frozen");
    project.write("test_it.py", ALL_KINDS.replace("assert not state[\"dirty\"]", "assert True"));
    let frozen = text(&project);
    for without in ["version = 1\n", ""] {
        if without.is_empty() {
            fs::remove_file(project.root.join(FILE)).unwrap();
        } else {
            project.write(FILE, without);
        }
        let document = project.anyorder(["check", "--format", "json"]).args(ORDERS).answer().json();
        assert!(!document.words("evidence").contains(&VICTIM), "{without:?}");
        let kept_out = document.rows("not_evidence").iter().find(|n| n["id"] == VICTIM).unwrap();
        assert!(word(&kept_out["why"]).ends_with("which the patch takes out"), "{kept_out}");
    }
    // A change that leaves it alone is told the same without the remark.
    project.write(FILE, frozen);
    let document = project.anyorder(["check", "--format", "json"]).args(ORDERS).answer().json();
    let kept_out = document.rows("not_evidence").iter().find(|n| n["id"] == VICTIM).unwrap();
    assert!(word(&kept_out["why"]).ends_with("(SHOP-7)"), "{kept_out}");
}

#[test]
fn ids_of_every_kind_are_frozen_and_found_again() {
    let tests = r#"
import pytest
dirt = []
NAMES = ["with space", "quote'\"`$(x)", "line\nbreak", "*", "[b]racket", "ünï", "a" * 20_000, "::error::"]
def test_first(): pass
@pytest.mark.parametrize("name", NAMES, ids=NAMES)
def test_name(name): assert not dirt
def test_polluter(): dirt.append(1)
"#;
    let twice = r#"
import pytest
class Twice(pytest.File):
    def collect(self):
        yield Item.from_parent(self, name="same")
        yield Item.from_parent(self, name="same")
class Item(pytest.Item):
    def runtest(self):
        import test_it
        assert not test_it.dirt
def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".twice":
        return Twice.from_parent(parent, path=file_path)
"#;
    let project = Project::with(&[("test_it.py", tests), ("conftest.py", twice), ("z.twice", "")]);
    let document = freeze(&project, &["*"]).args(["--format", "json"]).answer().json();
    assert_eq!(document.rows("entries").len(), 10);
    assert!(text(&project).contains("occurrence = 2\n"), "two tests have one id");
    let answer = run(&project).answer();
    answer.shows("10 of 12 tests depend on order, all of them are frozen or quarantined");
    project.anyorder(["ledger", "check"]).answer().shows("10 entries, each of them protects");
    // What is printed can be typed, a name that looks like a pattern included.
    for name in ["z.twice::same (#2)", "test_it.py::test_name[*]", "test_it.py::test_name[quote'\"`$(x)]"] {
        project.anyorder(["ledger", "prune", name]).writing(FILE).answer().shows("1 entry dropped");
    }
    project.anyorder(["ledger", "list"]).answer().shows("7 entries");
}

#[test]
fn a_ctrl_c_leaves_the_ledger_as_it_was() {
    let slow = "import time\nstate = []\ndef test_a():\n    time.sleep(0.4)\n    state.append(1)\ndef test_b(): assert not state\n";
    let project = Project::of_tests(slow);
    let call =
        project.anyorder(["freeze", "test_it.py::test_b", "--for", "1d", "--issue", "x", "--seeds", "400"]);
    let mut child = call.start();
    while !project.root.join(".anyorder/anyorder.db").exists() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    std::thread::sleep(std::time::Duration::from_millis(700));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    assert!(!project.root.join(FILE).exists());
    project.assert_nothing_survives();
}
