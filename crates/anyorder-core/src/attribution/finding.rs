//! What attribution concludes.

use crate::model::{Outcome, TestIx};

/// What a test turned out to be (DESIGN section 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Passes alone, fails after a polluter.
    Victim,
    /// Fails alone, passes after a state-setter.
    Brittle,
    /// One executor shows it and the other never does: the cause is outside the process.
    External,
    /// Two outcomes for one sequence, and nothing before it makes the difference.
    Flaky,
    /// The orders that showed it do so no more, or none did.
    Unreproduced,
    /// Fails alone and in every order, whatever was imported.
    Failing,
    /// The budget ended the search, or the caller did.
    Undecided {
        /// The shortest sequence seen to change its outcome, perhaps by chance; empty where none was.
        best: Vec<TestIx>,
    },
}

impl Role {
    /// The word for it, as in reports and JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Victim => "victim",
            Self::Brittle => "brittle",
            Self::External => "external",
            Self::Flaky => "flaky",
            Self::Unreproduced => "unreproduced",
            Self::Failing => "failing",
            Self::Undecided { .. } => "undecided",
        }
    }
}

/// So many of so many runs hit the test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Runs that hit: in which a victim failed, or a brittle test passed.
    pub hits: u32,
    /// Runs that said anything.
    pub runs: u32,
}

/// What fresh interpreters said of a minimal sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// Runs with all of it.
    pub with: Count,
    /// Runs with none of it.
    pub without: Count,
    /// Runs with all but one, member by member; empty for a single one, which `without` tells.
    pub dropped: Vec<Count>,
    /// Tests that ran between it and this one, the same in all runs: others that the same set hits, proven together.
    pub beside: Vec<TestIx>,
    /// Whether that is a certificate: all runs with it hit, none without it or without a member, and enough of both. A test
    /// that fails by chance gets one in less than 1 of 1,000 cases (METHODS C). Otherwise the set is a *suspect*.
    pub certified: bool,
}

/// Tests that together change another test's outcome, and do not without any one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HittingSet {
    /// Polluters of a victim, state-setters of a brittle test, in the order in which they do it.
    pub tests: Vec<TestIx>,
    /// Whether it did each time it was tried in the search.
    pub always: bool,
    /// What fresh interpreters said.
    pub proof: Proof,
}

/// A module whose import changes a test's outcome, whichever test runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportPolluter {
    /// The modules that do it together, in their sequence; usually one.
    pub modules: Vec<String>,
    /// What fresh interpreters said that collect only the test's own file.
    pub proof: Proof,
}

/// The outcome of a test at each place of one order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// What stood before it in the order.
    pub tests: Vec<TestIx>,
    /// Its outcome after 0, 1, … of them; `None` where nothing is known.
    pub outcomes: Vec<Option<Outcome>>,
}

impl Timeline {
    /// The places at which its outcome becomes another: after so many tests, from what to what.
    pub fn flips(&self) -> Vec<(usize, Outcome, Outcome)> {
        let known: Vec<(usize, Outcome)> =
            self.outcomes.iter().enumerate().filter_map(|(place, o)| o.map(|o| (place, o))).collect();
        known.windows(2).filter(|w| w[0].1 != w[1].1).map(|w| (w[1].0, w[0].1, w[1].1)).collect()
    }
}

/// What is known of one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestBlame {
    /// The test.
    pub test: TestIx,
    /// What it is.
    pub role: Role,
    /// What it gave alone.
    pub alone: Option<Outcome>,
    /// The sets that hit it, the first found first: polluters, or the state-setters of a brittle test.
    pub sets: Vec<HittingSet>,
    /// Whether each single test was tried before it, so that `sets` names all single ones.
    pub complete: bool,
    /// Tests that undo what the first set does.
    pub cleaners: Vec<TestIx>,
    /// Modules whose import hits it.
    pub imports: Vec<ImportPolluter>,
    /// Along one failing order, where asked for.
    pub timeline: Option<Timeline>,
    /// Tests with the same number share a set; 0 where there is none.
    pub cause: u32,
}

impl TestBlame {
    /// Whether something about it is certified.
    pub fn is_certified(&self) -> bool {
        self.sets.iter().any(|s| s.proof.certified) || self.imports.iter().any(|i| i.proof.certified)
    }
}

/// What was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlameSpent {
    /// Tests executed, peeks included.
    pub tests: u64,
    /// Of these, in fresh interpreters.
    pub fresh_tests: u64,
    /// Queries.
    pub queries: u64,
    /// Of these, in fresh interpreters.
    pub fresh_queries: u64,
}

/// What an attribution leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blamed {
    /// One entry for each test asked about, in the sequence in which they were asked.
    pub tests: Vec<TestBlame>,
    /// How many distinct causes.
    pub causes: u32,
    /// What it cost.
    pub spent: BlameSpent,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeline_passes_over_places_where_nothing_is_known() {
        use Outcome::{Failed, Passed};
        let outcomes = vec![Some(Passed), None, Some(Failed), Some(Failed), Some(Passed)];
        let timeline = Timeline { tests: Vec::new(), outcomes };
        assert_eq!(timeline.flips(), [(2, Passed, Failed), (4, Failed, Passed)]);
    }
}
