//! CPython's `random.Random(seed).shuffle`, bit for bit, for people who replay orders with a seed in a conftest.
//!
//! MT19937 seeded by `init_by_array` with the 32-bit words of the seed's absolute value, as in
//! `Modules/_randommodule.c`; `shuffle` draws with `_randbelow_with_getrandbits`, as in `Lib/random.py`. The same in
//! CPython 3.8 to 3.14.

use rand_mt::Mt;

use crate::model::Seed;

/// CPython's generator, as far as `shuffle` needs it.
pub(super) struct PyRandom(Mt);

impl PyRandom {
    /// `random.Random(seed)` for an integer.
    pub(super) fn new(seed: Seed) -> Self {
        let mut rest = seed.0.unsigned_abs();
        let mut words = Vec::new();
        loop {
            words.push(u32::try_from(rest & 0xffff_ffff).unwrap_or_default());
            rest >>= 32;
            if rest == 0 {
                return Self(Mt::new_with_key(words));
            }
        }
    }

    /// A number below `n`, which is not 0.
    fn below(&mut self, n: u32) -> u32 {
        let bits = 32 - n.leading_zeros();
        loop {
            let drawn = self.0.next_u32() >> (32 - bits);
            if drawn < n {
                return drawn;
            }
        }
    }

    /// `random.shuffle(items)`.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            let bound = u32::try_from(at + 1).unwrap_or(u32::MAX);
            items.swap(at, self.below(bound) as usize);
        }
    }
}
