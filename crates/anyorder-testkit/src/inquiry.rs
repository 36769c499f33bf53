//! Drives the core's attribution against planted suites.

use std::collections::BTreeMap;

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
        let mut seen = Vec::new();
        for order in world.orders(self.seeds) {
            let walk = Walk { executor: self.swept_by, ..Walk::new(order.tests(), &[]) };
            let outcomes = told(world, order.tests(), &world.run(&walk, rng).0);
            seen.push(SeenOrder { tests: order.tests().iter().copied().zip(outcomes).collect() });
        }
        let mut alone = vec![Some(Outcome::Passed); world.suite().len()];
        for goal in world.goals() {
            let tests = [goal.test];
            let walk = Walk { executor: self.swept_by, ..Walk::new(&tests, &[]) };
            alone[goal.test.get()] = told(world, &tests, &world.run(&walk, rng).0)[0];
        }
        let tests = world.goals().iter().map(|goal| goal.test).collect();
        let (suite, needs, options) = (world.suite().clone(), BTreeMap::new(), self.options.clone());
        BlameInput { suite, seen, alone, tests, needs, options }
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
    let peeked = query.peeks.iter().zip(&peeked).map(|(peek, passes)| outcome(world, peek.test, *passes));
    let ran = told(world, &sequence, &passes);
    // A peek is a child of its own; what ends the run ends those behind it.
    let reached = ran.iter().position(Option::is_none).unwrap_or(ran.len());
    let peeked = peeked.zip(&query.peeks).map(|(o, peek)| (peek.after <= reached).then_some(o));
    Answer { outcomes: peeked.chain(ran.iter().skip(query.tests.len()).copied()).collect() }
}

fn outcome(world: &Planted, test: TestIx, passes: bool) -> Outcome {
    match (passes, world.goal(test).is_some_and(|goal| goal.crashes)) {
        (true, _) => Outcome::Passed,
        (false, true) => Outcome::Crashed,
        (false, false) => Outcome::Failed,
    }
}

/// The outcomes of a run: none behind a test that ended it.
fn told(world: &Planted, tests: &[TestIx], passes: &[bool]) -> Vec<Option<Outcome>> {
    let mut ended = false;
    let tell = |(test, passes): (&TestIx, &bool)| {
        let outcome = (!ended).then(|| outcome(world, *test, *passes));
        ended |= outcome == Some(Outcome::Crashed);
        outcome
    };
    tests.iter().zip(passes).map(tell).collect()
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
