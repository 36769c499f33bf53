//! The machine's face to its caller, and what it asks for first.

use std::collections::BTreeMap;

use crate::model::{Executor, PeekAt, TestIx};
use crate::search;

use super::answers::{Answers, Ask, Setting};
use super::certify::{Standing, prove_import};
use super::conclude::conclude;
use super::finding::{BlameSpent, Blamed};
use super::goal::{Goal, Imported, Stage};
use super::input::BlameInput;
use super::known::Known;
use super::matrix::Matrix;
use super::query::{Answer, Query, QueryId, Why};

/// The state machine that explains order-sensitive tests of one tree.
#[derive(Clone, Debug)]
pub struct Blame {
    pub(super) input: BlameInput,
    pub(super) goals: Vec<Goal>,
    pub(super) sets: Vec<Known>,
    pub(super) matrix: Option<Matrix>,
    pub(super) answers: Answers,
    /// Queries of searches that are out: whose, and the search's own number.
    searches: BTreeMap<QueryId, (usize, search::QueryId)>,
    /// What is to be run as far as it is known without a search.
    asks: Vec<Ask>,
    given_up: bool,
}

impl Blame {
    /// Begins to explain the tests of the input. A test that stands there twice is explained once.
    pub fn new(input: BlameInput) -> Self {
        let mut tests: Vec<TestIx> = Vec::new();
        for test in &input.tests {
            if !tests.contains(test) && test.get() < input.suite.len() {
                tests.push(*test);
            }
        }
        let goals = tests.into_iter().map(|test| Goal::new(test, &input)).collect();
        let mut blame = Self {
            matrix: Matrix::wanted(&input.options),
            answers: Answers::new(input.needs.clone()),
            input,
            goals,
            sets: Vec::new(),
            searches: BTreeMap::new(),
            asks: Vec::new(),
            given_up: false,
        };
        blame.advance();
        blame
    }

    /// The executor of searches.
    pub(super) fn executor(&self) -> Executor {
        if self.input.options.forks { Executor::Fork } else { Executor::Fresh }
    }

    /// What to run next; `None` when nothing is left, or nothing until an outstanding query is answered.
    pub fn next_query(&mut self) -> Option<Query> {
        if self.is_stopped() {
            return None;
        }
        for ask in &self.asks {
            if let Some(query) = self.answers.issue(&self.input.suite, ask) {
                return Some(query);
            }
        }
        (0..self.goals.len()).find_map(|g| self.search_query(g))
    }

    /// The next query of a goal's own search.
    fn search_query(&mut self, g: usize) -> Option<Query> {
        let forks = self.input.options.forks;
        let goal = &mut self.goals[g];
        let (search_id, setting, tests, peeks, tail, why) = match &mut goal.stage {
            Stage::Search(search, executor) => {
                let query = search.next_query()?;
                let end = query.places == [query.tests.len()];
                let peek = |after: &usize| PeekAt { after: *after, test: goal.test };
                let peeks = if end { Vec::new() } else { query.places.iter().map(peek).collect() };
                let tail = if end { vec![goal.test] } else { Vec::new() };
                (query.id, Setting::plain(*executor), query.tests, peeks, tail, Why::Search)
            }
            Stage::Imports(search, base) => {
                let query = search.next_query()?;
                let name = |ix: &TestIx| self.input.options.modules.get(ix.get()).cloned();
                let imports = query.tests.iter().filter_map(name).collect();
                let executor = if forks { Executor::Fork } else { Executor::Fresh };
                let setting = Setting { executor, imports, ..base.clone() };
                (query.id, setting, Vec::new(), Vec::new(), vec![goal.test], Why::Import)
            }
            Stage::Alone | Stage::Ready | Stage::OtherExecutor | Stage::OwnFile | Stage::Done => return None,
        };
        let query = Query {
            id: QueryId(0),
            key: String::new(),
            attempt: 1,
            executor: setting.executor,
            collect: setting.collect,
            imports: setting.imports,
            tests,
            peeks,
            tail,
            why,
        };
        let query = self.answers.send(&self.input.suite, query);
        self.searches.insert(query.id, (g, search_id));
        Some(query)
    }

