//! One small planted patch for each finding, and for each edge between two of them.

use anyorder_core::model::{Executor, OrderLabel, Outcome, TestId};
use anyorder_core::verdict::{
    Action, Arm, ArmRow, Class, Finding, JudgeRules, Judgement, Note, Probe, Role, Side, VerdictOutcome, Why,
};
use anyorder_testkit::{Check, Checked, Coupling, Plan, Rng, World};

fn suite() -> World {
    World::new((0..24).map(|i| format!("tests/test_{}.py::t{i}", i / 8)))
}

fn id(i: usize) -> String {
    format!("tests/test_{}.py::t{i}", i / 8)
}

fn check(base: &World, patched: &World) -> Checked {
    Check::default().run(base, patched, &mut Rng::new(1))
}

/// The judgement about a test.
fn about<'a>(checked: &'a Checked, test: &str) -> &'a Judgement {
    let found = checked.verdict.findings.iter().find(|j| j.test == TestId::new(test));
    found.unwrap_or_else(|| panic!("nothing about {test}: {:?}", checked.verdict.findings))
}

/// Asserts the only finding and the whole outcome.
#[track_caller]
fn only(checked: &Checked, test: &str, finding: Finding, outcome: VerdictOutcome) {
    let found: Vec<_> = checked.verdict.findings.iter().map(|j| (j.test.to_string(), j.finding)).collect();
    assert_eq!(found, [(test.to_owned(), finding)]);
    assert_eq!(checked.verdict.outcome, outcome);
    let is_evidence = checked.verdict.evidence.contains(&TestId::new(test));
    assert_eq!(is_evidence, matches!(finding, Finding::Repaired | Finding::Fixed));
    assert!(about(checked, test).witness.rows().all(|row| !row.observations().is_empty()));
}

fn polluted(victim: usize, polluter: usize) -> Coupling {
    Coupling::victim(&id(victim), &[&id(polluter)], &[])
}

/// What was run to decide, without the search for the tests that matter.
fn replays(checked: &Checked) -> impl Iterator<Item = &Probe> {
    checked.probes.iter().filter(|p| p.why != Why::Minimise)
}

fn failing_order(checked: &Checked) -> &OrderLabel {
    checked.verdict.findings[0].witness.failing().unwrap()
}

#[test]
fn a_suite_that_passes_everywhere_is_evidence_and_costs_no_replay() {
    let checked = check(&suite(), &suite());
    assert_eq!(checked.verdict.outcome, VerdictOutcome::Accept);
    assert_eq!(checked.verdict.evidence.len(), 24);
    assert!(checked.verdict.findings.is_empty() && checked.probes.is_empty());
}

#[test]
fn a_new_coupling_of_old_tests_is_introduced_and_shown_in_fresh_interpreters_on_both_trees() {
    let checked = check(&suite(), &suite().with(polluted(3, 9)));
    only(&checked, &id(3), Finding::Introduced, VerdictOutcome::Block);
    assert!(replays(&checked).all(|p| p.executor == Executor::Fresh && p.attempt > 0));
    assert_eq!(checked.verdict.sequences[failing_order(&checked)], [TestId::new(id(9)), TestId::new(id(3))]);
    let found = about(&checked, &id(3));
    let failing = found.witness.failing().unwrap();
    let count = |side: Side| {
        let rows = found.witness.rows().filter(|r| r.arm().side() == side && r.label() == failing);
        let fresh = rows.flat_map(|r| r.outcomes(Executor::Fresh).0);
        let fresh: Vec<Outcome> = fresh.collect();
        (fresh.iter().filter(|o| !o.passed()).count(), fresh.len())
    };
    assert_eq!(count(Side::Base), (0, 3));
    assert_eq!(count(Side::Patched), (3, 3));
    assert_eq!(found.witness.signatures().len(), 1);
    assert_eq!(found.patched.as_ref().unwrap().class, Class::OrderSensitive);
}

#[test]
fn replays_of_both_trees_alternate() {
    let checked = check(&suite(), &suite().with(polluted(3, 9)));
    let sides: Vec<Side> = replays(&checked).map(|p| p.side).collect();
    assert_eq!(sides, [Side::Patched, Side::Base].repeat(3));
}

