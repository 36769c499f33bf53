//! Which orders to run (METHODS A5).

use std::fmt;

use super::{Constraints, Shuffle};
use crate::model::{OrderLabel, Seed};
use crate::stats;

/// How much to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// This many independent seeds.
    Seeds(u32),
    /// As many as it takes for this bound, a share.
    Bound(f64),
    /// The default order, each test alone, one seed and its reverse.
    Quick,
    /// Forty seeds.
    Deep,
    /// Fifty-nine seeds, for a bound under 5 %.
    Certify,
}

impl Amount {
    /// How many independent seeds that is.
    pub fn seeds(self) -> u32 {
        match self {
            Self::Seeds(n) => n,
            Self::Bound(p) => stats::seeds_for_bound(p),
            Self::Quick => 1,
            Self::Deep => 40,
            Self::Certify => 59,
        }
    }
}

/// What a plan is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanRequest {
    /// How much.
    pub amount: Amount,
    /// Exactly these orders instead.
    pub explicit: Option<Vec<OrderLabel>>,
    /// Whether to run each test alone.
    pub isolation: bool,
}

/// Why there is no plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// More seeds than anybody waits for.
    TooMany(u32),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany(n) => write!(f, "{n} seeds are more than a plan can hold: at most {MOST}"),
        }
    }
}

impl std::error::Error for PlanError {}

const MOST: u32 = 1_000_000;

impl PlanRequest {
    /// The plan: default, alone, seed 1 and its exact reverse, then independent seeds; or the explicit list.
    pub fn plan(&self) -> Result<Plan, PlanError> {
        if let Some(labels) = &self.explicit {
            return Ok(Plan { labels: labels.clone() });
        }
        let seeds = self.amount.seeds();
        if seeds > MOST {
            return Err(PlanError::TooMany(seeds));
        }
        let mut labels = vec![OrderLabel::Default];
        if self.isolation {
            labels.push(OrderLabel::Alone);
        }
        for seed in 1..=i128::from(seeds) {
            labels.push(OrderLabel::Seed(Seed(seed)));
            if seed == 1 {
                labels.push(OrderLabel::SeedReverse(Seed(seed)));
            }
        }
        Ok(Plan { labels })
    }
}

/// The orders to run, in this sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    labels: Vec<OrderLabel>,
}

impl Plan {
    /// The orders.
    pub fn labels(&self) -> &[OrderLabel] {
        &self.labels
    }

    /// Leaves the isolation sweep out, where each test would need an interpreter of its own.
    pub fn drop_alone(&mut self) {
        self.labels.retain(|l| *l != OrderLabel::Alone);
    }

    /// How many independent seeds.
    pub fn independent_seeds(&self) -> u32 {
        u32::try_from(self.labels.iter().filter(|l| l.is_independent_seed()).count()).unwrap_or(u32::MAX)
    }

    /// What it costs in runs of the whole suite, each test alone counting as one.
    pub fn suite_equivalents(&self) -> usize {
        self.labels.len()
    }

    /// Digest of everything that decides the orders, for keys of a cache.
    pub fn digest(&self, shuffle: Shuffle, constraints: &Constraints) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(format!("anyorder/plan/1 {shuffle}\n").as_bytes());
        for label in &self.labels {
            hasher.update(label.to_string().as_bytes()).update(b"\n");
        }
        constraints.feed(&mut |bytes| {
            hasher.update(bytes);
        });
        hasher.finalize().to_hex().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(amount: Amount) -> Vec<String> {
        let plan = PlanRequest { amount, explicit: None, isolation: true }.plan().unwrap();
        plan.labels().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_quick_plan_is_four_suites_long() {
        assert_eq!(shown(Amount::Quick), ["default", "alone", "seed:1", "seed:1:reverse"]);
    }

    #[test]
    fn only_the_first_seed_is_mirrored() {
        let plan = PlanRequest { amount: Amount::Seeds(20), explicit: None, isolation: true }.plan().unwrap();
        assert_eq!(plan.independent_seeds(), 20);
        assert_eq!(plan.suite_equivalents(), 23);
        assert_eq!(shown(Amount::Bound(0.05)).len(), 3 + 59);
    }
}
