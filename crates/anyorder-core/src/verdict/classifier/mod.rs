//! Tells order from chance on one tree by few reruns of the same order.
//!
//! A test with differing outcomes is first only *mixed*. Reruns of an order in which it was bad and of one in which it
//! was not decide: two outcomes for one order are `flaky`, at once; the same outcome again and again on both sides is
//! `order_sensitive`. A rerun is watched for all mixed tests, so a few orders serve all of them (greedy set cover).

mod row;

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{OrderLabel, TestId, TestIx};

use self::row::Row;
use super::class::{Classes, Observation, TreeResult};
use super::probe::{Answer, Probe, ProbeId, Selection, Side, Why};
use super::sweep::Sweep;

/// How classes are told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassRules {
    /// Consistent reruns wanted of a failing order, and as many of a passing one.
    pub reruns: u32,
    /// No more probes than this; what is mixed then stays unsettled.
    pub max_probes: u32,
}

impl Default for ClassRules {
    fn default() -> Self {
        Self { reruns: 3, max_probes: 200 }
    }
}

/// Reruns of one order on top of those wanted, to make up for lost or disturbed ones.
const SPARE_RERUNS: u32 = 2;

/// The state machine that gives each test of one tree its class.
#[derive(Clone, Debug)]
pub struct Classifier {
    side: Side,
    sweep: Sweep,
    rules: ClassRules,
    /// Tests whose cells do not all say the same, by index.
    rows: BTreeMap<TestIx, Row>,
    outstanding: BTreeMap<ProbeId, Outstanding>,
    /// The last attempt handed out, by column.
    attempts: BTreeMap<usize, u32>,
    issued: u32,
    given_up: bool,
}

#[derive(Clone, Debug)]
struct Outstanding {
    column: usize,
    attempt: u32,
    watch: Vec<TestIx>,
}

/// What a test still needs of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    Failing,
    Passing,
    Unreached,
}

impl Classifier {
    /// Looks at a finished sweep.
    pub fn new(side: Side, sweep: Sweep, rules: ClassRules) -> Self {
        let rows = sweep
            .suite()
            .indices()
            .filter_map(|ix| {
                let row = Row::new(&sweep, ix);
                (!row.is_uniform()).then_some((ix, row))
            })
            .collect();
        Self {
            side,
            sweep,
            rules,
            rows,
            outstanding: BTreeMap::new(),
            attempts: BTreeMap::new(),
            issued: 0,
            given_up: false,
        }
    }

    /// The conclusion without any rerun, when the sweep allows it: nothing is mixed and nothing was kept from running.
    pub fn when_nothing_is_mixed(sweep: &Sweep) -> Option<Classes> {
        let rows: Vec<Row> = sweep.suite().indices().map(|ix| Row::new(sweep, ix)).collect();
        rows.iter().all(Row::is_uniform).then(|| Classes(rows.iter().map(|r| r.conclude(sweep, 0)).collect()))
    }

    /// The tests whose outcomes differ over the orders and are not settled yet.
    pub fn mixed(&self) -> Vec<TestId> {
        self.unsettled().map(|(ix, _)| self.sweep.suite().id(ix).clone()).collect()
    }

    /// What to run next; `None` when nothing is left, or nothing until an outstanding probe is answered.
    pub fn next_probe(&mut self) -> Option<Probe> {
        let (column, need, asking) = self.wanted()?;
        let alone = Some(column) == self.alone();
        let watch = if alone { asking } else { self.everyone_served_by(column) };
        Some(self.issue(column, watch, need))
    }

    /// Takes the answer to a probe. An id that is not outstanding is ignored.
    pub fn observe(&mut self, id: ProbeId, answer: &Answer) {
        let Some(probe) = self.outstanding.remove(&id) else { return };
        let Some(label) = self.sweep.labels().get(probe.column) else { return };
        for ix in probe.watch {
            let Some(row) = self.rows.get_mut(&ix) else { continue };
            let Some(seen) = answer.of(self.sweep.suite().id(ix)) else {
                row.lost(probe.column);
                continue;
            };
            row.add(
                probe.column,
                Observation {
                    label: label.clone(),
                    attempt: probe.attempt,
                    executor: self.sweep.executor(probe.column),
                    outcome: seen.outcome,
                    disturbed: seen.unreached_because_of.is_some(),
                    signature: seen.signature.clone(),
                },
            );
        }
    }

    /// Hands out nothing more; what is mixed stays unsettled.
    pub fn give_up(&mut self) {
        self.given_up = true;
    }

    /// Whether nothing is outstanding and nothing will be asked.
    pub fn is_done(&self) -> bool {
        self.outstanding.is_empty() && self.wanted().is_none()
    }

    /// The classes, as far as the observations go.
    pub fn finish(self) -> TreeResult {
        let classes = Classes(
            self.sweep
                .suite()
                .indices()
                .map(|ix| match self.rows.get(&ix) {
                    Some(row) => row.conclude(&self.sweep, self.rules.reruns),
                    None => Row::new(&self.sweep, ix).conclude(&self.sweep, self.rules.reruns),
                })
                .collect(),
        );
        TreeResult { sweep: self.sweep, classes, reruns: self.issued }
    }

    fn alone(&self) -> Option<usize> {
        self.sweep.column(&OrderLabel::Alone)
    }

