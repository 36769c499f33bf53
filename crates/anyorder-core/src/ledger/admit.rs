//! What may be frozen, and what may be quarantined: only what was measured to be so.

use std::fmt;

use crate::model::{OrderLabel, OutcomeVector, TestIx};
use crate::verdict::{Class, ClassWitness, TreeResult};

use super::entry::{Chance, Recorded};

/// Why a test cannot be frozen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FreezeRefusal {
    /// It passes in every order that was run.
    Passes {
        /// How many orders.
        orders: usize,
    },
    /// It fails in every order.
    Fails,
    /// It is skipped in every order.
    Skipped,
    /// One order gave two outcomes.
    Flaky {
        /// The order.
        order: Option<OrderLabel>,
    },
    /// Its outcomes differ, and reruns did not tell whether by order or by chance.
    Unsettled,
    /// The suite has no such test.
    NoSuchTest,
}

impl FreezeRefusal {
    /// What to do instead.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Passes { .. } => {
                "there is nothing to freeze; an entry of it can go: `anyorder ledger prune TEST`"
            }
            Self::Fails => "mend the test or the code; mark it `xfail` or `skip` while it is broken",
            Self::Skipped => "there is nothing to freeze",
            Self::Flaky { .. } => "`anyorder quarantine` is for flaky tests",
            Self::Unsettled => "measure again, with `--jobs 1` where runs disturb each other",
            Self::NoSuchTest => "look at the id; `pytest --collect-only -q` lists all",
        }
    }
}

impl fmt::Display for FreezeRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passes { orders } => write!(f, "it passes in all {orders} orders that were run"),
            Self::Fails => {
                f.write_str("it fails in every order: that is no order dependence, and can never be frozen")
            }
            Self::Skipped => f.write_str("it is skipped, or fails as declared, in every order"),
            Self::Flaky { order: Some(order) } => {
                write!(f, "it is flaky: {order} gave two outcomes, so that order is not the reason")
            }
            Self::Flaky { order: None } => f.write_str("it is flaky: order is not the reason"),
            Self::Unsettled => f.write_str("its outcomes differ, and reruns did not tell order from chance"),
            Self::NoSuchTest => f.write_str("the suite has no such test"),
        }
    }
}

/// Whether a test may be frozen: only where it was measured to be order-sensitive, each of two orders giving the same
/// outcome again and again. Gives what an entry records.
pub fn may_freeze(tree: &TreeResult, test: TestIx) -> Result<Recorded, FreezeRefusal> {
    let class = tree.classes.get(test).ok_or(FreezeRefusal::NoSuchTest)?;
    match class.class {
        Class::StablePass => Err(FreezeRefusal::Passes { orders: tree.sweep.labels().len() }),
        Class::StableFail => Err(FreezeRefusal::Fails),
        Class::StableSkip => Err(FreezeRefusal::Skipped),
        Class::Flaky => {
            let order = match &class.witness {
                Some(ClassWitness::Chance { order }) => Some(order.clone()),
                _ => None,
            };
            Err(FreezeRefusal::Flaky { order })
        }
        Class::OrderSensitive if !class.settled => Err(FreezeRefusal::Unsettled),
        Class::OrderSensitive => {
            let vector = tree.sweep.matrix().vector(test);
            Recorded::new(tree.sweep.labels().to_vec(), vector).map_err(|_| FreezeRefusal::Unsettled)
        }
    }
}

/// Why a test cannot be quarantined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuarantineRefusal {
    /// The same order always gave the same outcome.
    OrderSensitive,
    /// It passes in every run that was made.
    Passes {
        /// In how many orders.
        orders: usize,
    },
    /// It fails in every order.
    Fails,
    /// It is skipped in every order.
    Skipped,
    /// Its outcomes differ, and reruns did not tell whether by order or by chance.
    Unsettled,
    /// Its source cannot be read, so that editing it could not end the quarantine.
    NoSource,
    /// The suite has no such test.
    NoSuchTest,
}

impl QuarantineRefusal {
    /// What to do instead.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::OrderSensitive => "`anyorder freeze` is for tests that depend on order",
            Self::Passes { .. } => "if it fails now and then: more orders, such as `--seeds 60`, may show it",
            Self::Fails => "mend the test or the code; mark it `xfail` or `skip` while it is broken",
            Self::Skipped => "there is nothing to quarantine",
            Self::Unsettled => "measure again, with more orders",
            Self::NoSource => "give it a last day: `--for 30d`",
            Self::NoSuchTest => "look at the id; `pytest --collect-only -q` lists all",
        }
    }
}

impl fmt::Display for QuarantineRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OrderSensitive => {
                f.write_str("it depends on order: each order gave the same outcome again and again")
            }
            Self::Passes { orders } => {
                write!(f, "it passes in all {orders} orders that were run: nothing shows that it is flaky")
            }
            Self::Fails => {
                f.write_str("it fails in every order: that is not chance, and can never be quarantined")
            }
            Self::Skipped => f.write_str("it is skipped, or fails as declared, in every order"),
            Self::Unsettled => f.write_str("its outcomes differ, and reruns did not tell order from chance"),
            Self::NoSource => {
                f.write_str("its source cannot be read, so that no edit of it could end the quarantine")
            }
            Self::NoSuchTest => f.write_str("the suite has no such test"),
        }
    }
}

/// Whether a test may be quarantined: only where one order gave two outcomes. Gives what an entry records.
pub fn may_quarantine(tree: &TreeResult, test: TestIx) -> Result<Chance, QuarantineRefusal> {
    let class = tree.classes.get(test).ok_or(QuarantineRefusal::NoSuchTest)?;
    match class.class {
        Class::StablePass => Err(QuarantineRefusal::Passes { orders: tree.sweep.labels().len() }),
        Class::StableFail => Err(QuarantineRefusal::Fails),
        Class::StableSkip => Err(QuarantineRefusal::Skipped),
        Class::OrderSensitive if class.settled => Err(QuarantineRefusal::OrderSensitive),
        Class::OrderSensitive => Err(QuarantineRefusal::Unsettled),
        Class::Flaky => {
            let Some(ClassWitness::Chance { order }) = &class.witness else {
                return Err(QuarantineRefusal::Unsettled);
            };
            let own = tree.sweep.column(order).and_then(|column| tree.sweep.observation(column, test));
            let reruns = class.reruns.iter().filter(|o| o.label == *order).cloned();
            let outcomes = own.into_iter().chain(reruns).filter(|o| !o.disturbed).map(|o| o.outcome);
            Chance::new(order.clone(), OutcomeVector(outcomes.collect()))
                .map_err(|_| QuarantineRefusal::Unsettled)
        }
    }
}
