//! Sorts by a strong keyed hash.
//!
//! A test's place depends on the seed, its file and its id, and on no other test: adding or removing a test never
//! moves two others past each other (PEERS 0.4). The hash is BLAKE3; a weak one such as CRC-32 reaches few of the
//! orders there are (PEERS 0.2).
//!
//! Defined once and for all, as orders are stored and compared across machines and releases:
//! a seed's key for a domain is `derive_key("anyorder order 1 <domain>", seed as 16 bytes, two's complement, little
//! endian)`; a file's or test's key is the first 16 bytes of `keyed_hash(seed's key, name)`, where a test's name is
//! its id as displayed. Keys are compared as bytes, ties by the name itself.

use std::collections::BTreeMap;

use crate::model::{Seed, Suite, TestId, TestIx};

/// Key of a file or test under one seed.
type Key = [u8; 16];

/// The keyed hash of one seed in one domain.
struct Keyed {
    key: [u8; blake3::KEY_LEN],
}

impl Keyed {
    fn new(context: &str, seed: Seed) -> Self {
        Self { key: blake3::derive_key(context, &seed.0.to_le_bytes()) }
    }

    fn of(&self, name: &str) -> Key {
        let hash = blake3::keyed_hash(&self.key, name.as_bytes());
        let mut key = Key::default();
        key.copy_from_slice(&hash.as_bytes()[..size_of::<Key>()]);
        key
    }

    fn of_test(&self, id: &TestId) -> Key {
        if id.occurrence() == 1 { self.of(id.raw()) } else { self.of(&id.to_string()) }
    }

    fn of_files<'s>(&self, suite: &'s Suite) -> BTreeMap<&'s str, Key> {
        let mut keys = BTreeMap::new();
        for test in suite.tests() {
            keys.entry(&*test.file).or_insert_with(|| self.of(&test.file));
        }
        keys
    }
}

fn of_tests(seed: Seed) -> Keyed {
    Keyed::new("anyorder order 1 test", seed)
}

fn of_files(seed: Seed) -> Keyed {
    Keyed::new("anyorder order 1 file", seed)
}

/// Whether a seed of the mixed shuffle is one of the one in four that are flat.
pub(super) fn takes_flat(seed: Seed) -> bool {
    Keyed::new("anyorder order 1 kind", seed).key[0].is_multiple_of(4)
}

/// All tests by their keys.
pub(super) fn flat(suite: &Suite, seed: Seed) -> Vec<TestIx> {
    let keyed = of_tests(seed);
    sorted(suite, |ix| keyed.of_test(suite.id(ix)))
}

/// Files by their keys, then the tests of a file by theirs. A test's key is the same as in [`flat`].
pub(super) fn nested(suite: &Suite, seed: Seed) -> Vec<TestIx> {
    let files = of_files(seed).of_files(suite);
    let keyed = of_tests(seed);
    sorted(suite, |ix| {
        let info = suite.info(ix);
        (files[&*info.file], &*info.file, keyed.of_test(&info.id))
    })
}

/// Files by their keys, the tests of a file as collected.
pub(super) fn files(suite: &Suite, seed: Seed) -> Vec<TestIx> {
    let files = of_files(seed).of_files(suite);
    let mut tests: Vec<TestIx> = suite.indices().collect();
    tests.sort_by_key(|&ix| {
        let file = &*suite.info(ix).file;
        (files[file], file)
    });
    tests
}

fn sorted<K: Ord>(suite: &Suite, key: impl Fn(TestIx) -> K) -> Vec<TestIx> {
    let mut keys: Vec<(K, TestIx)> = suite.indices().map(|ix| (key(ix), ix)).collect();
    keys.sort_by(|(a, a_ix), (b, b_ix)| a.cmp(b).then_with(|| suite.id(*a_ix).cmp(suite.id(*b_ix))));
    keys.into_iter().map(|(_, ix)| ix).collect()
}
