//! `random.Random(seed).shuffle(items)` of CPython, bit for bit.
//!
//! For people who replay orders from a conftest. CPython seeds its Mersenne Twister with the absolute value of the
//! integer as 32-bit words, least significant first (`random_seed` in `Modules/_randommodule.c`), and draws an index
//! below n by rejecting values of `getrandbits(n.bit_length())` (`_randbelow_with_getrandbits` in `Lib/random.py`);
//! both are the same from 3.2 on.

use rand_mt::Mt;

use crate::model::Seed;

/// Shuffles as `random.Random(seed).shuffle(items)` does.
pub(super) fn shuffle<T>(items: &mut [T], seed: Seed) {
    let mut random = seeded(seed);
    for last in (1..items.len()).rev() {
        let other = below(&mut random, last + 1);
        items.swap(last, other);
    }
}

/// `random.Random(seed)`.
fn seeded(seed: Seed) -> Mt {
    let words: Vec<u32> = seed
        .0
        .unsigned_abs()
        .to_le_bytes()
        .chunks_exact(4)
        .map(|word| word.iter().rev().fold(0, |all, &byte| (all << 8) | u32::from(byte)))
        .collect();
    let significant = words.iter().rposition(|&word| word != 0).map_or(1, |last| last + 1);
    Mt::new_with_key(words.into_iter().take(significant))
}

/// `_randbelow_with_getrandbits(n)` for n of at least 1. A suite has fewer than 2^32 tests, so one word is enough.
fn below(random: &mut Mt, n: usize) -> usize {
    let bits = usize::BITS - n.leading_zeros();
    loop {
        let drawn = (random.next_u32() >> 32u32.saturating_sub(bits)) as usize;
        if drawn < n {
            return drawn;
        }
    }
}
