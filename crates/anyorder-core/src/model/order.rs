//! Orders: a permutation of tests with the name it goes by.

use std::fmt;
use std::str::FromStr;

use super::suite::TestIx;

/// The seed of an order: any integer that fits in 128 bits, negative ones too (CPython takes the absolute value).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seed(pub i128);

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The name of an order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OrderLabel {
    /// As the runner collects.
    Default,
    /// The default order backwards.
    Reverse,
    /// Each test by itself in its own run.
    Alone,
    /// The order of a seed.
    Seed(Seed),
    /// The order of a seed, backwards.
    SeedReverse(Seed),
    /// An order given as a list of ids, named by the user or by what asked for it.
    List(String),
}

impl OrderLabel {
    /// Whether runs of it are independent draws from the distribution of orders, which the bound counts.
    pub fn is_independent_seed(&self) -> bool {
        matches!(self, Self::Seed(_))
    }
}

impl fmt::Display for OrderLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Reverse => f.write_str("reverse"),
            Self::Alone => f.write_str("alone"),
            Self::Seed(seed) => write!(f, "seed:{seed}"),
            Self::SeedReverse(seed) => write!(f, "seed:{seed}:reverse"),
            Self::List(name) => write!(f, "list:{name}"),
        }
    }
}

/// A text that names no order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseOrderError {
    text: String,
}

impl fmt::Display for ParseOrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` names no order: write `default`, `reverse`, `alone`, `seed:7` or `seed:7:reverse`",
            self.text
        )
    }
}

impl std::error::Error for ParseOrderError {}

impl FromStr for OrderLabel {
    type Err = ParseOrderError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseOrderError { text: text.to_owned() };
        match text {
            "default" => Ok(Self::Default),
            "reverse" => Ok(Self::Reverse),
            "alone" => Ok(Self::Alone),
            _ => {
                if let Some(name) = text.strip_prefix("list:") {
                    return Ok(Self::List(name.to_owned()));
                }
                let rest = text.strip_prefix("seed:").ok_or_else(wrong)?;
                let (number, reverse) = match rest.strip_suffix(":reverse") {
                    Some(number) => (number, true),
                    None => (rest, false),
                };
                let seed = Seed(number.parse().map_err(|_| wrong())?);
                Ok(if reverse { Self::SeedReverse(seed) } else { Self::Seed(seed) })
            }
        }
    }
}

/// A sequence of distinct tests of one suite, under its label. A full order holds every test of the suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    label: OrderLabel,
    tests: Vec<TestIx>,
}

/// Why a sequence is no order of a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderError {
    /// A test stands in it twice.
    Twice(TestIx),
    /// An index lies outside the suite.
    Outside(TestIx),
    /// A full order was wanted and this test is missing.
    Missing(TestIx),
}

impl fmt::Display for OrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Twice(ix) => write!(f, "test {} stands in the order twice", ix.0),
            Self::Outside(ix) => write!(f, "test {} of the order is not in the suite", ix.0),
            Self::Missing(ix) => write!(f, "test {} of the suite is missing from the order", ix.0),
        }
    }
}

impl std::error::Error for OrderError {}

impl Order {
    /// An order of some tests of a suite of `suite_len` tests, each at most once.
    pub fn partial(label: OrderLabel, tests: Vec<TestIx>, suite_len: usize) -> Result<Self, OrderError> {
        let mut seen = vec![false; suite_len];
        for &ix in &tests {
            let slot = seen.get_mut(ix.get()).ok_or(OrderError::Outside(ix))?;
            if std::mem::replace(slot, true) {
                return Err(OrderError::Twice(ix));
            }
        }
        Ok(Self { label, tests })
    }

    /// A permutation of a suite of `suite_len` tests.
    pub fn full(label: OrderLabel, tests: Vec<TestIx>, suite_len: usize) -> Result<Self, OrderError> {
        let order = Self::partial(label, tests, suite_len)?;
        if order.tests.len() == suite_len {
            return Ok(order);
        }
        let mut seen = vec![false; suite_len];
        for ix in &order.tests {
            seen[ix.get()] = true;
        }
        let missing = seen.iter().position(|s| !s).and_then(|ix| u32::try_from(ix).ok()).unwrap_or(0);
        Err(OrderError::Missing(TestIx(missing)))
    }

    /// The order without the tests that are not kept; the rest stay as they are, under the same label.
    #[must_use]
    pub fn restricted(&self, keep: impl Fn(TestIx) -> bool) -> Self {
        let tests = self.tests.iter().copied().filter(|&ix| keep(ix)).collect();
        Self { label: self.label.clone(), tests }
    }

    /// The order up to the last of these tests; all of it when it has none of them.
    #[must_use]
    pub fn until_last_of(&self, tests: &[TestIx]) -> Self {
        let last = self.tests.iter().rposition(|ix| tests.contains(ix));
        let tests = self.tests[..last.map_or(self.tests.len(), |at| at + 1)].to_vec();
        Self { label: self.label.clone(), tests }
    }

    /// Its name.
    pub fn label(&self) -> &OrderLabel {
        &self.label
    }

    /// Its tests, first to last.
    pub fn tests(&self) -> &[TestIx] {
        &self.tests
    }

    /// How many tests it runs.
    pub fn len(&self) -> usize {
        self.tests.len()
    }

    /// Whether it runs nothing.
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_survive_writing_and_reading() {
        for text in ["default", "reverse", "alone", "seed:7", "seed:-3", "seed:7:reverse", "list:mine.txt"] {
            assert_eq!(text.parse::<OrderLabel>().unwrap().to_string(), text);
        }
        for text in ["", "seed", "seed:", "seed:x", "seed:1:forward", "Default"] {
            assert!(text.parse::<OrderLabel>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_order_holds_each_test_once() {
        let ix = |n: &[u32]| n.iter().copied().map(TestIx).collect::<Vec<_>>();
        assert_eq!(Order::full(OrderLabel::Default, ix(&[0, 2]), 3), Err(OrderError::Missing(TestIx(1))));
        assert_eq!(Order::full(OrderLabel::Default, ix(&[0, 1, 0]), 3), Err(OrderError::Twice(TestIx(0))));
        assert_eq!(Order::full(OrderLabel::Default, ix(&[0, 3]), 3), Err(OrderError::Outside(TestIx(3))));
        assert!(Order::full(OrderLabel::Default, ix(&[2, 0, 1]), 3).is_ok());
    }
}
