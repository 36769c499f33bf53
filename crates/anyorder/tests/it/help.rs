//! Help, version, completions and the manual page.

use std::collections::BTreeSet;

use crate::fixture::Project;

const COMMANDS: [&str; 8] = ["run", "check", "replay", "freeze", "quarantine", "ledger", "show", "doctor"];

#[test]
fn help_texts_are_in_sentence_case_without_a_full_stop() {
    let project = Project::plain(&[]);
    for command in COMMANDS {
        let answer = project.anyorder([command, "--help"]).python(None).answer();
        assert_eq!(answer.err, "");
        let mut texts = 0;
        for paragraph in paragraphs(&answer.out) {
            texts += 1;
            let first = paragraph.chars().next().unwrap();
            assert!(!first.is_lowercase(), "{command}: `{paragraph}` begins in lower case");
            assert!(!paragraph.ends_with('.'), "{command}: `{paragraph}` ends with a full stop");
        }
        assert!(texts > 0, "{answer}");
    }
}

/// The texts under the options of a long help.
fn paragraphs(help: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut inside = false;
    for line in help.lines() {
        let text = line.trim();
        let indented = line.starts_with("          ") && !text.starts_with('-');
        match (indented && !text.is_empty(), inside) {
            (true, true) => {
                let last = found.last_mut().unwrap();
                last.push(' ');
                last.push_str(text);
            }
            (true, false) => found.push(text.to_owned()),
            (false, _) => {}
        }
        inside = indented && !text.is_empty();
    }
    found.retain(|p| !p.starts_with('[') && !p.starts_with("- "));
    found
}

#[test]
fn every_command_is_listed_with_what_it_does() {
    let project = Project::plain(&[]);
    let answer = project.anyorder(["--help"]).python(None).answer();
    for command in COMMANDS {
        assert!(answer.out.lines().any(|l| l.trim().starts_with(command)), "{answer}");
    }
    let version = project.anyorder(["--version"]).python(None).answer();
    assert_eq!(version.out, format!("anyorder {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_are_printed_for_every_shell() {
    let project = Project::plain(&[]);
    let mut seen = BTreeSet::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let answer = project.anyorder(["completions", shell]).python(None).answer();
        assert!(answer.out.contains("anyorder") && answer.out.contains("allow-env-drift"), "{shell}");
        seen.insert(answer.out);
    }
    assert_eq!(seen.len(), 5);
}

#[test]
fn the_manual_page_is_printed() {
    let project = Project::plain(&[]);
    let answer = project.anyorder(["man"]).python(None).answer();
    assert!(answer.out.contains(".TH anyorder 1"), "{answer}");
}

#[test]
fn a_command_line_that_is_wrong_is_refused_with_2_and_a_suggestion() {
    let project = Project::plain(&[]);
    for (arguments, said) in [
        (vec!["runn"], "run"),
        (vec!["run", "--seed", "3"], "--seeds"),
        (vec!["run", "--seeds", "0"], "--seeds"),
        (vec!["run", "--seeds", "3", "--quick"], "--quick"),
        (vec!["run", "--executor", "thread"], "fork"),
        (vec!["run", "--jobs", "0"], "--jobs"),
        (vec![], "Usage"),
    ] {
        let answer = project.anyorder(&arguments).python(None).status(2).answer();
        assert!(answer.err.contains(said), "{arguments:?}: {answer}");
        assert_eq!(answer.out, "", "{arguments:?}");
    }
}
