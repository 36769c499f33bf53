//! Replays of failing orders on both trees: which are wanted, and what they lead to.

use crate::model::{OrderLabel, TestId, TestIx};

use super::super::class::{Class, Kind};
use super::super::finding::Finding;
use super::super::probe::{Side, Why};
use super::super::witness::{Arm, Note};
use super::arms::{Arms, Case, Decision, SideCase, Step};
use super::book::{Key, Scope};
use super::candidate::{Candidate, Failing};
use super::new_test::{NewTest, NewTestRun};
use super::view::View;
use super::{Judge, LOST_REPLAYS, Wanted};

impl Judge {
    pub(super) fn cross_replay(
        &self,
        candidate: &Candidate,
        failing: &Failing,
        fails_on: Side,
    ) -> Result<Decision, Vec<Wanted>> {
        let (Some(b), Some(p)) = (candidate.base, candidate.patched) else {
            return Ok(Decision::new(Finding::Inconclusive));
        };
        let key = |arm| self.key(arm, &failing.order, fails_on);
        let tally = |arm| self.book.tally(&key(arm), &candidate.id, failing.target);
        let arms = Arms {
            base_full: tally(Arm::BaseFull),
            base_common: tally(Arm::BaseCommon),
            patched_common: tally(Arm::PatchedCommon),
            patched_full: tally(Arm::PatchedFull),
        };
        let case = self.case(failing, fails_on, b, p);
        let step = match fails_on {
            Side::Patched => case.patched_fails(&arms),
            Side::Base => case.base_fails(&arms),
        };
        let asked = match step {
            Step::Decided(decision) => return Ok(decision),
            Step::Ask(asked) => asked,
        };
        if asked.iter().any(|arm| tally(*arm).lost >= LOST_REPLAYS) {
            return Ok(self.lost(&candidate.id));
        }
        let why = |arm: Arm| match arm {
            Arm::PatchedCommon => Why::WithoutNewTests,
            _ if arm.side() == fails_on => Why::Confirm,
            _ => Why::CrossReplay,
        };
        Err(asked.into_iter().map(|arm| (key(arm), why(arm))).collect())
    }

