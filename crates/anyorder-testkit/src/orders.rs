//! Orders of simulated sweeps: keyed sorts, good enough for a simulated world.

use anyorder_core::model::{Order, OrderLabel, Seed, Suite, TestIx};

use crate::rng::mix;

/// The orders of a simulated sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan(pub Vec<OrderLabel>);

impl Plan {
    /// The default plan of DESIGN section 2 with so many independent seeds: default, alone, seed 1 and its reverse,
    /// the other seeds.
    pub fn with_seeds(seeds: i128) -> Self {
        let mut labels = vec![OrderLabel::Default, OrderLabel::Alone];
        for n in 1..=seeds {
            labels.push(OrderLabel::Seed(Seed(n)));
            if n == 1 {
                labels.push(OrderLabel::SeedReverse(Seed(n)));
            }
        }
        Self(labels)
    }

    /// Mirrored pairs of seeds only, as in METHODS B4.
    pub fn mirrored(pairs: i128) -> Self {
        let pair = |n| [OrderLabel::Seed(Seed(n)), OrderLabel::SeedReverse(Seed(n))];
        Self((1..=pairs).flat_map(pair).collect())
    }
}

/// The tests of `suite` in the order that a label has there. A list's label and `alone` give the default order.
pub fn resolve(suite: &Suite, label: &OrderLabel) -> Vec<TestIx> {
    let mut tests: Vec<TestIx> = suite.indices().collect();
    match label {
        OrderLabel::Default | OrderLabel::Alone | OrderLabel::List(_) => {}
        OrderLabel::Reverse => tests.reverse(),
        OrderLabel::Seed(seed) => tests.sort_by_cached_key(|ix| key(*seed, suite, *ix)),
        OrderLabel::SeedReverse(seed) => {
            tests.sort_by_cached_key(|ix| key(*seed, suite, *ix));
            tests.reverse();
        }
    }
    tests
}

/// The order that a label has on `of`, as tests of `suite`; what either lacks, or `keep` does not want, is left out.
pub(crate) fn restricted(suite: &Suite, of: &Suite, label: &OrderLabel, keep: &[TestIx]) -> Order {
    let wanted = |ix: &TestIx| keep.binary_search(ix).is_ok();
    let tests =
        resolve(of, label).into_iter().filter_map(|ix| suite.find(of.id(ix))).filter(wanted).collect();
    Order::partial(label.clone(), tests, suite.len()).expect("a restriction of an order is an order")
}

fn key(seed: Seed, suite: &Suite, ix: TestIx) -> u64 {
    let mut state = mix(u64::try_from(seed.0).unwrap_or(u64::MAX).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    for chunk in suite.id(ix).raw().as_bytes().chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        state = mix(state ^ u64::from_le_bytes(word));
    }
    state
}
