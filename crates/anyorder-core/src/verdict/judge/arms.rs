//! The decision table over the arms of one failing order (METHODS B2), with sequential stopping (METHODS B3).
//!
//! Pure functions of counts, so that neither the sequence of answers nor the way a replay was shortened matters.

use crate::model::OrderLabel;

use super::super::class::Class;
use super::super::finding::Finding;
use super::super::witness::{Arm, Note, Role};
use super::chance::fisher_one_sided;

/// What one test did in the replays of one arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Replays as bad as the failing order.
    pub(super) hits: usize,
    /// Better ones.
    pub(super) misses: usize,
    /// Replays that said nothing about the test.
    pub(super) lost: usize,
    /// In one of the hits the process died in the test, or the test was absent.
    pub(super) gone: bool,
}

impl Tally {
    pub(super) fn runs(self) -> usize {
        self.hits + self.misses
    }

    pub(super) fn always_hit(self, times: usize) -> bool {
        self.hits >= times && self.misses == 0
    }

    pub(super) fn never_hit(self, times: usize) -> bool {
        self.misses >= times && self.hits == 0
    }

    pub(super) fn is_mixed(self) -> bool {
        self.hits > 0 && self.misses > 0
    }
}

/// The four arms: D, A, B, C of METHODS B2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Arms {
    pub(super) base_full: Tally,
    pub(super) base_common: Tally,
    pub(super) patched_common: Tally,
    pub(super) patched_full: Tally,
}

/// What replays of one test lead to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// One more run of each of these arms is wanted.
    Ask(Vec<Arm>),
    /// Enough is known.
    Decided(Decision),
}

/// A finding, and what is to be said with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) finding: Finding,
    pub(super) notes: Vec<Note>,
    pub(super) role: Option<Role>,
    /// The short order that shows it, where not the failing order of the sweep does.
    pub(super) shown: Option<OrderLabel>,
}

impl Decision {
    pub(super) fn new(finding: Finding) -> Self {
        Self { finding, notes: Vec::new(), role: None, shown: None }
    }

    pub(super) fn with(mut self, note: Note) -> Self {
        self.notes.push(note);
        self
    }
}

fn decided(finding: Finding) -> Step {
    Step::Decided(Decision::new(finding))
}

/// How often a test was as bad as in the failing order, and in how many orders of the sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rate {
    pub(super) hits: usize,
    pub(super) runs: usize,
}

/// What is known of a test before its failing order is replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Case {
    /// Replays on each tree that must agree.
    pub(super) need: usize,
    /// Pairs of replays at the most.
    pub(super) max_pairs: usize,
    /// The patched tree has tests that base has not and they can matter in this order, so that B differs from C.
    pub(super) has_new: bool,
    /// And the other way round, so that A differs from D.
    pub(super) has_removed: bool,
    /// Whether the sweep of the tree that passes has this order.
    pub(super) other_ran_it: bool,
    pub(super) base: SideCase,
    pub(super) patched: SideCase,
}

/// What one tree's sweep showed of the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SideCase {
    pub(super) class: Class,
    /// The sweep was forked and consistent, so that fresh replays that say otherwise contradict it.
    pub(super) forked: bool,
    pub(super) rate: Rate,
}

/// Failures on patched against none on base, in mixed replays, that confirm a nondeterministic coupling (METHODS B3.4).
const MIXED_HITS: usize = 5;
/// The chance of the difference between the trees, over sweeps and replays, below which mixed replays count.
const SURE: f64 = 1e-4;
/// The same for calling a test newly unstable.
const LIKELY: f64 = 0.01;
/// Replays of the failing order that all pass before it counts as not reproduced.
pub(super) const NOT_REPRODUCED: usize = 4;
/// Replays that decide an arm which only tells kinds of failure apart.
const SIDE_ARM: usize = 2;

