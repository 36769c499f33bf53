//! Certificates: fresh interpreters, with the set and without, interleaved (METHODS C).

use crate::model::{Executor, TestIx};
use crate::search::Tally;

use super::answers::{Answers, Ask, Setting, Trial};
use super::finding::{Count, Proof};
use super::goal::{Goal, Imported};
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
    /// Queries from this number on count.
    pub(super) since: u32,
    /// Nothing is to be run for any of them any more.
    pub(super) closed: bool,
}

/// Where a proof stands.
pub(super) enum Standing {
    Open(Vec<Ask>),
    Closed,
}

/// One side of a proof: the runs that count, and all that were made of it.
#[derive(Clone, Copy)]
struct Arm {
    counted: Tally,
    made: u32,
}

impl Arm {
    fn is_open(self, wanted: u32) -> bool {
        self.counted.seen() < wanted && self.counted.lost < LOST
    }

    /// The number of its next run; none while the other side is behind: they are interleaved.
    fn next(self, other: Self, wanted: u32) -> Option<u32> {
        let ahead = other.is_open(wanted) && self.counted.runs() > other.counted.runs();
        (self.is_open(wanted) && !ahead).then_some(self.made + 1)
    }
}

/// Whether all runs with it hit, and none without, and enough of both.
fn holds(with: Arm, without: Arm, wanted: u32) -> bool {
    let (with, without) = (with.counted, without.counted);
    wanted > 0 && with.hits >= wanted && with.misses == 0 && without.misses >= wanted && without.hits == 0
}

/// Whether what is known speaks against it already, so that no more runs are needed.
fn is_refuted(with: Arm, without: Arm) -> bool {
    (with.counted.hits == 0 && with.counted.misses >= NEVER) || without.counted.hits > 0
}

/// The proof of one test of a unit so far, and what is still to be run for it.
pub(super) fn prove(
    goal: &Goal,
    set: &[TestIx],
    unit: &Unit,
    wanted: u32,
    answers: &Answers,
) -> (Proof, Standing) {
    let place = unit.tests.iter().position(|ix| *ix == goal.test).unwrap_or(0);
    let beside = &unit.tests[..place];
    let setting = Setting::plain(Executor::Fresh);
    let arm = |members: &[TestIx]| {
        let trial = Trial::new(&setting, &[members, beside].concat(), goal.test);
        let counted = answers.tally_since(&trial, unit.since, |outcome| goal.is_hit(outcome));
        Arm { counted, made: u32::try_from(answers.outcomes(&trial).len()).unwrap_or(u32::MAX) }
    };
    let members: Vec<Vec<TestIx>> = if set.len() < 2 { Vec::new() } else { dropped(set) };
    let (with, without) = (arm(set), arm(&[]));
    let drops: Vec<Arm> = members.iter().map(|m| arm(m)).collect();
    let spared = |a: &Arm| a.counted.hits == 0 && a.counted.misses > 0;
    let proof = Proof {
        with: count(with.counted),
        without: count(without.counted),
        dropped: drops.iter().map(|a| count(a.counted)).collect(),
        beside: beside.to_vec(),
        certified: holds(with, without, wanted) && drops.iter().all(spared),
    };
    if is_refuted(with, without) || drops.iter().any(|a| a.counted.hits > 0) {
        return (proof, Standing::Closed);
    }
    let ask = |members: &[TestIx], runs| Ask {
        setting: setting.clone(),
        tests: members.to_vec(),
        peeks: Vec::new(),
        tail: unit.tests.clone(),
        why: Why::Certificate,
        runs,
    };
    let mut asks: Vec<Ask> = Vec::new();
    asks.extend(with.next(without, wanted).map(|runs| ask(set, runs)));
    asks.extend(without.next(with, wanted).map(|runs| ask(&[], runs)));
    let open = members.iter().zip(&drops).filter(|(_, a)| a.is_open(1));
    asks.extend(open.map(|(m, a)| ask(m, a.made + 1)));
    (proof, if asks.is_empty() { Standing::Closed } else { Standing::Open(asks) })
}

/// The proof that importing modules fails a test, where a setting collects what it collects.
pub(super) fn prove_import(
    goal: &Goal,
    found: &Imported,
    wanted: u32,
    answers: &Answers,
) -> (Proof, Standing) {
    let without = Setting { executor: Executor::Fresh, imports: Vec::new(), ..found.base.clone() };
    let with = Setting { imports: found.modules.clone(), ..without.clone() };
    let arm = |setting: &Setting| {
        let made = answers.outcomes(&Trial::new(setting, &[], goal.test)).len();
        let counted = goal.import_tally(answers, setting, found.since);
        Arm { counted, made: u32::try_from(made).unwrap_or(u32::MAX) }
    };
    let (hit, clean) = (arm(&with), arm(&without));
    let proof = Proof {
        with: count(hit.counted),
        without: count(clean.counted),
        certified: holds(hit, clean, wanted),
        ..Proof::default()
    };
    let mut asks = Vec::new();
    if !is_refuted(hit, clean) {
        let ask = |setting, runs| Ask::single(setting, &[], goal.test, runs, Why::Certificate);
        asks.extend(hit.next(clean, wanted).map(|runs| ask(with, runs)));
        asks.extend(clean.next(hit, wanted).map(|runs| ask(without, runs)));
    }
    (proof, if asks.is_empty() { Standing::Closed } else { Standing::Open(asks) })
}

fn count(tally: Tally) -> Count {
    Count { hits: tally.hits, runs: tally.seen() }
}

fn dropped(set: &[TestIx]) -> Vec<Vec<TestIx>> {
    let without = |n| set[..n].iter().chain(&set[n + 1..]).copied().collect();
    (0..set.len()).map(without).collect()
}
