//! Whether a sequence hits a test that is hit only sometimes: Wald's sequential test (METHODS C, noise).

/// How often a test that the sequence does not hit is hit by chance, at the most.
const CHANCE: f64 = 0.05;
/// How often a sequence is called a hit that is not.
const ALPHA: f64 = 0.001;
/// How often a sequence is called a miss that hits as often as supposed.
const BETA: f64 = 0.05;
/// Beyond so many runs a rate lies between both hypotheses, and the larger side decides.
const LONG_ENOUGH: u32 = 40;

/// Where the counts lean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaning {
    /// It is hit, at least sometimes.
    Hit,
    /// It is not hit, or in less than 1 of 20 runs.
    Miss,
    /// More runs are needed.
    Open,
}

/// Sequential probability ratio test of "hit in 1 of 20 runs" against "hit in this share of them" (above 0.05), at alpha
/// 0.001 and beta 0.05 (Wald 1945). At a share of 0.5 three hits in a row accept and five misses in a row reject. Ends
/// at 40 runs at the latest.
pub fn lean(hits: u32, misses: u32, share: f64) -> Leaning {
    let weight =
        f64::from(hits) * (share / CHANCE).ln() + f64::from(misses) * ((1.0 - share) / (1.0 - CHANCE)).ln();
    let long = hits + misses >= LONG_ENOUGH;
    if weight >= ((1.0 - BETA) / ALPHA).ln() || (long && weight > 0.0) {
        Leaning::Hit
    } else if weight <= (BETA / (1.0 - ALPHA)).ln() || long {
        Leaning::Miss
    } else {
        Leaning::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_hits_accept_and_five_misses_reject() {
        assert_eq!(lean(2, 0, 0.5), Leaning::Open);
        assert_eq!(lean(3, 0, 0.5), Leaning::Hit);
        assert_eq!(lean(0, 4, 0.5), Leaning::Open);
        assert_eq!(lean(0, 5, 0.5), Leaning::Miss);
    }

    #[test]
    fn a_rarer_hit_is_waited_for_longer() {
        assert_eq!(lean(0, 9, 0.3), Leaning::Open);
        assert_eq!(lean(0, 10, 0.3), Leaning::Miss);
        assert_eq!(lean(4, 0, 0.3), Leaning::Hit);
    }

    #[test]
    fn it_always_ends() {
        for hits in 0..=40 {
            assert_ne!(lean(hits, 40 - hits, 0.5), Leaning::Open);
        }
    }
}
