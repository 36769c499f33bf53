//! What a sweep will cost, said before it starts.

use std::time::Duration;

use anyorder_core::model::OrderLabel;

use super::facts::{Bound, Weakness};

/// Another plan that could be had.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanOption {
    /// How to ask for it: `--quick`, `--bound 5%`.
    pub flag: String,
    /// What it would take.
    pub time: Duration,
    /// The bound it would buy, if nothing fails; a share.
    pub upper95: f64,
}

/// The cost of a plan, from the first order's measured time.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanView {
    /// Name of the tree, or of both.
    pub tree: String,
    /// How many tests.
    pub tests: usize,
    /// The orders planned.
    pub orders: Vec<OrderLabel>,
    /// What the first order took; `None` when it was not measured yet.
    pub first_order: Option<Duration>,
    /// What running each test alone will take, when it is planned.
    pub alone: Option<Duration>,
    /// Runs at a time.
    pub jobs: usize,
    /// What all of it will take; `None` when it can't be told yet.
    pub time: Option<Duration>,
    /// The bound it buys if nothing fails.
    pub bound: Bound,
    /// Other plans: cheaper and more thorough ones.
    pub options: Vec<PlanOption>,
    /// Where the method is weak here.
    pub weaknesses: Vec<Weakness>,
}
