//! Orders: keyed sorts, CPython's shuffle, declared order kept, the plan, what a sweep covers.
//!
//! A seed's order is a sort by a strong keyed hash of each test's id, never a shuffle of a list: adding or removing a
//! test leaves the relative order of all others as it was (METHODS, result 5; PEERS 0.2 and 0.4 on what goes wrong
//! otherwise).

mod constraints;
mod coverage;
mod list;
mod plan;
mod python;
mod shuffle;

pub use constraints::{Constraints, Ignored};
pub use coverage::{Coverage, CoverageCounter};
pub use list::{ParseOrdersError, parse_orders};
pub use plan::{Amount, Plan, PlanError, PlanRequest};
pub use shuffle::{Kind, ParseShuffleError, Shuffle, seed_kind};

use std::fmt;

use crate::model::{Order, OrderLabel, Suite, TestId, TestIx};

/// Why a label alone does not make an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MakeError {
    /// `alone` is one run a test, not one order.
    Alone,
    /// A list's tests are not in its name.
    List(String),
}

impl fmt::Display for MakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alone => f.write_str("`alone` is a run for each test, not one order"),
            Self::List(name) => write!(f, "the order `list:{name}` can only be read from its file"),
        }
    }
}

impl std::error::Error for MakeError {}

/// The full order of a label, with declared order kept.
pub fn make(
    label: &OrderLabel,
    suite: &Suite,
    shuffle: Shuffle,
    constraints: &Constraints,
) -> Result<Order, MakeError> {
    let mut tests: Vec<TestIx> = match label {
        OrderLabel::Default | OrderLabel::Reverse => suite.indices().collect(),
        OrderLabel::Seed(seed) | OrderLabel::SeedReverse(seed) => shuffle::sequence(suite, shuffle, *seed),
        OrderLabel::Alone => return Err(MakeError::Alone),
        OrderLabel::List(name) => return Err(MakeError::List(name.clone())),
    };
    if matches!(label, OrderLabel::Reverse | OrderLabel::SeedReverse(_)) {
        tests.reverse();
    }
    Ok(order(label.clone(), constraints.repair(tests), suite))
}

/// One test by itself, after the tests it declares to need.
pub fn alone(suite: &Suite, constraints: &Constraints, test: TestIx) -> Order {
    let mut tests = constraints.prerequisites(test);
    tests.push(test);
    order(OrderLabel::Alone, tests, suite)
}

/// The tests of an order that `keep` wants, in the same order.
pub fn restrict(order: &Order, suite: &Suite, keep: impl Fn(TestIx) -> bool) -> Order {
    let tests = order.tests().iter().copied().filter(|t| keep(*t)).collect();
    self::order(order.label().clone(), tests, suite)
}

/// Ids that are not in the suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromIdsError {
    /// These ids are unknown.
    Unknown(Vec<TestId>),
    /// This id stands in the list twice.
    Twice(TestId),
}

impl fmt::Display for FromIdsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Twice(id) => write!(f, "`{id}` stands in the order twice"),
            Self::Unknown(ids) => {
                write!(f, "{} of the order's tests are not in the suite:", ids.len())?;
                ids.iter().take(5).try_for_each(|id| write!(f, " `{id}`"))?;
                if ids.len() > 5 { write!(f, " and {} more", ids.len() - 5) } else { Ok(()) }
            }
        }
    }
}

impl std::error::Error for FromIdsError {}

/// An order from a list of ids, under a name.
pub fn from_ids(name: &str, ids: &[TestId], suite: &Suite) -> Result<Order, FromIdsError> {
    let mut unknown = Vec::new();
    let mut tests = Vec::with_capacity(ids.len());
    for id in ids {
        match suite.find(id) {
            Some(test) => tests.push(test),
            None => unknown.push(id.clone()),
        }
    }
    if !unknown.is_empty() {
        return Err(FromIdsError::Unknown(unknown));
    }
    Order::partial(OrderLabel::List(name.to_owned()), tests, suite.len()).map_err(|error| match error {
        crate::model::OrderError::Twice(ix)
        | crate::model::OrderError::Outside(ix)
        | crate::model::OrderError::Missing(ix) => FromIdsError::Twice(suite.id(ix).clone()),
    })
}

/// An order of tests that are known to be distinct and of this suite.
fn order(label: OrderLabel, tests: Vec<TestIx>, suite: &Suite) -> Order {
    match Order::partial(label.clone(), tests, suite.len()) {
        Ok(order) => order,
        // Cannot happen: every caller hands on distinct indices of the suite. The default order is the honest rest.
        Err(_) => Order::partial(label, suite.indices().collect(), suite.len())
            .unwrap_or_else(|_| unreachable!("the indices of a suite are distinct")),
    }
}
