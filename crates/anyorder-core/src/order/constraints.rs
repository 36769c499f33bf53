//! Declared order: groups that stay together, tests that come before others.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::fmt;

use crate::model::TestIx;

/// Order that every order must keep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Constraints {
    groups: Vec<Vec<TestIx>>,
    before: Vec<(TestIx, TestIx)>,
}

/// A declaration that cannot be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// A test is in two groups; it stays in the first.
    TwoGroups(TestIx),
    /// Keeping this pair would close a circle.
    Circle(TestIx, TestIx),
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TwoGroups(t) => {
                write!(f, "test {} is declared to be in two sequences: kept in the first", t.0)
            }
            Self::Circle(a, b) => {
                write!(
                    f,
                    "test {} is declared to run before test {}, which closes a circle: not kept",
                    a.0, b.0
                )
            }
        }
    }
}

impl Constraints {
    /// No declared order.
    pub fn none() -> Self {
        Self::default()
    }

    /// Groups that stay together in their own order, and pairs of which the first comes first. What contradicts an
    /// earlier declaration is left out and returned.
    pub fn new(
        suite_len: usize,
        groups: Vec<Vec<TestIx>>,
        before: Vec<(TestIx, TestIx)>,
    ) -> (Self, Vec<Ignored>) {
        let mut ignored = Vec::new();
        let mut taken = BTreeSet::new();
        let mut kept: Vec<Vec<TestIx>> = Vec::new();
        for group in groups {
            let mut own = Vec::new();
            for test in group.into_iter().filter(|t| t.get() < suite_len) {
                if taken.insert(test) {
                    own.push(test);
                } else if !own.contains(&test) {
                    ignored.push(Ignored::TwoGroups(test));
                }
            }
            if own.len() > 1 {
                kept.push(own);
            }
        }
        let inside = |t: &(TestIx, TestIx)| t.0 != t.1 && t.0.get() < suite_len && t.1.get() < suite_len;
        let mut before: Vec<(TestIx, TestIx)> = before.into_iter().filter(inside).collect();
        before.sort_unstable();
        before.dedup();
        let mut constraints = Self { groups: kept, before: Vec::new() };
        let graph = Graph::new(suite_len, &constraints.groups, &before);
        let (kept, circles) = graph.without_circles(&before);
        constraints.before = kept;
        ignored.extend(circles.into_iter().map(|(a, b)| Ignored::Circle(a, b)));
        (constraints, ignored)
    }

    /// Whether nothing is declared.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.before.is_empty()
    }

    /// How many groups and pairs are kept.
    pub fn count(&self) -> usize {
        self.groups.len() + self.before.len()
    }

    /// Every test that must run before this one, directly or not, in the order to run them.
    pub fn prerequisites(&self, test: TestIx) -> Vec<TestIx> {
        let mut wanted = BTreeSet::new();
        let mut open = vec![test];
        while let Some(next) = open.pop() {
            let grouped =
                self.groups.iter().find_map(|g| g.iter().position(|t| *t == next).map(|at| &g[..at]));
            let earlier = self.before.iter().filter(|(_, b)| *b == next).map(|(a, _)| *a);
            for needed in grouped.unwrap_or_default().iter().copied().chain(earlier) {
                if needed != test && wanted.insert(needed) {
                    open.push(needed);
                }
            }
        }
        self.repair(wanted.into_iter().collect())
    }

    /// The sequence with the least change that keeps what is declared: groups together where their first member
    /// stands, every other test as early as its own place allows. Tests that nothing concerns never move relative to
    /// each other.
    pub fn repair(&self, sequence: Vec<TestIx>) -> Vec<TestIx> {
        if self.is_empty() {
            return sequence;
        }
        let len = sequence.iter().map(|t| t.get() + 1).max().unwrap_or(0);
        let graph = Graph::new(len, &self.groups, &self.before);
        graph.sorted(&sequence)
    }

    /// Hands everything that identifies the constraints to a digest.
    pub(super) fn feed(&self, digest: &mut dyn FnMut(&[u8])) {
        for group in &self.groups {
            digest(b"g");
            group.iter().for_each(|t| digest(&t.0.to_le_bytes()));
        }
        for (a, b) in &self.before {
            digest(b"b");
            digest(&a.0.to_le_bytes());
            digest(&b.0.to_le_bytes());
        }
    }
}

