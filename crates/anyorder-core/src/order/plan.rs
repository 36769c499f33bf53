//! Which orders a sweep runs (METHODS A5).

use std::collections::BTreeSet;
use std::fmt;

use super::constraints::Constraints;
use super::shuffle::Shuffle;
use crate::model::{OrderLabel, Seed};

/// The most independent seeds a plan may hold.
pub const MAX_SEEDS: u32 = 10_000;

/// How many independent seeds a plan holds, or what they are to achieve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// This many.
    Seeds(u32),
    /// As few as bring the bound, at 95 %, down to this chance in `0..1` when none of them fails.
    Bound(f64),
    /// One: with its reverse, the default order and the isolation sweep, four suites' worth.
    Quick,
    /// Forty.
    Deep,
    /// Fifty-nine: a bound under 5 %.
    Certify,
}

impl Default for Amount {
    /// Twenty seeds.
    fn default() -> Self {
        Self::Seeds(20)
    }
}

impl Amount {
    /// The number of independent seeds.
    pub fn seeds(self) -> Result<u32, PlanError> {
        let seeds = match self {
            Self::Seeds(n) => n,
            Self::Bound(bound) => seeds_for_bound(bound).ok_or(PlanError::Bound)?,
            Self::Quick => 1,
            Self::Deep => 40,
            Self::Certify => 59,
        };
        if seeds > MAX_SEEDS { Err(PlanError::TooMany(seeds)) } else { Ok(seeds) }
    }
}

/// The smallest number of independent orders, none of which fails, that bounds the chance of a failure by `bound` at
/// 95 %: `1 - 0.05^(1/N) <= bound` (METHODS A4). `None` outside `0..1` or where it exceeds 32 bits.
pub fn seeds_for_bound(bound: f64) -> Option<u32> {
    if !(bound > 0.0 && bound < 1.0) {
        return None;
    }
    let enough = |n: f64| n >= 1.0 && -(0.05f64.ln() / n).exp_m1() <= bound;
    let mut n = (0.05f64.ln() / (-bound).ln_1p()).ceil().max(1.0);
    if n > f64::from(u32::MAX) {
        return None;
    }
    // The logarithms may be off by the last bit where N is exact.
    if enough(n - 1.0) {
        n -= 1.0;
    } else if !enough(n) {
        n += 1.0;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number of at least 1, and the upper end is compared"
    )]
    Some(n as u32)
}

/// What is asked of a sweep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanRequest {
    /// How much of it.
    pub amount: Amount,
    /// These orders instead of the plan's own.
    pub explicit: Option<Vec<OrderLabel>>,
    /// Whether the plan's own orders include each test alone. An explicit list says so itself.
    pub isolation: bool,
}

/// Why there is no plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// The bound asked for is no chance that any number of orders could show.
    Bound,
    /// More seeds than [`MAX_SEEDS`].
    TooMany(u32),
    /// The explicit list is empty.
    NoOrders,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bound => {
                f.write_str("cannot plan for this bound: ask for one between 0 and 1, such as 0.05")
            }
            Self::TooMany(seeds) => {
                write!(
                    f,
                    "a plan of {seeds} seeds is beyond the {MAX_SEEDS} that one sweep may hold: ask for fewer"
                )
            }
            Self::NoOrders => {
                f.write_str("the list of orders is empty: name at least one, such as `default`")
            }
        }
    }
}

impl std::error::Error for PlanError {}

/// What a plan is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanParts {
    /// Whether the default order is in it.
    pub default: bool,
    /// Whether each test alone is in it.
    pub isolation: bool,
    /// Seeds that are independent draws.
    pub independent_seeds: u32,
    /// Orders that are another one backwards.
    pub reversed: u32,
    /// Lists, and seeds that give the same orders as another of the plan.
    pub other: u32,
    /// What it costs: how many times as much as running every test once.
    pub suites: u32,
}

/// The orders of a sweep, each once, in the order to run them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    labels: Vec<OrderLabel>,
    shuffle: Shuffle,
    parts: PlanParts,
    digest: String,
}