impl Case {
    /// A failing order of patched that base passes: introduced, poisoned, exposed, replaced or chance?
    pub(super) fn patched_fails(&self, arms: &Arms) -> Step {
        let (a, c) = (arms.base_common, arms.patched_full);
        if a.hits > 0 {
            return self.fails_on_both(arms);
        }
        if c.hits == 0 {
            return match c.misses {
                NOT_REPRODUCED.. if self.patched.forked && self.base.class.is_stable() => {
                    Step::Decided(Decision::new(Finding::Inconclusive).with(Note::ExecutorsDisagree))
                }
                NOT_REPRODUCED.. => self.by_chance(arms),
                _ => Step::Ask(vec![Arm::PatchedFull]),
            };
        }
        let wanted = if c.misses == 0 { self.need } else { MIXED_HITS };
        let shown = c.misses == 0 || self.chance(arms) < SURE;
        if c.hits >= wanted && a.misses >= wanted && shown {
            return self.confirmed(arms);
        }
        let hopeless =
            c.hits + self.max_pairs.saturating_sub(c.runs()) < MIXED_HITS || a.runs() >= self.max_pairs;
        if c.is_mixed() && (hopeless || self.base.class == Class::Flaky) {
            return self.by_chance(arms);
        }
        let mut ask = Vec::new();
        if c.hits < wanted || !shown {
            ask.push(Arm::PatchedFull);
        }
        if a.misses < wanted.max(c.runs().min(self.max_pairs)) {
            ask.push(Arm::BaseCommon);
        }
        Step::Ask(ask)
    }

    /// Patched fails and base does not: because of a new test, or by itself?
    fn confirmed(&self, arms: &Arms) -> Step {
        let (b, c) = (arms.patched_common, arms.patched_full);
        if c.gone {
            return Step::Decided(Decision::new(Finding::UnexplainedAbsence).with(Note::EndsTheProcess));
        }
        if self.patched.class == Class::StableFail {
            return decided(Finding::Regressed);
        }
        if !self.has_new || b.hits > 0 {
            return decided(Finding::Introduced);
        }
        let enough = if c.misses == 0 { self.need } else { MIXED_HITS };
        if b.misses >= enough {
            decided(Finding::PoisonsNeighbours)
        } else {
            Step::Ask(vec![Arm::PatchedCommon])
        }
    }

    /// The failing order of patched also fails on base, restricted to the tests that both have.
    fn fails_on_both(&self, arms: &Arms) -> Step {
        let (a, b, c, d) = (arms.base_common, arms.patched_common, arms.patched_full, arms.base_full);
        if a.is_mixed() {
            return self.base_is_mixed(arms);
        }
        if c.misses > 0 {
            return decided(Finding::Flaky);
        }
        if a.hits < SIDE_ARM {
            return Step::Ask(vec![Arm::BaseCommon]);
        }
        if !self.has_removed && self.other_ran_it {
            return Self::contradicts(self.base);
        }
        if self.has_removed && d.is_mixed() || self.has_new && b.is_mixed() {
            return decided(Finding::Flaky);
        }
        let replaced = self.has_new && b.misses >= SIDE_ARM;
        let wanted = if replaced { self.need } else { SIDE_ARM };
        let ask = missing(&[
            (Arm::BaseCommon, a.hits < wanted),
            (Arm::PatchedFull, c.hits < wanted),
            (Arm::BaseFull, self.has_removed && d.runs() < SIDE_ARM),
            (Arm::PatchedCommon, self.has_new && b.runs() < wanted),
        ]);
        if !ask.is_empty() {
            return Step::Ask(ask);
        }
        if self.has_removed && d.hits > 0 && self.other_ran_it {
            return Self::contradicts(self.base);
        }
        if replaced {
            return decided(Finding::Replaced);
        }
        decided(if self.has_removed && d.hits == 0 { Finding::Exposed } else { Finding::PreExisting })
    }

    /// Replays of an order fail again and again although the tree's own sweep passed it.
    fn contradicts(side: SideCase) -> Step {
        decided(match side.class {
            Class::OrderSensitive => Finding::PreExisting,
            _ if side.forked => {
                return Step::Decided(Decision::new(Finding::Inconclusive).with(Note::ExecutorsDisagree));
            }
            _ => Finding::Flaky,
        })
    }

