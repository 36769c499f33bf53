//! Replays of short orders, and when they decide instead of the full ones.

use crate::model::OrderLabel;

use super::super::class::Kind;
use super::super::finding::Finding;
use super::super::probe::{Side, Why};
use super::super::witness::Arm;
use super::arms::Decision;
use super::book::Key;
use super::candidate::{Candidate, Failing, Plan};
use super::view::View;
use super::{Judge, LOST_REPLAYS, Wanted};

impl Judge {
    /// What replays of a short order lead to; `None` where the full orders have to decide.
    pub(super) fn short_replay(
        &self,
        candidate: &Candidate,
        label: &OrderLabel,
    ) -> Option<Result<Decision, Vec<Wanted>>> {
        let shown = |mut decision: Decision| {
            decision.shown = Some(label.clone());
            decision
        };
        match &candidate.plan {
            Plan::PatchedFails(failing) => {
                let short = Failing { order: label.clone(), ..failing.clone() };
                let again = self.key(Arm::PatchedFull, label, Side::Patched);
                let reproduced = self.book.tally(&again, &candidate.id, failing.target).hits > 0;
                match self.cross_replay(candidate, &short, Side::Patched) {
                    Err(wanted) => Some(Err(wanted)),
                    Ok(_) if !reproduced => None,
                    Ok(decision) if Self::short_order_decides(decision.finding) => {
                        let missing = self.seen_in_full(candidate, failing, decision.finding)?;
                        Some(if missing.is_empty() { Ok(shown(decision)) } else { Err(missing) })
                    }
                    Ok(_) => None,
                }
            }
            Plan::BaseFails(failing) => {
                let (a, c) = (
                    self.key(Arm::BaseCommon, label, Side::Base),
                    self.key(Arm::PatchedFull, label, Side::Base),
                );
                let tally = |key: &Key| self.book.tally(key, &candidate.id, failing.target);
                let (before, after) = (tally(&a), tally(&c));
                let lost = before.lost.max(after.lost) >= LOST_REPLAYS;
                let removed = self.sequences.get(label)?.iter().any(|id| !self.is_common(id));
                if removed || lost || before.misses > 0 || after.hits > 0 {
                    return None;
                }
                let need = failing.need as usize;
                let wanted: Vec<Wanted> =
                    [(before.hits, a, Why::Confirm), (after.misses, c, Why::CrossReplay)]
                        .into_iter()
                        .filter(|(seen, ..)| *seen < need)
                        .map(|(_, key, why)| (key, why))
                        .collect();
                Some(if wanted.is_empty() { Ok(shown(Decision::new(Finding::Fixed))) } else { Err(wanted) })
            }
            Plan::PreExisting { order, target, .. } => {
                let result = self.same_cause(candidate, order, label, *target)?;
                Some(result.map(shown))
            }
            Plan::NewCoupled { failing, passing, target } => {
                let brittle = *failing == OrderLabel::Alone;
                let (failing, passing) = if brittle { (failing, label) } else { (label, passing) };
                let passing = if brittle { passing } else { &OrderLabel::Alone };
                match self.new_coupled(candidate, failing, passing, *target) {
                    Ok(decision) if Self::short_order_decides(decision.finding) => Some(Ok(shown(decision))),
                    Ok(_) => None,
                    Err(wanted) => Some(Err(wanted)),
                }
            }
            _ => None,
        }
    }

    /// Whether what a test fails behind on patched makes it fail on base as well; if not, the patch brought a cause of its
    /// own, beside the old one or in its place.
    pub(super) fn same_cause(
        &self,
        candidate: &Candidate,
        order: &OrderLabel,
        label: &OrderLabel,
        target: Kind,
    ) -> Option<Result<Decision, Vec<Wanted>>> {
        let key = |arm, label| self.key(arm, label, Side::Patched);
        let (a, b, c) =
            (key(Arm::BaseCommon, label), key(Arm::PatchedCommon, label), key(Arm::PatchedFull, label));
        let tally = |key: &Key| self.book.tally(key, &candidate.id, target);
        let (base, common, patched) = (tally(&a), tally(&b), tally(&c));
        let need = self.input.judge.confirm_suspect as usize;
        if patched.misses > 0
            || base.is_mixed()
            || [base, common, patched].iter().any(|t| t.lost >= LOST_REPLAYS)
        {
            return None;
        }
        if base.hits >= 2 && patched.hits >= 2 {
            return Some(Ok(Decision::new(Finding::PreExisting)));
        }
        let wanted = if base.hits > 0 { 2 } else { need };
        let mut ask = Vec::new();
        if patched.hits < wanted {
            ask.push((c, Why::Confirm));
        }
        if base.runs() < wanted {
            ask.push((a, Why::CrossReplay));
        }
        if !ask.is_empty() {
            return Some(Err(ask));
        }
        let brings_new = self.sequences.get(label)?.iter().any(|id| !self.is_common(id));
        if !brings_new {
            return Some(Ok(Decision::new(Finding::Introduced)));
        }
        // Is the old cause still there? Without the new tests the order that fails on both shows it.
        let old = self.key(Arm::PatchedCommon, order, Side::Patched);
        let old = (self.book.tally(&old, &candidate.id, target), old);
        let finding = match old.0 {
            tally if tally.hits > 0 => Finding::PoisonsNeighbours,
            tally if tally.lost >= LOST_REPLAYS => return None,
            tally if tally.misses < need => return Some(Err(vec![(old.1, Why::WithoutNewTests)])),
            _ => Finding::Replaced,
        };
        Some(Ok(Decision::new(finding)))
    }

    /// Findings that a short order shows as well as a full one; others depend on tests that it leaves out.
    pub(super) fn short_order_decides(finding: Finding) -> bool {
        matches!(
            finding,
            Finding::Introduced
                | Finding::PoisonsNeighbours
                | Finding::UnexplainedAbsence
                | Finding::NewTestCoupled
                | Finding::Destabilised
        )
    }

    /// What is still to be seen of the full order before a short one may block (METHODS B3.5): that base passes it, for
    /// another polluter might do there what this one does here, and that patched passes it without new tests where one of
    /// those is blamed. `None` when it was seen to be otherwise.
    pub(super) fn seen_in_full(
        &self,
        candidate: &Candidate,
        failing: &Failing,
        finding: Finding,
    ) -> Option<Vec<Wanted>> {
        let mut missing = Vec::new();
        let base = View(&self.input.base).kind_in(&failing.order, candidate.base?);
        let same = self.is_keyed(&failing.order) && !self.shape.has_removed;
        if !(same && base.is_some_and(|k| k < failing.target)) {
            let key = self.key(Arm::BaseCommon, &failing.order, Side::Patched);
            match self.book.tally(&key, &candidate.id, failing.target) {
                tally if tally.hits > 0 || tally.lost >= LOST_REPLAYS => return None,
                tally if tally.misses == 0 => missing.push((key, Why::CrossReplay)),
                _ => {}
            }
        }
        if finding == Finding::PoisonsNeighbours {
            let key = self.key(Arm::PatchedCommon, &failing.order, Side::Patched);
            match self.book.tally(&key, &candidate.id, failing.target) {
                tally if tally.hits > 0 || tally.lost >= LOST_REPLAYS => return None,
                tally if tally.misses == 0 => missing.push((key, Why::WithoutNewTests)),
                _ => {}
            }
        }
        Some(missing)
    }
}
