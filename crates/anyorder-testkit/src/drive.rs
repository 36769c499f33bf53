//! Drives the core's state machines against simulated worlds.

use anyorder_core::model::{Executor, Order, OrderLabel, PeekAt, RunRecord, TestIx};
use anyorder_core::verdict::{
    Answer, ClassRules, Classifier, Judge, JudgeInput, JudgeRules, Probe, ProbePeek, Rules, Selection, Side,
    Star, StarResult, StarRules, Sweep, TouchedTests, TreeResult, Verdict,
};

use crate::orders::{Plan, resolve, restricted};
use crate::rng::Rng;
use crate::world::{Runner, World};

/// Runs a plan on a world.
pub fn sweep(world: &Runner, plan: &Plan, executor: Executor, rng: &mut Rng) -> Sweep {
    let suite = world.suite();
    let all: Vec<TestIx> = suite.indices().collect();
    let mut sweep = Sweep::new(suite.clone());
    for label in &plan.0 {
        for order in orders(&all, label, |l| resolve(suite, l), suite.len()) {
            sweep.record(&world.run(&order, 0, executor, rng));
        }
    }
    sweep
}

/// One order, or for `alone` one a test.
fn orders(
    tests: &[TestIx],
    label: &OrderLabel,
    resolve: impl Fn(&OrderLabel) -> Vec<TestIx>,
    len: usize,
) -> Vec<Order> {
    let order = |tests| Order::partial(label.clone(), tests, len).expect("each test once");
    match label {
        OrderLabel::Alone => tests.iter().map(|ix| order(vec![*ix])).collect(),
        _ => vec![order(resolve(label))],
    }
}

/// Runs a probe on the world it asks for.
///
/// # Panics
/// When the simulated run loses a test.
pub fn answer(probe: &Probe, base: &Runner, patched: &Runner, selected: &[TestIx], rng: &mut Rng) -> Answer {
    let world = |side| if side == Side::Base { base } else { patched };
    let (on, of) = (world(probe.side), world(probe.order_of));
    let suite = on.suite();
    let mut orders: Vec<Order> = match (&probe.tests, &probe.label) {
        (Selection::Sequence(_), label) => {
            vec![Order::partial(label.clone(), selected.to_vec(), suite.len()).expect("each test once")]
        }
        (_, OrderLabel::Alone) => orders(selected, &probe.label, |_| Vec::new(), suite.len()),
        _ => vec![restricted(suite, of.suite(), &probe.label, selected)],
    };
    if probe.may_stop && probe.label != OrderLabel::Alone {
        let watched: Vec<TestIx> = probe.watch.iter().filter_map(|id| suite.find(id)).collect();
        orders = orders.into_iter().map(|order| order.until_last_of(&watched)).collect();
    }
    let at = |peek: &ProbePeek| Some(PeekAt { after: peek.after, test: suite.find(&peek.test)? });
    let peeks: Vec<PeekAt> = probe.peeks.iter().filter_map(at).collect();
    let mut answer = Answer::default();
    for order in orders {
        let run: RunRecord = on.run_with(&order, &peeks, probe.attempt, probe.executor, rng);
        assert!(run.is_accounted());
        answer.add_run(suite, &run, &probe.watch);
    }
    answer
}

/// Tests that a probe executes when it runs so many in sequence.
fn cost(probe: &Probe, sequence: usize) -> u64 {
    (sequence + probe.peeks.len()) as u64
}

/// Tests that a replay executes: the whole order, or up to the last watched test.
fn replayed(probe: &Probe, base: &Runner, patched: &Runner, selected: &[TestIx]) -> u64 {
    let world = |side| if side == Side::Base { base } else { patched };
    let (on, of) = (world(probe.side).suite(), world(probe.order_of).suite());
    if matches!(probe.tests, Selection::Sequence(_)) || probe.label == OrderLabel::Alone {
        return cost(probe, selected.len());
    }
    let order = restricted(on, of, &probe.label, selected);
    let watched: Vec<TestIx> = probe.watch.iter().filter_map(|id| on.find(id)).collect();
    cost(probe, if probe.may_stop { order.until_last_of(&watched).len() } else { order.len() })
}

