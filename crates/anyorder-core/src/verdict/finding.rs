//! What a verdict can say about a test, and what follows from it.

use std::collections::BTreeMap;
use std::fmt;

/// What is found about a test (DESIGN section 5). A test that is `stable_pass` on both trees has no finding: it is
/// evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Finding {
    /// Passes on base in every order, fails on patched in every order.
    Regressed,
    /// Passes on base in every order, order-sensitive on patched.
    Introduced,
    /// A new test is order-sensitive.
    NewTestCoupled,
    /// A new test makes an old one order-sensitive.
    PoisonsNeighbours,
    /// A touched test leaks state that base did not leak.
    NewLeak,
    /// A new test fails in every order.
    NewTestFails,
    /// Absent or crashed in some order on patched.
    UnexplainedAbsence,
    /// Order-sensitive on both, but for another reason than before.
    Replaced,
    /// A removed test was what kept it passing.
    Exposed,
    /// Order-sensitive on base, hidden on patched by new tests only.
    Masked,
    /// Passed on base; skipped or gone on patched.
    EvidenceLost,
    /// Two outcomes for one order, and only since the change.
    Destabilised,
    /// No decision was reached.
    Inconclusive,
    /// Two outcomes for one order.
    Flaky,
    /// Order-sensitive on both trees in the same orders.
    PreExisting,
    /// Fails in every order on both trees.
    BrokenOnBase,
    /// Order-sensitive on base, clean on patched and shown so by replay.
    Fixed,
    /// Failed on base, passes on patched, each in every order.
    Repaired,
}

impl Finding {
    /// All findings, the gravest first.
    pub const ALL: [Self; 18] = [
        Self::Regressed,
        Self::Introduced,
        Self::NewTestCoupled,
        Self::PoisonsNeighbours,
        Self::NewLeak,
        Self::NewTestFails,
        Self::UnexplainedAbsence,
        Self::Replaced,
        Self::Exposed,
        Self::Masked,
        Self::EvidenceLost,
        Self::Destabilised,
        Self::Inconclusive,
        Self::Flaky,
        Self::PreExisting,
        Self::BrokenOnBase,
        Self::Fixed,
        Self::Repaired,
    ];

    /// The word for it, as in reports, JSON and configuration.
    pub fn word(self) -> &'static str {
        match self {
            Self::Regressed => "regressed",
            Self::Introduced => "introduced",
            Self::NewTestCoupled => "new_test_coupled",
            Self::PoisonsNeighbours => "poisons_neighbours",
            Self::NewLeak => "new_leak",
            Self::NewTestFails => "new_test_fails",
            Self::UnexplainedAbsence => "unexplained_absence",
            Self::Replaced => "replaced",
            Self::Exposed => "exposed",
            Self::Masked => "masked",
            Self::EvidenceLost => "evidence_lost",
            Self::Destabilised => "destabilised",
            Self::Inconclusive => "inconclusive",
            Self::Flaky => "flaky",
            Self::PreExisting => "pre_existing",
            Self::BrokenOnBase => "broken_on_base",
            Self::Fixed => "fixed",
            Self::Repaired => "repaired",
        }
    }

    /// The finding that a word names.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|f| f.word() == word)
    }

    /// The action that follows unless the configuration says otherwise.
    pub fn default_action(self) -> Action {
        match self {
            Self::Regressed
            | Self::Introduced
            | Self::NewTestCoupled
            | Self::PoisonsNeighbours
            | Self::NewLeak
            | Self::NewTestFails
            | Self::UnexplainedAbsence
            | Self::Replaced => Action::Block,
            Self::Exposed | Self::Masked | Self::EvidenceLost | Self::Destabilised | Self::Inconclusive => {
                Action::Review
            }
            Self::Flaky => Action::Quarantine,
            Self::PreExisting => Action::Freeze,
            Self::BrokenOnBase => Action::Ignore,
            Self::Fixed | Self::Repaired => Action::Credit,
        }
    }

    /// Whether the test passes on patched in every order, so that it may be cited for the patch.
    fn passes_on_patched(self) -> bool {
        matches!(self, Self::Fixed | Self::Repaired)
    }
}

