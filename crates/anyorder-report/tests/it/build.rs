//! Views from what the core concluded about runs.

use std::collections::HashMap;
use std::time::Duration;

use anyorder_core::model::{
    Ending, Excerpt, Executor, Failure, Order, OrderLabel, Outcome, Phase, RunRecord, Signature, Suite,
    TestIx, TestResult,
};
use anyorder_core::verdict::{
    Answer, ClassRules, Classifier, Judge, JudgeInput, JudgeRules, Probe, Rules, Side, StarResult, Sweep,
    TouchedTests, TreeResult,
};
use anyorder_report::Style;
use anyorder_report::view::*;
use insta::assert_snapshot;

use crate::samples::{self, seed};
use crate::{json, terminal};

/// What each test does in an order: a letter a test.
type World = HashMap<OrderLabel, &'static str>;

fn record(suite: &Suite, label: &OrderLabel, letters: &str, attempt: u32, executor: Executor) -> RunRecord {
    let results = suite.indices().zip(letters.chars()).map(|(test, letter)| {
        let outcome = Outcome::from_letter(letter).unwrap();
        TestResult {
            test,
            outcome,
            duration: Duration::from_millis(1),
            failure: outcome.is_bad().then(|| Failure {
                phase: Phase::Call,
                signature: Signature("AssertionError @ t.py: assert clean".into()),
                text: Excerpt::default(),
            }),
        }
    });
    RunRecord {
        order: Order::full(label.clone(), suite.indices().collect(), suite.len()).unwrap(),
        attempt,
        executor,
        results: results.collect(),
        ending: Ending::Completed,
        wall: Duration::from_secs(1),
        fixture_setups: None,
        peeks: Vec::new(),
    }
}

