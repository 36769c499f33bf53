//! Bounds and intervals (METHODS A4). Probabilities are shares from 0 to 1; confidence is 95 % unless said otherwise.

use statrs::distribution::{Beta, ContinuousCDF};

/// The confidence that reports use.
pub const CONFIDENCE: f64 = 0.95;

/// Upper limit of the chance that one more order fails, after `failures` in `orders` independent ones: exact for zero
/// failures (`1 - 0.05^(1/N)`, valid at any time of stopping), one-sided Clopper-Pearson otherwise; 1 without orders.
pub fn upper_bound(orders: u32, failures: u32, confidence: f64) -> f64 {
    if orders == 0 || failures >= orders {
        return 1.0;
    }
    if failures == 0 {
        return 1.0 - (1.0 - confidence).powf(1.0 / f64::from(orders));
    }
    beta_quantile(f64::from(failures) + 1.0, f64::from(orders - failures), confidence)
}

/// Two-sided Clopper-Pearson interval for `failures` in `orders`.
pub fn clopper_pearson(failures: u32, orders: u32, confidence: f64) -> (f64, f64) {
    if orders == 0 {
        return (0.0, 1.0);
    }
    let failures = failures.min(orders);
    let tail = (1.0 - confidence) / 2.0;
    let (k, n) = (f64::from(failures), f64::from(orders));
    let low = if failures == 0 { 0.0 } else { beta_quantile(k, n - k + 1.0, tail) };
    let high = if failures == orders { 1.0 } else { beta_quantile(k + 1.0, n - k, 1.0 - tail) };
    (low, high)
}

fn beta_quantile(a: f64, b: f64, p: f64) -> f64 {
    Beta::new(a, b).map_or(1.0, |beta| beta.inverse_cdf(p))
}

/// The rule of three, `3/N`; `None` below three orders, where it says nothing.
pub fn rule_of_three(orders: u32) -> Option<f64> {
    (orders >= 3).then(|| 3.0 / f64::from(orders))
}

/// The least number of independent orders whose bound, if none fails, is at most this share.
pub fn seeds_for_bound(share: f64) -> u32 {
    let needed = (1.0 - CONFIDENCE).ln() / (1.0 - share.clamp(1e-9, 1.0 - 1e-9)).ln();
    let mut seeds = (needed.ceil().max(1.0)) as u32;
    while seeds > 1 && upper_bound(seeds - 1, 0, CONFIDENCE) <= share {
        seeds -= 1;
    }
    seeds
}

/// The statement about a sweep: how likely one more order is to fail, and what that does not exclude.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Independent seeds that were run to their end. Mirrored orders never count.
    pub independent_seeds: u32,
    /// In how many of them an order-sensitive test did not pass.
    pub failing: u32,
    /// Upper limit at 95 %.
    pub upper95: f64,
    /// Lower end of the two-sided 95 % interval.
    pub lower95: f64,
    /// 3/N where nothing failed.
    pub rule_of_three: Option<f64>,
    /// A victim with at least this many cleaners could still be there: its rate, 1/(c+2), is below the bound.
    pub victim_cleaners: Option<u32>,
    /// A brittle test with at least this many state-setters could still be there: its rate, 1/(s+1), is below the
    /// bound. An isolation sweep excludes all of them.
    pub brittle_setters: Option<u32>,
}

impl Bound {
    /// The bound after `failing` of `seeds` independent orders.
    pub fn new(seeds: u32, failing: u32) -> Self {
        let upper95 = upper_bound(seeds, failing, CONFIDENCE);
        let silent = failing == 0 && seeds > 0;
        let least = |offset: f64| ((1.0 / upper95 - offset - 1e-9).ceil().max(0.0)) as u32;
        Self {
            independent_seeds: seeds,
            failing,
            upper95,
            lower95: clopper_pearson(failing, seeds, CONFIDENCE).0,
            rule_of_three: if silent { rule_of_three(seeds) } else { None },
            victim_cleaners: silent.then(|| least(2.0)),
            brittle_setters: silent.then(|| least(1.0)),
        }
    }
}

/// Fisher's exact test, one-sided: the chance of at least `a` failures among `n1` when `f` of all `n1 + n2` fail.
pub fn fisher_greater(a: u32, n1: u32, b: u32, n2: u32) -> f64 {
    let (failures, all) = (a + b, n1 + n2);
    let ln_choose = |n: u32, k: u32| statrs::function::factorial::ln_binomial(u64::from(n), u64::from(k));
    let whole = ln_choose(all, failures);
    (a..=failures.min(n1))
        .filter(|k| failures - k <= n2)
        .map(|k| (ln_choose(n1, k) + ln_choose(n2, failures - k) - whole).exp())
        .sum::<f64>()
        .min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, by: f64) {
        assert!((a - b).abs() <= by, "{a} is not {b}");
    }

    #[test]
    fn the_bounds_are_those_of_the_methods() {
        let table = [
            (5, 0.451),
            (10, 0.259),
            (14, 0.193),
            (19, 0.146),
            (20, 0.139),
            (29, 0.098),
            (40, 0.072),
            (59, 0.0495),
            (100, 0.0295),
            (299, 0.01),
        ];
        for (seeds, bound) in table {
            close(upper_bound(seeds, 0, CONFIDENCE), bound, 0.0006);
        }
        close(rule_of_three(20).unwrap(), 0.15, 1e-12);
    }

    #[test]
    fn twenty_seeds_do_not_exclude_six_cleaners_nor_seven_setters() {
        let bound = Bound::new(20, 0);
        assert_eq!((bound.victim_cleaners, bound.brittle_setters), (Some(6), Some(7)));
    }

    #[test]
    fn the_seeds_for_a_bound_are_the_fewest() {
        assert_eq!(seeds_for_bound(0.05), 59);
        assert_eq!(seeds_for_bound(0.139_2), 20);
        for share in [0.5, 0.3, 0.1, 0.01, 0.003] {
            let seeds = seeds_for_bound(share);
            assert!(upper_bound(seeds, 0, CONFIDENCE) <= share);
            assert!(seeds == 1 || upper_bound(seeds - 1, 0, CONFIDENCE) > share);
        }
    }

    #[test]
    fn clopper_and_pearson_agree_with_published_values() {
        let (low, high) = clopper_pearson(2, 20, CONFIDENCE);
        close(low, 0.0123, 1e-4);
        close(high, 0.3170, 1e-4);
        assert_eq!(clopper_pearson(0, 0, CONFIDENCE), (0.0, 1.0));
        close(clopper_pearson(5, 5, CONFIDENCE).1, 1.0, 1e-12);
    }

    #[test]
    fn fisher_agrees_with_the_certificate_of_five_against_none() {
        close(fisher_greater(5, 5, 0, 5), 0.003_968, 1e-6);
        close(fisher_greater(0, 5, 0, 5), 1.0, 1e-9);
    }
}
