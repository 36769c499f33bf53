//! Few failing orders that serve all candidates.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::OrderLabel;

use super::super::class::{ClassWitness, TestClass};
use super::candidate::{Candidate, Plan};

/// A candidate with the failing orders that would do for it.
pub(super) type Open<'a> = (Candidate, BTreeSet<&'a OrderLabel>);

/// Gives each candidate one failing order, so that few orders serve all (greedy set cover). `alone` is taken where it
/// can be, for it costs one test; among others the one that most candidates share, the first in `ranks` on a tie.
/// A candidate without any order keeps the one it has.
pub(super) fn cover(mut open: Vec<Open<'_>>, ranks: &[&OrderLabel]) -> Vec<Candidate> {
    for (_, orders) in &mut open {
        if orders.contains(&OrderLabel::Alone) {
            orders.retain(|l| **l == OrderLabel::Alone);
        }
    }
    let rank: BTreeMap<&OrderLabel, usize> = ranks.iter().rev().copied().zip(0..).collect();
    let mut covered = Vec::with_capacity(open.len());
    loop {
        let mut votes: BTreeMap<&OrderLabel, usize> = BTreeMap::new();
        for label in open.iter().flat_map(|(_, orders)| orders) {
            *votes.entry(label).or_default() += 1;
        }
        let Some((&best, _)) = votes.iter().max_by_key(|(l, n)| (**n, rank.get(*l))) else { break };
        let (served, rest): (Vec<Open<'_>>, _) =
            open.into_iter().partition(|(_, orders)| orders.contains(best));
        open = rest;
        for (mut candidate, _) in served {
            if let Plan::PatchedFails(failing) | Plan::BaseFails(failing) = &mut candidate.plan {
                failing.order = best.clone();
            }
            covered.push(candidate);
        }
    }
    covered.extend(open.into_iter().map(|(candidate, _)| candidate));
    covered
}

/// The orders that reruns have shown to fail again, if any are among these; else all of them.
pub(super) fn narrowed<'a>(orders: BTreeSet<&'a OrderLabel>, class: &TestClass) -> BTreeSet<&'a OrderLabel> {
    let shown = match &class.witness {
        Some(ClassWitness::Order { failing, .. }) => failing,
        Some(ClassWitness::Chance { order }) => order,
        None => return orders,
    };
    match orders.get(shown) {
        Some(label) => BTreeSet::from([*label]),
        None => orders,
    }
}
