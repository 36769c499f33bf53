//! What must hold in any world.

use std::collections::BTreeSet;

use anyorder_core::model::{Executor, OrderLabel, TestIx};
use anyorder_core::verdict::{
    Action, Answer, Class, ClassRules, ClassWitness, Classifier, Finding, Judge, JudgeInput, JudgeRules,
    Kind, Probe, Rules, Side, StarResult, TouchedTests, TreeResult, VerdictOutcome,
};
use anyorder_testkit::{Check, Checked, Coupling, Plan, Rng, World, answer, classify, sweep};

/// A random patch: perhaps another coupling, a broken test, a removed one, some new ones.
fn patched(base: &World, chaos: bool, rng: &mut Rng) -> World {
    let mut world = base.clone();
    for i in 0..rng.below(4) {
        let at = rng.below(world.ids().len());
        world = world.inserted(at, &format!("tests/test_00.py::new_{i}"));
    }
    let ids = rng.sample(world.ids(), 4);
    if rng.chance(0.5) {
        let rate = if chaos { rng.pick(&[0.5, 1.0]) } else { 1.0 };
        let coupling = Coupling::victim(&ids[0], &[ids[1].as_str()], &[]).sometimes(rate);
        world = world.with(coupling);
    }
    if rng.chance(0.3) {
        world = world.always(&ids[2], anyorder_core::model::Outcome::Failed);
    }
    if rng.chance(0.3) {
        world = world.removed(&ids[3]);
    }
    world
}

fn plan() -> Plan {
    Plan::with_seeds(8)
}

#[test]
fn classes_are_exact_where_nothing_happens_by_chance() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let world = World::random(40, false, &mut rng);
        assert!(world.is_deterministic());
        let runner = world.runner();
        let swept = sweep(&runner, &plan(), Executor::Fork, &mut rng);
        let result = classify(Side::Base, &runner, swept, 1 + rng.below(4), &mut rng);
        for (ix, class) in result.classes.iter() {
            let kinds: BTreeSet<Kind> =
                result.sweep.matrix().vector(ix).0.iter().map(|o| Kind::of(*o)).collect();
            let expected = match kinds.iter().next() {
                Some(kind) if kinds.len() == 1 => kind.stable_class(),
                _ => Class::OrderSensitive,
            };
            assert_eq!((class.class, class.settled), (expected, true), "seed {seed}, {kinds:?}");
            if let Some(ClassWitness::Order { failing, passing }) = &class.witness {
                let kind = |label| {
                    let column = result.sweep.column(label).unwrap();
                    Kind::of(result.sweep.matrix().get(column, ix))
                };
                assert!(kind(failing) > kind(passing));
                let reruns = |label: &OrderLabel| class.reruns.iter().filter(|o| o.label == *label).count();
                assert!(reruns(failing) >= 3 && reruns(passing) >= 3);
            }
        }
        assert!(result.reruns <= 40, "{} reruns", result.reruns);
    }
}

#[test]
fn a_coin_is_never_called_order_sensitive_more_often_than_its_reruns_allow() {
    let mut wrong = 0;
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let runner = World::of_size(10).flaky("tests/test_00.py::test_3", 0.5).runner();
        let swept = sweep(&runner, &plan(), Executor::Fork, &mut rng);
        let result = classify(Side::Base, &runner, swept, 1, &mut rng);
        wrong += u32::from(result.classes.get(TestIx(3)).unwrap().class == Class::OrderSensitive);
    }
    // Three agreeing reruns on each side: 2^-6 at a rate of one half, which is the worst.
    assert!(wrong <= 15, "{wrong} of 300");
}

#[test]
fn nothing_mixed_needs_no_rerun() {
    let mut rng = Rng::new(1);
    let runner = World::of_size(10).runner();
    let swept = sweep(&runner, &plan(), Executor::Fork, &mut rng);
    assert!(Classifier::when_nothing_is_mixed(&swept).is_some());
    assert!(Classifier::new(Side::Base, swept, ClassRules::default()).is_done());
    let runner = World::of_size(10).with(Coupling::brittle("tests/test_00.py::test_3", &[])).runner();
    let swept = sweep(&runner, &plan(), Executor::Fork, &mut rng);
    assert!(Classifier::when_nothing_is_mixed(&swept).is_some(), "it fails in every order");
}

type Said = Vec<(String, Finding, Action, u32)>;

fn said(checked: &Checked) -> Said {
    let said = |j: &anyorder_core::verdict::Judgement| (j.test.to_string(), j.finding, j.action, j.cause);
    checked.verdict.findings.iter().map(said).collect()
}

#[test]
fn jobs_and_the_sequence_of_answers_do_not_change_a_verdict() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let base = World::random(30, false, &mut rng);
        let after = patched(&base, false, &mut rng);
        let run =
            |batch| Check { batch, plan: plan(), ..Check::default() }.run(&base, &after, &mut Rng::new(seed));
        let one = run(1);
        for batch in [2, 5, 64] {
            let many = run(batch);
            assert_eq!(said(&many), said(&one), "seed {seed}, {batch} at a time");
            assert_eq!(many.verdict.evidence, one.verdict.evidence);
        }
    }
}

