//! Intervals, bounds and exact tests for counts (METHODS A4).
//!
//! Arithmetic on counts only; nothing here knows tests or orders.

mod binomial;
mod bound;
mod fisher;

pub use binomial::{clopper_pearson, rule_of_three, upper_bound, wilson};
pub use bound::{Bound, NotExcluded};
pub use fisher::fisher_one_sided;
