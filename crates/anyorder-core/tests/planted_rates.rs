//! The printed bound covers the rates that it speaks of (METHODS E, target 14).

use anyorder_core::model::{OrderLabel, Seed, Suite, TestIx};
use anyorder_core::order::{Constraints, Shuffle, make, seeds_for_bound};
use anyorder_core::stats::{Bound, upper_bound};

const SEEDS: u32 = 20;

/// Asserts that of sweeps of 20 seeds with so many failures each, the bound covered the rate in 95 of a hundred, less
/// three standard deviations of a count of so many sweeps. (The tests of `stats` compute the coverage exactly.)
fn check(what: &str, rate: f64, failures: &[usize]) {
    let bounds: Vec<f64> = (0..=SEEDS).map(|failing| Bound::new(SEEDS, failing, true).upper95).collect();
    let covered = failures.iter().filter(|&&failing| bounds[failing] >= rate).count();
    let sweeps = failures.len() as f64;
    let least = 0.95 * sweeps - 3.0 * (0.95 * 0.05 * sweeps).sqrt();
    assert!(covered as f64 >= least, "{what}: {covered} of {sweeps}");
}

#[test]
fn the_bound_covers_planted_rates_in_95_sweeps_of_a_hundred() {
    for rate in [0.02, 0.05, 0.10, 0.14] {
        let failing = |sweep: u32| {
            let mut drawn = [0; 4 * SEEDS as usize];
            blake3::Hasher::new_derive_key("planted rates")
                .update(&sweep.to_le_bytes())
                .finalize_xof()
                .fill(&mut drawn);
            let number = |four: &[u8]| four.iter().fold(0.0, |all, &byte| (all + f64::from(byte)) / 256.0);
            drawn.chunks_exact(4).filter(|four| number(four) < rate).count()
        };
        let failures: Vec<usize> = (0..20_000).map(failing).collect();
        check(&format!("rate {rate}"), rate, &failures);
    }
}

/// A victim in the last-writer model: it fails if of the polluter and the cleaners that ran before it, the polluter
/// ran last. With c cleaners that is one order in c + 2.
#[test]
fn the_bound_covers_victims_whose_orders_are_those_of_consecutive_seeds() {
    const SWEEPS: u32 = 400;
    for (cleaners, shuffle) in
        [(5, Shuffle::Flat), (8, Shuffle::Flat), (5, Shuffle::Nested), (8, Shuffle::Mixed)]
    {
        let tests = 2 + cleaners;
        let suite = Suite::from_raw_ids((0..tests).map(|n| format!("test_{}.py::test_{n}", n % 3)));
        let fails = |seed: u32| {
            let label = OrderLabel::Seed(Seed(seed.into()));
            let order = make(&label, &suite, shuffle, &Constraints::none()).expect("a seed has an order");
            order.tests().iter().take_while(|ix| **ix != TestIx(0)).last() == Some(&TestIx(1))
        };
        let of_sweep = |sweep| (1..=SEEDS).filter(|seed| fails(sweep * SEEDS + seed)).count();
        let failures: Vec<usize> = (0..SWEEPS).map(of_sweep).collect();
        let orders = f64::from(SWEEPS * SEEDS);
        let measured = failures.iter().sum::<usize>() as f64 / orders;
        let rate = if shuffle == Shuffle::Flat {
            let rate = 1.0 / f64::from(tests);
            let deviation = (rate * (1.0 - rate) / orders).sqrt();
            assert!(
                (measured - rate).abs() < 3.5 * deviation,
                "{cleaners} cleaners: {measured} is not {rate}"
            );
            rate
        } else {
            // Where files stay together there is no closed form.
            measured
        };
        check(&format!("{cleaners} cleaners, {shuffle}"), rate, &failures);
    }
}

#[test]
fn the_seeds_planned_for_a_bound_reach_it_and_no_fewer_do() {
    for thousandth in 1..1000 {
        let bound = f64::from(thousandth) / 1000.0;
        let seeds = seeds_for_bound(bound).expect("a chance between 0 and 1");
        assert!(upper_bound(seeds, 0, 0.95) <= bound, "{bound}");
        assert!(upper_bound(seeds - 1, 0, 0.95) > bound, "{bound}");
    }
}

#[test]
fn stopping_early_keeps_the_bound_honest() {
    // Whoever stops at the first t without a failure and prints its bound is wrong only if all of the t passed.
    for orders in 1..=60u32 {
        let bound = upper_bound(orders, 0, 0.95);
        let chance = (1.0 - bound).powi(i32::try_from(orders).expect("a small count"));
        assert!(chance <= 0.05 + 1e-12, "{orders}");
    }
}
