//! Drives the core's search against planted suites.

use anyorder_core::model::{Executor, Order, TestIx};
use anyorder_core::search::{Conclusion, Minimal, Minimiser, Options, Query, Ranking, Reply, SeenRun};

use crate::planted::{Goal, Planted, Walk};
use crate::rng::Rng;

/// The planted truths of METHODS C.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Truth {
    /// One polluter, so many cleaners.
    Polluter {
        /// How many tests undo what it does.
        cleaners: usize,
    },
    /// So many polluters, each enough, and so many cleaners.
    Polluters {
        /// How many.
        polluters: usize,
        /// How many tests undo what they do.
        cleaners: usize,
    },
    /// So many tests that pollute together.
    Conjunction(usize),
    /// So many tests that pollute together, in their sequence only.
    Sequence(usize),
    /// A brittle test with so many state-setters.
    Brittle(usize),
    /// One polluter and two cleaners; the victim is hurt only so often.
    Sometimes(f64),
    /// A test that fails so often, in any order.
    Flake(f64),
}

impl Truth {
    /// A suite of `n` tests with this truth planted, and the test it is about.
    pub fn plant(self, n: usize, rng: &mut Rng) -> (Planted, TestIx) {
        let all: Vec<TestIx> = (0u32..).map(TestIx).take(n).collect();
        let few = rng.sample(&all, 40.min(n));
        let (goal, others) = (few[0], &few[1..]);
        let single = |count: usize| others[..count].iter().map(|test| vec![*test]).collect::<Vec<_>>();
        let goal = match self {
            Self::Polluter { cleaners } => Goal::victim(goal, single(1)).cleaned_by(&others[1..=cleaners]),
            Self::Polluters { polluters, cleaners } => {
                Goal::victim(goal, single(polluters)).cleaned_by(&others[polluters..polluters + cleaners])
            }
            Self::Conjunction(members) => Goal::victim(goal, vec![others[..members].to_vec()]),
            Self::Sequence(members) => Goal::victim(goal, vec![others[..members].to_vec()]).in_sequence(),
            Self::Brittle(setters) => Goal::brittle(goal, &others[..setters]),
            Self::Sometimes(rate) => Goal::victim(goal, single(1)).cleaned_by(&others[1..3]).sometimes(rate),
            Self::Flake(rate) => Goal::flake(goal, rate),
        };
        let test = goal.test;
        (Planted::new(n, vec![goal]), test)
    }
}

/// Whether a sequence is one of the planted minimal sets, in any sequence.
pub fn is_planted(goal: &Goal, sequence: &[TestIx]) -> bool {
    let sorted = |tests: &[TestIx]| {
        let mut tests = tests.to_vec();
        tests.sort_unstable();
        tests
    };
    goal.sets.iter().any(|set| sorted(set) == sorted(sequence))
}

/// What stood before a test in each of some orders, and whether it was hit there.
#[derive(Clone, Debug, Default)]
pub struct Sightings(Vec<(Vec<TestIx>, bool)>);

impl Sightings {
    /// Runs orders and looks at one test.
    pub fn of(world: &Planted, orders: &[Order], test: TestIx, rng: &mut Rng) -> Self {
        let brittle = world.goal(test).is_some_and(|goal| goal.brittle);
        let look = |order: &Order| {
            let place = order.tests().iter().position(|t| *t == test).unwrap_or(order.len());
            let before = order.tests()[..place].to_vec();
            let passes = world.run(&Walk::new(&before, &[(place, test)]), rng).1[0];
            (before, passes == brittle)
        };
        Self(orders.iter().map(look).collect())
    }

    /// Whether it was hit in at least one order.
    pub fn is_hit(&self) -> bool {
        self.0.iter().any(|(_, hit)| *hit)
    }

    /// The ranking of predecessors.
    pub fn ranking(&self, world: &Planted, test: TestIx) -> Ranking {
        let runs: Vec<SeenRun<'_>> =
            self.0.iter().map(|(before, hit)| SeenRun { before, hit: *hit }).collect();
        let suite = world.suite();
        let file = &suite.info(test).file;
        Ranking::new(test, suite.len(), &runs, |other| suite.info(other).file == *file)
    }

    /// A search over what was seen.
    pub fn search(&self, world: &Planted, test: TestIx, options: Options) -> Minimiser {
        let prefixes = self.0.iter().filter(|(_, hit)| *hit).map(|(before, _)| before.clone()).collect();
        Minimiser::new(test, prefixes, self.ranking(world, test), options)
    }
}

/// The reply of a planted suite to a query.
pub fn reply(world: &Planted, test: TestIx, query: &Query, executor: Executor, rng: &mut Rng) -> Reply {
    let brittle = world.goal(test).is_some_and(|goal| goal.brittle);
    let peeks: Vec<(usize, TestIx)> = query.places.iter().map(|place| (*place, test)).collect();
    let walk = Walk { executor, ..Walk::new(&query.tests, &peeks) };
    Reply { hits: world.run(&walk, rng).1.into_iter().map(|passes| Some(passes == brittle)).collect() }
}

/// Runs a search to its end, `batch` queries out at a time, their answers in random sequence.
///
/// # Panics
/// When it asks for something that no run may be, or for nothing although it is not done.
pub fn minimise(world: &Planted, mut search: Minimiser, batch: usize, rng: &mut Rng) -> Minimal {
    let goal = search.goal();
    loop {
        let mut queries: Vec<Query> = std::iter::from_fn(|| search.next_query()).take(batch.max(1)).collect();
        if queries.is_empty() {
            break;
        }
        if batch > 1 {
            rng.shuffle(&mut queries);
        }
        for query in queries {
            assert!(query.places.is_sorted() && query.places.last() == Some(&query.tests.len()), "{query:?}");
            assert!(!query.tests.contains(&goal));
            let reply = reply(world, goal, &query, Executor::Fork, rng);
            search.observe(query.id, &reply);
        }
    }
    assert!(search.is_done(), "a search that asks for nothing is done");
    search.finish()
}

/// Whether a search ended as the planted truth wants it to: a planted set, or for a test that fails by chance none.
pub fn is_right(world: &Planted, minimal: &Minimal) -> bool {
    let Some(goal) = world.goal(minimal.goal) else { return false };
    match &minimal.conclusion {
        Conclusion::Found { sequence, .. } => is_planted(goal, sequence),
        Conclusion::AloneHits | Conclusion::NotReproduced | Conclusion::Unstable => goal.sets.is_empty(),
        Conclusion::BudgetSpent { .. } => false,
    }
}
