//! The rules of the ledger, held against simulated suites: what may enter, what an entry covers, what it does to a verdict.

use anyorder_core::ledger::{
    Chance, Change, Comparison, Date, Entry, FreezeRefusal, Frozen, Lapse, Ledger, Ledgers, Now, Observed,
    QuarantineRefusal, Quarantined, Recorded, Standing, Uncovered, apply, excuse, found, may_freeze,
    may_quarantine, signatures, standing,
};
use anyorder_core::model::{Executor, OrderLabel, Outcome, OutcomeVector, Seed, Signature, TestId, TestIx};
use anyorder_core::verdict::{Action, Class, Finding, Rules, Side, TreeResult, VerdictOutcome};
use anyorder_testkit::{Check, Checked, Coupling, Plan, Rng, World, classify, sweep};

const NOW: &str = "2026-12-01";

fn day(text: &str) -> Date {
    text.parse().unwrap()
}

fn suite() -> World {
    let ids: Vec<String> = (0..24).map(id).collect();
    let named = World::new(ids.clone());
    ids.iter().zip(100..).fold(named, |world, (id, source)| world.source(id, source))
}

fn id(i: usize) -> String {
    format!("tests/test_{}.py::t{i}", i / 8)
}

fn measured(world: &World, rng: &mut Rng) -> TreeResult {
    let runner = world.runner();
    let swept = sweep(&runner, &Plan::with_seeds(20), Executor::Fork, rng);
    classify(Side::Patched, &runner, swept, 1, rng)
}

fn ix(tree: &TreeResult, i: usize) -> TestIx {
    tree.sweep.suite().find(&TestId::new(id(i))).unwrap()
}

/// The entry that a measurement allows for a test, if any.
fn entry(tree: &TreeResult, test: TestIx) -> Option<Entry> {
    let info = tree.sweep.suite().info(test);
    let signatures = signatures(tree, test);
    let (test_id, issue) = (info.id.clone(), "SHOP-7".to_owned());
    if let Ok(recorded) = may_freeze(tree, test) {
        return Some(Entry::Frozen(Frozen {
            test: test_id,
            recorded,
            polluters: Vec::new(),
            signatures,
            frozen_at: day(NOW),
            freeze_until: day("2027-01-05"),
            issue,
            renewed: None,
        }));
    }
    let chance = may_quarantine(tree, test).ok()?;
    Some(Entry::Quarantined(Quarantined {
        test: test_id,
        source: info.source,
        chance,
        signatures,
        quarantined_at: day(NOW),
        until: None,
        issue,
    }))
}

/// All that may be listed.
fn ledger(tree: &TreeResult) -> Ledger {
    Ledger::new(tree.sweep.suite().indices().filter_map(|test| entry(tree, test))).unwrap()
}

/// A ledger that base has as well.
fn alone(ledger: &Ledger) -> Ledgers<'_> {
    Ledgers { now: ledger, base: ledger }
}

fn polluted(victim: usize, polluter: usize) -> Coupling {
    Coupling::victim(&id(victim), &[&id(polluter)], &[])
}

fn check(base: &World, patched: &World, rules: &Rules) -> Checked {
    Check { rules: rules.clone(), ..Check::default() }.run(base, patched, &mut Rng::new(1))
}

#[test]
fn only_what_was_measured_to_depend_on_order_may_be_frozen() {
    let world = suite()
        .with(polluted(3, 9))
        .always(&id(5), Outcome::Failed)
        .always(&id(6), Outcome::Skipped)
        .flaky(&id(7), 0.5);
    let tree = measured(&world, &mut Rng::new(3));
    let recorded = may_freeze(&tree, ix(&tree, 3)).unwrap();
    assert_eq!(recorded.orders(), tree.sweep.labels());
    assert_eq!(recorded.seeds(), 20);
    let refused = |i| may_freeze(&tree, ix(&tree, i)).unwrap_err();
    assert_eq!(refused(5), FreezeRefusal::Fails);
    assert!(refused(5).to_string().contains("can never be frozen"));
    assert_eq!(refused(6), FreezeRefusal::Skipped);
    assert!(matches!(refused(7), FreezeRefusal::Flaky { order: Some(_) }));
    assert!(refused(7).advice().contains("anyorder quarantine"));
    assert_eq!(refused(0), FreezeRefusal::Passes { orders: tree.sweep.labels().len() });
    assert_eq!(may_freeze(&tree, TestIx(999)), Err(FreezeRefusal::NoSuchTest));
}

