//! The search against planted suites: right, minimal, and not fooled by chance.

use anyorder_core::model::{Executor, TestIx};
use anyorder_core::search::{Conclusion, Minimal, Minimiser, Options, Query, QueryId, Ranking, Reply};
use anyorder_testkit::{Goal, Planted, Rng, Sightings, Truth, Walk, is_planted, is_right, minimise, reply};

const TRUTHS: [Truth; 9] = [
    Truth::Polluter { cleaners: 0 },
    Truth::Polluter { cleaners: 5 },
    Truth::Polluters { polluters: 4, cleaners: 3 },
    Truth::Conjunction(2),
    Truth::Conjunction(3),
    Truth::Sequence(2),
    Truth::Brittle(1),
    Truth::Brittle(5),
    Truth::Brittle(20),
];

/// A search over twenty orders of a planted suite; `None` where none of them shows anything.
fn hunt(truth: Truth, n: usize, forks: bool, seed: u64, batch: usize) -> Option<(Planted, Minimal)> {
    let mut rng = Rng::new(seed);
    let (world, test) = truth.plant(n, &mut rng);
    let sightings = Sightings::of(&world, &world.orders(20), test, &mut rng);
    let options = Options { forks, budget: 30 * n as u64, ..Options::default() };
    let search = sightings.is_hit().then(|| sightings.search(&world, test, options))?;
    let minimal = minimise(&world, search, batch, &mut rng);
    Some((world, minimal))
}

fn hits(world: &Planted, goal: TestIx, tests: &[TestIx]) -> bool {
    let query = Query { id: QueryId(0), tests: tests.to_vec(), places: vec![tests.len()] };
    reply(world, goal, &query, Executor::Fork, &mut Rng::new(0)).hits == [Some(true)]
}

#[test]
fn every_deterministic_truth_is_found_with_and_without_forks() {
    for truth in TRUTHS {
        for n in [42, 300] {
            for seed in 0..20 {
                for forks in [true, false] {
                    let Some((world, minimal)) = hunt(truth, n, forks, seed, 1) else { continue };
                    assert!(is_right(&world, &minimal), "{truth:?}, n {n}, seed {seed}: {minimal:?}");
                }
            }
        }
    }
}

/// A suite with several minimal sets of any size for one test, cleaners among everything else.
fn tangled(rng: &mut Rng) -> (Planted, TestIx) {
    let n = 3 + rng.below(40);
    let all: Vec<TestIx> = (0u32..).map(TestIx).take(n).collect();
    let goal = rng.pick(&all);
    let others: Vec<TestIx> = all.iter().copied().filter(|test| *test != goal).collect();
    let sets = (0..=rng.below(4)).map(|_| {
        let size = 1 + rng.below(4);
        rng.sample(&others, size)
    });
    let sets: Vec<Vec<TestIx>> = sets.collect();
    let cleaners = rng.below(n / 2);
    let cleaners = rng.sample(&others, cleaners);
    let brittle = rng.chance(0.3);
    (Planted::new(n, vec![Goal { brittle, ..Goal::victim(goal, sets).cleaned_by(&cleaners) }]), goal)
}

#[test]
fn what_is_found_hits_and_no_member_can_be_spared() {
    let mut found = 0;
    for seed in 0..600 {
        let mut rng = Rng::new(seed);
        let (world, goal) = tangled(&mut rng);
        let sightings = Sightings::of(&world, &world.orders(6), goal, &mut rng);
        if !sightings.is_hit() {
            continue;
        }
        for forks in [true, false] {
            let options = Options { forks, ..Options::default() };
            let minimal = minimise(&world, sightings.search(&world, goal, options), 1, &mut rng);
            let sequence =
                minimal.conclusion.sequence().unwrap_or_else(|| panic!("seed {seed}: {minimal:?}"));
            assert!(hits(&world, goal, sequence), "seed {seed}");
            for n in 0..sequence.len() {
                let mut shorter = sequence.to_vec();
                shorter.remove(n);
                assert!(!hits(&world, goal, &shorter), "seed {seed}: {sequence:?} without {n}");
            }
            found += 1;
        }
    }
    assert!(found > 500, "{found}");
}

