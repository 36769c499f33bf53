//! One tree's suite, with declared truth.

use std::collections::BTreeMap;
use std::time::Duration;

use anyorder_core::model::{
    Ending, Excerpt, Executor, Failure, Order, Outcome, Peek, PeekAt, Phase, RunRecord, Signature, Suite,
    TestId, TestInfo, TestIx, TestResult,
};

use crate::rng::Rng;

/// A state that some tests write and one depends on; the last writer wins.
#[derive(Clone, Debug, PartialEq)]
pub struct Coupling {
    /// The test that depends on the state.
    pub victim: String,
    /// Tests that make it bad.
    pub polluters: Vec<String>,
    /// Tests that make it good: cleaners, or the state-setters of a brittle test.
    pub cleaners: Vec<String>,
    /// Whether it is bad before any test ran, which makes the victim brittle.
    pub starts_bad: bool,
    /// Whether it is bad only after all polluters ran.
    pub needs_all: bool,
    /// How often the victim is hurt by a bad state.
    pub rate: f64,
    /// What then becomes of it.
    pub outcome: Outcome,
    /// The executor under which the state is bad; both when not said.
    pub only_in: Option<Executor>,
}

impl Coupling {
    /// A victim that fails after its polluter unless a cleaner ran in between.
    pub fn victim(victim: &str, polluters: &[&str], cleaners: &[&str]) -> Self {
        let owned = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
        Self {
            victim: victim.to_owned(),
            polluters: owned(polluters),
            cleaners: owned(cleaners),
            starts_bad: false,
            needs_all: false,
            rate: 1.0,
            outcome: Outcome::Failed,
            only_in: None,
        }
    }

    /// A test that fails unless one of its state-setters ran before it.
    pub fn brittle(victim: &str, setters: &[&str]) -> Self {
        Self { starts_bad: true, ..Self::victim(victim, &[], setters) }
    }

    /// The same with another outcome for the victim.
    #[must_use]
    pub fn giving(self, outcome: Outcome) -> Self {
        Self { outcome, ..self }
    }

    /// A victim that fails after all of the polluters, in whichever order.
    pub fn conjunction(victim: &str, polluters: &[&str], cleaners: &[&str]) -> Self {
        Self { needs_all: true, ..Self::victim(victim, polluters, cleaners) }
    }

    /// The same, hurting under one executor only.
    #[must_use]
    pub fn only_in(self, executor: Executor) -> Self {
        Self { only_in: Some(executor), ..self }
    }

    /// The same, hurting only so often.
    #[must_use]
    pub fn sometimes(self, rate: f64) -> Self {
        Self { rate, ..self }
    }
}

#[derive(Clone, Debug, Default)]
struct Test {
    source: Option<u64>,
    always: Option<Outcome>,
    flake: f64,
}

/// One tree's suite. Tests pass unless something is declared about them.
#[derive(Clone, Debug, Default)]
pub struct World {
    ids: Vec<String>,
    tests: BTreeMap<String, Test>,
    couplings: Vec<Coupling>,
}

impl World {
    /// A suite of tests that always pass, in this default order.
    pub fn new<S: Into<String>>(ids: impl IntoIterator<Item = S>) -> Self {
        let ids: Vec<String> = ids.into_iter().map(Into::into).collect();
        let tests = ids.iter().map(|id| (id.clone(), Test::default())).collect();
        Self { ids, tests, couplings: Vec::new() }
    }

    /// `n` tests in files of ten.
    pub fn of_size(n: usize) -> Self {
        Self::new((0..n).map(|i| format!("tests/test_{:02}.py::test_{i}", i / 10)))
    }

    /// A random suite of `n` tests with victims, brittle tests, conjunctions and tests of constant outcome. With
    /// `chaos` also flaky tests, couplings that hurt by chance, and tests that end the process.
    pub fn random(n: usize, chaos: bool, rng: &mut Rng) -> Self {
        let mut world = Self::of_size(n);
        for _ in 0..rng.below(6) {
            let ids = rng.sample(&world.ids, 12);
            let (polluters, cleaners) = (1 + rng.below(3), rng.below(6));
            let mut coupling = Coupling {
                polluters: ids[1..=polluters].to_vec(),
                cleaners: ids[4..4 + cleaners].to_vec(),
                starts_bad: rng.chance(0.3),
                needs_all: rng.chance(0.3),
                ..Coupling::victim(&ids[0], &[], &[])
            };
            coupling.outcome =
                rng.pick(&[Outcome::Failed, Outcome::Failed, Outcome::Error, Outcome::Skipped]);
            if chaos && rng.chance(0.3) {
                coupling.rate = rng.pick(&[0.3, 0.6, 0.9]);
            }
            if chaos && rng.chance(0.2) {
                coupling.outcome = Outcome::Crashed;
            }
            world = world.with(coupling);
        }
        for _ in 0..rng.below(4) {
            let id = rng.sample(&world.ids, 1).swap_remove(0);
            world = world.always(&id, rng.pick(&[Outcome::Failed, Outcome::Skipped, Outcome::Xfailed]));
        }
        for _ in 0..if chaos { rng.below(4) } else { 0 } {
            let id = rng.sample(&world.ids, 1).swap_remove(0);
            world = world.flaky(&id, rng.pick(&[0.01, 0.1, 0.3, 0.5]));
        }
        world
    }

