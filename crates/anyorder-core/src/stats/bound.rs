//! What a sweep without failures says, and what it leaves open.

use super::binomial::{clopper_pearson, rule_of_three, upper_bound};

/// Couplings whose chance to fail in one order is at most the bound, so that passing does not exclude them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotExcluded {
    /// A victim with this many cleaners or more: it fails in one order of c + 2.
    pub victim_cleaners: u32,
    /// A brittle test with this many state-setters or more, which fails in one order of s + 1; `None` where each test
    /// was run alone, as no brittle test passes that.
    pub brittle_setters: Option<u32>,
}

/// The bound of a sweep: upper limit, at 95 %, of the chance that one more order fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Independent orders that ran; mirrored ones are none.
    pub independent_seeds: u32,
    /// How many of them failed.
    pub failing: u32,
    /// The upper limit, one-sided, at 95 %.
    pub upper95: f64,
    /// Two-sided interval at 95 % around the share that failed.
    pub interval95: (f64, f64),
    /// `3/N` beside it.
    pub rule_of_three: f64,
    /// What passing does not exclude; `None` where something failed.
    pub not_excluded: Option<NotExcluded>,
}

impl Bound {
    /// The bound after `failing` of `independent_seeds` failed, with or without an isolation sweep beside them.
    pub fn new(independent_seeds: u32, failing: u32, isolation: bool) -> Self {
        let failing = failing.min(independent_seeds);
        let upper95 = upper_bound(independent_seeds, failing, 0.95);
        let not_excluded = (failing == 0).then(|| NotExcluded {
            victim_cleaners: smallest_count(upper95, 2, 0),
            brittle_setters: (!isolation).then(|| smallest_count(upper95, 1, 1)),
        });
        Self {
            independent_seeds,
            failing,
            upper95,
            interval95: clopper_pearson(failing, independent_seeds, 0.95),
            rule_of_three: rule_of_three(independent_seeds),
            not_excluded,
        }
    }
}

/// The smallest count of at least `least` with `1 / (count + others) <= bound`.
fn smallest_count(bound: f64, others: u32, least: u32) -> u32 {
    let count = (1.0 / bound - f64::from(others)).ceil().clamp(f64::from(least), f64::from(u32::MAX));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number between 0 and the largest u32"
    )]
    (count as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_seeds_leave_six_cleaners_and_seven_setters_open() {
        let bound = Bound::new(20, 0, false);
        let open = NotExcluded { victim_cleaners: 6, brittle_setters: Some(7) };
        assert_eq!(bound.not_excluded, Some(open));
        assert!((bound.upper95 - 0.139).abs() < 0.0005 && (bound.rule_of_three - 0.15).abs() < 1e-12);
    }

    #[test]
    fn isolation_excludes_every_brittle_test() {
        let bound = Bound::new(20, 0, true);
        assert_eq!(bound.not_excluded, Some(NotExcluded { victim_cleaners: 6, brittle_setters: None }));
    }

    #[test]
    fn what_is_left_open_is_exactly_what_the_bound_allows() {
        for seeds in 1..500 {
            let bound = Bound::new(seeds, 0, false);
            let open = bound.not_excluded.unwrap();
            let (cleaners, setters) = (open.victim_cleaners, open.brittle_setters.unwrap());
            assert!(1.0 / f64::from(cleaners + 2) <= bound.upper95, "{seeds}");
            assert!(1.0 / f64::from(setters + 1) <= bound.upper95, "{seeds}");
            assert!(cleaners == 0 || 1.0 / f64::from(cleaners + 1) > bound.upper95, "{seeds}");
            assert!(setters == 1 || 1.0 / f64::from(setters) > bound.upper95, "{seeds}");
        }
    }

    #[test]
    fn nothing_run_and_something_failed_claim_nothing() {
        let none = Bound::new(0, 0, true);
        assert!(none.upper95 >= 1.0 && none.rule_of_three >= 1.0);
        assert_eq!(none.not_excluded, Some(NotExcluded { victim_cleaners: 0, brittle_setters: None }));
        let failed = Bound::new(20, 3, true);
        assert_eq!(failed.not_excluded, None);
        assert!(failed.interval95.0 < 0.15 && failed.upper95 > 0.15 && failed.upper95 < failed.interval95.1);
    }
}
