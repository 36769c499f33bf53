//! From a label to the sequence of tests it names.

use std::fmt;

use super::constraints::Constraints;
use super::shuffle::Shuffle;
use super::{keyed, python};
use crate::model::{Order, OrderError, OrderLabel, Seed, Suite, TestId, TestIx};

/// Why a label could not be turned into one order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MakeError {
    /// `alone` is one run a test, not one order.
    Alone,
    /// A list has its tests from outside.
    List(String),
    /// The constraints were declared for a suite of another size.
    ForeignConstraints {
        /// How many tests the constraints are for.
        constraints: usize,
        /// How many tests the suite has.
        suite: usize,
    },
    /// The sequence came out wrong: a defect of this crate.
    Defect(OrderLabel, OrderError),
}

impl fmt::Display for MakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alone => {
                f.write_str("`alone` is one run for each test, not one order: ask for the order of each test")
            }
            Self::List(name) => {
                write!(f, "cannot make order `list:{name}` from its name: read its ids and order by them")
            }
            Self::ForeignConstraints { constraints, suite } => write!(
                f,
                "cannot order a suite of {suite} tests by constraints declared for one of {constraints}: declare \
                 them for this suite"
            ),
            Self::Defect(label, error) => {
                write!(f, "order `{label}` came out wrong, which is a defect of anyorder: {error}")
            }
        }
    }
}

impl std::error::Error for MakeError {}

/// The full order of a suite that a label names.
///
/// `default` is the suite as collected, untouched: it is what the runner itself would run. All other orders keep the
/// constraints; a reverse is exact before they are repaired into it.
pub fn make(
    label: &OrderLabel,
    suite: &Suite,
    shuffle: Shuffle,
    constraints: &Constraints,
) -> Result<Order, MakeError> {
    if !constraints.fits(suite) {
        let constraints = constraints.suite_len();
        return Err(MakeError::ForeignConstraints { constraints, suite: suite.len() });
    }
    let tests = match label {
        OrderLabel::Default => suite.indices().collect(),
        OrderLabel::Reverse => constraints.repair(suite.indices().rev().collect()),
        OrderLabel::Seed(seed) => constraints.repair(shuffled(suite, *seed, shuffle)),
        OrderLabel::SeedReverse(seed) => {
            let mut tests = shuffled(suite, *seed, shuffle);
            tests.reverse();
            constraints.repair(tests)
        }
        OrderLabel::Alone => return Err(MakeError::Alone),
        OrderLabel::List(name) => return Err(MakeError::List(name.clone())),
    };
    Order::full(label.clone(), tests, suite.len()).map_err(|error| MakeError::Defect(label.clone(), error))
}

fn shuffled(suite: &Suite, seed: Seed, shuffle: Shuffle) -> Vec<TestIx> {
    match shuffle.resolve(seed) {
        Shuffle::Mixed | Shuffle::Nested => keyed::nested(suite, seed),
        Shuffle::Flat => keyed::flat(suite, seed),
        Shuffle::Files => keyed::files(suite, seed),
        Shuffle::Python => {
            let mut tests: Vec<TestIx> = suite.indices().collect();
            python::shuffle(&mut tests, seed);
            tests
        }
    }
}

/// One test by itself, after those it declares that it needs, which run first.
///
/// # Panics
/// When the test belongs to a larger suite.
pub fn alone(suite: &Suite, constraints: &Constraints, test: TestIx) -> Order {
    let mut tests = constraints.prerequisites(test);
    tests.retain(|ix| ix.get() < suite.len());
    tests.push(test);
    Order::partial(OrderLabel::Alone, tests, suite.len())
        .expect("a test and its prerequisites belong to the suite")
}

/// Why ids do not make an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromIdsError {
    /// There are none.
    Empty {
        /// The name of the list.
        name: String,
    },
    /// Some are not in the suite.
    Unknown {
        /// The name of the list.
        name: String,
        /// Those that are not, in their order.
        ids: Vec<TestId>,
    },
    /// Some stand there more than once.
    Repeated {
        /// The name of the list.
        name: String,
        /// Those that do, each once, in their order.
        ids: Vec<TestId>,
    },
}

/// How many ids an error message shows.
const SHOWN: usize = 5;

/// Shows the first few ids.
fn write_ids(f: &mut fmt::Formatter<'_>, ids: &[TestId]) -> fmt::Result {
    for (n, id) in ids.iter().take(SHOWN).enumerate() {
        write!(f, "{}`{id}`", if n == 0 { "" } else { ", " })?;
    }
    match ids.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => write!(f, " and {more} more"),
    }
}

impl fmt::Display for FromIdsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty { name } => write!(f, "list `{name}` names no test: write one id a line"),
            Self::Unknown { name, ids } => {
                write!(f, "list `{name}` names {} of no test in the suite: ", count(ids.len(), "id"))?;
                write_ids(f, ids)?;
                f.write_str("; take ids as the runner collects them")
            }
            Self::Repeated { name, ids } => {
                write!(f, "list `{name}` names {} more than once: ", count(ids.len(), "test"))?;
                write_ids(f, ids)?;
                f.write_str("; an order runs each test once")
            }
        }
    }
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

impl std::error::Error for FromIdsError {}

/// The order that a list of ids gives, exactly as listed; it need not name every test of the suite.
pub fn from_ids(name: &str, ids: &[TestId], suite: &Suite) -> Result<Order, FromIdsError> {
    let name = || name.to_owned();
    let mut tests = Vec::with_capacity(ids.len());
    let mut unknown = Vec::new();
    let mut repeated = Vec::new();
    let mut times = vec![0u32; suite.len()];
    for id in ids {
        let Some(ix) = suite.find(id) else {
            unknown.push(id.clone());
            continue;
        };
        times[ix.get()] = times[ix.get()].saturating_add(1);
        match times[ix.get()] {
            1 => tests.push(ix),
            2 => repeated.push(id.clone()),
            _ => {}
        }
    }
    if !unknown.is_empty() {
        return Err(FromIdsError::Unknown { name: name(), ids: unknown });
    }
    if tests.is_empty() {
        return Err(FromIdsError::Empty { name: name() });
    }
    Order::partial(OrderLabel::List(name()), tests, suite.len())
        .ok()
        .filter(|_| repeated.is_empty())
        .ok_or_else(|| FromIdsError::Repeated { name: name(), ids: repeated })
}

/// The order without the tests that are not kept; the rest stay as they are.
pub fn restrict(order: &Order, keep: impl Fn(TestIx) -> bool) -> Order {
    order.restricted(keep)
}
