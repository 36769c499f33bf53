//! Which findings have one cause.
//!
//! Tests that fail in just the same orders on each tree count as one cause, and so do tests of one file that fail
//! with the same signature and share a failing order. Tests that fail behind the same few others, as short orders show,
//! have one cause as well. Tests that fail in every order share a cause only through their
//! signature, and flaky ones never do.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{OrderLabel, Signature, TestId};

use super::super::finding::Finding;

/// What is compared of a finding.
#[derive(Clone, Debug, Default)]
pub(super) struct Traits {
    /// The orders that fail on base, and on patched.
    pub(super) failing: [BTreeSet<OrderLabel>; 2],
    /// Whether each tree fails in all of its orders or in none.
    pub(super) uniform: bool,
    pub(super) signatures: BTreeSet<Signature>,
    pub(super) file: String,
    /// The tests that it fails (or passes) behind, where a short order decided.
    pub(super) behind: Vec<TestId>,
    /// The test that kept this one from running.
    pub(super) culprit: Option<TestId>,
}

/// Gives each finding a number; equal numbers, one cause. Numbers count up from 1 in the order of the findings.
pub(super) fn causes(findings: &[(&TestId, Finding, Traits)]) -> Vec<u32> {
    let mut groups = Groups::new(findings.len());
    let mut seen: BTreeMap<Mark<'_>, usize> = BTreeMap::new();
    for (ix, (test, finding, traits)) in findings.iter().enumerate() {
        for mark in marks(test, *finding, traits) {
            let first = *seen.entry(mark).or_insert(ix);
            groups.join(first, ix);
        }
    }
    let mut numbers: BTreeMap<usize, u32> = BTreeMap::new();
    (0..findings.len())
        .map(|ix| {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX).saturating_add(1);
            *numbers.entry(groups.root(ix)).or_insert(next)
        })
        .collect()
}

/// Two findings with a mark in common have one cause.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Mark<'a> {
    /// Ends the process, or is kept from running by the one that does.
    Process(&'a TestId),
    SameOrders(&'a [BTreeSet<OrderLabel>; 2]),
    Behind(Finding, &'a [TestId]),
    SameFailure(Finding, &'a str, &'a Signature, Option<&'a OrderLabel>),
    Lost(&'a str),
}

fn marks<'a>(test: &'a TestId, finding: Finding, traits: &'a Traits) -> Vec<Mark<'a>> {
    let mut marks = vec![Mark::Process(traits.culprit.as_ref().unwrap_or(test))];
    match finding {
        Finding::Flaky | Finding::Destabilised | Finding::UnexplainedAbsence => return marks,
        Finding::EvidenceLost => {
            marks.push(Mark::Lost(&traits.file));
            return marks;
        }
        _ => {}
    }
    if !traits.behind.is_empty() {
        marks.push(Mark::Behind(finding, &traits.behind));
    }
    let orders = traits.failing.iter().flatten();
    for signature in &traits.signatures {
        if traits.uniform {
            marks.push(Mark::SameFailure(finding, &traits.file, signature, None));
        } else {
            let shared = |order| Mark::SameFailure(finding, traits.file.as_str(), signature, Some(order));
            marks.extend(orders.clone().map(shared));
        }
    }
    if !traits.uniform {
        marks.push(Mark::SameOrders(&traits.failing));
    }
    marks
}

/// Disjoint sets.
struct Groups {
    parent: Vec<usize>,
}

impl Groups {
    fn new(n: usize) -> Self {
        Self { parent: (0..n).collect() }
    }

    fn root(&mut self, mut ix: usize) -> usize {
        while self.parent[ix] != ix {
            self.parent[ix] = self.parent[self.parent[ix]];
            ix = self.parent[ix];
        }
        ix
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b)] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Seed;

    fn traits(seeds: &[i128], signature: Option<&str>) -> Traits {
        Traits {
            failing: [BTreeSet::new(), seeds.iter().map(|s| OrderLabel::Seed(Seed(*s))).collect()],
            signatures: signature.map(|s| Signature(s.into())).into_iter().collect(),
            file: "t.py".to_owned(),
            ..Traits::default()
        }
    }

    #[test]
    fn tests_that_fail_in_the_same_orders_or_in_the_same_way_have_one_cause() {
        let ids: Vec<TestId> = ["a", "b", "c", "d"].map(TestId::new).to_vec();
        let found = [
            (&ids[0], Finding::Introduced, traits(&[1, 2], None)),
            (&ids[1], Finding::Introduced, traits(&[3], Some("E @ x"))),
            (&ids[2], Finding::Introduced, traits(&[1, 2], None)),
            (&ids[3], Finding::Introduced, traits(&[3, 4], Some("E @ x"))),
        ];
        assert_eq!(causes(&found), [1, 2, 1, 2]);
    }

    #[test]
    fn tests_that_always_fail_share_a_cause_only_through_their_signature() {
        let ids: Vec<TestId> = ["a", "b", "c"].map(TestId::new).to_vec();
        let uniform = |signature| Traits { uniform: true, ..traits(&[1, 2], signature) };
        let found = [
            (&ids[0], Finding::Regressed, uniform(Some("E @ x"))),
            (&ids[1], Finding::Regressed, uniform(Some("E @ y"))),
            (&ids[2], Finding::Regressed, uniform(Some("E @ x"))),
        ];
        assert_eq!(causes(&found), [1, 2, 1]);
    }
}
