//! Live progress as plain lines: the binary only shows the strings.

use std::time::Duration;

use anyorder_core::model::{OrderLabel, Outcome};

use crate::Style;

/// How far one order is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgressOrder {
    /// Its name.
    pub label: OrderLabel,
    /// Tests planned in it.
    pub planned: u32,
    /// Tests ended in it.
    pub ended: u32,
    /// The gravest outcome so far, where a test ended.
    pub worst: Option<Outcome>,
    /// Whether it is over, well or not.
    pub over: bool,
}

/// A sweep under way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgressView {
    /// Which tree: `base`, `patched`, empty when there is only one.
    pub tree: String,
    /// What is being done and why: `rerunning seed:3: is it order or chance?`.
    pub activity: String,
    /// All orders of the plan, in plan order.
    pub orders: Vec<ProgressOrder>,
    /// Tests that have not passed in some order so far.
    pub suspects: u32,
    /// Time since the start.
    pub elapsed: Duration,
    /// Time left, where it can be told.
    pub left: Option<Duration>,
}

/// An order that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderDone {
    /// Its name.
    pub label: OrderLabel,
    /// Which tree: `base`, `patched`, empty when there is only one.
    pub tree: String,
    /// How many tests had each outcome.
    pub counts: Vec<(Outcome, u32)>,
    /// What it took.
    pub duration: Duration,
    /// The how-manieth order it is, from 1.
    pub number: usize,
    /// Of how many.
    pub of: usize,
    /// How it ended when not well, in words.
    pub ending: Option<String>,
}

/// The lines of a live display, each at most `style.width` columns: a strip with a cell an order, and a summary.
pub fn lines(view: &ProgressView, style: Style) -> Vec<String> {
    let _ = style;
    vec![view.activity.clone()]
}

/// One line for an order that is over, for output that is no terminal:
/// `seed:4  909 passed, 1 failed  1.2 s  (7 of 23)`.
pub fn order_line(done: &OrderDone, style: Style) -> String {
    let _ = style;
    format!("{}  ({} of {})", done.label, done.number, done.of)
}
