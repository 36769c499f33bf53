//! Writes the verdict: findings with their witnesses, evidence, causes.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{OrderLabel, TestId, TestIx};

use super::super::class::{ClassWitness, Kind, Observation};
use super::super::finding::Finding;
use super::super::probe::Side;
use super::super::witness::{
    Arm, ArmRow, Judgement, Note, Replays, SideData, StarCover, Verdict, VerdictOutcome, Witness,
};
use super::Judge;
use super::arms::Decision;
use super::book::{Key, Scope};
use super::cause::{Traits, causes};
use super::short;
use super::triage::{Candidate, Plan};
use super::view::View;

pub(super) fn conclude(judge: &Judge) -> Verdict {
    let mut undecided = 0;
    let mut decided: Vec<(&Candidate, Decision)> = Vec::new();
    for candidate in &judge.triage.candidates {
        let decision = judge.next_of(candidate).unwrap_or_else(|_| {
            undecided += 1;
            Decision::new(Finding::Inconclusive).with(Note::BudgetSpent)
        });
        decided.push((candidate, decision));
    }
    follow_culprits(judge, &mut decided);
    let mut silent = judge.triage.silent.clone();
    let mut found: Vec<(&Candidate, Judgement)> = Vec::new();
    for (candidate, decision) in decided {
        match judgement(judge, candidate, decision) {
            Some(judgement) => found.push((candidate, judgement)),
            None => silent.push(candidate.id.clone()),
        }
    }
    let evidence = evidence(judge, &found);
    let findings = with_causes(judge, found);
    Verdict {
        outcome: VerdictOutcome::of(&findings, &evidence),
        findings,
        evidence,
        silent,
        replays: replays(judge),
        undecided,
        sequences: judge.sequences.clone(),
        star: StarCover {
            covered: judge.input.star.covered.clone(),
            left_out: judge.input.star.left_out.clone(),
        },
    }
}

/// A test that another one kept from running shares that one's fate.
fn follow_culprits(judge: &Judge, decided: &mut [(&Candidate, Decision)]) {
    let patched = View(&judge.input.patched);
    let seen = |c: &Candidate| c.patched.is_some_and(|p| !patched.kinds(p).is_empty());
    let findings: BTreeMap<TestId, Finding> = decided
        .iter()
        .filter(|(c, _)| !matches!(c.plan, Plan::Unreached { .. }))
        .map(|(c, d)| (c.id.clone(), d.finding))
        .collect();
    for (candidate, decision) in decided {
        let Plan::Unreached { culprit, on_base_too, .. } = &candidate.plan else { continue };
        decision.finding = match findings.get(culprit) {
            // The crash is not the patch's fault, but of this test nothing is known.
            Some(Finding::PreExisting | Finding::BrokenOnBase) if !seen(candidate) => Finding::Inconclusive,
            Some(Finding::PreExisting | Finding::BrokenOnBase) => Finding::PreExisting,
            Some(Finding::Flaky | Finding::Destabilised | Finding::Inconclusive) | None if *on_base_too => {
                Finding::PreExisting
            }
            Some(Finding::Flaky | Finding::Destabilised | Finding::Inconclusive) | None => {
                Finding::Inconclusive
            }
            Some(_) => Finding::UnexplainedAbsence,
        };
    }
}

fn judgement(judge: &Judge, candidate: &Candidate, decision: Decision) -> Option<Judgement> {
    let witness = witness(judge, candidate, decision.shown.as_ref())?;
    let (base, patched) = (View(&judge.input.base), View(&judge.input.patched));
    let side = |view: View<'_>, ix: Option<TestIx>| {
        let ix = ix?;
        Some(SideData { class: view.class(ix)?.class, vector: view.0.sweep.matrix().vector(ix) })
    };
    let default_red = candidate
        .patched
        .and_then(|p| patched.kind_in(&OrderLabel::Default, p))
        .is_some_and(|k| k >= Kind::Bad);
    let changed = match (candidate.base, candidate.patched) {
        (Some(b), Some(p)) => {
            let sources = base.suite().info(b).source.zip(patched.suite().info(p).source);
            sources.is_some_and(|(before, after)| before != after)
        }
        (before, _) => before.is_none(),
    };
    let mut notes = candidate.notes.clone();
    notes.extend(decision.notes);
    notes.sort();
    notes.dedup();
    Some(Judgement {
        test: candidate.id.clone(),
        finding: decision.finding,
        action: judge.input.rules.action(decision.finding, default_red),
        base: side(base, candidate.base),
        patched: side(patched, candidate.patched),
        role: decision.role,
        touched: changed || judge.input.touched.tests.contains(&candidate.id),
        notes,
        witness,
        cause: 0,
    })
}