/// Classifies a swept world to the end.
pub fn classify(side: Side, world: &Runner, sweep: Sweep, batch: usize, rng: &mut Rng) -> TreeResult {
    let suite = world.suite();
    let mut classifier = Classifier::new(side, sweep, ClassRules::default());
    loop {
        let mut probes: Vec<Probe> =
            std::iter::from_fn(|| classifier.next_probe()).take(batch.max(1)).collect();
        if probes.is_empty() {
            return classifier.finish();
        }
        if batch > 1 {
            rng.shuffle(&mut probes);
        }
        for probe in probes {
            let selected: Vec<TestIx> = match &probe.tests {
                Selection::Only(ids) | Selection::Sequence(ids) => {
                    ids.iter().filter_map(|id| suite.find(id)).collect()
                }
                Selection::All | Selection::Common => suite.indices().collect(),
            };
            let answer = answer(&probe, world, world, &selected, rng);
            classifier.observe(probe.id, &answer);
        }
    }
}

/// A check of one patch in a simulated world.
#[derive(Clone, Debug)]
pub struct Check {
    /// The orders of both sweeps.
    pub plan: Plan,
    /// How the sweeps are run; replays are always fresh, and here there is no difference.
    pub executor: Executor,
    /// Which action follows from which finding.
    pub rules: Rules,
    /// How replays are spent.
    pub judge: JudgeRules,
    /// How many probes are asked for before any is answered; their answers then come in random order.
    pub batch: usize,
    /// Whether the touched tests are put before and behind all others first.
    pub star: bool,
}

impl Default for Check {
    fn default() -> Self {
        Self {
            plan: Plan::with_seeds(20),
            executor: Executor::Fork,
            rules: Rules::default(),
            judge: JudgeRules::default(),
            batch: 1,
            star: true,
        }
    }
}

/// What came of a check.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What was measured on base.
    pub base: TreeResult,
    /// What was measured on patched.
    pub patched: TreeResult,
    /// The verdict.
    pub verdict: Verdict,
    /// The replays that the judge asked for, in order.
    pub probes: Vec<Probe>,
    /// Tests that were executed for the verdict alone, the star's among them.
    pub extra: u64,
    /// Those of the star.
    pub star: u64,
}

impl Check {
    /// Sweeps both worlds, classifies, judges.
    ///
    /// # Panics
    /// When the judge asks for nothing although it is not done.
    pub fn run(&self, base: &World, patched: &World, rng: &mut Rng) -> Checked {
        let (base, patched) = (base.runner(), patched.runner());
        let result = |side, world: &Runner, rng: &mut Rng| {
            let swept = sweep(world, &self.plan, self.executor, rng);
            classify(side, world, swept, self.batch, rng)
        };
        let before = result(Side::Base, &base, rng);
        let after = result(Side::Patched, &patched, rng);
        let mut star_cost = 0;
        let star = if self.star {
            let rules = StarRules::default();
            let mut star = Star::new(&before, &after, &TouchedTests::default(), rules);
            while let Some(probe) = star.next_probe() {
                let Selection::Sequence(ids) = &probe.tests else {
                    unreachable!("a star asks for sequences")
                };
                let selected: Vec<TestIx> = ids.iter().filter_map(|id| patched.suite().find(id)).collect();
                star_cost += cost(&probe, selected.len());
                star.observe(probe.id, &answer(&probe, &base, &patched, &selected, rng));
            }
            assert!(star.is_done(), "a star that asks for nothing is done");
            star.finish()
        } else {
            StarResult::default()
        };
        let mut extra = star_cost;
        let mut judge = Judge::new(JudgeInput {
            base: before.clone(),
            patched: after.clone(),
            touched: TouchedTests::default(),
            star,
            rules: self.rules.clone(),
            judge: self.judge.clone(),
        });
        let mut done = Vec::new();
        loop {
            let mut probes: Vec<Probe> =
                std::iter::from_fn(|| judge.next_probe()).take(self.batch.max(1)).collect();
            if probes.is_empty() {
                break;
            }
            if self.batch > 1 {
                rng.shuffle(&mut probes);
            }
            for probe in probes {
                let selected = judge.selected(&probe);
                extra += replayed(&probe, &base, &patched, &selected);
                let answer = answer(&probe, &base, &patched, &selected, rng);
                judge.observe(probe.id, &answer);
                done.push(probe);
            }
        }
        assert!(judge.is_done(), "a judge that asks for nothing is done");
        Checked {
            base: before,
            patched: after,
            verdict: judge.finish(),
            probes: done,
            extra,
            star: star_cost,
        }
    }
}