fn measured(side: Side, suite: &Suite, orders: &[(OrderLabel, &'static str)]) -> TreeResult {
    let mut sweep = Sweep::new(suite.clone());
    for (label, letters) in orders {
        assert!(sweep.record(&record(suite, label, letters, 0, Executor::Fork)));
    }
    let world: World = orders.iter().cloned().collect();
    let mut classifier = Classifier::new(side, sweep, ClassRules::default());
    while let Some(probe) = classifier.next_probe() {
        let run = record(suite, &probe.label, world[&probe.label], probe.attempt, probe.executor);
        classifier.observe(probe.id, &Answer::from_run(suite, &run, &probe.watch));
    }
    classifier.finish()
}

fn suite() -> Suite {
    Suite::from_raw_ids(["t.py::put", "t.py::starts_empty", "t.py::other"])
}

#[test]
fn the_witness_of_a_class_counts_every_run_of_the_orders_that_show_it() {
    let suite = suite();
    let orders = [
        (OrderLabel::Default, "PFP"),
        (OrderLabel::Alone, "PPP"),
        (OrderLabel::Reverse, "PPP"),
        (seed(1), "PFP"),
    ];
    let tree = measured(Side::Base, &suite, &orders);
    let run_of = |label: &OrderLabel| (*label == OrderLabel::Default).then(|| "17".to_owned());
    let row = TestView::of(&tree, TestIx(1), Vec::new(), &run_of).unwrap();
    assert_eq!((row.class, row.vector.to_string().as_str()), (Class::OrderSensitive, "FPPF"));
    let seen: Vec<_> = row
        .witness
        .seen
        .iter()
        .map(|s| (s.order.to_string(), s.passed() == s.runs(), s.run.clone()))
        .collect();
    let failing = row.witness.seen.iter().find(|s| s.not_passed().is_some()).unwrap();
    assert!(failing.runs() > 1, "the reruns are counted: {seen:?}");
    assert_eq!(failing.passed(), 0);
    assert!(seen.iter().any(|(order, passed, _)| order == "alone" && *passed), "{seen:?}");
    let quiet = TestView::of(&tree, TestIx(0), Vec::new(), &run_of).unwrap();
    assert_eq!((quiet.class, quiet.witness), (Class::StablePass, Witness::default()));
    assert_eq!(TestView::of(&tree, TestIx(9), Vec::new(), &run_of), None);
}

#[test]
fn a_judged_patch_is_told_whole() {
    let suite = suite();
    let labels = [OrderLabel::Default, OrderLabel::Reverse, seed(1)];
    let on = |letters: [&'static str; 3]| labels.iter().cloned().zip(letters).collect::<Vec<_>>();
    let (before, after) = (on(["PPP", "PPP", "PPF"]), on(["PPP", "PFP", "PPF"]));
    let worlds: [World; 2] = [before.iter().cloned().collect(), after.iter().cloned().collect()];
    let mut judge = Judge::new(JudgeInput {
        base: measured(Side::Base, &suite, &before),
        patched: measured(Side::Patched, &suite, &after),
        touched: TouchedTests::default(),
        star: StarResult::default(),
        rules: Rules::default(),
        judge: JudgeRules::default(),
    });
    let run = |probe: &Probe| {
        let world = &worlds[usize::from(probe.side == Side::Patched)];
        let letters = world.get(&probe.label).copied().unwrap_or("PPP");
        record(&suite, &probe.label, letters, probe.attempt, probe.executor)
    };
    while let Some(probe) = judge.next_probe() {
        let answer = Answer::from_run(&suite, &run(&probe), &probe.watch);
        judge.observe(probe.id, &answer);
    }
    let verdict = judge.finish();

    let mut view = samples::accepted();
    let orders: Vec<OrderView> =
        labels.iter().map(|label| OrderView::completed(label.clone(), Duration::from_secs(1))).collect();
    view.base.orders.clone_from(&orders);
    let judged = Judged {
        patched: TreeDescription { name: "a.diff".into(), tests: 3, orders, ..TreeDescription::default() },
        failures: vec![samples::failure("AssertionError @ t.py: assert clean", "E   assert dirty\n")],
        ..Judged::default()
    };
    let run_of = |side: Side, label: &OrderLabel| Some(format!("{}-{label}", side.word()));
    view.candidates = vec![CandidateView::of(&verdict, judged, &run_of)];

    let document = json::check(&view);
    assert_eq!(document["verdict"], "block");
    assert_eq!(document["findings"][0]["finding"], "introduced");
    assert_eq!(document["findings"][0]["id"], "t.py::starts_empty");
    assert_eq!(document["findings"][0]["failure"], 0);
    assert_eq!(document["findings"][1]["finding"], "pre_existing");
    assert_eq!(document["evidence"], serde_json::json!(["t.py::put"]));
    assert_eq!(document["failures"].as_array().unwrap().len(), 1);
    let text = terminal::check(&view, Style::PLAIN);
    let told: Vec<&str> = text.lines().take_while(|line| !line.starts_with("bound")).collect();
    assert_snapshot!(told.join("\n"), @r"
    ✗ block: a.diff: 1 test depends on order since the patch
      shop · a.diff, 3 tests in 3 orders against main (3f2a1c9), 909 tests in 3 orders, measured before
      · 1 min 14 s · check 7

    introduced (blocks)  1 test: passes on base in every order, depends on order since the patch
      t.py::starts_empty
              default reverse seed 1
      base          ✓       ✓      ✓
      patched       ✓       ✗      ✓
      why   fails on patched in reverse (7 of 7 runs, 3 of them fresh), passes on base in reverse (4 of
            4 runs, 3 of them fresh) and in seed:1, passes on patched in seed:1 (4 of 4 runs)
      how   AssertionError @ t.py: assert clean (in call)
            │ E   assert dirty
      next  anyorder replay patched-reverse

    also seen
      pre_existing  t.py::other
        fails on base in seed:1 (4 of 4 runs), fails on patched in seed:1 (4 of 4 runs), passes on base
        in reverse, passes on patched in reverse (4 of 4 runs); not the patch's fault, kept out of the
        evidence

    evidence      1 of 3 tests may be cited for the patch
    not           1: order-sensitive on both trees
                  1: order-sensitive since the patch
    ");
}