impl Plan {
    /// The plan for a request: `default`, `alone`, seed 1 and its reverse, then independent seeds; or the explicit
    /// list, repeats dropped.
    pub fn new(
        request: &PlanRequest,
        shuffle: Shuffle,
        constraints: &Constraints,
    ) -> Result<Self, PlanError> {
        let labels = match &request.explicit {
            Some(labels) if labels.is_empty() => return Err(PlanError::NoOrders),
            Some(labels) => {
                let mut seen = BTreeSet::new();
                labels.iter().filter(|label| seen.insert(*label)).cloned().collect()
            }
            None => own_labels(request.amount.seeds()?, request.isolation),
        };
        let parts = parts(&labels, shuffle);
        let digest = digest(&labels, shuffle, constraints);
        Ok(Self { labels, shuffle, parts, digest })
    }

    /// The orders, each once, in the order to run them.
    pub fn labels(&self) -> &[OrderLabel] {
        &self.labels
    }

    /// How seeds become orders.
    pub fn shuffle(&self) -> Shuffle {
        self.shuffle
    }

    /// How many orders are independent draws, which is what the bound counts: seeds, no reverses, and of seeds with
    /// the same orders (7 and -7 to CPython) only one.
    pub fn independent_seeds(&self) -> u32 {
        self.parts.independent_seeds
    }

    /// What it is made of, and its cost.
    pub fn parts(&self) -> PlanParts {
        self.parts
    }

    /// BLAKE3 of labels, shuffle and constraints in hexadecimal: the same text, the same orders of the same suite.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

fn own_labels(seeds: u32, isolation: bool) -> Vec<OrderLabel> {
    let mut labels = vec![OrderLabel::Default];
    if isolation {
        labels.push(OrderLabel::Alone);
    }
    for n in 1..=seeds {
        let seed = Seed(n.into());
        labels.push(OrderLabel::Seed(seed));
        if n == 1 {
            labels.push(OrderLabel::SeedReverse(seed));
        }
    }
    labels
}

fn parts(labels: &[OrderLabel], shuffle: Shuffle) -> PlanParts {
    let mut drawn = BTreeSet::new();
    let mut parts = PlanParts::default();
    for label in labels {
        parts.suites = parts.suites.saturating_add(1);
        match label {
            OrderLabel::Default => parts.default = true,
            OrderLabel::Alone => parts.isolation = true,
            OrderLabel::Seed(seed) if drawn.insert(shuffle.representative(*seed)) => {
                parts.independent_seeds += 1;
            }
            OrderLabel::Reverse | OrderLabel::SeedReverse(_) => parts.reversed += 1,
            OrderLabel::Seed(_) | OrderLabel::List(_) => parts.other += 1,
        }
    }
    parts
}

fn digest(labels: &[OrderLabel], shuffle: Shuffle, constraints: &Constraints) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("anyorder plan 1");
    let mut text = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    text(shuffle.word());
    for label in labels {
        text(&label.to_string());
    }
    hasher.update(&(labels.len() as u64).to_le_bytes());
    constraints.digest(&mut hasher);
    hasher.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TestIx;

    fn plan(amount: Amount) -> Plan {
        let request = PlanRequest { amount, explicit: None, isolation: true };
        Plan::new(&request, Shuffle::Mixed, &Constraints::none()).unwrap()
    }

    fn explicit(labels: &str, shuffle: Shuffle) -> Plan {
        let labels = super::super::parse_orders(labels).unwrap();
        let request = PlanRequest { explicit: Some(labels), ..PlanRequest::default() };
        Plan::new(&request, shuffle, &Constraints::none()).unwrap()
    }

