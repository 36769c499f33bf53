//! What became of one test in one run.

/// What became of one test in one run. Everything but `Passed` counts as not passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// Setup, call and teardown passed.
    Passed,
    /// The call failed (also: strict `xpassed`).
    Failed,
    /// Setup or teardown failed.
    Error,
    /// Skipped.
    Skipped,
    /// Failed, as declared.
    Xfailed,
    /// Passed although declared to fail.
    Xpassed,
    /// Ran longer than allowed and was ended.
    Timeout,
    /// The process died while it ran.
    Crashed,
    /// Planned, never reported.
    Absent,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Self; 9] = [
        Self::Passed,
        Self::Failed,
        Self::Error,
        Self::Skipped,
        Self::Xfailed,
        Self::Xpassed,
        Self::Timeout,
        Self::Crashed,
        Self::Absent,
    ];

    /// Its letter in an outcome vector (DESIGN section 9).
    pub fn letter(self) -> char {
        match self {
            Self::Passed => 'P',
            Self::Failed => 'F',
            Self::Error => 'E',
            Self::Skipped => 's',
            Self::Xfailed => 'x',
            Self::Xpassed => 'X',
            Self::Timeout => 'T',
            Self::Crashed => 'C',
            Self::Absent => '-',
        }
    }

    /// The outcome that a letter stands for.
    pub fn from_letter(letter: char) -> Option<Self> {
        Self::ALL.into_iter().find(|o| o.letter() == letter)
    }

    /// The word for it, as in reports and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Error => "error",
            Self::Skipped => "skipped",
            Self::Xfailed => "xfailed",
            Self::Xpassed => "xpassed",
            Self::Timeout => "timeout",
            Self::Crashed => "crashed",
            Self::Absent => "absent",
        }
    }

    /// Whether it passed, the only clean outcome.
    pub fn passed(self) -> bool {
        matches!(self, Self::Passed)
    }

    /// Whether something went wrong: failed, error, timeout, crashed or absent.
    pub fn is_bad(self) -> bool {
        matches!(self, Self::Failed | Self::Error | Self::Timeout | Self::Crashed | Self::Absent)
    }

    /// Whether it says nothing either way: skipped or failing as declared.
    pub fn is_neutral(self) -> bool {
        matches!(self, Self::Skipped | Self::Xfailed | Self::Xpassed)
    }
}

/// The part of a test that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Fixtures are set up.
    Setup,
    /// The test's body.
    Call,
    /// Fixtures are torn down.
    Teardown,
}

impl Phase {
    /// The word for it: `setup`, `call`, `teardown`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Call => "call",
            Self::Teardown => "teardown",
        }
    }

    /// The phase that a word names.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Setup, Self::Call, Self::Teardown].into_iter().find(|p| p.word() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_leads_back_to_its_outcome() {
        for outcome in Outcome::ALL {
            assert_eq!(Outcome::from_letter(outcome.letter()), Some(outcome));
        }
        assert_eq!(Outcome::from_letter('?'), None);
    }
}