    /// Base gives both outcomes: chance, unless patched fails always and base far less often.
    fn base_is_mixed(&self, arms: &Arms) -> Step {
        let c = arms.patched_full;
        if self.patched.class != Class::StableFail || c.misses > 0 || self.chance(arms) >= SURE {
            return decided(Finding::Flaky);
        }
        if c.hits < self.need {
            return Step::Ask(vec![Arm::PatchedFull]);
        }
        decided(if c.gone { Finding::UnexplainedAbsence } else { Finding::Regressed })
    }

    /// A failing order of base that patched passes: fixed, repaired, masked or chance?
    pub(super) fn base_fails(&self, arms: &Arms) -> Step {
        let (a, b, c, d) = (arms.base_common, arms.patched_common, arms.patched_full, arms.base_full);
        if a.is_mixed() || c.is_mixed() {
            return decided(Finding::Flaky);
        }
        if c.hits > 0 {
            return self.still_fails(arms);
        }
        if a.misses >= SIDE_ARM {
            // Without the removed tests base passes: one of those was the cause.
            return match (self.has_removed, d) {
                (true, d) if d.misses > 0 => decided(Finding::Flaky),
                (true, d) if d.hits >= self.need && c.misses >= self.need => decided(Finding::Fixed),
                (true, d) => Step::Ask(missing(&[
                    (Arm::BaseFull, d.hits < self.need),
                    (Arm::PatchedFull, c.misses < self.need),
                ])),
                (false, _) if self.base.forked => {
                    Step::Decided(Decision::new(Finding::Flaky).with(Note::ExecutorsDisagree))
                }
                (false, _) => decided(Finding::Flaky),
            };
        }
        if !(a.always_hit(self.need) && c.never_hit(self.need)) {
            return Step::Ask(missing(&[
                (Arm::BaseCommon, a.hits < self.need),
                (Arm::PatchedFull, c.misses < self.need && a.misses == 0),
            ]));
        }
        if self.base.class == Class::StableFail {
            return decided(Finding::Repaired);
        }
        match b {
            _ if !self.has_new => decided(Finding::Fixed),
            b if b.is_mixed() => decided(Finding::Flaky),
            b if b.runs() < SIDE_ARM => Step::Ask(vec![Arm::PatchedCommon]),
            b if b.hits > 0 => decided(Finding::Masked),
            _ => decided(Finding::Fixed),
        }
    }

    /// The order that only base failed fails on patched as well.
    fn still_fails(&self, arms: &Arms) -> Step {
        let (a, c) = (arms.base_common, arms.patched_full);
        if a.misses > 0 {
            return decided(Finding::Flaky);
        }
        if a.hits < SIDE_ARM || c.hits < SIDE_ARM {
            return Step::Ask(missing(&[
                (Arm::BaseCommon, a.hits < SIDE_ARM),
                (Arm::PatchedFull, c.hits < SIDE_ARM),
            ]));
        }
        if !self.other_ran_it {
            return decided(Finding::PreExisting);
        }
        Self::contradicts(self.patched)
    }

    fn by_chance(&self, arms: &Arms) -> Step {
        decided(if self.chance(arms) < LIKELY { Finding::Destabilised } else { Finding::Flaky })
    }

    /// The chance of so many more failures on patched than on base, over sweeps and replays, at one rate for both.
    fn chance(&self, arms: &Arms) -> f64 {
        let (a, c) = (arms.base_common, arms.patched_full);
        fisher_one_sided(
            self.patched.rate.hits + c.hits,
            self.patched.rate.runs + c.runs(),
            self.base.rate.hits + a.hits,
            self.base.rate.runs + a.runs(),
        )
    }
}

fn missing(arms: &[(Arm, bool)]) -> Vec<Arm> {
    arms.iter().filter(|(_, wanted)| *wanted).map(|(arm, _)| *arm).collect()
}
