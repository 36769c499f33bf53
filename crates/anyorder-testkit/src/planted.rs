//! A suite with planted roles for the search and for attribution: who hits which test, alone or together.
//!
//! Unlike [`crate::World`] it knows several minimal sets for one test, and it is made for speed: a run is a walk over
//! indices, and tests are peeked at in the middle of it.

use anyorder_core::model::{Executor, Order, OrderLabel, Seed, Suite, TestIx};
use anyorder_core::order::{Constraints, Shuffle, make};

use crate::rng::Rng;

/// A module whose import makes a test fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// Its name.
    pub module: String,
    /// Whether it is imported when the whole suite is collected.
    pub collected: bool,
}

/// One order-sensitive test and what it depends on.
#[derive(Clone, Debug)]
pub struct Goal {
    /// The test.
    pub test: TestIx,
    /// Sets of tests, each of which hits it: polluters, or state-setters of a brittle test.
    pub sets: Vec<Vec<TestIx>>,
    /// Tests that undo all that was done so far: cleaners.
    pub undo: Vec<TestIx>,
    /// Fails alone, passes when hit.
    pub brittle: bool,
    /// How often it is hit when a set is complete.
    pub rate: f64,
    /// How often its outcome is the other one by chance, in any order.
    pub flake: f64,
    /// The executor in which it is hit; both when not said.
    pub only_in: Option<Executor>,
    /// A module whose import hits it, whichever test ran.
    pub import: Option<Import>,
    /// The members of a set must run in their sequence.
    pub ordered: bool,
    /// It ends the process when it does not pass.
    pub crashes: bool,
}

impl Goal {
    /// A victim of each of the sets.
    pub fn victim(test: TestIx, sets: Vec<Vec<TestIx>>) -> Self {
        Self {
            test,
            sets,
            undo: Vec::new(),
            brittle: false,
            rate: 1.0,
            flake: 0.0,
            only_in: None,
            import: None,
            ordered: false,
            crashes: false,
        }
    }

    /// A test that needs one of these before it.
    pub fn brittle(test: TestIx, setters: &[TestIx]) -> Self {
        let sets = setters.iter().map(|setter| vec![*setter]).collect();
        Self { brittle: true, ..Self::victim(test, sets) }
    }

    /// A test that fails by chance, whatever ran before it.
    pub fn flake(test: TestIx, rate: f64) -> Self {
        Self { flake: rate, ..Self::victim(test, Vec::new()) }
    }

    /// The same with cleaners.
    #[must_use]
    pub fn cleaned_by(mut self, cleaners: &[TestIx]) -> Self {
        self.undo.extend_from_slice(cleaners);
        self
    }

    /// The same, members of a set in their sequence only.
    #[must_use]
    pub fn in_sequence(self) -> Self {
        Self { ordered: true, ..self }
    }

    /// The same, hit in one executor only.
    #[must_use]
    pub fn only_in(self, executor: Executor) -> Self {
        Self { only_in: Some(executor), ..self }
    }

    /// A victim of a module's import, which happens when the whole suite is collected or only when it is asked for.
    pub fn import(test: TestIx, module: &str, collected: bool) -> Self {
        let import = Some(Import { module: module.to_owned(), collected });
        Self { import, ..Self::victim(test, Vec::new()) }
    }

    /// The same, hit only so often.
    #[must_use]
    pub fn sometimes(self, rate: f64) -> Self {
        Self { rate, ..self }
    }
}

/// What is asked of a simulated interpreter.
#[derive(Clone, Copy, Debug)]
pub struct Walk<'a> {
    /// The tests, first to last.
    pub tests: &'a [TestIx],
    /// A test to peek at after so many of them; rising.
    pub peeks: &'a [(usize, TestIx)],
    /// Modules imported before the first test.
    pub imports: &'a [String],
    /// How the interpreter came about.
    pub executor: Executor,
    /// Whether the whole suite was collected, not only the file of the test that is looked at.
    pub collected: bool,
}

impl<'a> Walk<'a> {
    /// These tests with these peeks, in a fork of an interpreter that collected the whole suite.
    pub fn new(tests: &'a [TestIx], peeks: &'a [(usize, TestIx)]) -> Self {
        Self { tests, peeks, imports: &[], executor: Executor::Fork, collected: true }
    }
}

/// A suite with planted roles. Tests that no goal names pass and do nothing.
#[derive(Clone, Debug)]
pub struct Planted {
    suite: Suite,
    goals: Vec<Goal>,
    /// By test: what it does to which goal.
    writes: Vec<Vec<(usize, Write)>>,
    goal_of: Vec<Option<usize>>,
}

