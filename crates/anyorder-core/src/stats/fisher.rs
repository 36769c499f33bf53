//! Fisher's exact test.

use statrs::function::factorial::ln_binomial;

/// One-sided p of a 2×2 table `[[a, b], [c, d]]`: the probability, given its margins, of `a` or more in the first cell.
///
/// With failures and passes of two groups as rows, small values say that the first group fails more often.
pub fn fisher_one_sided(table: [[u32; 2]; 2]) -> f64 {
    let [[a, b], [c, d]] = table.map(|row| row.map(u64::from));
    let (first, column, all) = (a + b, a + c, a + b + c + d);
    let least = (first + column).saturating_sub(all);
    if a <= least {
        return 1.0;
    }
    let ln_tables = ln_binomial(all, column);
    let chance = |x: u64| (ln_binomial(first, x) + ln_binomial(all - first, column - x) - ln_tables).exp();
    (a..=first.min(column)).map(chance).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_p_value_is_that_of_counted_tables() {
        let cases = [
            // The certificate of METHODS C: 5 of 5 with the polluter, 0 of 5 without.
            ([[5, 0], [0, 5]], 1.0 / 252.0),
            ([[3, 0], [0, 3]], 1.0 / 20.0),
            // The lady tasting tea.
            ([[3, 1], [1, 3]], 17.0 / 70.0),
            ([[0, 5], [5, 0]], 1.0),
            ([[0, 0], [0, 0]], 1.0),
            ([[2, 18], [2, 18]], 671.0 / 962.0),
        ];
        for (table, expected) in cases {
            let p = fisher_one_sided(table);
            assert!((p - expected).abs() < 1e-8, "{table:?}: {p} is not {expected}");
        }
    }

    #[test]
    fn large_tables_keep_their_precision() {
        let p = fisher_one_sided([[60, 940], [30, 970]]);
        assert!((8.0e-4..9.0e-4).contains(&p), "{p}");
        let none = fisher_one_sided([[1_000_000, 1_000_000], [1_000_000, 1_000_000]]);
        assert!((0.5..0.501).contains(&none), "{none}");
    }
}
