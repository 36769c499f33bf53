//! From a seed to a sequence.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::python::PyRandom;
use crate::model::{Seed, Suite, TestIx};

/// How a seed makes an order (DESIGN section 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shuffle {
    /// A seed's own hash decides: three nested to one flat.
    #[default]
    Mixed,
    /// Files, then the tests within each.
    Nested,
    /// All tests, files interleaved.
    Flat,
    /// Files; each keeps its own default order.
    Files,
    /// CPython's `random.Random(seed).shuffle` of the default order, bit for bit.
    Python,
}

impl Shuffle {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Mixed, "mixed"),
        (Self::Nested, "nested"),
        (Self::Flat, "flat"),
        (Self::Files, "files"),
        (Self::Python, "python"),
    ];
}

impl fmt::Display for Shuffle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::ALL.iter().find(|(s, _)| s == self).map_or("mixed", |(_, word)| word))
    }
}

/// A word that names no shuffle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseShuffleError(String);

impl fmt::Display for ParseShuffleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no kind of shuffle: use mixed, nested, flat, files or python", self.0)
    }
}

impl std::error::Error for ParseShuffleError {}

impl FromStr for Shuffle {
    type Err = ParseShuffleError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().find(|(_, w)| *w == word);
        found.map(|(shuffle, _)| *shuffle).ok_or_else(|| ParseShuffleError(word.to_owned()))
    }
}

/// What a mixed seed turns out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Files, then tests.
    Nested,
    /// Files interleaved.
    Flat,
}

/// The kind of order that a seed gives under [`Shuffle::Mixed`]; the same for every suite.
pub fn seed_kind(seed: Seed) -> Kind {
    let hash = blake3::keyed_hash(&key(seed), b"kind");
    if hash.as_bytes()[0] % 4 == 0 { Kind::Flat } else { Kind::Nested }
}

fn key(seed: Seed) -> [u8; 32] {
    blake3::derive_key("anyorder 2026 order of a seed, version 1", &seed.0.to_le_bytes())
}

/// Sort key of a text: the first 128 bits of a keyed hash.
fn rank(key: &[u8; 32], domain: u8, text: &str, occurrence: u32) -> u128 {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(&[domain]).update(&occurrence.to_le_bytes()).update(text.as_bytes());
    let mut first = [0; 16];
    hasher.finalize_xof().fill(&mut first);
    u128::from_be_bytes(first)
}

const FILE: u8 = b'f';
const TEST: u8 = b't';

/// The tests in the sequence that a seed gives.
pub(super) fn sequence(suite: &Suite, shuffle: Shuffle, seed: Seed) -> Vec<TestIx> {
    let kind = match shuffle {
        Shuffle::Python => {
            let mut tests: Vec<TestIx> = suite.indices().collect();
            PyRandom::new(seed).shuffle(&mut tests);
            return tests;
        }
        Shuffle::Mixed => seed_kind(seed),
        Shuffle::Nested | Shuffle::Files => Kind::Nested,
        Shuffle::Flat => Kind::Flat,
    };
    let key = key(seed);
    let mut tests: Vec<TestIx> = suite.indices().collect();
    let within = |t: TestIx| {
        let id = suite.id(t);
        (rank(&key, TEST, id.raw(), id.occurrence()), id)
    };
    if kind == Kind::Flat {
        tests.sort_by_cached_key(|t| within(*t));
        return tests;
    }
    let mut files: BTreeMap<&str, u128> = BTreeMap::new();
    for test in suite.tests() {
        files.entry(&test.file).or_insert_with(|| rank(&key, FILE, &test.file, 0));
    }
    let file = |t: TestIx| {
        let name = &*suite.info(t).file;
        (files.get(name).copied().unwrap_or_default(), name)
    };
    if shuffle == Shuffle::Files {
        tests.sort_by_key(|t| (file(*t), *t));
    } else {
        tests.sort_by_cached_key(|t| (file(*t), within(*t)));
    }
    tests
}