#[derive(Clone, Copy, Debug)]
enum Write {
    /// The set, and the member's bit.
    Member(usize, u64),
    Undo,
}

impl Planted {
    /// A suite of `n` tests in files of ten, with these goals.
    pub fn new(n: usize, goals: Vec<Goal>) -> Self {
        let suite = Suite::from_raw_ids((0..n).map(|i| format!("tests/test_{:03}.py::test_{i}", i / 10)));
        let mut writes = vec![Vec::new(); n];
        let mut goal_of = vec![None; n];
        for (g, goal) in goals.iter().enumerate() {
            goal_of[goal.test.get()] = Some(g);
            for (s, set) in goal.sets.iter().enumerate() {
                for (bit, member) in set.iter().enumerate() {
                    writes[member.get()].push((g, Write::Member(s, 1 << bit)));
                }
            }
            for cleaner in &goal.undo {
                writes[cleaner.get()].push((g, Write::Undo));
            }
        }
        Self { suite, goals, writes, goal_of }
    }

    /// Its suite.
    pub fn suite(&self) -> &Suite {
        &self.suite
    }

    /// What was planted.
    pub fn goals(&self) -> &[Goal] {
        &self.goals
    }

    /// The goal that a test is, if it is one.
    pub fn goal(&self, test: TestIx) -> Option<&Goal> {
        self.goal_of.get(test.get()).copied().flatten().map(|g| &self.goals[g])
    }

    /// The orders of a sweep with so many seeds: default, seed 1 and its reverse, the other seeds; made by the core.
    ///
    /// # Panics
    /// Never: the labels name orders of a suite without constraints.
    pub fn orders(&self, seeds: i128) -> Vec<Order> {
        let mut labels = vec![OrderLabel::Default];
        for seed in 1..=seeds {
            labels.push(OrderLabel::Seed(Seed(seed)));
            if seed == 1 {
                labels.push(OrderLabel::SeedReverse(Seed(seed)));
            }
        }
        labels.iter().map(|label| self.order(label)).collect()
    }

    /// One order of the suite.
    ///
    /// # Panics
    /// When the label is `alone` or a list.
    pub fn order(&self, label: &OrderLabel) -> Order {
        let none = Constraints::none();
        make(label, &self.suite, Shuffle::Mixed, &none).expect("an order of a suite without constraints")
    }

    /// Whether each test of a walk passes, and each peek.
    pub fn run(&self, walk: &Walk<'_>, rng: &mut Rng) -> (Vec<bool>, Vec<bool>) {
        let mut seen: Vec<Vec<u64>> = self.goals.iter().map(|goal| vec![0; goal.sets.len()]).collect();
        let mut passes = Vec::with_capacity(walk.tests.len());
        let mut peeked = Vec::with_capacity(walk.peeks.len());
        let mut peeks = walk.peeks.iter().peekable();
        for done in 0..=walk.tests.len() {
            while let Some((_, test)) = peeks.next_if(|(after, _)| *after <= done) {
                peeked.push(self.passes(*test, &seen, walk, rng));
            }
            let Some(&test) = walk.tests.get(done) else { break };
            passes.push(self.passes(test, &seen, walk, rng));
            for &(goal, write) in &self.writes[test.get()] {
                match write {
                    // In sequence: all members before it must have run.
                    Write::Member(set, bit)
                        if !self.goals[goal].ordered || seen[goal][set] & (bit - 1) == bit - 1 =>
                    {
                        seen[goal][set] |= bit;
                    }
                    Write::Member(..) => {}
                    Write::Undo => seen[goal].fill(0),
                }
            }
        }
        (passes, peeked)
    }

    fn passes(&self, test: TestIx, seen: &[Vec<u64>], walk: &Walk<'_>, rng: &mut Rng) -> bool {
        let Some(g) = self.goal_of[test.get()] else { return true };
        let goal = &self.goals[g];
        let complete = seen[g]
            .iter()
            .zip(&goal.sets)
            .any(|(bits, set)| *bits == (1u64 << set.len()) - 1 && !set.is_empty());
        let imported = goal
            .import
            .as_ref()
            .is_some_and(|i| walk.imports.contains(&i.module) || (i.collected && walk.collected));
        let applies = goal.only_in.is_none_or(|executor| executor == walk.executor);
        let hit = (complete || imported) && applies && (goal.rate >= 1.0 || rng.chance(goal.rate));
        let passes = hit == goal.brittle;
        if goal.flake > 0.0 && rng.chance(goal.flake) { !passes } else { passes }
    }
}