fn measured(world: &World, side: Side, rng: &mut Rng) -> TreeResult {
    let runner = world.runner();
    let swept = sweep(&runner, &plan(), Executor::Fork, rng);
    classify(side, &runner, swept, 1, rng)
}

fn judge_of(base: &World, after: &World, rules: JudgeRules, rng: &mut Rng) -> Judge {
    Judge::new(JudgeInput {
        base: measured(base, Side::Base, rng),
        patched: measured(after, Side::Patched, rng),
        touched: TouchedTests::default(),
        star: StarResult::default(),
        rules: Rules::default(),
        judge: rules,
    })
}

#[test]
fn the_same_answers_in_another_sequence_give_the_same_verdict_to_the_letter() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let base = World::random(30, true, &mut rng);
        let after = patched(&base, true, &mut rng);
        let mut judge = judge_of(&base, &after, JudgeRules::default(), &mut rng);
        let (b, p) = (base.runner(), after.runner());
        loop {
            let probes: Vec<Probe> = std::iter::from_fn(|| judge.next_probe()).take(6).collect();
            if probes.is_empty() {
                break;
            }
            let mut answers: Vec<_> = probes
                .iter()
                .map(|probe| (probe.id, answer(probe, &b, &p, &judge.selected(probe), &mut rng)))
                .collect();
            let mut other = judge.clone();
            for (id, answer) in &answers {
                judge.observe(*id, answer);
            }
            rng.shuffle(&mut answers);
            for (id, answer) in &answers {
                other.observe(*id, answer);
                other.observe(*id, &Answer::default());
            }
            assert_eq!(judge.clone().finish(), other.clone().finish(), "seed {seed}");
            judge = other;
        }
    }
}

#[test]
fn every_check_ends_within_its_budget_whatever_the_world_does() {
    for seed in 0..80 {
        let mut rng = Rng::new(1000 + seed);
        let base = World::random(30, true, &mut rng);
        let after = patched(&base, true, &mut rng);
        let budget = u32::try_from(rng.below(60)).unwrap();
        let judge = JudgeRules { max_probes: budget, ..JudgeRules::default() };
        let batch = 1 + rng.below(4);
        let checked = Check { judge, batch, plan: plan(), ..Check::default() }.run(&base, &after, &mut rng);
        assert!(checked.probes.len() <= budget as usize);
        let verdict = &checked.verdict;
        if verdict.undecided > 0 {
            assert_ne!(verdict.outcome, VerdictOutcome::Accept);
        }
        // Each test of patched is evidence, or silent, or has a finding; evidence passed wherever it was reached.
        let suite = checked.patched.sweep.suite();
        for test in suite.tests() {
            let found = verdict.findings.iter().filter(|j| j.test == test.id).count();
            let silent = usize::from(verdict.silent.contains(&test.id));
            let evidence = verdict.evidence.contains(&test.id);
            let credited = verdict.findings.iter().any(|j| j.test == test.id && j.action.is_evidence());
            assert_eq!(found + silent + usize::from(evidence && !credited), 1, "seed {seed}: {}", test.id);
            if evidence {
                let class = checked.patched.of(&test.id).unwrap().0;
                assert!(class.class == Class::StablePass && class.unreached.is_empty());
            }
        }
    }
}

#[test]
fn a_probe_that_is_never_answered_well_ends_in_a_review() {
    let mut rng = Rng::new(1);
    let base = World::of_size(20);
    let victim = Coupling::victim("tests/test_00.py::test_3", &["tests/test_01.py::test_12"], &[]);
    let mut judge = judge_of(&base, &base.clone().with(victim), JudgeRules::default(), &mut rng);
    let mut asked = 0;
    while let Some(probe) = judge.next_probe() {
        judge.observe(probe.id, &Answer::default());
        asked += 1;
    }
    assert!(asked <= 9, "{asked}");
    let verdict = judge.finish();
    assert_eq!(verdict.outcome, VerdictOutcome::Review);
    assert_eq!(verdict.findings[0].finding, Finding::Inconclusive);
}

#[test]
fn giving_up_leaves_what_is_undecided_to_a_person() {
    let mut rng = Rng::new(1);
    let base = World::of_size(20);
    let victim = Coupling::victim("tests/test_00.py::test_3", &["tests/test_01.py::test_12"], &[]);
    let mut judge = judge_of(&base, &base.clone().with(victim), JudgeRules::default(), &mut rng);
    assert!(judge.next_probe().is_some());
    assert_eq!(judge.undecided().len(), 1);
    judge.give_up();
    assert!(judge.next_probe().is_none() && !judge.is_done(), "one is still out");
    assert_eq!(judge.finish().outcome, VerdictOutcome::Review);
}
