//! Entries of the ledger, each of a shape that only a measurement can have.

use std::collections::BTreeMap;
use std::fmt;

use crate::model::{OrderLabel, OutcomeVector, Signature, TestId, TestIx};
use crate::verdict::{Kind, Observation, TreeResult};

use super::compare::Comparison;
use super::date::Date;

/// Why a value can be no part of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryError {
    /// So many orders, so many outcomes.
    Lengths {
        /// Orders.
        orders: usize,
        /// Outcomes.
        outcomes: usize,
    },
    /// The same order stands in it twice.
    RepeatedOrder,
    /// All outcomes say the same: that is no order-sensitive test.
    NotOrderSensitive,
    /// All outcomes of the one order say the same: that is no flaky test.
    NotFlaky,
}

impl fmt::Display for EntryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lengths { orders, outcomes } => {
                write!(f, "the vector has {outcomes} outcomes for {orders} orders")
            }
            Self::RepeatedOrder => f.write_str("an order is named twice"),
            Self::NotOrderSensitive => {
                f.write_str("all outcomes say the same: only an order-sensitive test can be frozen")
            }
            Self::NotFlaky => f.write_str(
                "all outcomes say the same: only a test with two outcomes for one order can be quarantined",
            ),
        }
    }
}

impl std::error::Error for EntryError {}

/// An outcome vector with the orders it was measured in. The outcomes differ, or there would be nothing to freeze.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    orders: Vec<OrderLabel>,
    vector: OutcomeVector,
}

impl Recorded {
    /// As many outcomes as orders, each order once, and at least two kinds of outcome.
    pub fn new(orders: Vec<OrderLabel>, vector: OutcomeVector) -> Result<Self, EntryError> {
        if orders.len() != vector.0.len() {
            return Err(EntryError::Lengths { orders: orders.len(), outcomes: vector.0.len() });
        }
        let mut sorted: Vec<&OrderLabel> = orders.iter().collect();
        sorted.sort_unstable();
        if sorted.windows(2).any(|w| w[0] == w[1]) {
            return Err(EntryError::RepeatedOrder);
        }
        if !differs(&vector) {
            return Err(EntryError::NotOrderSensitive);
        }
        Ok(Self { orders, vector })
    }

    /// The orders, in the order of the vector.
    pub fn orders(&self) -> &[OrderLabel] {
        &self.orders
    }

    /// One outcome an order.
    pub fn vector(&self) -> &OutcomeVector {
        &self.vector
    }

    /// How many independent seeds are among the orders.
    pub fn seeds(&self) -> usize {
        self.orders.iter().filter(|o| o.is_independent_seed()).count()
    }
}

/// One order that gave two outcomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chance {
    order: OrderLabel,
    outcomes: OutcomeVector,
}

impl Chance {
    /// At least two kinds of outcome of the one order, a letter a run.
    pub fn new(order: OrderLabel, outcomes: OutcomeVector) -> Result<Self, EntryError> {
        if differs(&outcomes) { Ok(Self { order, outcomes }) } else { Err(EntryError::NotFlaky) }
    }

    /// The order.
    pub fn order(&self) -> &OrderLabel {
        &self.order
    }

    /// Its outcomes, the sweep's own first.
    pub fn outcomes(&self) -> &OutcomeVector {
        &self.outcomes
    }
}

fn differs(vector: &OutcomeVector) -> bool {
    vector.0.windows(2).any(|w| Kind::of(w[0]) != Kind::of(w[1]))
}

/// What a new measurement said when an entry was renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// The day of the measurement that the new one was compared with.
    pub since: Date,
    /// How the outcomes compare, over the orders that both have.
    pub compared: Comparison,
}

/// A known order-sensitive test, kept out of the evidence until a date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frozen {
    /// The test.
    pub test: TestId,
    /// What was measured.
    pub recorded: Recorded,
    /// Known polluters or state-setters.
    pub polluters: Vec<TestId>,
    /// How it failed, each way once, sorted; see [`signatures`].
    pub signatures: Vec<Signature>,
    /// The day of the measurement.
    pub frozen_at: Date,
    /// The last day on which the entry protects.
    pub freeze_until: Date,
    /// Where somebody works on it.
    pub issue: String,
    /// How the measurement compares with the one before, where the entry was renewed.
    pub renewed: Option<Renewal>,
}