#[test]
fn several_queries_at_a_time_lead_to_the_same_sequence() {
    for truth in TRUTHS {
        for seed in 0..10 {
            let Some((_, one)) = hunt(truth, 120, true, seed, 1) else { continue };
            for batch in [2, 7, 100] {
                let (_, many) = hunt(truth, 120, true, seed, batch).unwrap();
                assert_eq!(many.conclusion, one.conclusion, "{truth:?}, seed {seed}");
            }
        }
    }
}

#[test]
fn single_polluters_are_cheap_and_pairs_are_not_dear() {
    let median = |truth, n: usize, worlds| {
        let mut costs: Vec<u64> = (0..worlds)
            .filter_map(|seed| hunt(truth, n, true, seed, 1))
            .map(|(_, m)| m.spent.tests)
            .collect();
        costs.sort_unstable();
        let at = |percent: usize| costs[(costs.len() - 1) * percent / 100] as f64 / n as f64;
        (at(50), at(95))
    };
    for cleaners in [0, 5] {
        let (middle, high) = median(Truth::Polluter { cleaners }, 500, 60);
        assert!(middle <= 0.3 && high <= 1.2, "{cleaners} cleaners: {middle}, {high}");
    }
    let (middle, high) = median(Truth::Conjunction(2), 500, 40);
    assert!(middle <= 2.0 && high <= 5.0, "{middle}, {high}");
}

#[test]
fn a_victim_that_is_hurt_only_sometimes_is_found_nearly_always() {
    for (rate, least) in [(0.9, 38), (0.6, 35), (0.3, 24)] {
        let done: Vec<_> =
            (0..60).filter_map(|seed| hunt(Truth::Sometimes(rate), 100, true, seed, 1)).take(40).collect();
        let right = done.iter().filter(|(world, minimal)| is_right(world, minimal)).count();
        let wrong = done.iter().filter(|(world, minimal)| {
            minimal.conclusion.sequence().is_some_and(|s| !is_planted(&world.goals()[0], s))
        });
        assert!(right >= least * done.len() / 40, "rate {rate}: {right} of {}", done.len());
        assert!(wrong.count() <= 1, "rate {rate}");
    }
}

#[test]
fn a_test_that_fails_by_chance_hardly_ever_gets_a_sequence() {
    let (mut found, mut all) = (0, 0);
    for rate in [0.02, 0.1, 0.3, 0.5, 0.8] {
        for seed in 0..400 {
            let Some((_, minimal)) = hunt(Truth::Flake(rate), 42, true, seed, 1) else { continue };
            found += u32::from(minimal.conclusion.sequence().is_some());
            all += 1;
        }
    }
    assert!(all > 1200 && found <= 4, "{found} of {all}");
}

#[test]
fn what_is_hit_alone_needs_no_predecessor() {
    let world = Planted::new(5, vec![Goal { brittle: true, ..Goal::victim(TestIx(2), vec![]) }]);
    let mut search = Minimiser::new(TestIx(2), vec![vec![TestIx(0)]], Ranking::default(), Options::default());
    let query = search.next_query().unwrap();
    assert_eq!((query.tests.len(), query.places.as_slice()), (0, &[0][..]));
    search.observe(query.id, &Reply { hits: vec![Some(true)] });
    assert_eq!(search.finish().conclusion, Conclusion::AloneHits);
    assert_eq!(world.goals().len(), 1);
}

#[test]
fn an_order_that_fails_no_more_is_tried_again_before_that_is_said() {
    let world = Planted::new(30, vec![Goal::victim(TestIx(0), vec![])]);
    let prefix: Vec<TestIx> = (1..30).map(TestIx).collect();
    for forks in [true, false] {
        let options = Options { forks, ..Options::default() };
        let search = Minimiser::new(TestIx(0), vec![prefix.clone()], Ranking::default(), options);
        let minimal = minimise(&world, search, 1, &mut Rng::new(1));
        assert_eq!(minimal.conclusion, Conclusion::NotReproduced);
        assert!(minimal.spent.tests <= 29 * 7, "{:?}", minimal.spent);
    }
}