    /// The ids in default order.
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// What couples the tests.
    pub fn couplings(&self) -> &[Coupling] {
        &self.couplings
    }

    /// Declares a coupling.
    #[must_use]
    pub fn with(mut self, coupling: Coupling) -> Self {
        self.couplings.push(coupling);
        self
    }

    /// Removes the couplings of a victim.
    #[must_use]
    pub fn decoupled(mut self, victim: &str) -> Self {
        self.couplings.retain(|c| c.victim != victim);
        self
    }

    /// Declares that a test has one outcome in every order.
    #[must_use]
    pub fn always(mut self, id: &str, outcome: Outcome) -> Self {
        self.test(id).always = Some(outcome);
        self
    }

    /// Declares that a test fails by chance, in any order, with this probability.
    #[must_use]
    pub fn flaky(mut self, id: &str, rate: f64) -> Self {
        self.test(id).flake = rate;
        self
    }

    /// Declares the fingerprint of a test's source.
    #[must_use]
    pub fn source(mut self, id: &str, fingerprint: u64) -> Self {
        self.test(id).source = Some(fingerprint);
        self
    }

    /// Adds a test at a place of the default order.
    #[must_use]
    pub fn inserted(mut self, at: usize, id: &str) -> Self {
        self.ids.insert(at.min(self.ids.len()), id.to_owned());
        self.tests.entry(id.to_owned()).or_default();
        self
    }

    /// Adds a test at the end.
    #[must_use]
    pub fn added(self, id: &str) -> Self {
        let end = self.ids.len();
        self.inserted(end, id)
    }

    /// Takes a test away, with all it writes.
    #[must_use]
    pub fn removed(mut self, id: &str) -> Self {
        self.ids.retain(|i| i != id);
        self.tests.remove(id);
        self
    }

    fn test(&mut self, id: &str) -> &mut Test {
        self.tests.entry(id.to_owned()).or_default()
    }

    /// The suite as it would be collected.
    ///
    /// # Panics
    /// When an id stands twice.
    pub fn suite(&self) -> Suite {
        let info = |id: &String| {
            let mut info = TestInfo::new(TestId::new(id.as_str()));
            info.source = self.tests.get(id).and_then(|t| t.source);
            info
        };
        Suite::new(self.ids.iter().map(info).collect()).expect("a planted suite names each test once")
    }

    /// Whether nothing in it happens by chance.
    pub fn is_deterministic(&self) -> bool {
        self.tests.values().all(|t| t.flake == 0.0) && self.couplings.iter().all(|c| c.rate >= 1.0)
    }

    /// The world made ready for running.
    pub fn runner(&self) -> Runner {
        let suite = self.suite();
        let find = |ids: &[String]| -> Vec<TestIx> {
            ids.iter().filter_map(|id| suite.find(&TestId::new(id.as_str()))).collect()
        };
        let mut links = vec![Vec::new(); suite.len()];
        let mut states = Vec::new();
        for coupling in &self.couplings {
            let polluters = find(&coupling.polluters);
            let cleaners = find(&coupling.cleaners);
            for victim in find(std::slice::from_ref(&coupling.victim)) {
                links[victim.get()].push((states.len(), Link::Depends));
            }
            for (bit, polluter) in polluters.iter().enumerate() {
                links[polluter.get()].push((states.len(), Link::Pollutes(1 << (bit % 64))));
            }
            for cleaner in cleaners {
                links[cleaner.get()].push((states.len(), Link::Cleans));
            }
            let needed = if coupling.needs_all { (1u64 << polluters.len().min(63)) - 1 } else { 0 };
            states.push(State {
                starts_bad: coupling.starts_bad,
                needed,
                rate: coupling.rate,
                outcome: coupling.outcome,
                only_in: coupling.only_in,
            });
        }
        let tests = self.ids.iter().map(|id| self.tests.get(id).cloned().unwrap_or_default()).collect();
        Runner { suite, tests, links, states }
    }
}

