//! What every run so far said, and what is out.

use std::collections::{BTreeMap, HashMap};

use crate::model::{Executor, Outcome, PeekAt, Suite, TestIx};
use crate::search::{Key, Tally};

use super::finding::BlameSpent;
use super::query::{Answer, Collect, Query, QueryId, Why};

/// The interpreter that something runs in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Setting {
    pub(super) executor: Executor,
    pub(super) collect: Collect,
    pub(super) imports: Vec<String>,
}

impl Setting {
    pub(super) fn plain(executor: Executor) -> Self {
        Self { executor, collect: Collect::All, imports: Vec::new() }
    }
}

/// One test behind one sequence in one setting: what outcomes are counted by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Trial {
    setting: Setting,
    key: Key,
    goal: TestIx,
}

impl Trial {
    pub(super) fn new(setting: &Setting, tests: &[TestIx], goal: TestIx) -> Self {
        Self { setting: setting.clone(), key: Key::of(tests), goal }
    }
}

/// Something to run until each test that it waits for was run so often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) setting: Setting,
    pub(super) tests: Vec<TestIx>,
    pub(super) peeks: Vec<PeekAt>,
    pub(super) tail: Vec<TestIx>,
    pub(super) why: Why,
    pub(super) runs: u32,
}

impl Ask {
    /// One test behind a sequence.
    pub(super) fn single(setting: Setting, tests: &[TestIx], goal: TestIx, runs: u32, why: Why) -> Self {
        Self { setting, tests: tests.to_vec(), peeks: Vec::new(), tail: vec![goal], why, runs }
    }

    /// Several tests, each in a child of its own behind the sequence.
    pub(super) fn row(setting: Setting, tests: &[TestIx], goals: Vec<TestIx>, runs: u32, why: Why) -> Self {
        let peek = |test| PeekAt { after: tests.len(), test };
        Self {
            setting,
            tests: tests.to_vec(),
            peeks: goals.into_iter().map(peek).collect(),
            tail: Vec::new(),
            why,
            runs,
        }
    }

    /// The trials that its peeks, then its tail, are.
    fn trials(&self) -> Vec<Trial> {
        trials(&self.setting, &self.tests, &self.peeks, &self.tail)
    }
}

fn trials(setting: &Setting, tests: &[TestIx], peeks: &[PeekAt], tail: &[TestIx]) -> Vec<Trial> {
    let sequence = [tests, tail].concat();
    let places: Vec<usize> =
        peeks.iter().map(|p| p.after).chain(tests.len()..tests.len() + tail.len()).collect();
    let goals = peeks.iter().map(|p| p.test).chain(tail.iter().copied());
    let keys = Key::at(&sequence, &places);
    keys.into_iter().zip(goals).map(|(key, goal)| Trial { setting: setting.clone(), key, goal }).collect()
}

#[derive(Clone, Debug)]
struct Out {
    trials: Vec<Trial>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    /// Each with the number of its query.
    known: HashMap<Trial, Vec<(u32, Option<Outcome>)>>,
    pending: HashMap<Trial, u32>,
    out: BTreeMap<QueryId, Out>,
    attempts: HashMap<String, u32>,
    /// What must run right before a test.
    needs: BTreeMap<TestIx, Vec<TestIx>>,
    issued: u32,
    spent: BlameSpent,
}

impl Answers {
    pub(super) fn new(needs: BTreeMap<TestIx, Vec<TestIx>>) -> Self {
        Self { needs, ..Self::default() }
    }

    /// Whether something must run right before a test, so that it cannot be peeked at.
    pub(super) fn has_needs(&self, test: TestIx) -> bool {
        self.needs.contains_key(&test)
    }

