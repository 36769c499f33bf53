//! Certificates: fresh interpreters, with the set and without, interleaved (METHODS C).

use crate::model::{Executor, TestIx};
use crate::search::Tally;

use super::answers::{Answers, Ask, Setting};
use super::finding::{Count, Proof};
use super::goal::Goal;
use super::query::Why;

/// Runs that say nothing before no more are asked for.
const LOST: u32 = 3;
/// Runs with the set that all miss, after which the executors are said to disagree.
pub(super) const NEVER: u32 = 3;

/// Tests that one set hits and that are proven in one go: the set, then all of them, against all of them without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// The set's number.
    pub(super) set: usize,
    /// The tests, as they run.
    pub(super) tests: Vec<TestIx>,
}

/// Where a proof stands.
pub(super) enum Standing {
    Open(Vec<Ask>),
    Closed,
}

/// The proof of one test of a unit so far, and what is still to be run for it.
pub(super) fn prove(
    goal: &Goal,
    set: &[TestIx],
    tests: &[TestIx],
    wanted: u32,
    answers: &Answers,
) -> (Proof, Standing) {
    let place = tests.iter().position(|ix| *ix == goal.test).unwrap_or(0);
    let beside = &tests[..place];
    let setting = Setting::plain(Executor::Fresh);
    let behind = |members: &[TestIx]| [members, beside].concat();
    let tally = |members: &[TestIx]| goal.tally(answers, &setting, &behind(members));
    let members: Vec<Vec<TestIx>> = if set.len() < 2 { Vec::new() } else { dropped(set) };
    let (with, without) = (tally(set), tally(&[]));
    let drops: Vec<Tally> = members.iter().map(|m| tally(m)).collect();
    let certified = with.hits >= wanted
        && with.misses == 0
        && without.misses >= wanted
        && without.hits == 0
        && drops.iter().all(|t| t.hits == 0 && t.misses > 0);
    let proof = Proof {
        with: count(with),
        without: count(without),
        dropped: drops.iter().map(|t| count(*t)).collect(),
        beside: beside.to_vec(),
        certified,
    };
    let ask = |members: &[TestIx], runs| Ask {
        setting: setting.clone(),
        tests: members.to_vec(),
        peeks: Vec::new(),
        tail: tests.to_vec(),
        why: Why::Certificate,
        runs,
    };
    // What already speaks against it needs no more runs.
    let never = with.hits == 0 && with.misses >= NEVER;
    let refuted = never || without.hits > 0 || drops.iter().any(|t| t.hits > 0);
    let mut asks = Vec::new();
    if !refuted {
        let lost = |t: Tally| t.lost >= LOST;
        // Interleaved: neither side is more than one run ahead.
        let next = with.runs().min(without.runs()) + 1;
        for (members, t) in [(set, with), (&[][..], without)] {
            if t.seen() < wanted && !lost(t) && t.runs() < next {
                asks.push(ask(members, t.runs() + 1));
            }
        }
        let open = members.iter().zip(&drops).filter(|(_, t)| t.seen() == 0 && !lost(**t));
        asks.extend(open.map(|(m, t)| ask(m, t.runs() + 1)));
    }
    let standing = if asks.is_empty() { Standing::Closed } else { Standing::Open(asks) };
    (proof, standing)
}

/// The proof that importing modules fails a test, where a setting collects what it collects.
pub(super) fn prove_import(
    goal: &Goal,
    modules: &[String],
    base: &Setting,
    wanted: u32,
    answers: &Answers,
) -> (Proof, Standing) {
    let without = Setting { executor: Executor::Fresh, imports: Vec::new(), ..base.clone() };
    let with = Setting { imports: modules.to_vec(), ..without.clone() };
    let (hit, clean) = (goal.import_tally(answers, &with), goal.import_tally(answers, &without));
    let certified = hit.hits >= wanted && hit.misses == 0 && clean.misses >= wanted && clean.hits == 0;
    let proof = Proof { with: count(hit), without: count(clean), certified, ..Proof::default() };
    let refuted = (hit.hits == 0 && hit.misses >= NEVER) || clean.hits > 0;
    let next = hit.runs().min(clean.runs()) + 1;
    let mut asks = Vec::new();
    for (setting, t) in [(with, hit), (without, clean)] {
        if !refuted && t.seen() < wanted && t.lost < LOST && t.runs() < next {
            asks.push(Ask::single(setting, &[], goal.test, t.runs() + 1, Why::Certificate));
        }
    }
    let standing = if asks.is_empty() { Standing::Closed } else { Standing::Open(asks) };
    (proof, standing)
}

fn count(tally: Tally) -> Count {
    Count { hits: tally.hits, runs: tally.seen() }
}

fn dropped(set: &[TestIx]) -> Vec<Vec<TestIx>> {
    let without = |n| set[..n].iter().chain(&set[n + 1..]).copied().collect();
    (0..set.len()).map(without).collect()
}
