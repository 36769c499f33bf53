//! One tree's measurements, read test by test.

use std::collections::BTreeSet;

use crate::model::{Executor, OrderLabel, Suite, TestIx};

use super::super::class::{Class, Kind, Observation, TestClass, TreeResult};
use super::super::sweep::Cell;
use super::arms::Rate;

/// One tree's measurements.
#[derive(Clone, Copy)]
pub(super) struct View<'a>(pub(super) &'a TreeResult);

impl<'a> View<'a> {
    pub(super) fn suite(self) -> &'a Suite {
        self.0.sweep.suite()
    }

    pub(super) fn labels(self) -> &'a [OrderLabel] {
        self.0.sweep.labels()
    }

    pub(super) fn class(self, test: TestIx) -> Option<&'a TestClass> {
        self.0.classes.get(test)
    }

    /// What a test did in a column: the sweep's own outcome, or a rerun's where another test kept it from running.
    pub(super) fn kind(self, column: usize, test: TestIx) -> Option<Kind> {
        match self.0.sweep.cell(column, test) {
            Cell::Seen(outcome) => Some(Kind::of(outcome)),
            Cell::Unplanned => None,
            Cell::Disturbed { .. } => {
                let label = &self.labels()[column];
                self.class(test)?.reruns.iter().filter(|o| o.label == *label).find_map(Observation::kind)
            }
        }
    }

    /// What a test did in an order.
    pub(super) fn kind_in(self, label: &OrderLabel, test: TestIx) -> Option<Kind> {
        self.kind(self.0.sweep.column(label)?, test)
    }

    /// What a test did, order by order; orders that say nothing are left out.
    pub(super) fn kinds(self, test: TestIx) -> Vec<(&'a OrderLabel, Kind)> {
        let kind = |(c, label)| self.kind(c, test).map(|k| (label, k));
        self.labels().iter().enumerate().filter_map(kind).collect()
    }

    /// The orders in which a test was at least so bad.
    pub(super) fn failing(self, test: TestIx, target: Kind) -> BTreeSet<&'a OrderLabel> {
        self.kinds(test).into_iter().filter(|(_, k)| *k >= target).map(|(l, _)| l).collect()
    }

    /// How bad a failing order of the test is.
    pub(super) fn threshold(self, test: TestIx) -> Option<Kind> {
        let kinds: Vec<Kind> = self.kinds(test).into_iter().map(|(_, k)| k).collect();
        Kind::threshold(kinds)
    }

    pub(super) fn rate(self, test: TestIx, target: Kind) -> Rate {
        let kinds = self.kinds(test);
        Rate { hits: kinds.iter().filter(|(_, k)| *k >= target).count(), runs: kinds.len() }
    }

    /// Whether an order was forked in a sweep that showed the test to be consistent.
    pub(super) fn forked(self, label: &OrderLabel, test: TestIx) -> bool {
        self.0.sweep.column(label).is_some_and(|c| self.0.sweep.executor(c) == Executor::Fork)
            && self.class(test).is_some_and(|c| c.class != Class::Flaky && c.settled)
    }

    /// Everything observed of a test in an order: the sweep's own run and same-order reruns.
    pub(super) fn observations(self, label: &OrderLabel, test: TestIx) -> Vec<Observation> {
        let own = self.0.sweep.column(label).and_then(|c| self.0.sweep.observation(c, test));
        let reruns = self.class(test).into_iter().flat_map(|c| &c.reruns).filter(|o| o.label == *label);
        own.into_iter().chain(reruns.cloned()).collect()
    }

    /// The last attempt that a same-order rerun of any test had.
    pub(super) fn last_attempt(self, label: &OrderLabel) -> u32 {
        let reruns = self.0.classes.iter().flat_map(|(_, c)| &c.reruns);
        reruns.filter(|o| o.label == *label).map(|o| o.attempt).max().unwrap_or(0)
    }
}