#[test]
fn only_what_gave_two_outcomes_for_one_order_may_be_quarantined() {
    let world = suite().with(polluted(3, 9)).always(&id(5), Outcome::Failed).flaky(&id(7), 0.5);
    let tree = measured(&world, &mut Rng::new(3));
    let chance = may_quarantine(&tree, ix(&tree, 7)).unwrap();
    let kinds = |outcome| chance.outcomes().0.contains(&outcome);
    assert!(kinds(Outcome::Passed) && kinds(Outcome::Failed), "{chance:?}");
    let refused = |i| may_quarantine(&tree, ix(&tree, i)).unwrap_err();
    assert_eq!(refused(3), QuarantineRefusal::OrderSensitive);
    assert!(refused(3).advice().contains("anyorder freeze"));
    assert_eq!(refused(5), QuarantineRefusal::Fails);
    assert_eq!(refused(0), QuarantineRefusal::Passes { orders: tree.sweep.labels().len() });
}

#[test]
fn a_test_whose_reruns_ended_early_is_neither() {
    let world = suite().with(polluted(3, 9)).runner();
    let rng = &mut Rng::new(3);
    let swept = sweep(&world, &Plan::with_seeds(20), Executor::Fork, rng);
    let mut classifier = anyorder_core::verdict::Classifier::new(
        Side::Base,
        swept,
        anyorder_core::verdict::ClassRules::default(),
    );
    classifier.give_up();
    let tree = classifier.finish();
    assert_eq!(may_freeze(&tree, ix(&tree, 3)), Err(FreezeRefusal::Unsettled));
    assert_eq!(may_quarantine(&tree, ix(&tree, 3)), Err(QuarantineRefusal::Unsettled));
}

#[test]
fn in_random_suites_an_entry_needs_its_class_and_covers_what_it_was_made_from() {
    let rng = &mut Rng::new(11);
    let mut entries = 0;
    for _ in 0..60 {
        let world = World::random(30, true, rng);
        let tree = measured(&world, rng);
        for (test, class) in tree.classes.iter() {
            let frozen = may_freeze(&tree, test);
            let quarantined = may_quarantine(&tree, test);
            assert_eq!(frozen.is_ok(), class.class == Class::OrderSensitive && class.settled, "{frozen:?}");
            assert_eq!(quarantined.is_ok(), class.class == Class::Flaky, "{quarantined:?}");
            let Some(entry) = entry(&tree, test) else { continue };
            let mut observed = Observed::of(&tree, test).unwrap();
            if let (Entry::Quarantined(_), None) = (&entry, observed.source) {
                // Of unknown source, on both sides: it stands until its day.
                assert_eq!(excuse(&entry, day(NOW), &observed), Ok(()));
            }
            assert_eq!(excuse(&entry, day(NOW), &observed), Ok(()), "{entry:?}");
            observed.signatures.push(Signature("something new".into()));
            assert!(excuse(&entry, day(NOW), &observed).is_err(), "a new failure is never hidden");
            entries += 1;
        }
    }
    assert!(entries > 60, "{entries}");
}

#[test]
fn an_entry_protects_through_its_last_day_and_not_after_it() {
    let tree = measured(&suite().with(polluted(3, 9)), &mut Rng::new(3));
    let entry = entry(&tree, ix(&tree, 3)).unwrap();
    let on = |text| standing(&entry, day(text), Now::Unknown);
    assert_eq!(on("2027-01-05"), Standing::Protects);
    assert_eq!(on("2027-01-06"), Standing::Expired { since: day("2027-01-06") });
    assert_eq!(on("2031-01-01"), Standing::Expired { since: day("2027-01-06") });
    assert_eq!(standing(&entry, day(NOW), Now::Gone), Standing::Gone);
    // Freezing is about order; editing the test does not end it.
    assert_eq!(standing(&entry, day(NOW), Now::Collected(Some(1))), Standing::Protects);
    let observed = Observed::of(&tree, ix(&tree, 3)).unwrap();
    let expired = excuse(&entry, day("2027-01-06"), &observed).unwrap_err();
    assert_eq!(expired.to_string(), "expired on 2027-01-06");
}