/// What follows from a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// The test may be cited for the patch.
    Evidence,
    /// It may be cited, and it speaks for the patch more than others.
    Credit,
    /// Neither for nor against; no evidence.
    Ignore,
    /// Not the patch's fault; to be frozen, no evidence.
    Freeze,
    /// Known to be flaky; to be quarantined, no evidence.
    Quarantine,
    /// A person must look.
    Review,
    /// The patch must not be merged as it is.
    Block,
}

impl Action {
    /// All actions, the mildest first.
    pub const ALL: [Self; 7] = [
        Self::Evidence,
        Self::Credit,
        Self::Ignore,
        Self::Freeze,
        Self::Quarantine,
        Self::Review,
        Self::Block,
    ];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Evidence => "evidence",
            Self::Credit => "credit",
            Self::Ignore => "ignore",
            Self::Freeze => "freeze",
            Self::Quarantine => "quarantine",
            Self::Review => "review",
            Self::Block => "block",
        }
    }

    /// The action that a word names.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|a| a.word() == word)
    }

    /// Whether it lets the test be cited for the patch.
    pub fn is_evidence(self) -> bool {
        matches!(self, Self::Evidence | Self::Credit)
    }
}

/// Why an action can't follow from a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleError {
    finding: Finding,
    action: Action,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.action {
            Action::Evidence | Action::Credit => "the test does not pass in every order on the patched tree",
            Action::Freeze => "only an order-sensitive test can be frozen",
            _ => "it must never become a silent pass",
        };
        write!(f, "`{}` cannot have the action `{}`: {why}", self.finding.word(), self.action.word())
    }
}

impl std::error::Error for RuleError {}

/// Which action follows from which finding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    overrides: BTreeMap<Finding, Action>,
}

impl Rules {
    /// Sets the action for a finding.
    ///
    /// Refused: evidence or credit for a test that does not pass on patched in every order, freezing one that fails
    /// in every order, and any action milder than a review for `inconclusive`.
    pub fn set(&mut self, finding: Finding, action: Action) -> Result<(), RuleError> {
        let never_freezable = matches!(
            finding,
            Finding::Regressed | Finding::BrokenOnBase | Finding::NewTestFails | Finding::UnexplainedAbsence
        );
        let refused = (action.is_evidence() && !finding.passes_on_patched())
            || (action == Action::Freeze && never_freezable)
            || (finding == Finding::Inconclusive && action < Action::Review);
        if refused {
            return Err(RuleError { finding, action });
        }
        self.overrides.insert(finding, action);
        Ok(())
    }

    /// The action for a finding. `exposed` blocks when the default order is red on patched, unless it was set.
    pub fn action(&self, finding: Finding, default_order_red: bool) -> Action {
        match self.overrides.get(&finding) {
            Some(&action) => action,
            None if finding == Finding::Exposed && default_order_red => Action::Block,
            None => finding.default_action(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lead_back_to_findings_and_actions() {
        for finding in Finding::ALL {
            assert_eq!(Finding::from_word(finding.word()), Some(finding));
        }
        for action in Action::ALL {
            assert_eq!(Action::from_word(action.word()), Some(action));
        }
        assert_eq!(Finding::from_word("evidence"), None);
    }

    #[test]
    fn defaults_are_themselves_allowed() {
        for finding in Finding::ALL {
            assert_eq!(Rules::default().set(finding, finding.default_action()), Ok(()), "{finding:?}");
        }
    }

    #[test]
    fn what_fails_everywhere_is_never_frozen_and_nothing_undecided_passes() {
        let mut rules = Rules::default();
        assert!(rules.set(Finding::Regressed, Action::Freeze).is_err());
        assert!(rules.set(Finding::BrokenOnBase, Action::Freeze).is_err());
        assert!(rules.set(Finding::Inconclusive, Action::Ignore).is_err());
        let error = rules.set(Finding::Flaky, Action::Evidence).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`flaky` cannot have the action `evidence`: the test does not pass in every order on the patched tree"
        );
        assert_eq!(rules, Rules::default());
    }

    #[test]
    fn exposed_blocks_only_when_the_default_order_is_red() {
        let mut rules = Rules::default();
        assert_eq!(rules.action(Finding::Exposed, true), Action::Block);
        assert_eq!(rules.action(Finding::Exposed, false), Action::Review);
        rules.set(Finding::Exposed, Action::Ignore).unwrap();
        assert_eq!(rules.action(Finding::Exposed, true), Action::Ignore);
    }
}
