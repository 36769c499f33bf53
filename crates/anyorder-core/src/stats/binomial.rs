//! Confidence limits for a chance from counts.

use statrs::function::beta::beta_reg;

/// Upper limit, at `confidence` in `0..1`, of the chance that one more independent order fails, after `failures` of
/// `independent_orders` failed. One-sided and exact (Clopper and Pearson 1934); 1 where nothing ran.
///
/// Without failures this is `1 - (1 - confidence)^(1/N)`, and stays valid when the sweep stops early (METHODS A4).
pub fn upper_bound(independent_orders: u32, failures: u32, confidence: f64) -> f64 {
    if failures == 0 && independent_orders > 0 {
        return -((1.0 - confidence).ln() / f64::from(independent_orders)).exp_m1();
    }
    upper_limit(failures, independent_orders, 1.0 - confidence)
}

/// Two-sided exact interval for a chance after `k` of `n`, at `confidence` in `0..1` (Clopper and Pearson 1934).
pub fn clopper_pearson(k: u32, n: u32, confidence: f64) -> (f64, f64) {
    let tail = (1.0 - confidence) / 2.0;
    let k = k.min(n);
    (1.0 - upper_limit(n - k, n, tail), upper_limit(k, n, tail))
}

/// `3/N`, the well-known approximation of the 95 % bound without failures, never below it; at most 1.
pub fn rule_of_three(independent_orders: u32) -> f64 {
    if independent_orders == 0 { 1.0 } else { (3.0 / f64::from(independent_orders)).min(1.0) }
}

/// The chance at which `k` or fewer of `n` has probability `tail`; 1 where all of `n` are counted.
fn upper_limit(k: u32, n: u32, tail: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    // P(X <= k) = 1 - I_p(k + 1, n - k), which falls in p. Halving is slower than a solver and cannot fail.
    let (a, b) = (f64::from(k) + 1.0, f64::from(n - k));
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if beta_reg(a, b, middle) < 1.0 - tail {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// Wilson's score interval for a chance after `k` of `n` at 95 %: approximate, closed form, for displays of many rows.
pub fn wilson(k: u32, n: u32) -> (f64, f64) {
    if n == 0 {
        return (0.0, 1.0);
    }
    let n = f64::from(n);
    let share = (f64::from(k) / n).min(1.0);
    let centre = share + Z * Z / (2.0 * n);
    let spread = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    (((centre - spread) / scale).max(0.0), ((centre + spread) / scale).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(actual: f64, expected: f64, tolerance: f64) {
        assert!((actual - expected).abs() <= tolerance, "{actual} is not {expected}");
    }

    #[test]
    fn the_bound_without_failures_is_the_table_of_methods_a4() {
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
            (299, 0.010),
        ];
        for (orders, bound) in table {
            near(upper_bound(orders, 0, 0.95), bound, 0.0005);
        }
        near(upper_bound(0, 0, 0.95), 1.0, 0.0);
    }

    #[test]
    fn the_closed_form_is_the_exact_limit_at_zero_failures() {
        for orders in [1, 2, 7, 20, 59, 299, 5000] {
            near(upper_bound(orders, 0, 0.95), upper_limit(0, orders, 0.05), 1e-12);
        }
    }

    #[test]
    fn the_interval_is_that_of_binomial_sums_in_fifty_digits() {
        // Solved with Python's `decimal` from the sums themselves, without a beta function.
        for (k, n, low, high) in [
            (0, 20, 0.0, 0.168_433_47),
            (1, 20, 0.001_265_089, 0.248_732_763),
            (5, 20, 0.086_571_472, 0.491_045_873),
            (10, 20, 0.271_957_792, 0.728_042_208),
            (20, 20, 0.831_566_53, 1.0),
            (3, 1000, 0.000_619_100, 0.008_742_023),
        ] {
            let interval = clopper_pearson(k, n, 0.95);
            near(interval.0, low, 2e-7);
            near(interval.1, high, 2e-7);
        }
        assert!(clopper_pearson(0, 0, 0.95) == (0.0, 1.0));
    }

    #[test]
    fn the_rule_of_three_is_never_below_the_bound() {
        for orders in 0..3000 {
            assert!(rule_of_three(orders) >= upper_bound(orders, 0, 0.95), "{orders}");
        }
        near(rule_of_three(20), 0.15, 1e-12);
    }

    #[test]
    fn the_bound_covers_each_planted_rate_exactly_computed() {
        for rate in [0.02, 0.05, 0.10, 0.14, 0.3, 0.5, 0.9] {
            for orders in [1u32, 5, 19, 20, 40, 59] {
                let mut chance = (1.0f64 - rate).powf(f64::from(orders));
                let mut covered = 0.0;
                for failures in 0..=orders {
                    if upper_bound(orders, failures, 0.95) >= rate {
                        covered += chance;
                    }
                    chance *= f64::from(orders - failures) / f64::from(failures + 1) * rate / (1.0 - rate);
                }
                assert!(covered >= 0.95 - 1e-9, "rate {rate}, {orders} orders: {covered}");
            }
        }
    }

    #[test]
    fn wilson_is_that_of_its_formula_in_python() {
        for (k, n, low, high) in
            [(0, 20, 0.0, 0.161_13), (5, 20, 0.111_86, 0.468_70), (20, 20, 0.838_87, 1.0)]
        {
            near(wilson(k, n).0, low, 1e-5);
            near(wilson(k, n).1, high, 1e-5);
        }
    }
}