#[test]
fn a_new_test_that_leaks_poisons_its_neighbours() {
    let patched = suite().added("new.py::n").with(Coupling::victim(&id(3), &["new.py::n"], &[]));
    let checked = check(&suite(), &patched);
    only(&checked, &id(3), Finding::PoisonsNeighbours, VerdictOutcome::Block);
    assert!(checked.verdict.evidence.contains(&TestId::new("new.py::n")));
}

#[test]
fn a_new_test_that_depends_on_others_is_coupled_as_victim_or_brittle() {
    let victim = suite().added("new.py::n").with(Coupling::victim("new.py::n", &[&id(2)], &[]));
    let checked = check(&suite(), &victim);
    only(&checked, "new.py::n", Finding::NewTestCoupled, VerdictOutcome::Block);
    assert_eq!(about(&checked, "new.py::n").role, Some(Role::Victim));
    let brittle = suite().added("new.py::n").with(Coupling::brittle("new.py::n", &[&id(2)]));
    let checked = check(&suite(), &brittle);
    only(&checked, "new.py::n", Finding::NewTestCoupled, VerdictOutcome::Block);
    assert_eq!(about(&checked, "new.py::n").role, Some(Role::Brittle));
    assert!(checked.probes.iter().all(|p| p.side == Side::Patched));
}

#[test]
fn a_coupled_new_test_is_named_even_when_the_sweep_ran_nothing_alone() {
    let check = Check { plan: Plan::mirrored(10), ..Check::default() };
    let brittle = suite().added("new.py::n").with(Coupling::brittle("new.py::n", &[&id(2)]));
    let checked = check.run(&suite(), &brittle, &mut Rng::new(1));
    assert_eq!(about(&checked, "new.py::n").role, Some(Role::Brittle));
    let victim = suite().added("new.py::n").with(Coupling::victim("new.py::n", &[&id(2)], &[]));
    let checked = check.run(&suite(), &victim, &mut Rng::new(1));
    assert_eq!(about(&checked, "new.py::n").role, Some(Role::Victim));
}

#[test]
fn a_new_test_that_always_fails_blocks_and_a_new_skipped_one_says_nothing() {
    let patched = suite().added("new.py::f").always("new.py::f", Outcome::Failed);
    only(&check(&suite(), &patched), "new.py::f", Finding::NewTestFails, VerdictOutcome::Block);
    let patched = suite().added("new.py::s").always("new.py::s", Outcome::Skipped);
    let checked = check(&suite(), &patched);
    assert_eq!(checked.verdict.outcome, VerdictOutcome::Accept);
    assert_eq!(checked.verdict.silent, [TestId::new("new.py::s")]);
    assert!(!checked.verdict.evidence.contains(&TestId::new("new.py::s")));
}

#[test]
fn a_test_that_breaks_everywhere_is_regressed_and_replayed_in_the_default_order() {
    let patched = suite().always(&id(3), Outcome::Failed);
    let checked = check(&suite(), &patched);
    only(&checked, &id(3), Finding::Regressed, VerdictOutcome::Block);
    assert_eq!(checked.probes.len(), 4);
    assert!(checked.probes.iter().all(|p| p.label == OrderLabel::Default));
    let base = suite().with(polluted(3, 9));
    only(&check(&base, &patched), &id(3), Finding::Regressed, VerdictOutcome::Block);
}

#[test]
fn a_test_that_fails_everywhere_on_both_is_broken_on_base() {
    let broken = suite().always(&id(3), Outcome::Error);
    only(&check(&broken, &broken), &id(3), Finding::BrokenOnBase, VerdictOutcome::Accept);
}

#[test]
fn a_test_that_the_patch_repairs_is_credited() {
    let checked = check(&suite().always(&id(3), Outcome::Failed), &suite());
    only(&checked, &id(3), Finding::Repaired, VerdictOutcome::Accept);
    assert_eq!(about(&checked, &id(3)).action, Action::Credit);
    let short = Check { plan: Plan(vec![OrderLabel::Default, OrderLabel::Alone]), ..Check::default() };
    let base = suite().always(&id(3), Outcome::Failed);
    let checked = short.run(&base, &suite(), &mut Rng::new(1));
    only(&checked, &id(3), Finding::Repaired, VerdictOutcome::Accept);
    assert!(!checked.probes.is_empty(), "two orders do not suffice without a replay");
}

