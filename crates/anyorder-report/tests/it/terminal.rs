//! Terminal reports as snapshots, and what must hold of all of them.

use anyorder_report::view::{CheckView, RunView};
use anyorder_report::{Style, terminal};
use insta::assert_snapshot;

use crate::samples;

pub(crate) fn run(view: &RunView, style: Style) -> String {
    let mut out = Vec::new();
    terminal::run(view, style, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub(crate) fn check(view: &CheckView, style: Style) -> String {
    let mut out = Vec::new();
    terminal::check(view, style, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

const NARROW: Style = Style { width: 60, ..Style::PLAIN };
const ASCII: Style = Style { unicode: false, ..Style::PLAIN };
const COLOR: Style = Style { color: true, ..Style::PLAIN };

#[test]
fn a_clean_run_says_so_and_how_far_it_goes() {
    assert_snapshot!(run(&samples::clean(), Style::PLAIN));
}

#[test]
fn victims_brittle_and_flaky_tests_are_told_cause_by_cause() {
    assert_snapshot!(run(&samples::troubled(), Style::PLAIN));
}

#[test]
fn a_crashed_order_names_its_culprit() {
    assert_snapshot!(run(&samples::crashed(), Style::PLAIN));
}

#[test]
fn an_interrupted_run_says_how_to_go_on() {
    assert_snapshot!(run(&samples::interrupted(), Style::PLAIN));
}

#[test]
fn a_suite_without_tests_is_not_called_clean() {
    let mut view = samples::clean();
    view.tests.clear();
    assert!(run(&view, Style::PLAIN).starts_with("! there is no test to run\n"));
}

#[test]
fn a_narrow_terminal_gets_the_same_in_more_lines() {
    assert_snapshot!(run(&samples::troubled(), NARROW));
}

#[test]
fn without_unicode_outcomes_are_letters() {
    let text = run(&samples::troubled(), ASCII);
    assert!(text.is_ascii(), "{text}");
    assert_snapshot!(text);
}

#[test]
fn colour_adds_nothing_but_colour() {
    for (plain, colored) in [
        (run(&samples::troubled(), Style::PLAIN), run(&samples::troubled(), COLOR)),
        (check(&samples::blocked(), Style::PLAIN), check(&samples::blocked(), COLOR)),
        (check(&samples::several(), Style::PLAIN), check(&samples::several(), COLOR)),
    ] {
        assert_ne!(plain, colored);
        assert_eq!(plain, without_colour(&colored));
    }
}

/// The text without `ESC [ … m`.
fn without_colour(text: &str) -> String {
    let mut left = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        left.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    left + rest
}

#[test]
fn an_accepted_patch_is_told_with_its_evidence() {
    assert_snapshot!(check(&samples::accepted(), Style::PLAIN));
}

#[test]
fn a_blocked_patch_is_told_with_its_witnesses() {
    assert_snapshot!(check(&samples::blocked(), Style::PLAIN));
}

#[test]
fn an_undecided_patch_says_what_is_missing() {
    assert_snapshot!(check(&samples::undecided(), Style::PLAIN));
}

#[test]
fn several_patches_are_ranked_first() {
    let text = check(&samples::several(), Style::PLAIN);
    let table = text.lines().take(4).collect::<Vec<_>>().join("\n");
    assert_snapshot!(table, @r"
    3 patches judged against one base, the best first
      1. good.diff     accept  0 blocking, 0 to review, 1 repaired, 905 as evidence
      2. slow.diff     review  0 blocking, 1 to review, 0 repaired, 38 as evidence
      3. coupled.diff  block   2 blocking, 0 to review, 0 repaired, 38 as evidence
    ");
    assert_eq!(text.matches("evidence  ").count(), 3);
}

#[test]
fn a_diagnosis_is_told_with_advice() {
    let mut out = Vec::new();
    terminal::doctor(&samples::doctor(), Style::PLAIN, &mut out).unwrap();
    assert_snapshot!(String::from_utf8(out).unwrap());
}

#[test]
fn a_plan_says_what_it_costs_and_what_that_buys() {
    let mut out = Vec::new();
    terminal::plan(&samples::plan(), Style::PLAIN, &mut out).unwrap();
    assert_snapshot!(String::from_utf8(out).unwrap());
}
