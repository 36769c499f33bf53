//! `anyorder run` and test ids of every kind.

use crate::fixture::Project;

#[test]
fn ids_with_spaces_newlines_quotes_and_a_hundred_thousand_characters_survive_unchanged() {
    let tests = r#"
import pytest
NAMES = ["with space", "line\nbreak", "quote'\"`$(x)", "ünï-çødé", "-x", "@file", "a" * 100_000, "[b]racket", ""]
@pytest.mark.parametrize("name", NAMES, ids=NAMES)
def test_name(name): assert name in NAMES
"#;
    let project = Project::of_tests(tests);
    let collected = |executor| {
        let document = project
            .anyorder(["run", "--orders", "default,seed:1", "--format", "json", "--executor", executor])
            .answer()
            .json();
        let ids: Vec<String> = document.vectors().keys().map(ToString::to_string).collect();
        assert!(document.vectors().values().all(|v| *v == "PP"), "{:?}", document.vectors().values());
        ids
    };
    let ids = collected("fork");
    assert_eq!(ids, collected("fresh"));
    assert_eq!(ids.len(), 9);
    assert!(ids.contains(&"test_it.py::test_name[with space]".to_owned()));
    assert!(ids.contains(&format!("test_it.py::test_name[{}]", "a".repeat(100_000))));
}

#[test]
fn a_replay_finds_a_test_by_an_id_with_a_space() {
    let tests = "import pytest\n@pytest.mark.parametrize('x', ['with space'])\ndef test_x(x): pass\n";
    let project = Project::of_tests(tests);
    let answer = project.anyorder(["replay", "test_it.py::test_x[with space]"]).answer();
    answer.shows("'test_it.py::test_x[with space]'");
}

#[test]
fn two_tests_with_one_id_are_two_tests() {
    let tests = "def test_a(): pass\ndef test_b(): pass\n";
    let duplicate = r#"
import pytest
class Twice(pytest.File):
    def collect(self):
        yield Item.from_parent(self, name="same")
        yield Item.from_parent(self, name="same")
class Item(pytest.Item):
    def runtest(self): pass
def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".twice":
        return Twice.from_parent(parent, path=file_path)
"#;
    let project = Project::with(&[("test_it.py", tests), ("conftest.py", duplicate), ("a.twice", "")]);
    for executor in ["fork", "fresh"] {
        let document = project
            .anyorder([
                "run",
                "--orders",
                "default,reverse,seed:1",
                "--format",
                "json",
                "--executor",
                executor,
            ])
            .answer()
            .json();
        assert_eq!(document.rows("tests").len(), 4, "{:?}", document.vectors());
        assert_eq!(document.vectors().len(), 4, "two rows have one id");
        assert!(document.vectors().values().all(|v| *v == "PPP"));
    }
}

#[test]
fn ids_that_differ_only_in_case_or_normal_form_are_different_tests() {
    let tests = r#"
import pytest
NAMES = ["name", "NAME", "caf\u00e9", "cafe\u0301"]
@pytest.mark.parametrize("name", NAMES, ids=NAMES)
def test_name(name): assert name != "NAME"
"#;
    let project = Project::of_tests(tests);
    let document = project.anyorder(["run", "--quick", "--format", "json"]).answer().json();
    assert_eq!(document.vectors().len(), 4, "{:?}", document.vectors());
    assert_eq!(document.classes().values().filter(|c| **c == "stable_fail").count(), 1);
}