#[test]
fn a_repair_that_holds_in_some_orders_only_is_no_evidence() {
    let base = suite().always(&id(3), Outcome::Failed);
    let checked = check(&base, &suite().with(polluted(3, 9)));
    only(&checked, &id(3), Finding::Inconclusive, VerdictOutcome::Review);
    assert_eq!(about(&checked, &id(3)).notes, [Note::PartlyRepaired]);
}

#[test]
fn an_old_coupling_is_pre_existing_whatever_is_added_beside_it() {
    let old = suite().with(polluted(3, 9)).with(Coupling::brittle(&id(20), &[&id(1)]));
    let patched = old.clone().inserted(2, "new.py::a").inserted(9, "new.py::b");
    let checked = check(&old, &patched);
    assert_eq!(checked.verdict.outcome, VerdictOutcome::Accept);
    let found: Vec<Finding> = checked.verdict.findings.iter().map(|j| j.finding).collect();
    assert_eq!(found, [Finding::PreExisting; 2]);
    assert!(checked.probes.is_empty(), "equal orders fail on both: the sweeps show it");
    assert_eq!(checked.verdict.evidence.len(), 24);
}

#[test]
fn a_second_polluter_of_an_old_victim_is_the_patchs_fault() {
    let old = suite().with(polluted(3, 9));
    let patched = old.clone().with(polluted(3, 17));
    only(&check(&old, &patched), &id(3), Finding::Introduced, VerdictOutcome::Block);
    let poisoned = old.clone().added("new.py::n").with(Coupling::victim(&id(3), &["new.py::n"], &[]));
    only(&check(&old, &poisoned), &id(3), Finding::PoisonsNeighbours, VerdictOutcome::Block);
}

#[test]
fn a_coupling_that_the_patch_removes_is_fixed_and_credited() {
    let checked = check(&suite().with(polluted(3, 9)), &suite());
    only(&checked, &id(3), Finding::Fixed, VerdictOutcome::Accept);
    let checked = check(&suite().with(Coupling::brittle(&id(3), &[&id(9)])), &suite());
    only(&checked, &id(3), Finding::Fixed, VerdictOutcome::Accept);
    assert!(checked.probes.iter().all(|p| p.label == OrderLabel::Alone), "a brittle test is replayed alone");
}

#[test]
fn removing_the_polluter_fixes_the_victim() {
    let checked = check(&suite().with(polluted(3, 9)), &suite().removed(&id(9)));
    assert_eq!(about(&checked, &id(3)).finding, Finding::Fixed);
    assert_eq!(about(&checked, &id(9)).finding, Finding::EvidenceLost);
}

#[test]
fn removing_the_cleaner_exposes_the_victim() {
    let coupling = Coupling::victim(&id(3), &[&id(2)], &[&id(1), &id(4), &id(5)]);
    let base = suite().with(coupling);
    let mut patched = base.clone();
    for cleaner in [1, 4, 5] {
        patched = patched.removed(&id(cleaner));
    }
    let checked = check(&base, &patched);
    let found = about(&checked, &id(3));
    assert_eq!((found.finding, found.action), (Finding::Exposed, Action::Block), "the default order is red");
    let arms: Vec<Arm> = found.witness.rows().map(ArmRow::arm).collect();
    for arm in [Arm::BaseFull, Arm::BaseCommon, Arm::PatchedFull] {
        assert!(arms.contains(&arm), "{arms:?}");
    }
}

#[test]
fn new_tests_that_clean_up_mask_an_old_leak() {
    let base = suite().with(polluted(3, 2));
    // So many new cleaners in front of the victim that no order of the sweep fails any more.
    let new: Vec<String> = (0..400).map(|i| format!("tests/test_0.py::n{i}")).collect();
    let cleaners: Vec<&str> = new.iter().map(String::as_str).collect();
    let mut patched = new.iter().fold(suite(), |w, n| w.inserted(3, n));
    patched = patched.with(Coupling::victim(&id(3), &[&id(2)], &cleaners));
    only(&check(&base, &patched), &id(3), Finding::Masked, VerdictOutcome::Review);
}

