//! Names made to do harm (PROMISES S4, S6, I6), in every sink.

use std::time::Duration;

use anyorder_core::model::{
    Ending, Excerpt, Executor, Failure, Order, OrderLabel, Outcome, Phase, RunRecord, Signature, Suite,
    TestId, TestResult,
};
use anyorder_report::progress::{OrderDone, ProgressOrder, ProgressRow, ProgressView, lines, order_line};
use anyorder_report::view::*;
use anyorder_report::{Style, terminal as write_terminal};

use crate::samples::{self, seen, vector};
use crate::{json, junit, terminal};

fn names() -> Vec<String> {
    let mut names: Vec<String> = serde_json::from_str(include_str!("../data/names.json")).unwrap();
    assert_eq!(names.len(), 71);
    names.push("x".repeat(100_000));
    names.push("  ::error::after spaces".into());
    names.push("a\u{85}\u{2028}::error::x\r##[group]".into());
    names
}

/// Whether what a terminal or a CI log gets holds nothing but our own lines and colours.
#[track_caller]
fn assert_harmless(text: &str, colored: bool) {
    let mut rest = String::from(text);
    if colored {
        // Our own colours only: ESC [ digits and semicolons m.
        let mut plain = String::new();
        let mut parts = rest.split("\u{1b}[");
        plain.push_str(parts.next().unwrap());
        for part in parts {
            let (code, after) = part.split_once('m').unwrap();
            assert!(code.chars().all(|c| c.is_ascii_digit() || c == ';'), "{code:?}");
            plain.push_str(after);
        }
        rest = plain;
    }
    for c in rest.chars() {
        assert!(c == '\n' || !c.is_control(), "{c:?} in {rest:?}");
        assert!(
            !matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2028}' | '\u{2029}' | '\u{feff}')
        );
    }
    for line in rest.lines() {
        assert!(!line.trim_start().starts_with("::"), "{line:?}");
        for command in ["##[", "##vso[", "##teamcity["] {
            assert!(!line.contains(command), "{line:?}");
        }
    }
}

/// A run in which everything that a suite or a user can name is hostile.
fn hostile_run(name: &str) -> RunView {
    let mut view = samples::crashed();
    let id = TestId::new(name);
    view.project = Project { name: name.into(), root: name.into() };
    view.tree = name.into();
    view.sweep = Some(name.into());
    view.environment.interpreter = name.into();
    view.environment.plugins = vec![(name.into(), name.into())];
    view.executor.why = Some(name.into());
    view.sandbox = SandboxView { mode: name.into(), why: Some(name.into()) };
    view.switched_off = vec![SwitchedOff { what: name.into(), how: name.into(), whence: name.into() }];
    view.weaknesses = vec![Weakness::StateOutside { what: name.into() }, Weakness::Other(name.into())];
    view.incomplete = Some(Incomplete { why: name.into(), missing: 1, resumable: true });
    view.orders[5].ending = EndingView::Crashed { culprit: Some(id.clone()), how: name.into() };
    view.orders[6].label = OrderLabel::List(name.into());
    view.orders[6].run = Some(name.into());
    view.invocation = Invocation {
        flags: vec!["--python".into(), name.into()],
        pytest_args: vec![name.into()],
        blame: true,
        ..Invocation::default()
    };
    view.failures = vec![FailureView {
        phase: None,
        signature: name.into(),
        text: Excerpt { head: format!("{name}\n{name}"), tail: format!("E {name}"), total_bytes: 999_999 },
    }];
    for (at, letters) in [(0, "PPPPPPF"), (1, "PFPPPPP")] {
        view.tests[at] = TestView {
            listed: None,
            notes: vec![name.into()],
            id: TestId::repeated(name, u32::try_from(at).unwrap() + 1),
            class: Class::OrderSensitive,
            vector: vector(letters),
            failures: vec![FailureAt { order: 6, failure: 0 }],
            witness: Witness {
                seen: vec![
                    seen(OrderLabel::List(name.into()), "FF", Some(name)),
                    seen(OrderLabel::Alone, "F", None),
                ],
                minimal_order: vec![id.clone(), TestId::new("b")],
            },
        };
    }
    view.causes = view.group();
    for cause in &mut view.causes {
        cause.because = Some(name.into());
    }
    view
}

fn hostile_check(name: &str) -> CheckView {
    let run = hostile_run(name);
    let mut view = samples::blocked();
    view.project = run.project;
    view.environment = run.environment;
    view.environment_drift = vec![name.into()];
    view.invocation = run.invocation;
    view.base.name = name.into();
    view.base.revision = Some(name.into());
    view.check = Some(name.into());
    let candidate = &mut view.candidates[0];
    candidate.patched.name = name.into();
    candidate.patched.orders = run.orders;
    candidate.failures = run.failures;
    candidate.incomplete = run.incomplete;
    for finding in &mut candidate.findings {
        finding.id = TestId::new(name);
        finding.failure = Some(0);
        finding.notes = vec![name.into()];
        finding.witness = run.tests[0].witness.clone();
    }
    candidate.causes[0].because = Some(name.into());
    candidate.evidence = vec![EvidenceView { id: TestId::new(name), repaired: false }];
    candidate.not_evidence = vec![NotEvidenceView { id: TestId::new(name), why: name.into() }];
    let twin = candidate.clone();
    view.candidates.push(twin);
    view
}

