//! Orders: keyed sorts, CPython's shuffle, declared order, the plan, and what a set of orders has covered.
//!
//! Pure functions from a suite and a seed to a permutation (DESIGN section 2, METHODS A). Nothing here knows how an
//! order is run or what came of it.

mod constraints;
mod coverage;
mod keyed;
mod make;
mod parse;
mod plan;
mod precedence;
mod python;
mod shuffle;

pub use constraints::{Constraints, Declared, Ignored, WhyIgnored};
pub use coverage::{Basis, Coverage, CoverageCounter};
pub use make::{FromIdsError, MakeError, alone, from_ids, make, restrict};
pub use parse::{MAX_RANGE, ParseOrdersError, parse_orders};
pub use plan::{Amount, MAX_SEEDS, Plan, PlanError, PlanParts, PlanRequest, seeds_for_bound};
pub use shuffle::{ParseShuffleError, Shuffle};
