//! The part of anyorder that only computes.
//!
//! Orders, statistics, verdict, attribution, ledger: pure functions and state machines over the vocabulary in [`model`].
//! This crate must not know files, processes, clocks, environments or wire formats; whatever it needs is an argument.
//! Modules import leftwards only: `model → order, stats → search → verdict → attribution, ledger`.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod attribution;
pub mod ledger;
pub mod model;
pub mod order;
pub mod search;
pub mod stats;
pub mod verdict;
