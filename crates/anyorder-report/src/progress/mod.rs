//! Live progress as plain lines: the binary only shows the strings.

mod live;
mod plain;

use std::time::Duration;

use anyorder_core::model::{OrderLabel, Outcome, TestId};

pub use live::lines;
pub use plain::order_line;

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

impl ProgressOrder {
    /// An order that has not begun.
    pub fn waiting(label: OrderLabel, planned: u32) -> Self {
        Self { label, planned, ended: 0, worst: None, over: false }
    }
}

/// A test worth watching: it has not passed in some order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgressRow {
    /// Which.
    pub id: TestId,
    /// Its outcomes so far, one an order of the plan; `None` where it has not ended yet.
    pub outcomes: Vec<Option<Outcome>>,
}

/// A sweep under way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgressView {
    /// Which tree: `base`, `patched`, empty when there is only one.
    pub tree: String,
    /// What is being done and why: `seed:3 again: is it order or chance?`.
    pub activity: String,
    /// All orders of the plan, in plan order.
    pub orders: Vec<ProgressOrder>,
    /// Tests that have not passed in some order, the ones to show first.
    pub rows: Vec<ProgressRow>,
    /// How many such tests there are; at least as many as `rows`.
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

/// How grave an outcome is beside another, for a cell that stands for several.
fn gravity(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Skipped | Outcome::Xfailed => 0,
        Outcome::Passed => 1,
        Outcome::Xpassed => 2,
        Outcome::Failed => 3,
        Outcome::Error => 4,
        Outcome::Timeout => 5,
        Outcome::Absent => 6,
        Outcome::Crashed => 7,
    }
}

/// The graver of two outcomes: for filling [`ProgressOrder::worst`].
pub fn graver(one: Outcome, other: Outcome) -> Outcome {
    if gravity(other) > gravity(one) { other } else { one }
}