#[test]
fn a_quarantine_lapses_when_the_source_or_the_failure_changes() {
    let tree = measured(&suite().flaky(&id(7), 0.5), &mut Rng::new(3));
    let entry = entry(&tree, ix(&tree, 7)).unwrap();
    let lapsed = |why| Standing::Lapsed { why };
    assert_eq!(standing(&entry, day("2999-01-01"), Now::Collected(Some(107))), Standing::Protects);
    for source in [Some(1), None] {
        assert_eq!(standing(&entry, day(NOW), Now::Collected(source)), lapsed(Lapse::SourceChanged));
    }
    let mut observed = Observed::of(&tree, ix(&tree, 7)).unwrap();
    observed.signatures = vec![Signature("OSError @ x".into())];
    let uncovered = excuse(&entry, day(NOW), &observed);
    assert_eq!(uncovered, Err(Uncovered::Standing(lapsed(Lapse::FailureChanged))));
}

#[test]
fn another_class_another_polluter_or_an_unsettled_class_is_not_covered() {
    let tree = measured(&suite().with(polluted(3, 9)), &mut Rng::new(3));
    let Some(Entry::Frozen(mut frozen)) = entry(&tree, ix(&tree, 3)) else { panic!("frozen") };
    frozen.polluters = vec![TestId::new(id(9))];
    let entry = Entry::Frozen(frozen);
    let observed = Observed::of(&tree, ix(&tree, 3)).unwrap();
    let with = |change: &dyn Fn(&mut Observed)| {
        let mut observed = observed.clone();
        change(&mut observed);
        excuse(&entry, day(NOW), &observed)
    };
    assert_eq!(with(&|o| o.polluters = vec![TestId::new(id(9))]), Ok(()));
    assert_eq!(
        with(&|o| o.polluters = vec![TestId::new(id(9)), TestId::new(id(10))]),
        Err(Uncovered::NewPolluter(TestId::new(id(10))))
    );
    assert_eq!(with(&|o| o.class = Class::StableFail), Err(Uncovered::OtherClass(Class::StableFail)));
    assert_eq!(with(&|o| o.class = Class::Flaky), Err(Uncovered::OtherClass(Class::Flaky)));
    assert_eq!(with(&|o| o.settled = false), Err(Uncovered::Unsettled));
}

#[test]
fn a_failure_without_a_signature_is_told_by_its_outcome() {
    let crashes = polluted(3, 9).giving(Outcome::Crashed);
    let tree = measured(&suite().with(crashes), &mut Rng::new(3));
    assert_eq!(signatures(&tree, ix(&tree, 3)), [Signature("crashed".into())]);
    // Tests behind the crash were never reached, which is no failure of theirs.
    assert_eq!(signatures(&tree, ix(&tree, 4)), []);
    let before = measured(&suite().with(polluted(3, 9)), &mut Rng::new(3));
    let entry = entry(&before, ix(&before, 3)).unwrap();
    let covered = excuse(&entry, day(NOW), &Observed::of(&tree, ix(&tree, 3)).unwrap());
    assert_eq!(covered, Err(Uncovered::NewFailure(Signature("crashed".into()))));
}

#[test]
fn a_run_finds_which_of_its_tests_are_covered() {
    let tree =
        measured(&suite().with(polluted(3, 9)).with(polluted(4, 10)).flaky(&id(7), 0.5), &mut Rng::new(3));
    let mut ledger = ledger(&tree);
    ledger.remove(&TestId::new(id(4)));
    let listed = found(&ledger, day(NOW), &tree);
    let tests: Vec<TestIx> = listed.keys().copied().collect();
    assert_eq!(tests, [ix(&tree, 3), ix(&tree, 7)]);
    assert!(listed.values().all(|c| c.covered.is_ok()));
    assert!(found(&ledger, day("2027-02-01"), &tree)[&ix(&tree, 3)].covered.is_err());
}