/// Everything observed of a candidate in its failing order and in a passing one, on both trees.
fn witness(judge: &Judge, candidate: &Candidate, shown: Option<&OrderLabel>) -> Option<Witness> {
    let (full, mut passing) = orders(judge, candidate);
    let mut failing = full.clone();
    match &candidate.plan {
        Plan::NewCoupled { failing: OrderLabel::Alone, .. } => passing = shown.cloned().or(passing),
        _ => failing = shown.cloned().or(failing),
    }
    let mut rows = Vec::new();
    let labels: BTreeSet<&OrderLabel> = failing.iter().chain(&full).chain(&passing).collect();
    for label in labels {
        for arm in [Arm::BaseFull, Arm::BaseCommon, Arm::PatchedCommon, Arm::PatchedFull] {
            rows.extend(ArmRow::new(arm, label.clone(), observations(judge, candidate, arm, label)));
        }
    }
    rows.sort_by_key(|row| Some(row.label()) != failing.as_ref());
    Witness::new(failing.filter(|_| fails_somewhere(candidate)), passing, rows)
}

fn fails_somewhere(candidate: &Candidate) -> bool {
    !matches!(candidate.plan, Plan::Settled { finding: Finding::EvidenceLost, .. })
}

/// The failing order of a candidate, and one that its failing tree passes.
fn orders(judge: &Judge, candidate: &Candidate) -> (Option<OrderLabel>, Option<OrderLabel>) {
    let (base, patched) = (View(&judge.input.base), View(&judge.input.patched));
    let on_base = candidate.base.map(|ix| (base, ix));
    let on_patched = candidate.patched.map(|ix| (patched, ix));
    let failing_side = match &candidate.plan {
        Plan::BaseFails(_) => on_base,
        _ => on_patched.or(on_base),
    };
    let failing = match &candidate.plan {
        Plan::Settled { order, .. }
        | Plan::NewFails { order, .. }
        | Plan::Unreached { order, .. }
        | Plan::PreExisting { order, .. } => order,
        Plan::PatchedFails(failing) | Plan::BaseFails(failing) => &failing.order,
        Plan::NewCoupled { failing, passing, .. } => return (Some(failing.clone()), Some(passing.clone())),
    };
    let passing = failing_side.and_then(|(view, ix)| passing_order(view, ix, failing));
    (Some(failing.clone()), passing)
}

/// An order that passes on the tree: the one that reruns have shown, or else the first.
fn passing_order(view: View<'_>, test: TestIx, failing: &OrderLabel) -> Option<OrderLabel> {
    if let Some(ClassWitness::Order { passing, .. }) = &view.class(test)?.witness
        && passing != failing
    {
        return Some(passing.clone());
    }
    let kinds = view.kinds(test);
    let passes = kinds.iter().filter(|(l, k)| *k == Kind::Pass && *l != failing);
    passes.map(|(l, _)| (*l).clone()).next()
}

/// What one arm shows of one test in one order: sweep, reruns of the same order, replays.
fn observations(judge: &Judge, candidate: &Candidate, arm: Arm, label: &OrderLabel) -> Vec<Observation> {
    let side = arm.side();
    let (view, ix) = match side {
        Side::Base => (View(&judge.input.base), candidate.base),
        Side::Patched => (View(&judge.input.patched), candidate.patched),
    };
    let Some(ix) = ix else { return Vec::new() };
    let full = matches!(arm, Arm::BaseFull | Arm::PatchedFull);
    let mut all = if full { view.observations(label, ix) } else { Vec::new() };
    if arm == Arm::PatchedFull {
        all.extend(short::seen_by_star(&judge.input.star, label));
    }
    for (key, _) in judge.book.done().filter(|(k, _)| k.side == side && k.label == *label) {
        if full == matches!(key.scope, Scope::All | Scope::Alone) {
            all.extend(judge.book.observations(key, &candidate.id));
        }
    }
    all
}

