//! The words all other parts speak: tests, orders, outcomes, runs.
//!
//! Closed enums and private fields; no wire format, no clock.

mod matrix;
mod order;
mod outcome;
mod run;
mod suite;

pub use matrix::{Matrix, OutcomeVector};
pub use order::{Order, OrderError, OrderLabel, ParseOrderError, Seed};
pub use outcome::{Outcome, Phase};
pub use run::{Ending, Excerpt, Executor, Failure, Peek, PeekAt, RunRecord, Signature, TestResult, Tree};
pub use suite::{Suite, SuiteError, TestId, TestInfo, TestIx};
