//! Shortens an order to the few tests that matter to one test's outcome (METHODS C).
//!
//! A state machine like the others: `next_query` says what to run, `observe` takes what came of it. It knows neither
//! trees nor outcomes, only whether the goal's test was *hit*: failed, where a polluter is looked for; passed, where a
//! state-setter is. Shared by the verdict, which minimises a failing order, and by attribution.

use crate::model::TestIx;

/// Names a query between `next_query` and `observe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueryId(pub u32);

/// One thing to run: a sequence of tests, and the goal's test at some places of it.
///
/// With a single place, that behind the last test, it is the sequence with the goal's test at its end, in either executor.
/// Several places are asked only where forks are allowed: at each, a child runs the goal's test and the sequence goes on
/// as if it had not ([`crate::model::PeekAt`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// To be given back with the reply.
    pub id: QueryId,
    /// The tests before it, each at most once, the goal's not among them.
    pub tests: Vec<TestIx>,
    /// After how many of `tests` the goal's test is run, rising.
    pub places: Vec<usize>,
}

/// What came of a query: for each of its places, in sequence, whether the goal's test was hit there; `None` where it said
/// nothing (never reached, or ended by another test).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// One entry for each place.
    pub hits: Vec<Option<bool>>,
}
