//! What the commands of the ledger report, `show`, and `check --explain`.

use std::collections::BTreeMap;

use anyorder_core::ledger::{
    Chance, Change, Comparison, Covered, Effect, Entry, Frozen, Lapse, Quarantined, Recorded, Renewal,
    Standing, Uncovered, Withheld,
};
use anyorder_core::model::{Signature, TestId, TestIx};
use anyorder_core::verdict::Rules;
use anyorder_report::view::{
    Action, ChecksView, Class, Done, EntryView, ExplainView, Finding, Invocation, LedgerCommand, LedgerView,
    MeasurementView, Project, RefusedView, StoredCheckView,
};
use anyorder_report::{Style, json, terminal};
use insta::assert_snapshot;

use crate::json::{assert_valid, document};
use crate::samples;

fn frozen(id: &str) -> Frozen {
    Frozen {
        test: TestId::new(id),
        recorded: Recorded::new(samples::labels(3), samples::vector("PPFPFPP")).unwrap(),
        polluters: Vec::new(),
        signatures: vec![Signature("AssertionError @ src/shop/rates.py:assert rate in table".into())],
        frozen_at: "2026-12-01".parse().unwrap(),
        freeze_until: "2027-01-05".parse().unwrap(),
        issue: "SHOP-7".into(),
        renewed: None,
    }
}

fn quarantined(id: &str) -> Quarantined {
    Quarantined {
        test: TestId::new(id),
        source: Some(0xab),
        chance: Chance::new(samples::seed(3), samples::vector("FPP")).unwrap(),
        signatures: Vec::new(),
        quarantined_at: "2026-12-01".parse().unwrap(),
        until: None,
        issue: "SHOP-8".into(),
    }
}

fn view(command: LedgerCommand, entries: Vec<EntryView>) -> LedgerView {
    LedgerView {
        command,
        project: Project { name: "shop".into(), root: "/tmp/shop".into() },
        file: "anyorder.lock.toml".into(),
        today: "2027-01-10".parse().unwrap(),
        measured: None,
        entries,
        refused: Vec::new(),
        passed_over: 0,
        exit_code: 0,
    }
}

fn shown(entry: &Entry, standing: Standing) -> EntryView {
    let invocation = Invocation {
        flags: vec!["--python".into(), "3.11".into()],
        pytest_args: vec!["tests".into()],
        ..Invocation::default()
    };
    EntryView::of(entry, standing, &invocation)
}

fn text(view: &LedgerView) -> String {
    let mut out = Vec::new();
    terminal::ledger(view, Style::PLAIN, &mut out).unwrap();
    assert_valid("ledger", &document(|out| json::ledger(view, out)));
    String::from_utf8(out).unwrap()
}

#[test]
fn a_check_says_of_each_entry_that_does_not_protect_what_to_type() {
    let lapsed = Standing::Lapsed { why: Lapse::SourceChanged };
    let expired = Standing::Expired { since: "2027-01-06".parse().unwrap() };
    let entries = vec![
        shown(&Entry::Frozen(frozen("tests/test_a.py::test_x[a b]")), expired),
        shown(&Entry::Frozen(frozen("tests/test_a.py::test_gone")), Standing::Gone),
        shown(&Entry::Frozen(frozen("tests/test_a.py::test_well")), Standing::Protects),
        shown(&Entry::Quarantined(quarantined("tests/test_b.py::test_y")), lapsed),
    ];
    assert_snapshot!(text(&view(LedgerCommand::Check, entries)));
}

