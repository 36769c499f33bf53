//! The search's face to its caller: queries out, replies in, a conclusion at the end.

use crate::model::TestIx;

use super::book::{Ask, Book};
use super::ranking::Ranking;
use super::solve::{Input, solve};
use super::{Query, QueryId, Reply};

/// How a search may spend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether the goal's test may be peeked at in the middle of a run. Without it each query has one place, its end,
    /// and the search is spared queries rather than tests.
    pub forks: bool,
    /// So many of the best-ranked predecessors are tried before a failing order is taken apart; with forks, a sixteenth
    /// of all where that is more.
    pub pair_scan: usize,
    /// Runs of the minimal sequence that must all hit, and as many without a member that must not, before it is called
    /// found. Guards against tests that fail by chance.
    pub confirm: u32,
    /// No query is begun once so many tests were executed, the goal's included.
    pub budget: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { forks: true, pair_scan: 32, confirm: 5, budget: 1_000_000 }
    }
}

/// What was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Tests executed: those of each sequence, and the goal's at each place.
    pub tests: u64,
    /// Of these, runs of the goal's test.
    pub goal_runs: u64,
    /// Queries.
    pub queries: u64,
}

impl Spent {
    pub(super) fn add(&mut self, query: &Query) {
        let places = query.places.len() as u64;
        self.tests += query.tests.len() as u64 + places;
        self.goal_runs += places;
        self.queries += 1;
    }
}

impl std::ops::AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.tests += other.tests;
        self.goal_runs += other.goal_runs;
        self.queries += other.queries;
    }
}

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// This sequence hits the goal's test, and does not without any one of its members.
    Found {
        /// The members, in the order in which they hit.
        sequence: Vec<TestIx>,
        /// Whether it hit each time; otherwise only sometimes, yet far more often than without.
        always: bool,
    },
    /// The goal's test is hit alone: no predecessor is needed.
    AloneHits,
    /// The orders that hit do so no more: chance, or another executor than the one that showed it.
    NotReproduced,
    /// One sequence gave both outcomes, and no sequence gives the one far more often than the other.
    Unstable,
    /// The budget ended the search, or the caller did.
    BudgetSpent {
        /// The shortest sequence seen to hit, perhaps by chance.
        best: Vec<TestIx>,
    },
}

impl Conclusion {
    /// The minimal sequence, where one was found.
    pub fn sequence(&self) -> Option<&[TestIx]> {
        match self {
            Self::Found { sequence, .. } => Some(sequence),
            Self::AloneHits | Self::NotReproduced | Self::Unstable | Self::BudgetSpent { .. } => None,
        }
    }
}

/// What a search leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minimal {
    /// The test whose predecessors were looked for.
    pub goal: TestIx,
    /// How it ended.
    pub conclusion: Conclusion,
    /// What it cost.
    pub spent: Spent,
}

/// The state machine that shortens orders in which one test is hit.
#[derive(Clone, Debug)]
pub struct Minimiser {
    goal: TestIx,
    input: Input,
    book: Book,
    /// Where `solve` stands with the answers so far.
    stand: Option<Result<Conclusion, Vec<Ask>>>,
    given_up: bool,
}

impl Minimiser {
    /// A search for what hits `goal`, given what stood before it in orders in which it was hit.
    ///
    /// The shortest prefixes are used first. The goal itself is dropped from them.
    pub fn new(goal: TestIx, mut prefixes: Vec<Vec<TestIx>>, ranking: Ranking, options: Options) -> Self {
        for prefix in &mut prefixes {
            prefix.retain(|test| *test != goal);
        }
        prefixes.sort_by_key(Vec::len);
        prefixes.dedup();
        let input = Input { prefixes, ranking, options };
        Self { goal, input, book: Book::default(), stand: None, given_up: false }
    }

    /// Tells what is known already: whether one run of these tests hit the goal's test behind them.
    pub fn know(&mut self, tests: &[TestIx], hit: bool) {
        self.book.know(tests, hit);
        self.stand = None;
    }

    /// The test whose predecessors are looked for.
    pub fn goal(&self) -> TestIx {
        self.goal
    }

    /// What to run next; `None` when nothing is left, or nothing until an outstanding query is answered.
    pub fn next_query(&mut self) -> Option<Query> {
        if self.is_stopped() {
            return None;
        }
        if self.stand.is_none() {
            self.stand = Some(solve(&self.input, &self.book));
        }
        let Some(Err(asks)) = &self.stand else { return None };
        asks.iter().find_map(|ask| self.book.ask(ask))
    }

    /// Takes the reply to a query. An id that is not outstanding is ignored.
    pub fn observe(&mut self, id: QueryId, reply: &Reply) {
        self.book.take(id, reply);
        self.stand = None;
    }

    /// Asks for nothing more.
    pub fn give_up(&mut self) {
        self.given_up = true;
    }

    /// Whether nothing is outstanding and nothing will be asked.
    pub fn is_done(&self) -> bool {
        let asks = |asks: Vec<Ask>| asks.iter().any(|ask| self.book.wants(ask));
        !self.book.is_waiting() && (self.is_stopped() || self.stand().err().is_none_or(|a| !asks(a)))
    }

    /// What was spent so far, outstanding queries included.
    pub fn spent(&self) -> Spent {
        self.book.spent()
    }

    /// The shortest sequence seen to hit so far.
    pub fn best(&self) -> Option<&[TestIx]> {
        self.book.best()
    }

    /// What the answers lead to.
    pub fn finish(&self) -> Minimal {
        let conclusion = self.stand().unwrap_or_else(|_| Conclusion::BudgetSpent {
            best: self.book.best().or(self.input.prefixes.first().map(Vec::as_slice)).unwrap_or(&[]).to_vec(),
        });
        Minimal { goal: self.goal, conclusion, spent: self.book.spent() }
    }

    fn is_stopped(&self) -> bool {
        self.given_up || self.book.spent().tests >= self.input.options.budget
    }

    fn stand(&self) -> Result<Conclusion, Vec<Ask>> {
        self.stand.clone().unwrap_or_else(|| solve(&self.input, &self.book))
    }
}