#[test]
fn a_frozen_test_is_no_evidence_even_when_it_passes() {
    let sick = measured(&suite().with(polluted(3, 9)), &mut Rng::new(3));
    let ledger = ledger(&sick);
    let mut checked = check(&suite(), &suite(), &Rules::default());
    assert_eq!(checked.verdict.evidence.len(), 24);
    for today in [NOW, "2031-01-01"] {
        let mut verdict = checked.verdict.clone();
        let effect = apply(alone(&ledger), day(today), &mut verdict, &checked.patched);
        let withheld: Vec<&TestId> = effect.withheld.iter().map(|w| &w.test).collect();
        assert_eq!(withheld, [&TestId::new(id(3))]);
        assert_eq!((verdict.evidence.len(), verdict.outcome), (23, VerdictOutcome::Accept));
    }
    // Nor when the patch mends it: that is good news, but nothing to cite.
    checked = check(&suite().with(polluted(3, 9)), &suite(), &Rules::default());
    assert_eq!(checked.verdict.findings[0].finding, Finding::Fixed);
    apply(alone(&ledger), day(NOW), &mut checked.verdict, &checked.patched);
    assert!(!checked.verdict.evidence.contains(&TestId::new(id(3))));
    assert_eq!(checked.verdict.findings[0].action, Action::Freeze);
    assert_eq!(checked.verdict.outcome, VerdictOutcome::Accept);
}

#[test]
fn an_entry_that_the_patch_takes_out_still_keeps_its_test_out_of_the_evidence() {
    let sick = measured(&suite().with(polluted(3, 9)), &mut Rng::new(3));
    let ledger = ledger(&sick);
    let none = Ledger::default();
    let taken_out = Ledgers { now: &none, base: &ledger };
    let mut checked = check(&suite(), &suite(), &Rules::default());
    let effect = apply(taken_out, day(NOW), &mut checked.verdict, &checked.patched);
    assert!(effect.withheld[0].taken_out);
    assert!(!checked.verdict.evidence.contains(&TestId::new(id(3))));
    // Nor does it cover anything any more.
    let mut rules = Rules::default();
    rules.set(Finding::PreExisting, Action::Review).unwrap();
    let world = suite().with(polluted(3, 9));
    let mut checked = check(&world, &world, &rules);
    let effect = apply(taken_out, day(NOW), &mut checked.verdict, &checked.patched);
    assert_eq!(checked.verdict.outcome, VerdictOutcome::Review);
    assert_eq!(effect.findings[&TestId::new(id(3))].covered, Err(Uncovered::TakenOut));
}

#[test]
fn a_review_of_what_was_there_before_is_let_through_only_where_an_entry_covers_it() {
    let mut rules = Rules::default();
    rules.set(Finding::PreExisting, Action::Review).unwrap();
    let world = suite().with(polluted(3, 9));
    let checked = check(&world, &world, &rules);
    assert_eq!(checked.verdict.outcome, VerdictOutcome::Review);
    let ledger = ledger(&checked.patched);
    let after = |today| {
        let mut verdict = checked.verdict.clone();
        let effect = apply(alone(&ledger), day(today), &mut verdict, &checked.patched);
        (verdict.outcome, verdict.findings[0].action, effect.findings[&TestId::new(id(3))].covered.clone())
    };
    assert_eq!(after(NOW), (VerdictOutcome::Accept, Action::Freeze, Ok(())));
    let (outcome, action, covered) = after("2027-01-06");
    assert_eq!((outcome, action), (VerdictOutcome::Review, Action::Review));
    assert!(matches!(covered, Err(Uncovered::Standing(Standing::Expired { .. }))));
    // A block that the configuration asks for stays one.
    rules.set(Finding::PreExisting, Action::Block).unwrap();
    let mut checked = check(&world, &world, &rules);
    apply(alone(&ledger), day(NOW), &mut checked.verdict, &checked.patched);
    assert_eq!(checked.verdict.outcome, VerdictOutcome::Block);
}