    /// Takes the answer to a query. An id that is not outstanding is ignored.
    pub fn observe(&mut self, id: QueryId, answer: &Answer) {
        if !self.answers.take(id, answer) {
            return;
        }
        if let Some((g, search_id)) = self.searches.remove(&id) {
            let goal = &mut self.goals[g];
            let imports = matches!(goal.stage, Stage::Imports(..));
            let hit = |outcome| if imports { goal.is_bad(outcome) } else { goal.is_hit(outcome) };
            let hits = answer.outcomes.iter().map(|outcome| outcome.map(hit)).collect();
            if let Stage::Search(search, _) | Stage::Imports(search, _) = &mut goal.stage {
                search.observe(search_id, &search::Reply { hits });
            }
        }
        self.advance();
    }

    /// Asks for nothing more; what is not found stays undecided, what is not certified a suspect.
    pub fn give_up(&mut self) {
        self.given_up = true;
    }

    /// Whether nothing is outstanding and nothing will be asked.
    pub fn is_done(&self) -> bool {
        let searching = |g: &Goal| matches!(g.stage, Stage::Search(..) | Stage::Imports(..));
        let idle = self.asks.is_empty() && !self.goals.iter().any(searching);
        !self.answers.is_waiting() && (self.is_stopped() || idle)
    }

    /// What was spent so far, outstanding queries included.
    pub fn spent(&self) -> BlameSpent {
        self.answers.spent()
    }

    /// The tests that are not explained yet.
    pub fn open(&self) -> Vec<TestIx> {
        self.goals.iter().filter(|g| !matches!(g.stage, Stage::Done)).map(|g| g.test).collect()
    }

    /// What the answers lead to so far: may be asked at any time.
    pub fn finish(&self) -> Blamed {
        conclude(self)
    }

    fn is_stopped(&self) -> bool {
        self.given_up || self.answers.spent().tests >= self.input.options.budget
    }

    /// Goes on as far as the answers allow, and lists what is to be run next: what explains most first.
    fn advance(&mut self) {
        loop {
            let mut moved = self.advance_matrix();
            for g in 0..self.goals.len() {
                moved |= self.step(g);
            }
            if !moved {
                break;
            }
        }
        self.form_units();
        let mut asks = self.asks_of_stages();
        asks.extend(self.asks_of_known());
        asks.extend(self.asks_of_units());
        asks.extend(self.asks_of_imports());
        asks.extend(self.matrix.as_ref().map(|matrix| matrix.asks().to_vec()).unwrap_or_default());
        asks.extend(self.advance_cleaners());
        asks.extend(self.asks_of_timelines());
        self.asks = asks;
    }

    fn asks_of_imports(&self) -> Vec<Ask> {
        let wanted = self.input.options.certificate;
        let found = self.goals.iter().flat_map(|goal| goal.imports.iter().map(move |found| (goal, found)));
        let open =
            |(goal, found): (&Goal, &Imported)| match prove_import(goal, found, wanted, &self.answers).1 {
                Standing::Open(asks) => asks,
                Standing::Closed => Vec::new(),
            };
        found.flat_map(open).collect()
    }

    fn asks_of_timelines(&self) -> Vec<Ask> {
        if !(self.input.options.timeline && self.input.options.forks) {
            return Vec::new();
        }
        let line = |goal: &Goal| {
            let tests = goal.shortest(&self.input.seen)?;
            let peeks = (0..=tests.len()).map(|after| PeekAt { after, test: goal.test }).collect();
            let setting = Setting::plain(Executor::Fork);
            let ask = Ask { setting, tests, peeks, tail: Vec::new(), why: Why::Timeline, runs: 1 };
            self.answers.wants(&ask).then_some(ask)
        };
        let done = |g: &&Goal| matches!(g.stage, Stage::Done) && !self.answers.has_needs(g.test);
        self.goals.iter().filter(done).filter_map(line).collect()
    }
}