    fn shown(plan: &Plan) -> String {
        plan.labels().iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_plan_of_seeds_has_the_default_order_isolation_and_one_mirror_beside_them() {
        let three = plan(Amount::Seeds(3));
        assert_eq!(shown(&three), "default alone seed:1 seed:1:reverse seed:2 seed:3");
        assert_eq!(three.independent_seeds(), 3);
        assert_eq!(plan(Amount::default()).independent_seeds(), 20);
        assert_eq!(plan(Amount::default()).parts().suites, 23);
        assert_eq!(plan(Amount::Quick).parts().suites, 4);
        assert_eq!(plan(Amount::Deep).independent_seeds(), 40);
        assert_eq!(plan(Amount::Certify).independent_seeds(), 59);
        assert_eq!(shown(&plan(Amount::Seeds(0))), "default alone");
        let request = PlanRequest { amount: Amount::Quick, explicit: None, isolation: false };
        let without = Plan::new(&request, Shuffle::Mixed, &Constraints::none()).unwrap();
        assert_eq!(shown(&without), "default seed:1 seed:1:reverse");
    }

    #[test]
    fn an_explicit_list_replaces_the_plan_and_only_its_seeds_count() {
        let listed = explicit("reverse,seed:1..3,seed:2:reverse,seed:3", Shuffle::Mixed);
        assert_eq!(shown(&listed), "reverse seed:1 seed:2 seed:3 seed:2:reverse");
        assert_eq!(listed.independent_seeds(), 3);
        assert_eq!(listed.parts().reversed, 2);
        assert_eq!(listed.parts().suites, 5);
        let none = PlanRequest { explicit: Some(Vec::new()), ..PlanRequest::default() };
        assert_eq!(Plan::new(&none, Shuffle::Mixed, &Constraints::none()), Err(PlanError::NoOrders));
    }

    #[test]
    fn a_seed_and_its_negative_are_one_draw_to_cpython_and_two_to_us() {
        assert_eq!(explicit("seed:-7,seed:7,seed:8", Shuffle::Python).independent_seeds(), 2);
        assert_eq!(explicit("seed:-7,seed:7,seed:8", Shuffle::Flat).independent_seeds(), 3);
    }

    #[test]
    fn a_bound_picks_the_fewest_seeds_that_reach_it() {
        for (bound, seeds) in [(0.05, 59), (0.139_2, 20), (0.145_8, 20), (0.146, 19), (0.01, 299), (0.95, 1)]
        {
            assert_eq!(Amount::Bound(bound).seeds(), Ok(seeds), "{bound}");
        }
        for n in 1..=2000 {
            let bound = 1.0 - 0.05f64.powf(1.0 / f64::from(n));
            let seeds = seeds_for_bound(bound).unwrap();
            assert!(seeds.abs_diff(n) <= 1, "{n} seeds reach {bound}, not {seeds}");
            assert_eq!(seeds_for_bound(bound * (1.0 + 1e-12)), Some(n));
            assert_eq!(seeds_for_bound(bound * (1.0 - 1e-12)), Some(n + 1));
        }
        for bound in [0.0, -0.1, 1.0, 5.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Amount::Bound(bound).seeds(), Err(PlanError::Bound));
        }
        assert_eq!(Amount::Bound(1e-4).seeds(), Err(PlanError::TooMany(29_956)));
        assert_eq!(Amount::Bound(1e-300).seeds(), Err(PlanError::Bound));
        assert_eq!(Amount::Seeds(10_001).seeds(), Err(PlanError::TooMany(10_001)));
    }

    #[test]
    fn the_digest_differs_when_anything_that_makes_the_orders_does() {
        let request = PlanRequest::default();
        let of = |shuffle, constraints: &Constraints| {
            Plan::new(&request, shuffle, constraints).unwrap().digest().to_owned()
        };
        let ix = |n: &[u32]| n.iter().copied().map(TestIx).collect::<Vec<_>>();
        let group = Constraints::new(9, vec![ix(&[1, 2])], vec![]).0;
        let other = Constraints::new(9, vec![], vec![(TestIx(1), TestIx(2))]).0;
        let mut digests = vec![
            of(Shuffle::Mixed, &Constraints::none()),
            of(Shuffle::Flat, &Constraints::none()),
            of(Shuffle::Mixed, &group),
            of(Shuffle::Mixed, &other),
            explicit("default", Shuffle::Mixed).digest().to_owned(),
            explicit("reverse", Shuffle::Mixed).digest().to_owned(),
        ];
        assert_eq!(digests[0], of(Shuffle::Mixed, &Constraints::none()));
        assert_eq!(digests[0].len(), 64);
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), 6);
    }
}
