//! Which predecessors are worth trying first, from orders that were run already (METHODS C, ranking).

use crate::model::TestIx;

/// Distances are measured in this share of the suite: METHODS C recommends 0.4 to 1.
const LAMBDA: f64 = 0.7;

/// One order that was run: what stood before the goal's test, first to last, and whether it was hit.
#[derive(Clone, Copy, Debug)]
pub struct SeenRun<'a> {
    /// The tests before it.
    pub before: &'a [TestIx],
    /// Whether it was hit.
    pub hit: bool,
}

/// The other tests of a suite, the most suspicious first. An order of trying, never a filter: a cleaner makes the true
/// polluter stand before the goal in orders that pass, and with several polluters none need stand before it in all that
/// fail.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranking {
    best_first: Vec<TestIx>,
    scores: Vec<f64>,
    /// By [`TestIx`].
    rank: Vec<usize>,
}

impl Ranking {
    /// Ranks the tests of a suite of `suite_len` as predecessors of `goal`; among equals, tests of the goal's file first
    /// (54 % of victims have a polluter there, 82 % of brittle tests a setter: METHODS section 1), then as collected.
    ///
    /// `score(Q) = sum over runs of (hit - mean) * (g(Q) - E[g]) / sd[g]`, where `g` is `exp(-distance / (lambda n))` for a
    /// `Q` before the goal and 0 behind it, and `E` and `sd` are those of a test at a random place given the goal's.
    pub fn new(
        goal: TestIx,
        suite_len: usize,
        runs: &[SeenRun<'_>],
        same_file: impl Fn(TestIx) -> bool,
    ) -> Self {
        let mut scores = vec![0.0; suite_len];
        let hits = runs.iter().filter(|r| r.hit).count();
        // Half a run is added to each side, so that orders that all hit still say who stood near.
        let mean = (hits as f64 + 0.5) / (runs.len() as f64 + 1.0);
        let length = LAMBDA * suite_len.max(1) as f64;
        for run in runs {
            let weight = if run.hit { 1.0 - mean } else { -mean };
            let near: Vec<f64> =
                (1..=run.before.len()).map(|distance| (-(distance as f64) / length).exp()).collect();
            let others = suite_len.saturating_sub(1).max(1) as f64;
            let mean_near = near.iter().sum::<f64>() / others;
            let variance = near.iter().map(|g| g * g).sum::<f64>() / others - mean_near * mean_near;
            if variance <= f64::EPSILON {
                continue;
            }
            let scale = weight / variance.sqrt();
            for score in &mut scores {
                *score -= scale * mean_near;
            }
            for (test, g) in run.before.iter().rev().zip(&near) {
                if let Some(score) = scores.get_mut(test.get()) {
                    *score += scale * g;
                }
            }
        }
        Self::sorted(goal, scores, same_file)
    }

    fn sorted(goal: TestIx, scores: Vec<f64>, same_file: impl Fn(TestIx) -> bool) -> Self {
        let mut best_first: Vec<TestIx> =
            (0u32..).map(TestIx).take(scores.len()).filter(|ix| *ix != goal).collect();
        let far = |ix: TestIx| !same_file(ix);
        best_first.sort_by(|a, b| {
            scores[b.get()].total_cmp(&scores[a.get()]).then(far(*a).cmp(&far(*b))).then(a.cmp(b))
        });
        let mut rank = vec![usize::MAX; scores.len()];
        for (place, ix) in best_first.iter().enumerate() {
            rank[ix.get()] = place;
        }
        Self { best_first, scores, rank }
    }

    /// All tests but the goal, the most suspicious first.
    pub fn best_first(&self) -> &[TestIx] {
        &self.best_first
    }

    /// How many tests are at least as suspicious as this one, less one: 0 for the best.
    pub fn rank(&self, test: TestIx) -> usize {
        self.rank.get(test.get()).copied().unwrap_or(usize::MAX)
    }

    /// How suspicious a test is; above 0 when it stands before the goal and near it more where it is hit than elsewhere.
    pub fn score(&self, test: TestIx) -> f64 {
        self.scores.get(test.get()).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ix(numbers: &[u32]) -> Vec<TestIx> {
        numbers.iter().copied().map(TestIx).collect()
    }

    #[test]
    fn who_stands_before_the_goal_only_where_it_is_hit_comes_first() {
        let (a, b, c) = (ix(&[3, 1, 2]), ix(&[4, 3, 5]), ix(&[1, 2, 4, 5]));
        let runs = [
            SeenRun { before: &a, hit: true },
            SeenRun { before: &b, hit: true },
            SeenRun { before: &c, hit: false },
        ];
        let ranking = Ranking::new(TestIx(0), 6, &runs, |_| false);
        assert_eq!(ranking.best_first()[0], TestIx(3));
        assert_eq!(ranking.rank(TestIx(3)), 0);
        assert_eq!(ranking.best_first().len(), 5, "nobody is filtered out, and the goal is no predecessor");
        assert!(ranking.score(TestIx(3)) > 0.0);
    }

    #[test]
    fn nothing_run_puts_the_goals_own_file_first() {
        let ranking = Ranking::new(TestIx(0), 5, &[], |t| t.0 >= 3);
        assert_eq!(ranking.best_first(), ix(&[3, 4, 1, 2]));
    }

    #[test]
    fn where_every_order_hits_the_nearest_come_first() {
        let before = ix(&[1, 2, 3]);
        let ranking = Ranking::new(TestIx(0), 5, &[SeenRun { before: &before, hit: true }], |_| false);
        assert_eq!(ranking.best_first(), ix(&[3, 2, 1, 4]));
    }
}