#[test]
fn no_name_reaches_a_terminal_raw() {
    for name in names() {
        for style in [Style::PLAIN, Style { color: true, width: 50, unicode: false }] {
            assert_harmless(&terminal::run(&hostile_run(&name), style), style.color);
            assert_harmless(&terminal::check(&hostile_check(&name), style), style.color);
            let mut doctor = samples::doctor();
            doctor.version.clone_from(&name);
            doctor.project = Project { name: name.clone(), root: name.clone() };
            doctor.rows[1] = DoctorRow {
                name: name.clone(),
                health: Health::Bad,
                found: name.clone(),
                details: vec![name.clone()],
                advice: Some(name.clone()),
            };
            let mut plan = samples::plan();
            plan.tree.clone_from(&name);
            plan.orders.push(OrderLabel::List(name.clone()));
            plan.options[0].flag.clone_from(&name);
            plan.weaknesses = vec![Weakness::Other(name.clone())];
            let mut out = Vec::new();
            write_terminal::doctor(&doctor, style, &mut out).unwrap();
            write_terminal::plan(&plan, style, &mut out).unwrap();
            assert_harmless(&String::from_utf8(out).unwrap(), style.color);
        }
    }
}

#[test]
fn no_name_breaks_the_live_display() {
    for name in names() {
        let label = OrderLabel::List(name.clone());
        let mut under_way = ProgressOrder::waiting(label.clone(), 10);
        under_way.ended = 3;
        let view = ProgressView {
            tree: name.clone(),
            activity: name.clone(),
            orders: vec![under_way],
            rows: vec![ProgressRow { id: TestId::new(name.as_str()), outcomes: vec![Some(Outcome::Failed)] }],
            suspects: 1,
            ..ProgressView::default()
        };
        for line in lines(&view, Style::PLAIN) {
            assert!(!line.contains('\n'));
            assert_harmless(&line, false);
        }
        let done = OrderDone {
            label,
            tree: name.clone(),
            counts: vec![(Outcome::Passed, 1)],
            duration: Duration::from_secs(1),
            number: 1,
            of: 1,
            ending: Some(name.clone()),
        };
        let line = order_line(&done, Style::PLAIN);
        assert!(!line.contains('\n'));
        assert_harmless(&line, false);
    }
}

#[test]
fn every_name_comes_back_exactly_from_json() {
    for name in names() {
        let document = json::run(&hostile_run(&name));
        assert_eq!(document["tests"][0]["id"], name.as_str());
        assert_eq!(document["tests"][1]["id"], format!("{name} (#2)"));
        assert_eq!(document["causes"][0]["tests"][0], name.as_str());
        assert_eq!(document["failures"][0]["signature"], name.as_str());
        let document = json::check(&hostile_check(&name));
        assert_eq!(document["findings"][0]["id"], name.as_str());
        assert_eq!(document["evidence"][0], name.as_str());
    }
}

#[test]
fn hostile_documents_follow_their_schemas() {
    let run = jsonschema::draft202012::new(&json::schema("run")).unwrap();
    let check = jsonschema::draft202012::new(&json::schema("check")).unwrap();
    for name in names() {
        assert!(run.is_valid(&json::run(&hostile_run(&name))), "{name:?}");
        assert!(check.is_valid(&json::check(&hostile_check(&name))), "{name:?}");
    }
}

#[test]
fn every_name_makes_well_formed_xml() {
    let names = names();
    let suite = Suite::from_raw_ids(names.iter().map(String::as_str));
    let results = suite.indices().zip(&names).map(|(test, name)| TestResult {
        test,
        outcome: if test.0 % 2 == 0 { Outcome::Failed } else { Outcome::Passed },
        duration: Duration::ZERO,
        failure: (test.0 % 2 == 0).then(|| Failure {
            phase: Phase::Call,
            signature: Signature(name.as_str().into()),
            text: Excerpt { head: name.clone(), tail: String::new(), total_bytes: name.len() as u64 },
        }),
    });
    let record = RunRecord {
        order: Order::full(OrderLabel::List(names[8].clone()), suite.indices().collect(), suite.len())
            .unwrap(),
        attempt: 0,
        executor: Executor::Fresh,
        results: results.collect(),
        ending: Ending::Completed,
        wall: Duration::ZERO,
        fixture_setups: None,
        peeks: Vec::new(),
    };
    let xml = junit::write(&record, &suite);
    let holdable = |c: char| matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{fffd}' | '\u{10000}'..);
    assert!(xml.chars().all(holdable));
    let (_, cases) = junit::read(&xml);
    assert_eq!(cases.len(), names.len());
    for (case, (info, name)) in cases.iter().zip(suite.tests().iter().zip(&names)) {
        let exact = info.id.to_string();
        if !exact.chars().all(holdable) {
            assert_eq!(case.exact.as_deref(), Some(exact.escape_default().to_string().as_str()));
            continue;
        }
        assert_eq!(case.exact, None);
        if !exact.contains("::") {
            // Nothing to take apart: the name is the id.
            assert_eq!((case.class.as_str(), case.name.as_str()), ("", exact.as_str()));
        }
        if let Some((_, message, text)) = &case.detail {
            assert_eq!((message, text), (name, name));
        }
    }
}