    fn wanted(&self) -> Option<(usize, Need, Vec<TestIx>)> {
        if self.given_up || self.issued >= self.rules.max_probes {
            return None;
        }
        [Need::Failing, Need::Passing, Need::Unreached]
            .into_iter()
            .find_map(|need| self.choose(need).map(|(column, asking)| (column, need, asking)))
    }

    fn unsettled(&self) -> impl Iterator<Item = (TestIx, &Row)> {
        self.rows
            .iter()
            .filter(|(_, r)| r.is_mixed() && !r.is_settled(self.rules.reruns))
            .map(|(&ix, r)| (ix, r))
    }

    /// Tests that learn something from a run of the whole order.
    fn everyone_served_by(&self, column: usize) -> Vec<TestIx> {
        let unreached = self.rows.iter().filter(|(_, r)| r.is_unreached(column)).map(|(&ix, _)| ix);
        let mixed = self.unsettled().filter(|(_, r)| r.planned_in(column)).map(|(ix, _)| ix);
        mixed.chain(unreached).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The column to run for a need, with the tests that asked for it.
    ///
    /// Columns already begun come first; a new one is begun only for a test that none of them serves.
    fn choose(&self, need: Need) -> Option<(usize, Vec<TestIx>)> {
        let mut wanted: BTreeMap<usize, Vec<TestIx>> = BTreeMap::new();
        let mut begun: BTreeMap<usize, Vec<TestIx>> = BTreeMap::new();
        let mut waiting: BTreeSet<usize> = BTreeSet::new();
        for (ix, columns) in self.asking(need) {
            let started: Vec<usize> =
                columns.iter().copied().filter(|c| self.rows[&ix].asked(*c) > 0).collect();
            if started.is_empty() {
                for column in columns {
                    wanted.entry(column).or_default().push(ix);
                }
                continue;
            }
            for column in started {
                if self.rows[&ix].is_pending(column) {
                    waiting.insert(column);
                } else {
                    begun.entry(column).or_default().push(ix);
                }
            }
        }
        begun.retain(|column, _| !waiting.contains(column));
        let attempts = |c: usize| self.attempts.get(&c).copied().unwrap_or(0);
        if let Some((column, tests)) = begun.into_iter().min_by_key(|(c, _)| (attempts(*c), *c)) {
            return Some((column, tests));
        }
        wanted.into_iter().max_by_key(|(c, tests)| (tests.len(), std::cmp::Reverse(*c)))
    }

    /// The tests with a need, each with the columns that would serve it.
    fn asking(&self, need: Need) -> Vec<(TestIx, Vec<usize>)> {
        let reruns = self.rules.reruns;
        let alone = self.alone();
        // `alone` costs one test for each test served, any other order a whole suite.
        let usable = |row: &Row, mut columns: Vec<usize>| -> Vec<usize> {
            columns.retain(|c| row.asked(*c) < reruns + SPARE_RERUNS);
            match alone.filter(|c| columns.contains(c)) {
                Some(alone) => vec![alone],
                None => columns,
            }
        };
        let columns = |row: &Row| match need {
            Need::Failing if !row.failing_shown(reruns) => row.failing_columns(),
            Need::Passing if row.failing_shown(reruns) && !row.passing_shown(reruns) => row.passing_columns(),
            Need::Failing | Need::Passing | Need::Unreached => Vec::new(),
        };
        let asked: Vec<(TestIx, Vec<usize>)> = match need {
            Need::Failing | Need::Passing => {
                self.unsettled().map(|(ix, row)| (ix, usable(row, columns(row)))).collect()
            }
            Need::Unreached => {
                let worth = |c: &usize| self.is_worth_another_run(*c);
                let unreached = |row: &Row| row.unreached_columns().into_iter().filter(worth).collect();
                self.rows.iter().map(|(&ix, row)| (ix, unreached(row))).collect()
            }
        };
        asked.into_iter().filter(|(_, columns)| !columns.is_empty()).collect()
    }

    /// Whether a rerun may reach the tests that a crash kept from running: only if it crashes by chance.
    fn is_worth_another_run(&self, column: usize) -> bool {
        self.attempts.get(&column).copied().unwrap_or(0) < SPARE_RERUNS
            && self.sweep.culprit(column).and_then(|c| self.rows.get(&c)).is_some_and(Row::is_flaky)
    }

    fn issue(&mut self, column: usize, watch: Vec<TestIx>, need: Need) -> Probe {
        let id = ProbeId(self.issued);
        self.issued += 1;
        let attempt = self.attempts.entry(column).or_insert(0);
        *attempt += 1;
        let attempt = *attempt;
        for ix in &watch {
            if let Some(row) = self.rows.get_mut(ix) {
                row.asked_for(column);
            }
        }
        let label = self.sweep.labels()[column].clone();
        let ids: Vec<TestId> = watch.iter().map(|ix| self.sweep.suite().id(*ix).clone()).collect();
        let tests = if label == OrderLabel::Alone { Selection::Only(ids.clone()) } else { Selection::All };
        self.outstanding.insert(id, Outstanding { column, attempt, watch });
        Probe {
            id,
            side: self.side,
            label,
            order_of: self.side,
            tests,
            may_stop: true,
            peeks: Vec::new(),
            executor: self.sweep.executor(column),
            attempt,
            watch: ids,
            why: if need == Need::Unreached { Why::Unreached } else { Why::SameOrder },
        }
    }
}
