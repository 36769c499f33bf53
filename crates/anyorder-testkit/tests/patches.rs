//! Hundreds of simulated patches (METHODS B4), judged to the end. Rates are printed: run with `--nocapture`.
#![expect(clippy::print_stderr, reason = "the measured rates are what these tests are read for")]

use std::collections::BTreeMap;

use anyorder_core::model::TestId;
use anyorder_core::verdict::{Action, VerdictOutcome};
use anyorder_testkit::{Check, Checked, Patch, Rng, Scenario, World};

fn judged(scenario: Scenario, count: u64) -> Vec<(Patch, Checked)> {
    let one = |seed: u64| {
        let mut rng = Rng::new(seed * 7919 + scenario as u64);
        let patch = Patch::new(scenario, &mut rng);
        let checked = Check::default().run(&patch.base, &patch.patched, &mut rng);
        (patch, checked)
    };
    (0..count).map(one).collect()
}

/// Counts the finding about the target, and the blocks that are about anything else.
fn tally(scenario: Scenario, count: u64) -> (BTreeMap<&'static str, u32>, u32, f64) {
    let mut words = BTreeMap::new();
    let mut blamed = 0;
    let mut probes = 0;
    for (patch, checked) in judged(scenario, count) {
        let target = patch.target.as_deref().map(TestId::new);
        let about = checked.verdict.findings.iter().find(|j| Some(&j.test) == target.as_ref());
        *words.entry(about.map_or("undetected", |j| j.finding.word())).or_insert(0) += 1;
        let other = |j: &&_| {
            let j: &anyorder_core::verdict::Judgement = j;
            j.action == Action::Block && Some(&j.test) != target.as_ref()
        };
        for j in checked.verdict.findings.iter().filter(other) {
            blamed += 1;
            eprintln!("blamed: {:?} {:?} {:?}\n{:?}", j.finding, j.base, j.patched, j.witness);
        }
        probes += checked.probes.len();
    }
    (words, blamed, probes as f64 / count as f64)
}

fn show(scenario: Scenario, count: u64) -> (BTreeMap<&'static str, u32>, u32) {
    let (words, blamed, probes) = tally(scenario, count);
    eprintln!("{scenario:?}: {words:?}; blocked for others {blamed}; replays {probes:.1}");
    (words, blamed)
}

fn share(words: &BTreeMap<&'static str, u32>, word: &str) -> f64 {
    let all: u32 = words.values().sum();
    f64::from(words.get(word).copied().unwrap_or(0)) / f64::from(all.max(1))
}

#[test]
fn a_null_patch_is_never_blocked_and_hardly_ever_reviewed() {
    let mut outcomes: BTreeMap<&'static str, u32> = BTreeMap::new();
    let count = 400;
    let mut replays = 0;
    for (patch, checked) in judged(Scenario::Null, count) {
        *outcomes.entry(checked.verdict.outcome.word()).or_default() += 1;
        replays += checked.probes.len();
        if checked.verdict.outcome != VerdictOutcome::Accept {
            let loud = checked.verdict.findings.iter().filter(|j| j.action >= Action::Review);
            for j in loud {
                eprintln!("{:?} {:?} {:?}\n{:?}", j.finding, j.base, j.patched, j.witness);
            }
            eprintln!("{:?}", patch.base.couplings());
        }
    }
    eprintln!("null patches: {outcomes:?}; replays {:.1} each", replays as f64 / count as f64);
    assert_eq!(outcomes.get("block"), None);
    assert!(outcomes["accept"] >= 396, "{outcomes:?}");
}

#[test]
fn a_coupling_that_a_patch_brings_is_found_and_named() {
    let count = 40;
    let (words, blamed) = show(Scenario::NewTestPoisons, count);
    assert!(share(&words, "poisons_neighbours") >= 0.9 && blamed == 0, "{words:?}");
    let (words, blamed) = show(Scenario::NewVictim, count);
    assert!(share(&words, "new_test_coupled") >= 0.9 && blamed == 0, "{words:?}");
    let (words, blamed) = show(Scenario::NewBrittle, count);
    assert!(share(&words, "new_test_coupled") >= 0.99 && blamed == 0, "{words:?}");
    let (words, blamed) = show(Scenario::Introduces, count);
    assert!(share(&words, "introduced") >= 0.9 && blamed == 0, "{words:?}");
}

#[test]
fn a_coupling_that_hurts_by_chance_is_blocked_or_named_destabilised() {
    let (words, blamed) = show(Scenario::IntroducesSometimes, 60);
    assert!(share(&words, "introduced") + share(&words, "destabilised") >= 0.85 && blamed == 0, "{words:?}");
}

#[test]
fn what_a_patch_does_to_old_couplings_is_told_apart() {
    let count = 40;
    let (words, blamed) = show(Scenario::Fixes, count);
    assert!(share(&words, "fixed") >= 0.9 && blamed == 0, "{words:?}");
    let (words, _) = show(Scenario::Exposes, count);
    assert!(share(&words, "exposed") >= 0.9, "{words:?}");
    let (words, _) = show(Scenario::Masks, count);
    assert!(share(&words, "masked") + share(&words, "pre_existing") >= 0.9, "{words:?}");
}

#[test]
fn a_null_patch_is_not_blocked_in_a_world_full_of_chance_and_crashes() {
    let mut outcomes: BTreeMap<&'static str, u32> = BTreeMap::new();
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let base = World::random(40, true, &mut rng);
        let patched = (0..4).fold(base.clone(), |world, i| {
            let at = rng.below(world.ids().len());
            world.inserted(at, &format!("tests/test_00.py::new_{i}"))
        });
        let checked = Check::default().run(&base, &patched, &mut rng);
        let word = match checked.verdict.outcome {
            // A crash in every order keeps all others from being shown clean.
            VerdictOutcome::Review if checked.verdict.evidence.is_empty() => "nothing to cite",
            outcome => outcome.word(),
        };
        *outcomes.entry(word).or_default() += 1;
    }
    eprintln!("null patches among couplings by chance, flaky tests and crashes: {outcomes:?}");
    assert_eq!(outcomes.get("block"), None);
    let silent = outcomes.get("nothing to cite").copied().unwrap_or_default();
    assert!(outcomes["accept"] + silent >= 190 && outcomes["accept"] >= 100, "{outcomes:?}");
}
