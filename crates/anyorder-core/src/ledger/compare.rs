//! How a measurement compares with the one before.

use std::fmt;

use crate::model::Outcome;

use super::entry::Recorded;

/// In which direction outcomes moved. What is not `passed` counts as failing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// The same orders fail.
    Same,
    /// All orders that failed still do, and others.
    MoreFailing,
    /// Only orders that failed before fail, and not all of them.
    FewerFailing,
    /// Some orders fail that passed, some pass that failed.
    OtherFailing,
    /// The two measurements have no order in common.
    Incomparable,
}

impl Change {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Same, Self::MoreFailing, Self::FewerFailing, Self::OtherFailing, Self::Incomparable];

    /// The word for it, as in the file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::MoreFailing => "more_failing",
            Self::FewerFailing => "fewer_failing",
            Self::OtherFailing => "other_failing",
            Self::Incomparable => "incomparable",
        }
    }

    /// The change that a word names.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.word() == word)
    }
}

/// How two vectors compare over the orders that both have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The direction.
    pub change: Change,
    /// In how many orders the test was measured both times; those in which it was never reached are left out.
    pub orders: usize,
    /// In how many of those it failed before.
    pub before: usize,
    /// In how many of those it fails now.
    pub now: usize,
}

impl Comparison {
    /// Compares a measurement with the one before.
    pub fn of(before: &Recorded, now: &Recorded) -> Self {
        let mut compared = Self { change: Change::Incomparable, orders: 0, before: 0, now: 0 };
        let (mut worse, mut better) = (false, false);
        for (label, &new) in now.orders().iter().zip(&now.vector().0) {
            let Some(at) = before.orders().iter().position(|l| l == label) else { continue };
            let old = before.vector().0[at];
            if old == Outcome::Absent || new == Outcome::Absent {
                continue;
            }
            compared.orders += 1;
            compared.before += usize::from(!old.passed());
            compared.now += usize::from(!new.passed());
            worse |= old.passed() && !new.passed();
            better |= !old.passed() && new.passed();
        }
        compared.change = match (compared.orders, worse, better) {
            (0, ..) => Change::Incomparable,
            (_, false, false) => Change::Same,
            (_, true, false) => Change::MoreFailing,
            (_, false, true) => Change::FewerFailing,
            (_, true, true) => Change::OtherFailing,
        };
        compared
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { change, orders, before, now } = self;
        match change {
            Change::Incomparable => f.write_str("no order was measured both times"),
            Change::Same => write!(f, "fails in the same {now} of {orders} orders as before"),
            Change::MoreFailing => write!(f, "fails in {now} of {orders} orders, in {before} before"),
            Change::FewerFailing => write!(f, "fails in only {now} of {orders} orders, in {before} before"),
            Change::OtherFailing => {
                write!(f, "fails in other orders than before: in {now} of {orders}, in {before} before")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{OrderLabel, OutcomeVector, Seed};

    fn recorded(from: i128, letters: &str) -> Recorded {
        let labels = (from..).take(letters.len()).map(|n| OrderLabel::Seed(Seed(n))).collect();
        Recorded::new(labels, OutcomeVector::from_letters(letters).unwrap()).unwrap()
    }

    #[test]
    fn only_orders_that_both_have_are_compared() {
        let compare = |a: &Recorded, b: &Recorded| Comparison::of(a, b);
        let old = recorded(1, "PPFFP");
        assert_eq!(compare(&old, &recorded(1, "PPFFP")).change, Change::Same);
        assert_eq!(compare(&old, &recorded(1, "PPEFPF")).change, Change::Same);
        assert_eq!(compare(&old, &recorded(1, "FPFFP")).change, Change::MoreFailing);
        assert_eq!(compare(&old, &recorded(1, "PPFPP")).change, Change::FewerFailing);
        assert_eq!(compare(&old, &recorded(1, "FPFPP")).change, Change::OtherFailing);
        assert_eq!(compare(&old, &recorded(6, "FPFPP")).change, Change::Incomparable);
        assert_eq!(compare(&old, &recorded(1, "P-F-P")).change, Change::Same);
        assert_eq!(compare(&old, &recorded(3, "FFFFP")).to_string(), "fails in 3 of 3 orders, in 2 before");
    }

    proptest::proptest! {
        #[test]
        fn a_comparison_turned_round_is_the_opposite(a in "[PFE]{6}", b in "[PFE]{6}") {
            let differs = |s: &str| s.contains('P') && s.chars().any(|c| c != 'P');
            proptest::prop_assume!(differs(&a) && differs(&b));
            let (a, b) = (recorded(1, &a), recorded(1, &b));
            let (there, back) = (Comparison::of(&a, &b), Comparison::of(&b, &a));
            let opposite = match there.change {
                Change::MoreFailing => Change::FewerFailing,
                Change::FewerFailing => Change::MoreFailing,
                other => other,
            };
            proptest::prop_assert_eq!(back.change, opposite);
            proptest::prop_assert_eq!((back.before, back.now), (there.now, there.before));
            proptest::prop_assert_eq!(Comparison::of(&a, &a).change, Change::Same);
        }
    }
}
