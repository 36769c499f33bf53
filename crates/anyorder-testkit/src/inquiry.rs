//! Drives the core's attribution against planted suites.

use anyorder_core::attribution::{
    Answer, Blame, BlameInput, BlameOptions, Blamed, Collect, Query, Role, SeenOrder, TestBlame,
};
use anyorder_core::model::{Executor, Outcome, TestIx};

use crate::hunt::is_planted;
use crate::planted::{Goal, Planted, Walk};
use crate::rng::Rng;

/// An attribution in a planted suite.
#[derive(Clone, Debug)]
pub struct Inquiry {
    /// So many seeds were run before.
    pub seeds: i128,
    /// The executor of those orders.
    pub swept_by: Executor,
    /// How much is asked.
    pub options: BlameOptions,
    /// Queries out at a time; their answers come in random sequence.
    pub batch: usize,
}

impl Default for Inquiry {
    fn default() -> Self {
        Self { seeds: 20, swept_by: Executor::Fork, options: BlameOptions::default(), batch: 1 }
    }
}

/// What came of an attribution.
#[derive(Clone, Debug)]
pub struct Inquired {
    /// The conclusion.
    pub blamed: Blamed,
    /// All that was run for it, with what came of it.
    pub run: Vec<(Query, Answer)>,
}

impl Inquiry {
    /// What a sweep of the suite gives to start from; the planted tests are asked about.
    pub fn input(&self, world: &Planted, rng: &mut Rng) -> BlameInput {
        let told = |passes: bool| Some(if passes { Outcome::Passed } else { Outcome::Failed });
        let mut seen = Vec::new();
        for order in world.orders(self.seeds) {
            let walk = Walk { executor: self.swept_by, ..Walk::new(order.tests(), &[]) };
            let passes = world.run(&walk, rng).0;
            let tests = order.tests().iter().zip(passes).map(|(ix, passes)| (*ix, told(passes))).collect();
            seen.push(SeenOrder { tests });
        }
        let mut alone = vec![told(true); world.suite().len()];
        for goal in world.goals() {
            let walk = Walk { executor: self.swept_by, ..Walk::new(&[], &[]) };
            alone[goal.test.get()] = told(world.run(&Walk { peeks: &[(0, goal.test)], ..walk }, rng).1[0]);
        }
        let tests = world.goals().iter().map(|goal| goal.test).collect();
        BlameInput { suite: world.suite().clone(), seen, alone, tests, options: self.options.clone() }
    }

    /// Sweeps, then asks until nothing is left to ask.
    pub fn run(&self, world: &Planted, rng: &mut Rng) -> Inquired {
        let input = self.input(world, rng);
        self.ask(world, Blame::new(input), rng)
    }

    /// Asks until nothing is left to ask.
    ///
    /// # Panics
    /// When it asks for something that no run may be, or for nothing although it is not done.
    pub fn ask(&self, world: &Planted, mut blame: Blame, rng: &mut Rng) -> Inquired {
        let mut run = Vec::new();
        loop {
            let mut queries: Vec<Query> =
                std::iter::from_fn(|| blame.next_query()).take(self.batch.max(1)).collect();
            if queries.is_empty() {
                break;
            }
            if self.batch > 1 {
                rng.shuffle(&mut queries);
            }
            for query in queries {
                let answer = answer(world, &query, rng);
                blame.observe(query.id, &answer);
                run.push((query, answer));
            }
        }
        assert!(blame.is_done(), "an attribution that asks for nothing is done");
        Inquired { blamed: blame.finish(), run }
    }
}

/// Runs a query in the planted suite.
///
/// # Panics
/// When a test stands in it twice, or peeks are asked of a fresh interpreter.
pub fn answer(world: &Planted, query: &Query, rng: &mut Rng) -> Answer {
    let sequence = query.sequence();
    let mut seen = sequence.clone();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), sequence.len(), "a test stands twice in {query:?}");
    assert!(query.executor == Executor::Fork || query.peeks.is_empty(), "{query:?}");
    let peeks: Vec<(usize, TestIx)> = query.peeks.iter().map(|p| (p.after, p.test)).collect();
    let walk = Walk {
        tests: &sequence,
        peeks: &peeks,
        imports: &query.imports,
        executor: query.executor,
        collected: query.collect == Collect::All,
    };
    let (passes, peeked) = world.run(&walk, rng);
    let told = |passes: bool| Some(if passes { Outcome::Passed } else { Outcome::Failed });
    let tail = passes[query.tests.len()..].iter();
    Answer { outcomes: peeked.iter().chain(tail).map(|passes| told(*passes)).collect() }
}

/// Whether what is said of a test is what was planted: its role, and a planted set with a certificate.
pub fn is_explained(goal: &Goal, said: &TestBlame) -> bool {
    let role = match said.role {
        Role::Victim => !goal.brittle,
        Role::Brittle => goal.brittle,
        _ => false,
    };
    let planted = said.sets.iter().all(|set| is_planted(goal, &set.tests));
    let certified = said.sets.first().is_some_and(|set| set.proof.certified);
    role && planted && certified
}