/// A known flaky test, kept out of the evidence until its source or its failure changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantined {
    /// The test.
    pub test: TestId,
    /// Fingerprint of its source: function, set-up of its class, fixtures it asks for. `None` where the runner cannot
    /// read it; such an entry has a last day.
    pub source: Option<u64>,
    /// The order that gave two outcomes.
    pub chance: Chance,
    /// How it failed, each way once, sorted; see [`signatures`].
    pub signatures: Vec<Signature>,
    /// The day of the measurement.
    pub quarantined_at: Date,
    /// The last day on which the entry protects, where it has one.
    pub until: Option<Date>,
    /// Where somebody works on it.
    pub issue: String,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Order-sensitive.
    Frozen(Frozen),
    /// Flaky.
    Quarantined(Quarantined),
}

impl Entry {
    /// Its test.
    pub fn test(&self) -> &TestId {
        match self {
            Self::Frozen(entry) => &entry.test,
            Self::Quarantined(entry) => &entry.test,
        }
    }

    /// `frozen` or `quarantined`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Frozen(_) => "frozen",
            Self::Quarantined(_) => "quarantined",
        }
    }

    /// The last day on which it protects, where it has one.
    pub fn until(&self) -> Option<Date> {
        match self {
            Self::Frozen(entry) => Some(entry.freeze_until),
            Self::Quarantined(entry) => entry.until,
        }
    }

    /// The day of its measurement.
    pub fn measured_at(&self) -> Date {
        match self {
            Self::Frozen(entry) => entry.frozen_at,
            Self::Quarantined(entry) => entry.quarantined_at,
        }
    }

    /// Where somebody works on it.
    pub fn issue(&self) -> &str {
        match self {
            Self::Frozen(entry) => &entry.issue,
            Self::Quarantined(entry) => &entry.issue,
        }
    }

    /// The failures that it knows.
    pub fn signatures(&self) -> &[Signature] {
        match self {
            Self::Frozen(entry) => &entry.signatures,
            Self::Quarantined(entry) => &entry.signatures,
        }
    }
}

/// A test that has two entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate(pub TestId);

impl fmt::Display for Duplicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` has two entries: keep one of them", self.0)
    }
}

impl std::error::Error for Duplicate {}

/// All entries, one a test, by test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    entries: BTreeMap<TestId, Entry>,
}

impl Ledger {
    /// A ledger of these entries.
    pub fn new(entries: impl IntoIterator<Item = Entry>) -> Result<Self, Duplicate> {
        let mut ledger = Self::default();
        for entry in entries {
            if ledger.get(entry.test()).is_some() {
                return Err(Duplicate(entry.test().clone()));
            }
            ledger.put(entry);
        }
        Ok(ledger)
    }

    /// The entry of a test.
    pub fn get(&self, test: &TestId) -> Option<&Entry> {
        self.entries.get(test)
    }

    /// Writes an entry in the place of the test's own, which is given back.
    pub fn put(&mut self, entry: Entry) -> Option<Entry> {
        self.entries.insert(entry.test().clone(), entry)
    }

    /// Takes the entry of a test out.
    pub fn remove(&mut self, test: &TestId) -> Option<Entry> {
        self.entries.remove(test)
    }

    /// All entries, by test.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Entry> {
        self.entries.values()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// The ways in which a test failed on a tree, each once, sorted: in the sweep, and in reruns of the same order.
///
/// A failure that came without a signature (the process died, the time ran out, nothing was reported) is told by its
/// outcome's word.
pub fn signatures(tree: &TreeResult, test: TestIx) -> Vec<Signature> {
    let sweep = &tree.sweep;
    let own = (0..sweep.labels().len()).filter_map(|column| sweep.observation(column, test));
    let reruns = tree.classes.get(test).map_or(&[] as &[Observation], |c| c.reruns.as_slice());
    let mut all: Vec<Signature> = own.chain(reruns.iter().cloned()).filter_map(|o| sign(&o)).collect();
    all.sort();
    all.dedup();
    all
}

/// What a bad outcome looks like.
pub(super) fn sign(observation: &Observation) -> Option<Signature> {
    if observation.disturbed || !observation.outcome.is_bad() {
        return None;
    }
    let unsigned = || Signature(observation.outcome.word().into());
    Some(observation.signature.clone().unwrap_or_else(unsigned))
}
