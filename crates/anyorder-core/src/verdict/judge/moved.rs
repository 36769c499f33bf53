//! Tests that are gone from one tree and look like a new one on the other.

use std::collections::BTreeMap;

use crate::model::{Suite, TestId, TestInfo};

/// For each removed test, the one new test that looks like it.
#[derive(Clone, Debug, Default)]
pub(super) struct Moves {
    to: BTreeMap<TestId, TestId>,
}

impl Moves {
    /// Pairs removed and new tests of the same name whose source is not known to differ, where there is just one of each.
    pub(super) fn new(base: &Suite, patched: &Suite) -> Self {
        let removed = by_name(base, patched);
        let new = by_name(patched, base);
        let to = removed
            .into_iter()
            .filter_map(|(name, olds)| {
                let ([old], [now]) = (olds.as_slice(), new.get(name)?.as_slice()) else { return None };
                let differs = old.source.zip(now.source).is_some_and(|(a, b)| a != b);
                (!differs).then(|| (old.id.clone(), now.id.clone()))
            })
            .collect();
        Self { to }
    }

    /// Where a test went.
    pub(super) fn to(&self, id: &TestId) -> Option<&TestId> {
        self.to.get(id)
    }
}

/// The tests that the other suite lacks, by what stands behind the file in their ids.
fn by_name<'a>(suite: &'a Suite, other: &Suite) -> BTreeMap<&'a str, Vec<&'a TestInfo>> {
    let mut names: BTreeMap<&str, Vec<&TestInfo>> = BTreeMap::new();
    for test in suite.tests().iter().filter(|t| other.find(&t.id).is_none()) {
        let name = test.id.raw().split_once("::").map_or(test.id.raw(), |(_, name)| name);
        names.entry(name).or_default().push(test);
    }
    names
}