#[test]
fn an_entry_never_makes_another_finding_milder() {
    let sick = measured(&suite().with(polluted(3, 9)), &mut Rng::new(3));
    let ledger = ledger(&sick);
    let mut checked = check(&suite(), &suite().with(polluted(3, 9)), &Rules::default());
    assert_eq!(checked.verdict.findings[0].finding, Finding::Introduced);
    let effect = apply(alone(&ledger), day(NOW), &mut checked.verdict, &checked.patched);
    assert_eq!(checked.verdict.outcome, VerdictOutcome::Block);
    let covered = &effect.findings[&TestId::new(id(3))].covered;
    assert!(covered.is_err(), "{covered:?}");
}

#[test]
fn in_random_patches_a_ledger_takes_evidence_away_and_softens_nothing_else() {
    let rng = &mut Rng::new(5);
    let mut rules = Rules::default();
    rules.set(Finding::PreExisting, Action::Review).unwrap();
    rules.set(Finding::Flaky, Action::Review).unwrap();
    for _ in 0..40 {
        let base = World::random(25, true, rng);
        let patched = if rng.chance(0.5) {
            base.clone().with(Coupling::victim(&base.ids()[2], &[&base.ids()[9]], &[]))
        } else {
            World::random(25, true, rng)
        };
        let checked = Check { rules: rules.clone(), ..Check::default() }.run(&base, &patched, rng);
        let ledger = ledger(if rng.chance(0.5) { &checked.base } else { &checked.patched });
        let mut after = checked.verdict.clone();
        let effect = apply(alone(&ledger), day(NOW), &mut after, &checked.patched);
        let listed = |id: &TestId| ledger.get(id).is_some();
        let expected: Vec<&TestId> = checked.verdict.evidence.iter().filter(|id| !listed(id)).collect();
        assert_eq!(after.evidence.iter().collect::<Vec<_>>(), expected);
        assert_eq!(effect.withheld.len() + after.evidence.len(), checked.verdict.evidence.len());
        for before in &checked.verdict.findings {
            let now = after.findings.iter().find(|j| j.test == before.test).unwrap();
            assert_eq!((now.finding, &now.witness), (before.finding, &before.witness));
            if !listed(&before.test) {
                assert_eq!(now.action, before.action);
            } else if before.action.is_evidence() {
                assert!(!now.action.is_evidence() && now.action < Action::Review);
            } else if now.action != before.action {
                assert_eq!(before.action, Action::Review);
                assert!(matches!(before.finding, Finding::PreExisting | Finding::Flaky));
                assert_eq!(effect.findings[&before.test].covered, Ok(()));
            }
        }
        let gravest = after.findings.iter().map(|j| j.action).max();
        assert_eq!(after.outcome == VerdictOutcome::Block, gravest == Some(Action::Block));
        assert!(after.findings.windows(2).all(|w| w[0].action >= w[1].action));
    }
}

#[test]
fn an_entry_cannot_be_made_of_outcomes_that_say_nothing() {
    let labels = |n| (0..n).map(|i| OrderLabel::Seed(Seed(i))).collect::<Vec<_>>();
    let vector = |text| OutcomeVector::from_letters(text).unwrap();
    for letters in ["FFFF", "FEFE", "PPPP", "sxsx", "----"] {
        assert!(Recorded::new(labels(4), vector(letters)).is_err(), "{letters}");
        assert!(Chance::new(OrderLabel::Default, vector(letters)).is_err(), "{letters}");
    }
    assert!(Recorded::new(labels(3), vector("PPFP")).is_err());
    let twice = vec![OrderLabel::Default, OrderLabel::Default];
    assert!(Recorded::new(twice, vector("PF")).is_err());
    let (old, new) = (
        Recorded::new(labels(4), vector("PPFF")).unwrap(),
        Recorded::new(labels(4), vector("PPFP")).unwrap(),
    );
    assert_eq!(Comparison::of(&old, &new).change, Change::FewerFailing);
}

#[test]
fn one_test_has_one_entry() {
    let tree = measured(&suite().with(polluted(3, 9)), &mut Rng::new(3));
    let entry = entry(&tree, ix(&tree, 3)).unwrap();
    let twice = Ledger::new([entry.clone(), entry.clone()]).unwrap_err();
    assert!(twice.to_string().contains("has two entries"));
    let mut ledger = Ledger::default();
    assert_eq!(ledger.put(entry.clone()), None);
    assert_eq!(ledger.put(entry.clone()), Some(entry));
    assert_eq!(ledger.len(), 1);
}