/// Tests that may be cited, in default order of patched.
fn evidence(judge: &Judge, found: &[(&Candidate, Judgement)]) -> Vec<TestId> {
    let credited =
        found.iter().filter(|(_, j)| j.action.is_evidence()).filter_map(|(candidate, _)| candidate.patched);
    let all: BTreeSet<TestIx> = judge.triage.evidence.iter().copied().chain(credited).collect();
    let suite = judge.input.patched.sweep.suite();
    all.into_iter().map(|ix| suite.id(ix).clone()).collect()
}

/// Sorts the findings, the gravest first, and numbers their causes.
fn with_causes(judge: &Judge, mut found: Vec<(&Candidate, Judgement)>) -> Vec<Judgement> {
    let place = |c: &Candidate| (c.patched.is_none(), c.patched, c.base);
    found.sort_by_key(|(c, j)| (std::cmp::Reverse(j.action), j.finding, place(c)));
    let traits: Vec<(&TestId, Finding, Traits)> =
        found.iter().map(|(c, j)| (&c.id, j.finding, traits(judge, c, j))).collect();
    let numbers = causes(&traits);
    let numbered = found.iter().zip(numbers).map(|((candidate, judgement), cause)| {
        let mut judgement = judgement.clone();
        judgement.cause = cause;
        (*candidate, judgement)
    });
    let mut numbered: Vec<(&Candidate, Judgement)> = numbered.collect();
    numbered.sort_by_key(|(c, j)| (std::cmp::Reverse(j.action), j.cause, place(c)));
    numbered.into_iter().map(|(_, j)| j).collect()
}

fn traits(judge: &Judge, candidate: &Candidate, judgement: &Judgement) -> Traits {
    let (base, patched) = (View(&judge.input.base), View(&judge.input.patched));
    let sides = [(base, candidate.base), (patched, candidate.patched)];
    let failing = sides.map(|(view, ix)| match ix.and_then(|ix| Some((ix, view.threshold(ix)?))) {
        Some((ix, target)) if target > Kind::Pass => view.failing(ix, target).into_iter().cloned().collect(),
        _ => BTreeSet::new(),
    });
    let stable = |(view, ix): (View<'_>, Option<TestIx>)| {
        ix.and_then(|ix| view.class(ix)).is_none_or(|c| c.class.is_stable())
    };
    let culprit = judgement.notes.iter().find_map(|note| match note {
        Note::Unreached { culprit } => Some(culprit.clone()),
        _ => None,
    });
    Traits {
        failing,
        uniform: sides.into_iter().all(stable),
        signatures: judgement.witness.signatures().into_iter().cloned().collect(),
        file: candidate.id.file().to_owned(),
        behind: behind(judge, candidate, judgement),
        culprit,
    }
}

/// The few tests that matter to a test, where a short order shows what was found.
fn behind(judge: &Judge, candidate: &Candidate, judgement: &Judgement) -> Vec<TestId> {
    let witness = &judgement.witness;
    let shown = [witness.failing(), witness.passing()].into_iter().flatten();
    let Some(label) = shown.into_iter().find(|label| judge.sequences.contains_key(label)) else {
        return Vec::new();
    };
    match candidate.hunt.and_then(|at| judge.hunts.get(at)) {
        Some(hunt) => hunt.behind(judge.view(hunt.side)),
        None => {
            let sequence = &judge.sequences[label];
            sequence[..sequence.len().saturating_sub(1)].to_vec()
        }
    }
}

fn replays(judge: &Judge) -> Replays {
    let mut replays = Replays::default();
    for (Key { side, scope, .. }, runs) in judge.book.done() {
        let runs = u32::try_from(runs).unwrap_or(u32::MAX);
        match side {
            Side::Base => replays.base += runs,
            Side::Patched => replays.patched += runs,
        }
        if *scope == Scope::Alone {
            replays.alone += runs;
        }
    }
    replays
}
