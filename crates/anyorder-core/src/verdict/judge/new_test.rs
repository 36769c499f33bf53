//! What replays of a new test show; there is no base to compare it with.

use super::super::finding::Finding;
use super::super::witness::{Note, Role};
use super::arms::{Decision, NOT_REPRODUCED, Tally};

/// What the replays of a new test show; it runs on patched only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NewTest {
    /// Replays of the failing order.
    pub(super) failing: Tally,
    /// Replays of the passing one.
    pub(super) passing: Tally,
    /// Replays of the test by itself.
    pub(super) alone: Tally,
}

/// What to run again of a new test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NewTestRun {
    Failing,
    Passing,
    Alone,
}

impl NewTest {
    /// Order-sensitive in the sweep: coupled, or chance? `Err` names what to run again.
    pub(super) fn coupled(&self, need: usize, forked: bool) -> Result<Decision, Vec<NewTestRun>> {
        let Self { failing, passing, alone } = *self;
        if failing.is_mixed() || passing.is_mixed() || alone.is_mixed() {
            return Ok(Decision::new(Finding::Destabilised));
        }
        if failing.never_hit(NOT_REPRODUCED) || passing.always_hit(NOT_REPRODUCED) {
            return Ok(unconfirmed(forked));
        }
        let ask: Vec<NewTestRun> = [
            (NewTestRun::Failing, failing.hits < need),
            (NewTestRun::Passing, passing.misses < need && failing.misses == 0),
            (NewTestRun::Alone, alone.runs() < need && failing.misses == 0),
        ]
        .into_iter()
        .filter(|(_, wanted)| *wanted)
        .map(|(run, _)| run)
        .collect();
        if !ask.is_empty() {
            return Err(ask);
        }
        let mut decision = Decision::new(Finding::NewTestCoupled);
        if failing.gone {
            decision = Decision::new(Finding::UnexplainedAbsence).with(Note::EndsTheProcess);
        }
        decision.role = Some(if alone.hits > 0 { Role::Brittle } else { Role::Victim });
        Ok(decision)
    }

    /// Failing in every order of the sweep: does it in a fresh interpreter?
    pub(super) fn fails(&self, need: usize, forked: bool) -> Result<Decision, Vec<NewTestRun>> {
        let failing = self.failing;
        if failing.is_mixed() {
            Ok(Decision::new(Finding::Destabilised))
        } else if failing.never_hit(need) {
            Ok(unconfirmed(forked))
        } else if failing.always_hit(need) && failing.gone {
            Ok(Decision::new(Finding::UnexplainedAbsence).with(Note::EndsTheProcess))
        } else if failing.always_hit(need) {
            Ok(Decision::new(Finding::NewTestFails))
        } else {
            Err(vec![NewTestRun::Failing])
        }
    }
}

/// Fresh interpreters do not show what the sweep showed.
fn unconfirmed(forked: bool) -> Decision {
    if forked {
        Decision::new(Finding::Inconclusive).with(Note::ExecutorsDisagree)
    } else {
        Decision::new(Finding::Destabilised)
    }
}
