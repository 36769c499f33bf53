//! How likely a difference between two rates is by chance alone.

/// One-sided exact test of Fisher: the probability of at least `hits` of `runs` on the first side, given the margins,
/// when both sides fail at one rate. Counts are those of a few dozen runs.
pub(super) fn fisher_one_sided(hits: usize, runs: usize, other_hits: usize, other_runs: usize) -> f64 {
    let total_hits = hits + other_hits;
    let total = runs + other_runs;
    let denominator = ln_choose(total, total_hits);
    let upper = total_hits.min(runs);
    (hits..=upper)
        .filter(|k| total_hits - k <= other_runs)
        .map(|k| (ln_choose(runs, k) + ln_choose(other_runs, total_hits - k) - denominator).exp())
        .sum::<f64>()
        .min(1.0)
}

fn ln_choose(n: usize, k: usize) -> f64 {
    let k = k.min(n - k.min(n));
    (0..k).map(|i| ((n - i) as f64 / (i + 1) as f64).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fisher_agrees_with_values_known_by_counting() {
        // 3 of 3 against 0 of 3: one arrangement of C(6, 3) = 20.
        assert!((fisher_one_sided(3, 3, 0, 3) - 1.0 / 20.0).abs() < 1e-12);
        // 5 of 15 against 0 of 15: C(15, 5) / C(30, 5).
        assert!((fisher_one_sided(5, 15, 0, 15) - 3003.0 / 142_506.0).abs() < 1e-12);
        assert!((fisher_one_sided(0, 4, 2, 4) - 1.0).abs() < 1e-12);
        assert!((fisher_one_sided(0, 0, 0, 0) - 1.0).abs() < 1e-12);
    }
}