#[test]
fn a_freeze_says_what_was_written_renewed_and_refused() {
    let mut old = frozen("tests/test_a.py::test_old");
    old.polluters = vec![TestId::new("tests/test_a.py::test_polluter")];
    old.renewed = Some(Renewal {
        since: "2026-11-01".parse().unwrap(),
        compared: Comparison { change: Change::FewerFailing, orders: 6, before: 4, now: 2 },
    });
    let mut entries = vec![
        shown(&Entry::Frozen(frozen("tests/test_a.py::test_new")), Standing::Protects),
        shown(&Entry::Frozen(old), Standing::Protects),
    ];
    entries[0].done = Some(Done::Written);
    entries[1].done = Some(Done::Renewed);
    let mut view = view(LedgerCommand::Freeze, entries);
    view.measured = Some(MeasurementView { sweep: "s3".into(), orders: 6, stored: true });
    view.refused = vec![RefusedView {
        test: TestId::new("tests/test_a.py::test_fails"),
        why: "it fails in every order".into(),
        advice: "mend it".into(),
    }];
    view.passed_over = 12;
    assert_snapshot!(text(&view));
}

#[test]
fn an_empty_ledger_is_said_to_be_empty() {
    let text = text(&view(LedgerCommand::List, Vec::new()));
    assert!(text.starts_with("✓ nothing is frozen or quarantined\n"), "{text}");
}

#[test]
fn what_a_ledger_holds_reaches_no_terminal_raw() {
    let nasty = "t.py::t[\u{1b}[2J\n::error::x\u{202e}]";
    let mut entry = frozen(nasty);
    entry.issue = nasty.into();
    entry.signatures = vec![Signature(nasty.into())];
    entry.polluters = vec![TestId::new(nasty)];
    let mut view = view(
        LedgerCommand::Freeze,
        vec![shown(&Entry::Frozen(entry), Standing::Expired { since: "2027-01-06".parse().unwrap() })],
    );
    view.refused = vec![RefusedView { test: TestId::new(nasty), why: nasty.into(), advice: nasty.into() }];
    view.file = nasty.into();
    let text = text(&view);
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    assert!(!text.lines().any(|l| l.trim_start().starts_with("::")), "{text}");
}

fn covered(id: &str, covered: Result<(), Uncovered>) -> Covered {
    Covered { entry: Entry::Frozen(frozen(id)), covered }
}

#[test]
fn a_run_names_the_entries_of_its_tests() {
    let mut run = samples::troubled();
    let found: BTreeMap<TestIx, Covered> = (0..)
        .map(TestIx)
        .zip(&run.tests)
        .filter(|(_, t)| matches!(t.class, Class::OrderSensitive | Class::Flaky))
        .map(|(ix, t)| (ix, covered(t.id.raw(), Ok(()))))
        .collect();
    run.list(&found);
    let text = crate::terminal::run(&run, Style::PLAIN);
    assert!(text.starts_with("! "), "a warning, not an alarm: {text}");
    assert!(text.contains("all of them are frozen or quarantined"), "{text}");
    assert!(text.contains("note  frozen until 2027-01-05 (SHOP-7)"), "{text}");
    assert_valid("run", &crate::json::run(&run));

    let mut found = found;
    let expired = Uncovered::Standing(Standing::Expired { since: "2027-01-06".parse().unwrap() });
    found.first_entry().unwrap().get_mut().covered = Err(expired);
    run.list(&found);
    let text = crate::terminal::run(&run, Style::PLAIN);
    assert!(text.starts_with("✗ "), "{text}");
    let unwrapped = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        unwrapped
            .contains("frozen until 2027-01-05 (SHOP-7), which does not cover this: expired on 2027-01-06"),
        "{text}"
    );
}

