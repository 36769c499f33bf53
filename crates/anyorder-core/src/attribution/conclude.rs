//! From what was found to what is reported.

use crate::model::Executor;

use super::answers::Setting;
use super::blame::Blame;
use super::certify::{NEVER, prove, prove_import};
use super::finding::{Blamed, HittingSet, ImportPolluter, Proof, Role, TestBlame};
use super::goal::{Goal, Imported, Stage};

pub(super) fn conclude(blame: &Blame) -> Blamed {
    let causes = causes(blame);
    let tests: Vec<TestBlame> =
        blame.goals.iter().enumerate().map(|(g, goal)| test(blame, g, goal, causes[g])).collect();
    let causes = tests.iter().map(|t| t.cause).max().unwrap_or(0);
    Blamed { tests, causes, spent: blame.spent() }
}

fn test(blame: &Blame, g: usize, goal: &Goal, cause: u32) -> TestBlame {
    let sets: Vec<HittingSet> = goal
        .sets
        .iter()
        .map(|k| {
            let set = &blame.sets[*k];
            HittingSet { tests: set.tests.clone(), always: set.always, proof: proof(blame, *k, goal) }
        })
        .collect();
    let wanted = blame.input.options.certificate;
    let import = |found: &Imported| ImportPolluter {
        modules: found.modules.clone(),
        proof: prove_import(goal, found, wanted, &blame.answers).0,
    };
    let imports: Vec<ImportPolluter> = goal.imports.iter().map(import).collect();
    let timeline = (blame.input.options.timeline && blame.input.options.forks)
        .then(|| goal.shortest(&blame.input.seen))
        .flatten()
        .map(|tests| goal.timeline(&blame.answers, &Setting::plain(Executor::Fork), tests))
        .filter(|line| line.outcomes.iter().any(Option::is_some));
    TestBlame {
        test: goal.test,
        role: role(goal, &sets, &imports),
        alone: goal.alone,
        complete: blame.matrix.as_ref().is_some_and(|m| m.covers(g)) && sets.iter().all(|s| s.always),
        sets,
        cleaners: goal.cleaners.clone(),
        imports,
        timeline,
        cause,
    }
}

/// The proof that says most: a certificate, or else that of the test by itself.
fn proof(blame: &Blame, k: usize, goal: &Goal) -> Proof {
    let set = &blame.sets[k];
    let wanted = blame.input.options.certificate;
    let units = set.units.iter().filter(|unit| unit.tests.contains(&goal.test));
    let mut proofs: Vec<Proof> =
        units.map(|unit| prove(goal, &set.tests, unit, wanted, &blame.answers).0).collect();
    proofs.sort_by_key(|proof| (!proof.certified, proof.beside.len()));
    proofs.into_iter().next().unwrap_or_default()
}

fn role(goal: &Goal, sets: &[HittingSet], imports: &[ImportPolluter]) -> Role {
    let never = |set: &HittingSet| set.always && set.proof.with.hits == 0 && set.proof.with.runs >= NEVER;
    if sets.is_empty() && imports.is_empty() {
        return match (&goal.ended, &goal.stage) {
            (Some(role), _) => role.clone(),
            (None, Stage::Search(search, _)) => {
                Role::Undecided { best: search.best().unwrap_or_default().to_vec() }
            }
            (None, _) => Role::Undecided { best: Vec::new() },
        };
    }
    if goal.fresh_only || sets.first().is_some_and(never) {
        return Role::External;
    }
    // Failed by an import, it passes with its own file alone.
    if goal.is_brittle() && !sets.is_empty() { Role::Brittle } else { Role::Victim }
}

/// Numbers for tests that share a set, directly or through others; 0 for a test without one.
fn causes(blame: &Blame) -> Vec<u32> {
    let mut of: Vec<usize> = (0..blame.goals.len()).collect();
    loop {
        let mut moved = false;
        for set in &blame.sets {
            let least = set.members.iter().map(|g| of[*g]).min().unwrap_or(0);
            for g in &set.members {
                moved |= of[*g] != least;
                of[*g] = least;
            }
        }
        if !moved {
            break;
        }
    }
    let mut numbers: Vec<usize> = Vec::new();
    let has = |goal: &Goal| !goal.sets.is_empty() || !goal.imports.is_empty();
    let mut causes = vec![0; of.len()];
    for g in (0..of.len()).filter(|g| has(&blame.goals[*g])) {
        let n = numbers.iter().position(|c| *c == of[g]).unwrap_or_else(|| {
            numbers.push(of[g]);
            numbers.len() - 1
        });
        causes[g] = u32::try_from(n + 1).unwrap_or(u32::MAX);
    }
    causes
}