#[test]
fn what_passed_and_is_skipped_or_gone_is_lost_evidence() {
    let checked = check(&suite(), &suite().always(&id(3), Outcome::Skipped));
    only(&checked, &id(3), Finding::EvidenceLost, VerdictOutcome::Review);
    assert_eq!(about(&checked, &id(3)).notes, [Note::SkippedOnPatched]);
    let checked = check(&suite(), &suite().removed(&id(3)));
    only(&checked, &id(3), Finding::EvidenceLost, VerdictOutcome::Review);
    assert!(about(&checked, &id(3)).patched.is_none() && about(&checked, &id(3)).witness.failing().is_none());
}

#[test]
fn a_moved_test_is_lost_evidence_that_says_where_it_went() {
    let base = suite().source(&id(3), 7);
    let patched =
        suite().removed(&id(3)).added("tests/test_moved.py::t3").source("tests/test_moved.py::t3", 7);
    let checked = check(&base, &patched);
    only(&checked, &id(3), Finding::EvidenceLost, VerdictOutcome::Review);
    let moved = Note::MovedTo(TestId::new("tests/test_moved.py::t3"));
    assert_eq!(about(&checked, &id(3)).notes, [moved, Note::GoneOnPatched]);
}

#[test]
fn a_test_skipped_in_some_orders_is_order_sensitive_too() {
    let skips = suite().with(polluted(3, 9).giving(Outcome::Skipped));
    let checked = check(&skips, &skips);
    only(&checked, &id(3), Finding::PreExisting, VerdictOutcome::Accept);
    assert_eq!(about(&checked, &id(3)).base.as_ref().unwrap().class, Class::OrderSensitive);
    only(&check(&suite(), &skips), &id(3), Finding::Introduced, VerdictOutcome::Block);
}

#[test]
fn a_crash_that_the_patch_brings_blocks_and_names_the_culprit() {
    let patched = suite().with(polluted(3, 9).giving(Outcome::Crashed));
    let checked = check(&suite(), &patched);
    let found = about(&checked, &id(3));
    assert_eq!((found.finding, found.action), (Finding::UnexplainedAbsence, Action::Block));
    assert_eq!(found.notes, [Note::EndsTheProcess]);
    for other in checked.verdict.findings.iter().filter(|j| j.test != TestId::new(id(3))) {
        assert_eq!(other.finding, Finding::UnexplainedAbsence);
        assert_eq!(other.notes, [Note::Unreached { culprit: TestId::new(id(3)) }]);
        assert_eq!(other.cause, found.cause, "one crash, one cause");
        assert_eq!(
            other.patched.as_ref().unwrap().class,
            Class::StablePass,
            "unreached is no order dependence"
        );
    }
    assert!(checked.verdict.findings.len() > 5);
}

#[test]
fn a_crash_that_was_there_before_is_not_the_patchs_fault() {
    let crashes = suite().with(polluted(3, 9).giving(Outcome::Crashed));
    let checked = check(&crashes, &crashes);
    assert_eq!(
        checked.verdict.evidence,
        [TestId::new(id(9))],
        "all others stand behind the crash in some order"
    );
    assert_eq!(checked.verdict.outcome, VerdictOutcome::Accept);
    assert!(checked.verdict.findings.iter().all(|j| j.finding == Finding::PreExisting));
    let always = suite().always(&id(3), Outcome::Crashed);
    let checked = check(&always, &always);
    assert_eq!(checked.verdict.evidence, []);
    assert_eq!(checked.verdict.outcome, VerdictOutcome::Review, "nothing speaks for the patch");
    assert_eq!(about(&checked, &id(3)).finding, Finding::BrokenOnBase);
    assert_eq!(about(&checked, &id(4)).finding, Finding::PreExisting);
}

#[test]
fn a_test_that_only_failed_and_now_crashes_has_got_worse() {
    let base = suite().always(&id(3), Outcome::Failed);
    let checked = check(&base, &suite().always(&id(3), Outcome::Crashed));
    assert_eq!(about(&checked, &id(3)).finding, Finding::UnexplainedAbsence);
    assert_eq!(checked.verdict.outcome, VerdictOutcome::Block);
}

#[test]
fn a_new_test_that_crashes_is_an_unexplained_absence() {
    let patched = suite().added("new.py::n").always("new.py::n", Outcome::Crashed);
    let checked = check(&suite(), &patched);
    assert_eq!(about(&checked, "new.py::n").finding, Finding::UnexplainedAbsence);
    assert_eq!(checked.verdict.outcome, VerdictOutcome::Block);
}

