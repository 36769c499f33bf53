//! What is known of one test on one tree.

use std::collections::BTreeMap;

use crate::model::{Executor, TestIx};

use super::super::class::{Class, ClassWitness, Kind, Observation, TestClass};
use super::super::sweep::{Cell, Sweep};

/// One test: its cells, and the reruns it was watched in, by column.
#[derive(Clone, Debug)]
pub(super) struct Row {
    columns: Vec<ColumnOfRow>,
}

#[derive(Clone, Debug)]
struct ColumnOfRow {
    cell: Cell,
    executor: Executor,
    reruns: Vec<Observation>,
    asked: u32,
    pending: u32,
}

impl ColumnOfRow {
    /// The sweep's outcome, or that of the first rerun that made up for a missing one.
    fn kind(&self) -> Option<Kind> {
        self.cell.kind().or_else(|| {
            if matches!(self.cell, Cell::Unplanned) {
                return None;
            }
            self.reruns.iter().min_by_key(|o| (o.disturbed, o.attempt)).and_then(Observation::kind)
        })
    }

    fn kinds_by(&self, executor: Executor) -> Vec<Kind> {
        let own = self.cell.kind().filter(|_| self.executor == executor);
        let reruns = self.reruns.iter().filter(|o| o.executor == executor).filter_map(Observation::kind);
        own.into_iter().chain(reruns).collect()
    }

    fn differs_within(&self, executor: Executor) -> bool {
        self.kinds_by(executor).windows(2).any(|w| w[0] != w[1])
    }

    fn is_chance(&self) -> bool {
        !self.reruns.is_empty()
            && (self.differs_within(Executor::Fork) || self.differs_within(Executor::Fresh))
    }

    fn executors_disagree(&self) -> bool {
        if self.reruns.is_empty() {
            return false;
        }
        let fork = self.kinds_by(Executor::Fork);
        let fresh = self.kinds_by(Executor::Fresh);
        !self.is_chance() && fork.first().zip(fresh.first()).is_some_and(|(a, b)| a != b)
    }

    /// Reruns that said something, when none contradicts another.
    fn consistent(&self) -> usize {
        if self.is_chance() { 0 } else { self.reruns.iter().filter(|o| !o.disturbed).count() }
    }
}

impl Row {
    pub(super) fn new(sweep: &Sweep, test: TestIx) -> Self {
        let columns = (0..sweep.labels().len())
            .map(|c| ColumnOfRow {
                cell: sweep.cell(c, test),
                executor: sweep.executor(c),
                reruns: Vec::new(),
                asked: 0,
                pending: 0,
            })
            .collect();
        Self { columns }
    }

    pub(super) fn add(&mut self, column: usize, observation: Observation) {
        self.lost(column);
        if let Some(c) = self.columns.get_mut(column) {
            c.reruns.push(observation);
            c.reruns.sort();
        }
    }

    pub(super) fn asked_for(&mut self, column: usize) {
        if let Some(c) = self.columns.get_mut(column) {
            c.asked += 1;
            c.pending += 1;
        }
    }

    pub(super) fn lost(&mut self, column: usize) {
        if let Some(c) = self.columns.get_mut(column) {
            c.pending = c.pending.saturating_sub(1);
        }
    }

    pub(super) fn asked(&self, column: usize) -> u32 {
        self.columns.get(column).map_or(0, |c| c.asked)
    }

    pub(super) fn is_pending(&self, column: usize) -> bool {
        self.columns.get(column).is_some_and(|c| c.pending > 0)
    }

    pub(super) fn planned_in(&self, column: usize) -> bool {
        self.columns.get(column).is_some_and(|c| c.cell != Cell::Unplanned)
    }

    pub(super) fn is_unreached(&self, column: usize) -> bool {
        self.columns
            .get(column)
            .is_some_and(|c| matches!(c.cell, Cell::Disturbed { .. }) && c.kind().is_none())
    }

    pub(super) fn unreached_columns(&self) -> Vec<usize> {
        (0..self.columns.len()).filter(|&c| self.is_unreached(c)).collect()
    }

    /// Whether every planned cell says the same, and says something.
    pub(super) fn is_uniform(&self) -> bool {
        !self.is_mixed() && self.unreached_columns().is_empty()
    }

    pub(super) fn is_mixed(&self) -> bool {
        let mut kinds = self.columns.iter().filter_map(ColumnOfRow::kind);
        let first = kinds.next();
        kinds.any(|k| Some(k) != first) || self.is_flaky()
    }

    pub(super) fn is_flaky(&self) -> bool {
        self.columns.iter().any(ColumnOfRow::is_chance)
    }

    fn kinds(&self) -> impl Iterator<Item = (usize, Kind)> + Clone {
        self.columns.iter().enumerate().filter_map(|(c, column)| column.kind().map(|kind| (c, kind)))
    }

    fn threshold(&self) -> Option<Kind> {
        Kind::threshold(self.kinds().map(|(_, kind)| kind))
    }

    /// Columns with an outcome as bad as it gets.
    pub(super) fn failing_columns(&self) -> Vec<usize> {
        let threshold = self.threshold();
        self.kinds().filter(|(_, k)| Some(*k) >= threshold).map(|(c, _)| c).collect()
    }

    /// Columns with a better outcome than that.
    pub(super) fn passing_columns(&self) -> Vec<usize> {
        let threshold = self.threshold();
        self.kinds().filter(|(_, k)| Some(*k) < threshold).map(|(c, _)| c).collect()
    }

    fn shown(&self, columns: &[usize], reruns: u32) -> Option<usize> {
        columns.iter().copied().find(|&c| self.columns[c].consistent() >= reruns as usize)
    }

    pub(super) fn failing_shown(&self, reruns: u32) -> bool {
        self.shown(&self.failing_columns(), reruns).is_some()
    }

    pub(super) fn passing_shown(&self, reruns: u32) -> bool {
        self.shown(&self.passing_columns(), reruns).is_some()
    }

    pub(super) fn is_settled(&self, reruns: u32) -> bool {
        self.is_flaky() || !self.is_mixed() || (self.failing_shown(reruns) && self.passing_shown(reruns))
    }

    /// The class that follows from everything observed.
    pub(super) fn conclude(&self, sweep: &Sweep, reruns: u32) -> TestClass {
        let label = |c: usize| sweep.labels().get(c).cloned();
        let chance = self.columns.iter().position(ColumnOfRow::is_chance).and_then(label);
        let failing = self.shown(&self.failing_columns(), reruns).and_then(label);
        let passing = self.shown(&self.passing_columns(), reruns).and_then(label);
        let (class, settled, witness) = if let Some(order) = chance {
            (Class::Flaky, true, Some(ClassWitness::Chance { order }))
        } else if self.is_mixed() {
            let witness =
                failing.zip(passing).map(|(failing, passing)| ClassWitness::Order { failing, passing });
            (Class::OrderSensitive, witness.is_some(), witness)
        } else {
            // A test that was never reached has shown nothing: not clean (PROMISES I2).
            (self.threshold().map_or(Class::StableFail, Kind::stable_class), true, None)
        };
        let mut all: BTreeMap<_, Vec<Observation>> = BTreeMap::new();
        for observation in self.columns.iter().flat_map(|c| &c.reruns) {
            all.entry(observation.label.clone()).or_default().push(observation.clone());
        }
        TestClass {
            class,
            settled,
            witness,
            reruns: all.into_values().flatten().collect(),
            unreached: self.unreached_columns().into_iter().filter_map(label).collect(),
            executors_disagree: self.columns.iter().any(ColumnOfRow::executors_disagree),
        }
    }
}
