//! The closed vocabulary of reports (DESIGN sections 1 and 5), with the word that stands in JSON.

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word for it, as in JSON.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// The one that a word names.
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|w| w.word() == word)
            }
        }
    };
}

words! {
    /// What a test's outcome vector says about it.
    Class {
        /// Passes in every order.
        StablePass = "stable_pass",
        /// Fails in every order.
        StableFail = "stable_fail",
        /// Skipped or failing as declared in every order.
        StableSkip = "stable_skip",
        /// The outcome depends on the order.
        OrderSensitive = "order_sensitive",
        /// Two outcomes for one order.
        Flaky = "flaky",
    }
}

words! {
    /// What a patch did to a test.
    Finding {
        /// Failed on base, passes on patched in every order.
        Repaired = "repaired",
        /// Order-sensitive since the patch.
        Introduced = "introduced",
        /// A new test is order-sensitive.
        NewTestCoupled = "new_test_coupled",
        /// A new or changed test makes an old one order-sensitive.
        PoisonsNeighbours = "poisons_neighbours",
        /// A touched test leaks state that base did not.
        NewLeak = "new_leak",
        /// Passed on base in every order, fails on patched in every order.
        Regressed = "regressed",
        /// A new test fails in every order.
        NewTestFails = "new_test_fails",
        /// Absent or crashed in some order on patched.
        UnexplainedAbsence = "unexplained_absence",
        /// Order-sensitive on both trees at the same orders.
        PreExisting = "pre_existing",
        /// Passes on patched only because new state hides the old leak.
        Masked = "masked",
        /// The old cause is gone and a new one came.
        Replaced = "replaced",
        /// A removed or moved test was the cleaner.
        Exposed = "exposed",
        /// Order-sensitive on base, clean on patched.
        Fixed = "fixed",
        /// Fails in every order on both trees.
        BrokenOnBase = "broken_on_base",
        /// Passed on base, skipped or gone on patched.
        EvidenceLost = "evidence_lost",
        /// Two outcomes for one order.
        Flaky = "flaky",
        /// Two outcomes for one order since the patch.
        Destabilised = "destabilised",
        /// The budget was spent before a decision.
        Inconclusive = "inconclusive",
    }
}

words! {
    /// What follows from a finding.
    Action {
        /// The patch must not be merged as it is.
        Block = "block",
        /// Somebody should look.
        Review = "review",
        /// Known: kept out of the evidence.
        Freeze = "freeze",
        /// Chance: kept out of the evidence.
        Quarantine = "quarantine",
        /// Said, without consequence.
        Report = "report",
        /// Speaks for the patch.
        Credit = "credit",
    }
}

words! {
    /// The whole verdict on one patch.
    Verdict {
        /// Nothing that blocks, nothing to look at.
        Accept = "accept",
        /// Somebody should look.
        Review = "review",
        /// Not as it is.
        Block = "block",
    }
}
