//! The simulated patches of METHODS B4.

use crate::rng::Rng;
use crate::world::{Coupling, World};

/// What a patch does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// Adds four harmless tests.
    Null,
    /// One of its new tests pollutes an old one.
    NewTestPoisons,
    /// One of its new tests is a victim of an old one.
    NewVictim,
    /// One of its new tests needs an old one before it.
    NewBrittle,
    /// The changed code couples two old tests.
    Introduces,
    /// The same, but the victim is hurt in 6 of 10 cases only.
    IntroducesSometimes,
    /// Removes an old coupling.
    Fixes,
    /// A removed test was the only cleaner of an old coupling.
    Exposes,
    /// Its new tests clean up behind every polluter of an old coupling.
    Masks,
}

/// A base, a patched tree, and which test the patch is about.
#[derive(Clone, Debug)]
pub struct Patch {
    /// Before.
    pub base: World,
    /// After.
    pub patched: World,
    /// The test that the scenario is about, where there is one.
    pub target: Option<String>,
}

/// Tests in the world of METHODS B4.
const TESTS: usize = 200;

impl Patch {
    /// A world of 200 tests with three old couplings, one of them with 10 to 40 cleaners, and four flaky tests; and a
    /// patch that adds four tests and does what the scenario says.
    ///
    /// # Panics
    /// Never: the world is large enough for every scenario.
    pub fn new(scenario: Scenario, rng: &mut Rng) -> Self {
        let base = World::of_size(TESTS);
        let mut free = base.ids().to_vec();
        rng.shuffle(&mut free);
        let mut take = |n: usize| free.split_off(free.len() - n);
        let mut base = base;
        for i in 0..3 {
            let cleaners = if i == 0 { 10 + rng.below(31) } else { rng.below(6) };
            let ids = take(2 + cleaners);
            base = base.with(coupling(&ids[0], &ids[1..2], &ids[2..]));
        }
        for id in take(4) {
            base = base.flaky(&id, rng.pick(&[0.01, 0.02, 0.05, 0.10, 0.30]));
        }
        let ids = take(8);
        let few = 2 + rng.below(4);
        let cleaners = &ids[2..2 + few];
        let new: Vec<String> =
            (0..4).map(|i| format!("tests/test_{:02}.py::test_new_{i}", rng.below(20))).collect();
        let added = |world: World, rng: &mut Rng| {
            new.iter().fold(world, |w, id| {
                let at = rng.below(w.ids().len() + 1);
                w.inserted(at, id)
            })
        };
        let old = coupling(&ids[0], &ids[1..2], cleaners);
        let (base, patched, target) = match scenario {
            Scenario::Null => (base.clone(), added(base, rng), None),
            Scenario::NewTestPoisons => {
                let poison = coupling(&ids[0], &new[..1], cleaners);
                (base.clone(), added(base, rng).with(poison), Some(ids[0].clone()))
            }
            Scenario::NewVictim => {
                let victim = coupling(&new[0], &ids[1..2], cleaners);
                (base.clone(), added(base, rng).with(victim), Some(new[0].clone()))
            }
            Scenario::NewBrittle => {
                let brittle = Coupling { starts_bad: true, ..coupling(&new[0], &[], cleaners) };
                (base.clone(), added(base, rng).with(brittle), Some(new[0].clone()))
            }
            Scenario::Introduces => (base.clone(), added(base, rng).with(old), Some(ids[0].clone())),
            Scenario::IntroducesSometimes => {
                (base.clone(), added(base, rng).with(old.sometimes(0.6)), Some(ids[0].clone()))
            }
            Scenario::Fixes => (base.clone().with(old), added(base, rng), Some(ids[0].clone())),
            Scenario::Exposes => {
                let old = coupling(&ids[0], &ids[1..2], &ids[2..3]);
                let world = base.with(old);
                (world.clone(), added(world, rng).removed(&ids[2]), Some(ids[0].clone()))
            }
            Scenario::Masks => {
                let hidden = coupling(&ids[0], &ids[1..2], &new);
                (
                    base.clone().with(coupling(&ids[0], &ids[1..2], &[])),
                    added(base, rng).with(hidden),
                    Some(ids[0].clone()),
                )
            }
        };
        Self { base, patched, target }
    }
}

fn coupling(victim: &str, polluters: &[String], cleaners: &[String]) -> Coupling {
    Coupling {
        polluters: polluters.to_vec(),
        cleaners: cleaners.to_vec(),
        ..Coupling::victim(victim, &[], &[])
    }
}
