//! The ways in which a seed may become an order.

use std::fmt;
use std::str::FromStr;

use super::keyed;
use crate::model::Seed;

/// How a seed orders the tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shuffle {
    /// The seed's own hash decides: three nested to one flat.
    #[default]
    Mixed,
    /// Files by key, then the tests of a file by key.
    Nested,
    /// All tests by key, files interleaved.
    Flat,
    /// Files by key, the tests of a file as collected.
    Files,
    /// `random.Random(seed).shuffle(items)` of CPython.
    Python,
}

impl Shuffle {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 5] = [Self::Mixed, Self::Nested, Self::Flat, Self::Files, Self::Python];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Mixed => "mixed",
            Self::Nested => "nested",
            Self::Flat => "flat",
            Self::Files => "files",
            Self::Python => "python",
        }
    }

    /// What a seed means under it: `Mixed` is resolved to `Nested` or `Flat`, the rest stay what they are.
    ///
    /// It depends on nothing but the seed, so a seed means the same kind in every suite and on every tree.
    #[must_use]
    pub fn resolve(self, seed: Seed) -> Self {
        match self {
            Self::Mixed if keyed::takes_flat(seed) => Self::Flat,
            Self::Mixed => Self::Nested,
            other => other,
        }
    }

    /// The seed that stands for all seeds with the same orders: CPython takes the absolute value, the keyed sorts
    /// tell all seeds apart. Two seeds with one representative are not two independent draws.
    pub(super) fn representative(self, seed: Seed) -> (bool, u128) {
        match self {
            Self::Python => (false, seed.0.unsigned_abs()),
            Self::Mixed | Self::Nested | Self::Flat | Self::Files => (seed.0 < 0, seed.0.unsigned_abs()),
        }
    }
}

impl fmt::Display for Shuffle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A word that names no shuffle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseShuffleError {
    text: String,
}

impl fmt::Display for ParseShuffleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` names no shuffle: write `mixed`, `nested`, `flat`, `files` or `python`", self.text)
    }
}

impl std::error::Error for ParseShuffleError {}

impl FromStr for Shuffle {
    type Err = ParseShuffleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|shuffle| shuffle.word() == text)
            .ok_or_else(|| ParseShuffleError { text: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_leads_back_to_its_shuffle() {
        for shuffle in Shuffle::ALL {
            assert_eq!(shuffle.to_string().parse(), Ok(shuffle));
        }
        let error = "Flat".parse::<Shuffle>().unwrap_err().to_string();
        assert!(error.contains("`Flat`") && error.contains("`flat`"), "{error}");
    }

    #[test]
    fn only_mixed_lets_the_seed_choose() {
        for n in -50..50 {
            assert!(matches!(Shuffle::Mixed.resolve(Seed(n)), Shuffle::Nested | Shuffle::Flat));
            for shuffle in &Shuffle::ALL[1..] {
                assert_eq!(shuffle.resolve(Seed(n)), *shuffle);
            }
        }
    }

    #[test]
    fn mixed_is_three_nested_to_one_flat() {
        let flat = (1..=4000).filter(|&n| Shuffle::Mixed.resolve(Seed(n)) == Shuffle::Flat).count();
        // Four standard deviations of a binomial (4000, 1/4).
        assert!(flat.abs_diff(1000) <= 110, "{flat} of 4000 seeds are flat");
    }
}