    /// All outcomes of a trial, in the sequence in which they came.
    pub(super) fn outcomes(&self, trial: &Trial) -> impl ExactSizeIterator<Item = Option<Outcome>> + '_ {
        self.known.get(trial).map_or(&[][..], Vec::as_slice).iter().map(|(_, outcome)| *outcome)
    }

    /// How many queries were asked so far: the number that the next one gets.
    pub(super) fn issued(&self) -> u32 {
        self.issued
    }

    /// Hits and misses of a trial.
    pub(super) fn tally(&self, trial: &Trial, hit: impl Fn(Outcome) -> bool) -> Tally {
        self.tally_since(trial, 0, hit)
    }

    /// The same of the queries from a number on.
    pub(super) fn tally_since(&self, trial: &Trial, since: u32, hit: impl Fn(Outcome) -> bool) -> Tally {
        let mut tally = Tally::default();
        for (query, outcome) in self.known.get(trial).map_or(&[][..], Vec::as_slice) {
            match outcome.map(&hit) {
                _ if *query < since => {}
                Some(true) => tally.hits += 1,
                Some(false) => tally.misses += 1,
                None => tally.lost += 1,
            }
        }
        tally
    }

    pub(super) fn spent(&self) -> BlameSpent {
        self.spent
    }

    pub(super) fn is_waiting(&self) -> bool {
        !self.out.is_empty()
    }

    fn is_short(&self, trial: &Trial, runs: u32) -> bool {
        let done = u32::try_from(self.outcomes(trial).len()).unwrap_or(u32::MAX);
        done.saturating_add(self.pending.get(trial).copied().unwrap_or(0)) < runs
    }

    /// Whether something of an ask is neither known nor out.
    pub(super) fn wants(&self, ask: &Ask) -> bool {
        ask.trials().iter().any(|trial| self.is_short(trial, ask.runs))
    }

    /// The query for what of an ask is neither known nor out; none where that is nothing.
    pub(super) fn issue(&mut self, suite: &Suite, ask: &Ask) -> Option<Query> {
        let short: Vec<bool> = ask.trials().iter().map(|trial| self.is_short(trial, ask.runs)).collect();
        if !short.contains(&true) {
            return None;
        }
        let mut needy =
            ask.peeks.iter().zip(&short).filter(|(peek, short)| **short && self.has_needs(peek.test));
        if let Some((peek, _)) = needy.next() {
            let single =
                Ask::single(ask.setting.clone(), &ask.tests[..peek.after], peek.test, ask.runs, ask.why);
            return self.issue(suite, &single);
        }
        // Peeks do not change what follows: those that nobody waits for are left out.
        let peeks: Vec<PeekAt> =
            ask.peeks.iter().zip(&short).filter(|(_, short)| **short).map(|(peek, _)| *peek).collect();
        let query = Query {
            id: QueryId(0),
            key: String::new(),
            attempt: 1,
            executor: ask.setting.executor,
            collect: ask.setting.collect,
            imports: ask.setting.imports.clone(),
            tests: ask.tests.clone(),
            peeks,
            tail: ask.tail.clone(),
            why: ask.why,
        };
        Some(self.send(suite, query))
    }

    /// Numbers a query, puts what its test needs before it, and waits for its answer.
    pub(super) fn send(&mut self, suite: &Suite, query: Query) -> Query {
        let asked = (query.tests.clone(), query.peeks.clone(), query.tail.clone());
        let mut query = self.with_needs(suite, query).named(suite);
        query.id = QueryId(self.issued);
        self.issued += 1;
        let attempt = self.attempts.entry(query.key.clone()).or_insert(0);
        *attempt += 1;
        query.attempt = *attempt;
        let setting =
            Setting { executor: query.executor, collect: query.collect, imports: query.imports.clone() };
        let trials = trials(&setting, &asked.0, &asked.1, &asked.2);
        for trial in &trials {
            *self.pending.entry(trial.clone()).or_insert(0) += 1;
        }
        self.out.insert(query.id, Out { trials });
        self.spent.tests += query.cost();
        self.spent.queries += 1;
        if query.executor == Executor::Fresh {
            self.spent.fresh_tests += query.cost();
            self.spent.fresh_queries += 1;
        }
        query
    }

    /// What was asked of the tests before counts as asked, wherever the needed ones stood among them.
    /// Where one file is collected, only what stands in it can run.
    fn with_needs(&self, suite: &Suite, mut query: Query) -> Query {
        if let [goal] = query.tail[..]
            && let Some(needs) = self.needs.get(&goal)
        {
            let file = |ix: TestIx| suite.tests().get(ix.get()).map(|t| &t.file);
            let collected = |ix: &TestIx| query.collect == Collect::All || file(*ix) == file(goal);
            let needs: Vec<TestIx> =
                needs.iter().copied().filter(|ix| *ix != goal && collected(ix)).collect();
            query.tests.retain(|test| !needs.contains(test));
            query.tests.extend(needs);
        }
        query
    }

    /// Takes an answer; gives `false` for one that nobody waits for.
    pub(super) fn take(&mut self, id: QueryId, answer: &Answer) -> bool {
        let Some(out) = self.out.remove(&id) else { return false };
        for (n, trial) in out.trials.into_iter().enumerate() {
            if let Some(pending) = self.pending.get_mut(&trial) {
                *pending = pending.saturating_sub(1);
            }
            self.known.entry(trial).or_default().push((id.0, answer.outcomes.get(n).copied().flatten()));
        }
        true
    }
}