    pub(super) fn case(&self, failing: &Failing, fails_on: Side, b: TestIx, p: TestIx) -> Case {
        let (base, patched) = (View(&self.input.base), View(&self.input.patched));
        let side = |view: View<'_>, ix| SideCase {
            class: view.class(ix).map_or(Class::Flaky, |c| c.class),
            forked: view.forked(&failing.order, ix),
            rate: view.rate(ix, failing.target),
        };
        let (other, ix) = match fails_on {
            Side::Patched => (base, b),
            Side::Base => (patched, p),
        };
        let alone = failing.order == OrderLabel::Alone;
        let (has_new, has_removed) = match self.sequences.get(&failing.order) {
            Some(sequence) => {
                let lacks = |view: View<'_>| sequence.iter().any(|id| view.suite().find(id).is_none());
                (lacks(base), lacks(patched))
            }
            None => (self.shape.has_new && !alone, self.shape.has_removed && !alone),
        };
        Case {
            need: failing.need as usize,
            max_pairs: self.input.judge.max_pairs as usize,
            has_new,
            has_removed,
            other_ran_it: other.kind_in(&failing.order, ix).is_some(),
            base: side(base, b),
            patched: side(patched, p),
        }
    }

    pub(super) fn new_coupled(
        &self,
        candidate: &Candidate,
        failing: &OrderLabel,
        passing: &OrderLabel,
        target: Kind,
    ) -> Result<Decision, Vec<Wanted>> {
        let key = |run| {
            let label = match run {
                NewTestRun::Failing => failing,
                NewTestRun::Passing => passing,
                NewTestRun::Alone => &OrderLabel::Alone,
            };
            self.key(Arm::PatchedFull, label, Side::Patched)
        };
        let tally = |run| self.book.tally(&key(run), &candidate.id, target);
        let test = NewTest {
            failing: tally(NewTestRun::Failing),
            passing: tally(NewTestRun::Passing),
            alone: tally(NewTestRun::Alone),
        };
        let decision = test.coupled(self.input.judge.confirm as usize, self.forked(candidate, failing));
        let why = |run| match run {
            NewTestRun::Failing => Why::Confirm,
            NewTestRun::Passing => Why::PassingOrder,
            NewTestRun::Alone => Why::Alone,
        };
        self.or_lost(candidate, target, decision, |run| (key(run), why(run)))
    }

    pub(super) fn new_fails(
        &self,
        candidate: &Candidate,
        order: &OrderLabel,
        target: Kind,
    ) -> Result<Decision, Vec<Wanted>> {
        let key = self.key(Arm::PatchedFull, order, Side::Patched);
        let test = NewTest { failing: self.book.tally(&key, &candidate.id, target), ..NewTest::default() };
        let decision = test.fails(2, self.forked(candidate, order));
        self.or_lost(candidate, target, decision, |_| (key.clone(), Why::Confirm))
    }

    pub(super) fn or_lost(
        &self,
        candidate: &Candidate,
        target: Kind,
        decision: Result<Decision, Vec<NewTestRun>>,
        wanted: impl Fn(NewTestRun) -> Wanted,
    ) -> Result<Decision, Vec<Wanted>> {
        let asked: Vec<Wanted> = match decision {
            Ok(decision) => return Ok(decision),
            Err(asked) => asked.into_iter().map(wanted).collect(),
        };
        let lost = |(key, _): &Wanted| self.book.tally(key, &candidate.id, target).lost >= LOST_REPLAYS;
        if asked.iter().any(lost) { Ok(self.lost(&candidate.id)) } else { Err(asked) }
    }

    pub(super) fn forked(&self, candidate: &Candidate, label: &OrderLabel) -> bool {
        candidate.patched.is_some_and(|p| View(&self.input.patched).forked(label, p))
    }

    /// Replays keep saying nothing about the test.
    pub(super) fn lost(&self, test: &TestId) -> Decision {
        let note = match self.book.culprit(test) {
            Some(culprit) => Note::Unreached { culprit: culprit.clone() },
            None => Note::BudgetSpent,
        };
        Decision::new(Finding::Inconclusive).with(note)
    }

    /// Which replay an arm of a failing order is; arms that run the same thing share one.
    pub(super) fn key(&self, arm: Arm, label: &OrderLabel, fails_on: Side) -> Key {
        let side = arm.side();
        if *label == OrderLabel::Alone {
            return Key { side, order_of: side, label: label.clone(), scope: Scope::Alone };
        }
        let common = matches!(arm, Arm::BaseCommon | Arm::PatchedCommon);
        if let Some(sequence) = self.sequences.get(label) {
            let scope = if common && sequence.iter().any(|id| !self.is_common(id)) {
                Scope::Common
            } else {
                Scope::All
            };
            return Key { side, order_of: side, label: label.clone(), scope };
        }
        let keyed = self.is_keyed(label);
        let others = match side {
            Side::Base => self.shape.has_removed,
            Side::Patched => self.shape.has_new,
        };
        if common && (others || !(keyed || fails_on == side)) {
            let order_of = if keyed { side } else { fails_on };
            return Key { side, order_of, label: label.clone(), scope: Scope::Common };
        }
        Key { side, order_of: side, label: label.clone(), scope: Scope::All }
    }

    /// Whether both trees' orders of this label put the tests that both have into the same sequence.
    pub(super) fn is_keyed(&self, label: &OrderLabel) -> bool {
        match label {
            OrderLabel::Default | OrderLabel::Reverse => self.shape.same_default_order,
            OrderLabel::Alone => true,
            OrderLabel::Seed(_) | OrderLabel::SeedReverse(_) => self.input.judge.keyed_orders,
            OrderLabel::List(_) => false,
        }
    }
}