#[test]
fn a_test_that_is_flaky_on_base_is_quarantined_not_blamed() {
    let flaky = suite().flaky(&id(3), 0.4);
    only(&check(&flaky, &flaky), &id(3), Finding::Flaky, VerdictOutcome::Accept);
    let checked = check(&flaky, &suite());
    only(&checked, &id(3), Finding::Flaky, VerdictOutcome::Accept);
    assert!(checked.probes.is_empty());
}

#[test]
fn a_flaky_test_that_the_patch_breaks_for_good_is_regressed() {
    let checked = check(&suite().flaky(&id(3), 0.3), &suite().always(&id(3), Outcome::Failed));
    only(&checked, &id(3), Finding::Regressed, VerdictOutcome::Block);
}

#[test]
fn a_test_that_the_patch_makes_flaky_is_destabilised() {
    // So rarely that no failing order fails again five times in fifteen.
    let outcomes: Vec<Finding> = (0..20)
        .map(|seed| {
            let patched = suite().flaky(&id(3), 0.35);
            let checked = Check::default().run(&suite(), &patched, &mut Rng::new(seed));
            about(&checked, &id(3)).finding
        })
        .collect();
    let loud = outcomes.iter().filter(|f| matches!(f, Finding::Destabilised | Finding::Introduced));
    assert!(loud.count() >= 16, "{outcomes:?}");
    let new = suite().added("new.py::n").flaky("new.py::n", 0.4);
    only(&check(&suite(), &new), "new.py::n", Finding::Destabilised, VerdictOutcome::Review);
}

#[test]
fn a_budget_that_ends_first_leaves_a_review_never_a_pass() {
    let judge = JudgeRules { max_probes: 3, ..JudgeRules::default() };
    let check = Check { judge, ..Check::default() };
    let checked = check.run(&suite(), &suite().with(polluted(3, 9)), &mut Rng::new(1));
    only(&checked, &id(3), Finding::Inconclusive, VerdictOutcome::Review);
    assert_eq!(about(&checked, &id(3)).notes, [Note::BudgetSpent]);
    assert_eq!((checked.verdict.undecided, checked.probes.len()), (1, 3));
}

#[test]
fn five_hundred_cases_hurt_by_one_polluter_are_one_cause_and_share_their_replays() {
    let cases: Vec<String> = (0..500).map(|i| format!("tests/test_p.py::case[{i}]")).collect();
    let base = cases.iter().fold(suite(), |w, c| w.added(c));
    let patched = cases.iter().fold(base.clone(), |w, c| w.with(Coupling::victim(c, &[&id(2)], &[])));
    let checked = check(&base, &patched);
    let found = &checked.verdict.findings;
    assert_eq!(found.iter().filter(|j| j.finding == Finding::Introduced).count(), 500);
    assert!(found.iter().all(|j| j.cause == 1));
    assert!(checked.probes.len() <= 40, "{}", checked.probes.len());
    assert!(checked.patched.reruns <= 30, "{}", checked.patched.reruns);
}

#[test]
fn two_leaks_are_two_causes() {
    let patched = suite().with(polluted(3, 9)).with(polluted(20, 1));
    let checked = check(&suite(), &patched);
    let causes: Vec<u32> = checked.verdict.findings.iter().map(|j| j.cause).collect();
    assert_eq!(causes, [1, 2]);
}

#[test]
fn what_only_forked_runs_show_is_put_before_a_person_not_blocked() {
    let forked = suite().with(polluted(3, 9).only_in(Executor::Fork));
    let checked = check(&suite(), &forked);
    only(&checked, &id(3), Finding::Inconclusive, VerdictOutcome::Review);
    assert_eq!(about(&checked, &id(3)).notes, [Note::ExecutorsDisagree]);
    let fails = suite().with(Coupling::brittle(&id(3), &[]).only_in(Executor::Fork));
    let checked = check(&suite(), &fails);
    only(&checked, &id(3), Finding::Inconclusive, VerdictOutcome::Review);
    only(&check(&forked, &forked), &id(3), Finding::PreExisting, VerdictOutcome::Accept);
}