/// Groups and single tests as nodes, declared pairs as edges.
struct Graph {
    /// Node of each test.
    node: Vec<usize>,
    /// Tests of each node, in their own order.
    members: Vec<Vec<TestIx>>,
    later: Vec<Vec<usize>>,
}

impl Graph {
    fn new(len: usize, groups: &[Vec<TestIx>], before: &[(TestIx, TestIx)]) -> Self {
        let mut node = vec![usize::MAX; len];
        let mut members: Vec<Vec<TestIx>> = Vec::new();
        for group in groups {
            let own: Vec<TestIx> = group.iter().copied().filter(|t| t.get() < len).collect();
            own.iter().for_each(|t| node[t.get()] = members.len());
            if !own.is_empty() {
                members.push(own);
            }
        }
        for (at, slot) in node.iter_mut().enumerate() {
            if *slot == usize::MAX {
                *slot = members.len();
                members.push(vec![TestIx(u32::try_from(at).unwrap_or(u32::MAX))]);
            }
        }
        let mut graph = Self { node, later: vec![Vec::new(); members.len()], members };
        for (a, b) in before.iter().filter(|(a, b)| a.get() < len && b.get() < len) {
            let (from, to) = (graph.node[a.get()], graph.node[b.get()]);
            if from != to {
                graph.later[from].push(to);
            }
        }
        graph
    }

    /// The pairs that can be kept together, and those that cannot.
    fn without_circles(
        mut self,
        before: &[(TestIx, TestIx)],
    ) -> (Vec<(TestIx, TestIx)>, Vec<(TestIx, TestIx)>) {
        let mut kept: Vec<(TestIx, TestIx)> = Vec::new();
        let mut circles = Vec::new();
        for (a, b) in before {
            let (from, to) = (self.node[a.get()], self.node[b.get()]);
            if from == to {
                let group = &self.members[from];
                let place = |t: &TestIx| group.iter().position(|m| m == t);
                if place(a) > place(b) {
                    circles.push((*a, *b));
                }
                continue;
            }
            kept.push((*a, *b));
        }
        loop {
            let stuck = self.stuck();
            let Some(at) = kept.iter().rposition(|(a, b)| {
                stuck.contains(&self.node[a.get()]) && stuck.contains(&self.node[b.get()])
            }) else {
                return (kept, circles);
            };
            let (a, b) = kept.remove(at);
            let (from, to) = (self.node[a.get()], self.node[b.get()]);
            if let Some(edge) = self.later[from].iter().position(|n| *n == to) {
                self.later[from].remove(edge);
            }
            circles.push((a, b));
        }
    }

    fn waiting(&self) -> Vec<usize> {
        let mut waiting = vec![0; self.members.len()];
        self.later.iter().flatten().for_each(|to| waiting[*to] += 1);
        waiting
    }

    /// Nodes in a circle or behind one.
    fn stuck(&self) -> BTreeSet<usize> {
        let mut waiting = self.waiting();
        let mut free: Vec<usize> = (0..waiting.len()).filter(|n| waiting[*n] == 0).collect();
        let mut stuck: BTreeSet<usize> = (0..waiting.len()).collect();
        while let Some(next) = free.pop() {
            stuck.remove(&next);
            for to in &self.later[next] {
                waiting[*to] -= 1;
                if waiting[*to] == 0 {
                    free.push(*to);
                }
            }
        }
        stuck
    }

    /// Stable topological order: of the nodes that nothing holds back, the one that stands first comes next.
    fn sorted(&self, sequence: &[TestIx]) -> Vec<TestIx> {
        let mut place = vec![usize::MAX; self.members.len()];
        let mut wanted = vec![false; self.node.len()];
        for (at, test) in sequence.iter().enumerate() {
            wanted[test.get()] = true;
            let node = self.node[test.get()];
            place[node] = place[node].min(at);
        }
        let mut waiting = self.waiting();
        let mut free: BinaryHeap<Reverse<(usize, usize)>> =
            (0..waiting.len()).filter(|n| waiting[*n] == 0).map(|n| Reverse((place[n], n))).collect();
        let mut sorted = Vec::with_capacity(sequence.len());
        // A node that is not wanted stands last and may hold others back: it is passed through at once.
        while let Some(Reverse((_, node))) = free.pop() {
            sorted.extend(self.members[node].iter().copied().filter(|t| wanted[t.get()]));
            for to in &self.later[node] {
                waiting[*to] -= 1;
                if waiting[*to] == 0 {
                    free.push(Reverse((place[*to], *to)));
                }
            }
        }
        sorted
    }
}