#[test]
fn a_search_that_is_given_up_names_the_best_so_far() {
    let mut rng = Rng::new(3);
    let (world, test) = Truth::Conjunction(3).plant(200, &mut rng);
    let sightings = Sightings::of(&world, &world.orders(20), test, &mut rng);
    let mut search = sightings.search(&world, test, Options::default());
    let mut shortest = usize::MAX;
    for _ in 0..12 {
        let query = search.next_query().unwrap();
        let reply = reply(&world, test, &query, Executor::Fork, &mut rng);
        let hit = query.places.iter().zip(&reply.hits).filter(|(_, hit)| **hit == Some(true));
        shortest = hit.map(|(place, _)| *place).chain([shortest]).min().unwrap();
        search.observe(query.id, &reply);
    }
    search.give_up();
    assert!(search.is_done() && search.next_query().is_none());
    let Conclusion::BudgetSpent { best } = search.finish().conclusion else { panic!("it was not done") };
    assert_eq!(best.len(), shortest);
    assert!(hits(&world, test, &best));
}

#[test]
fn the_budget_is_exceeded_by_one_query_at_most() {
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let (world, test) = Truth::Conjunction(3).plant(200, &mut rng);
        let sightings = Sightings::of(&world, &world.orders(20), test, &mut rng);
        let options = Options { budget: 150, ..Options::default() };
        let minimal = minimise(&world, sightings.search(&world, test, options), 1, &mut rng);
        assert!(minimal.spent.tests < 150 + 2 * 200, "{:?}", minimal.spent);
    }
}

#[test]
fn answers_that_were_kept_can_be_given_again() {
    let mut rng = Rng::new(8);
    let (world, test) = Truth::Conjunction(2).plant(100, &mut rng);
    let sightings = Sightings::of(&world, &world.orders(20), test, &mut rng);
    let mut kept: Vec<(Query, Reply)> = Vec::new();
    let mut search = sightings.search(&world, test, Options::default());
    while let Some(query) = search.next_query() {
        let reply = reply(&world, test, &query, Executor::Fork, &mut rng);
        search.observe(query.id, &reply);
        kept.push((query, reply));
    }
    let mut again = sightings.search(&world, test, Options::default());
    let mut next = kept.iter();
    while let Some(query) = again.next_query() {
        let (before, reply) = next.next().unwrap();
        assert_eq!(query, *before, "the same answers lead to the same questions");
        again.observe(query.id, reply);
    }
    assert_eq!(again.finish(), search.finish());
}

#[test]
fn a_run_that_never_reaches_the_goal_ends_the_search_all_the_same() {
    // Test 7 ends the process: nothing is heard of the goal behind it.
    for polluter in [3, 20] {
        let goal = TestIx(0);
        let prefix: Vec<TestIx> = (1..40).map(TestIx).collect();
        for forks in [true, false] {
            let options = Options { forks, ..Options::default() };
            let mut search = Minimiser::new(goal, vec![prefix.clone()], Ranking::default(), options);
            while let Some(query) = search.next_query() {
                let say = |place: &usize| {
                    let before = &query.tests[..*place];
                    (!before.contains(&TestIx(7))).then(|| before.contains(&TestIx(polluter)))
                };
                let reply = Reply { hits: query.places.iter().map(say).collect() };
                search.observe(query.id, &reply);
            }
            assert!(search.is_done());
            assert!(!matches!(search.finish().conclusion, Conclusion::BudgetSpent { .. }));
        }
    }
}

#[test]
fn a_peek_leaves_no_trace_in_the_simulated_run() {
    let world = Planted::new(4, vec![Goal::victim(TestIx(3), vec![vec![TestIx(0), TestIx(1)]])]);
    let tests = [TestIx(0), TestIx(2), TestIx(1)];
    let peeks = [0, 1, 2, 3].map(|after| (after, TestIx(3)));
    assert_eq!(world.run(&Walk::new(&tests, &peeks), &mut Rng::new(0)).1, [true, true, true, false]);
}
