//! Shortens an order to the few tests that matter to one test's outcome (METHODS C).
//!
//! A state machine like the others: `next_query` says what to run, `observe` takes what came of it. It knows neither
//! trees nor outcomes, only whether the goal's test was *hit*: failed, where a polluter is looked for; passed, where a
//! state-setter is. Shared by the verdict, which minimises a failing order, and by attribution.
//!
//! The search is a pure function of the answers so far: `solve` walks it from the start, reads what is known in the
//! book, and stops at the first thing that is not. Answers may therefore come in any sequence, and those that were kept
//! can be given again.
//!
//! ```
//! use anyorder_core::model::TestIx;
//! use anyorder_core::search::{Conclusion, Minimiser, Options, Ranking, Reply, SeenRun};
//!
//! // Test 9 fails when 3 ran before it. It failed behind 0..=8 in one order, and passed behind 5 and 7 in another.
//! let failing: Vec<TestIx> = (0..9).map(TestIx).collect();
//! let runs = [
//!     SeenRun { before: &failing, hit: true },
//!     SeenRun { before: &[TestIx(5), TestIx(7)], hit: false },
//! ];
//! let ranking = Ranking::new(TestIx(9), 10, &runs, |_| false);
//! let mut search = Minimiser::new(TestIx(9), vec![failing.clone()], ranking, Options::default());
//! while let Some(query) = search.next_query() {
//!     let hit = |place: &usize| Some(query.tests[..*place].contains(&TestIx(3)));
//!     let reply = Reply { hits: query.places.iter().map(hit).collect() };
//!     search.observe(query.id, &reply);
//! }
//! let minimal = search.finish();
//! assert_eq!(minimal.conclusion.sequence(), Some(&[TestIx(3)][..]));
//! ```

mod book;
mod minimiser;
mod ranking;
mod solve;
mod sprt;

use crate::model::TestIx;

pub(crate) use book::{Key, Tally};
pub use minimiser::{Conclusion, Minimal, Minimiser, Options, Spent};
pub use ranking::{Ranking, SeenRun};
pub use sprt::{Leaning, lean};

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