#[test]
fn a_check_names_the_entries_of_its_findings_and_of_what_it_keeps_out_of_the_evidence() {
    let mut check = samples::blocked();
    let candidate = &mut check.candidates[0];
    let withheld = candidate.evidence.remove(0).id;
    let first = candidate.findings[0].id.clone();
    let effect = Effect {
        findings: BTreeMap::from([(first.clone(), covered(first.raw(), Ok(())))]),
        withheld: vec![Withheld {
            test: withheld.clone(),
            entry: Entry::Frozen(frozen(withheld.raw())),
            taken_out: false,
        }],
    };
    candidate.list(&effect);
    assert!(candidate.not_evidence.iter().any(|n| n.id == withheld && n.why.starts_with("frozen until")));
    let document = crate::json::check(&check);
    assert_valid("check", &document);
    assert_eq!(document["findings"][0]["ledger"]["covered"], true);
    let text = crate::terminal::check(&check, Style::PLAIN);
    assert!(text.contains("note  frozen until 2027-01-05 (SHOP-7)"), "{text}");
    assert!(text.contains("1: frozen until 2027-01-05 (SHOP-7)"), "{text}");
}

#[test]
fn checks_are_listed_a_line_each() {
    let check = |id: &str, verdict: &str, patches: &[&str]| StoredCheckView {
        id: id.into(),
        created_ms: 1_796_099_700_000,
        verdict: verdict.into(),
        base: "0ee21753186cf00d".into(),
        patches: patches.iter().map(ToString::to_string).collect(),
    };
    let view = ChecksView {
        project: Project { name: "shop".into(), root: "/tmp/shop".into() },
        checks: vec![
            check("c10", "block", &["a.diff", "b\u{1b}[2J.diff"]),
            check("c9", "accept", &["working tree"]),
        ],
        exit_code: 0,
    };
    let mut out = Vec::new();
    terminal::checks(&view, Style::PLAIN, &mut out).unwrap();
    assert_valid("checks", &document(|out| json::checks(&view, out)));
    assert_snapshot!(String::from_utf8(out).unwrap());
}

/// A text with its white space made single blanks.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn explained(view: &ExplainView) -> String {
    let mut out = Vec::new();
    terminal::explain(view, Style::PLAIN, &mut out).unwrap();
    assert_valid("explain", &document(|out| json::explain(view, out)));
    String::from_utf8(out).unwrap()
}

#[test]
fn a_row_of_the_table_is_explained_with_the_action_in_force() {
    assert_snapshot!(explained(&ExplainView::of(Finding::PoisonsNeighbours, &Rules::default())));
    let mut rules = Rules::default();
    rules.set(Finding::Masked, Action::Block).unwrap();
    let text = unwrapped(&explained(&ExplainView::of(Finding::Masked, &rules)));
    assert!(text.contains("set in `[verdict]`, the default is `review`"), "{text}");
    let text = explained(&ExplainView::of(Finding::Exposed, &Rules::default()));
    assert!(text.contains("`block` where the default order fails"), "{text}");
}

#[test]
fn every_finding_is_explained_and_the_page_about_the_verdict_has_the_same_rows() {
    let page = include_str!("../../../../docs/verdict.md");
    let mut rows: BTreeMap<&str, &str> = BTreeMap::new();
    for line in page.lines().filter(|l| l.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        if let [finding, .., action] = cells.as_slice()
            && cells.len() == 4
        {
            rows.insert(finding.trim_matches('`'), action);
        }
    }
    for finding in Finding::ALL {
        let view = ExplainView::of(finding, &Rules::default());
        let document = document(|out| json::explain(&view, out));
        for key in ["on_patched", "shown_by", "example", "advice"] {
            assert!(document[key].as_str().is_some_and(|t| t.len() > 10), "{finding:?}: {key}");
        }
        assert!(explained(&view).contains(finding.word()));
        let word = finding.word();
        let told = page.contains(&format!("`{word}`"));
        assert!(told, "docs/verdict.md does not name `{word}`");
        // What no run can find yet has no row.
        if let Some(action) = rows.remove(word) {
            let default = format!("`{}`", view.default_action.word());
            assert!(action.starts_with(&default), "docs/verdict.md: `{word}` has {action}, not {default}");
        } else {
            assert_eq!(finding, Finding::NewLeak, "docs/verdict.md has no row for `{word}`");
        }
    }
    assert!(rows.is_empty(), "docs/verdict.md has rows for what is no finding: {rows:?}");
}