/// A world made ready for running.
#[derive(Clone, Debug)]
pub struct Runner {
    suite: Suite,
    tests: Vec<Test>,
    /// For each test the states it has to do with.
    links: Vec<Vec<(usize, Link)>>,
    states: Vec<State>,
}

#[derive(Clone, Copy, Debug)]
enum Link {
    Depends,
    /// With the polluter's own bit.
    Pollutes(u64),
    Cleans,
}

#[derive(Clone, Debug)]
struct State {
    starts_bad: bool,
    /// The bits of all polluters where it takes all of them, or none.
    needed: u64,
    rate: f64,
    outcome: Outcome,
    only_in: Option<Executor>,
}

#[derive(Clone, Copy)]
struct Now {
    bad: bool,
    seen: u64,
}

impl Runner {
    /// Its suite.
    pub fn suite(&self) -> &Suite {
        &self.suite
    }

    /// Runs an order of the suite.
    pub fn run(&self, order: &Order, attempt: u32, executor: Executor, rng: &mut Rng) -> RunRecord {
        self.run_with(order, &[], attempt, executor, rng)
    }

    /// Runs an order, with children forked on the way.
    pub fn run_with(
        &self,
        order: &Order,
        peeks: &[PeekAt],
        attempt: u32,
        executor: Executor,
        rng: &mut Rng,
    ) -> RunRecord {
        let mut peeked = Vec::with_capacity(peeks.len());
        let mut look = |after: usize, now: &[Now], rng: &mut Rng| {
            for peek in peeks.iter().filter(|p| p.after == after) {
                let outcome = self.outcome(peek.test, now, executor, rng);
                peeked
                    .push(Peek { after, result: result(peek.test, self.suite.id(peek.test).raw(), outcome) });
            }
        };
        let mut now: Vec<Now> = self.states.iter().map(|s| Now { bad: s.starts_bad, seen: 0 }).collect();
        let mut results = Vec::with_capacity(order.len());
        let mut ending = Ending::Completed;
        for (done, &ix) in order.tests().iter().enumerate() {
            if ending == Ending::Completed {
                look(done, &now, rng);
            }
            let outcome = if ending == Ending::Completed {
                let outcome = self.outcome(ix, &now, executor, rng);
                self.write(ix, &mut now);
                outcome
            } else {
                Outcome::Absent
            };
            if outcome == Outcome::Crashed {
                ending = Ending::Crashed { culprit: Some(ix), how: "killed by signal 11".to_owned() };
            }
            results.push(result(ix, self.suite.id(ix).raw(), outcome));
        }
        if ending == Ending::Completed {
            look(order.len(), &now, rng);
        }
        RunRecord {
            order: order.clone(),
            attempt,
            executor,
            results,
            ending,
            wall: Duration::ZERO,
            fixture_setups: None,
            peeks: peeked,
        }
    }

    fn outcome(&self, ix: TestIx, now: &[Now], executor: Executor, rng: &mut Rng) -> Outcome {
        let test = &self.tests[ix.get()];
        if let Some(always) = test.always {
            return always;
        }
        for &(s, link) in &self.links[ix.get()] {
            let state = &self.states[s];
            let applies = state.only_in.is_none_or(|e| e == executor);
            let hurt = matches!(link, Link::Depends) && applies && now[s].bad;
            if hurt && (state.rate >= 1.0 || rng.chance(state.rate)) {
                return state.outcome;
            }
        }
        if test.flake > 0.0 && rng.chance(test.flake) { Outcome::Failed } else { Outcome::Passed }
    }

    fn write(&self, ix: TestIx, now: &mut [Now]) {
        for &(s, link) in &self.links[ix.get()] {
            match link {
                Link::Depends => {}
                Link::Pollutes(bit) => {
                    now[s].seen |= bit;
                    now[s].bad |= now[s].seen & self.states[s].needed == self.states[s].needed;
                }
                Link::Cleans => now[s] = Now { bad: false, seen: 0 },
            }
        }
    }
}

fn result(test: TestIx, id: &str, outcome: Outcome) -> TestResult {
    let failure = matches!(outcome, Outcome::Failed | Outcome::Error).then(|| Failure {
        phase: Phase::Call,
        signature: Signature(format!("AssertionError @ {}", function(id)).into()),
        text: Excerpt::default(),
    });
    TestResult { test, outcome, duration: Duration::ZERO, failure }
}

/// The id without its parameters: cases of one function raise in one line.
fn function(id: &str) -> &str {
    id.split('[').next().unwrap_or(id)
}
