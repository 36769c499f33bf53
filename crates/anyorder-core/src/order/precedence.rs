//! Precedence among numbered things: who may come first, and who is connected to whom.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// Which thing comes before which.
#[derive(Default)]
pub(super) struct Precedence {
    after: BTreeMap<usize, Vec<usize>>,
    /// Of each thing that any edge names, how many edges lead to it.
    waits_for: BTreeMap<usize, usize>,
}

impl Precedence {
    /// The given edges, first before second.
    pub(super) fn of(edges: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let mut all = Self::default();
        edges.into_iter().for_each(|(first, second)| all.add(first, second));
        all
    }

    fn add(&mut self, first: usize, second: usize) {
        self.after.entry(first).or_default().push(second);
        self.waits_for.entry(first).or_insert(0);
        *self.waits_for.entry(second).or_insert(0) += 1;
    }

    /// Adds an edge unless it would close a cycle; says whether it did.
    pub(super) fn add_if_acyclic(&mut self, first: usize, second: usize) -> bool {
        let fits = !self.leads(second, first);
        if fits {
            self.add(first, second);
        }
        fits
    }

    fn leads(&self, from: usize, to: usize) -> bool {
        let mut seen = BTreeSet::from([from]);
        let mut open = vec![from];
        while let Some(here) = open.pop() {
            if here == to {
                return true;
            }
            open.extend(
                self.after.get(&here).into_iter().flatten().copied().filter(|&next| seen.insert(next)),
            );
        }
        false
    }

    /// All things named by an edge, each time the smallest that may come next; `None` where a cycle stops it.
    pub(super) fn smallest_first(&self) -> Option<Vec<usize>> {
        let mut waits_for = self.waits_for.clone();
        let mut ready: BinaryHeap<Reverse<usize>> =
            waits_for.iter().filter(|(_, edges)| **edges == 0).map(|(&thing, _)| Reverse(thing)).collect();
        let mut sorted = Vec::with_capacity(waits_for.len());
        while let Some(Reverse(thing)) = ready.pop() {
            sorted.push(thing);
            for later in self.after.get(&thing).into_iter().flatten() {
                if let Some(edges) = waits_for.get_mut(later) {
                    *edges -= 1;
                    if *edges == 0 {
                        ready.push(Reverse(*later));
                    }
                }
            }
        }
        (sorted.len() == waits_for.len()).then_some(sorted)
    }

    /// Of each thing named by an edge, the smallest that edges connect it with, directions apart.
    pub(super) fn components(&self) -> BTreeMap<usize, usize> {
        let mut both: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (&first, seconds) in &self.after {
            for &second in seconds {
                both.entry(first).or_default().push(second);
                both.entry(second).or_default().push(first);
            }
        }
        let mut component = BTreeMap::new();
        for &thing in both.keys() {
            let mut open = vec![thing];
            while let Some(here) = open.pop() {
                if component.contains_key(&here) {
                    continue;
                }
                component.insert(here, component.get(&thing).copied().unwrap_or(thing));
                open.extend(both.get(&here).into_iter().flatten().copied());
            }
        }
        component
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_that_may_come_next_comes_next() {
        let order = Precedence::of([(3, 1), (3, 0), (0, 2)]);
        assert_eq!(order.smallest_first(), Some(vec![3, 0, 1, 2]));
    }

    #[test]
    fn a_cycle_has_no_order_and_its_last_edge_does_not_fit() {
        assert_eq!(Precedence::of([(0, 1), (1, 2), (2, 0)]).smallest_first(), None);
        let mut order = Precedence::default();
        assert!(order.add_if_acyclic(0, 1) && order.add_if_acyclic(1, 2));
        assert!(!order.add_if_acyclic(2, 0) && !order.add_if_acyclic(1, 1));
        assert_eq!(order.smallest_first(), Some(vec![0, 1, 2]));
    }

    #[test]
    fn components_take_the_name_of_their_smallest_member() {
        let components = Precedence::of([(5, 2), (2, 7), (3, 4)]).components();
        assert_eq!(components, BTreeMap::from([(2, 2), (5, 2), (7, 2), (3, 3), (4, 3)]));
    }
}
