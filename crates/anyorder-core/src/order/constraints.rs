//! Declared order: groups that stay together, tests that come before others.
//!
//! Declarations (pytest-order, pytest-dependency, incremental classes, `[[sequential]]` groups) are kept by repairing
//! a keyed order, not by making another one: a test without a declaration never moves past another such test.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::precedence::Precedence;
use crate::model::{Suite, TestIx};

/// What was declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Declared {
    /// These tests run in this order with nothing between them.
    Group(Vec<TestIx>),
    /// The first runs before the second.
    Before(TestIx, TestIx),
}

/// Why a declaration is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyIgnored {
    /// It names a test that is not in the suite.
    OutsideSuite,
    /// It names a test twice.
    Repeated,
    /// It contradicts what was declared earlier.
    Contradicts,
}

impl fmt::Display for WhyIgnored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OutsideSuite => "it names a test that is not in the suite",
            Self::Repeated => "it names a test twice",
            Self::Contradicts => "it contradicts an order declared before it",
        })
    }
}

/// A declaration that is not kept, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// The declaration.
    pub declared: Declared,
    /// The reason.
    pub why: WhyIgnored,
}

/// The declared order of one suite, free of contradictions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Constraints {
    /// How many tests the suite has.
    suite_len: usize,
    /// Disjoint sequences with nothing between their tests.
    blocks: Vec<Vec<TestIx>>,
    /// The block of each test in one, and its position there.
    block_of: BTreeMap<TestIx, (usize, usize)>,
    /// Of a test, those of other blocks that run before it; without cycles over the blocks.
    needs: BTreeMap<TestIx, BTreeSet<TestIx>>,
    /// How many declarations are kept.
    count: usize,
    /// Position of each test in the repaired default order.
    rank: Vec<u32>,
}

/// A block while groups are still being merged into it.
struct Merging {
    groups: Vec<Vec<TestIx>>,
    order: Vec<TestIx>,
}

impl Constraints {
    /// Nothing declared; fits every suite.
    pub fn none() -> Self {
        Self::default()
    }

    /// What is declared for a suite of `suite_len` tests, and what of it cannot be kept.
    ///
    /// Groups that share tests become one block that keeps the order of each. Declarations count in the order given,
    /// groups first: what contradicts an earlier one is ignored. Groups of fewer than two tests say nothing.
    pub fn new(
        suite_len: usize,
        groups: Vec<Vec<TestIx>>,
        before: Vec<(TestIx, TestIx)>,
    ) -> (Self, Vec<Ignored>) {
        let mut ignored = Vec::new();
        let mut constraints = Self { suite_len, ..Self::default() };
        constraints.add_groups(groups, &mut ignored);
        constraints.add_before(before, &mut ignored);
        if !constraints.is_none() {
            let default = (0..u32::try_from(suite_len).unwrap_or(u32::MAX)).map(TestIx).collect();
            constraints.rank = vec![0; suite_len];
            for (rank, ix) in (0..).zip(constraints.repair(default)) {
                constraints.rank[ix.get()] = rank;
            }
        }
        (constraints, ignored)
    }

    fn add_groups(&mut self, groups: Vec<Vec<TestIx>>, ignored: &mut Vec<Ignored>) {
        let mut merging: Vec<Merging> = Vec::new();
        for group in groups {
            let distinct: BTreeSet<TestIx> = group.iter().copied().collect();
            let why = if group.iter().any(|ix| ix.get() >= self.suite_len) {
                Some(WhyIgnored::OutsideSuite)
            } else if distinct.len() < group.len() {
                Some(WhyIgnored::Repeated)
            } else {
                None
            };
            if let Some(why) = why {
                ignored.push(Ignored { declared: Declared::Group(group), why });
                continue;
            }
            if group.len() < 2 {
                continue;
            }
            let (mut joined, apart): (Vec<_>, Vec<_>) =
                merging.into_iter().partition(|block| block.order.iter().any(|ix| distinct.contains(ix)));
            merging = apart;
            let mut chains: Vec<Vec<TestIx>> = joined.iter().flat_map(|block| block.groups.clone()).collect();
            chains.push(group.clone());
            if let Some(order) = merge(&chains) {
                self.count += 1;
                merging.push(Merging { groups: chains, order });
            } else {
                ignored.push(Ignored { declared: Declared::Group(group), why: WhyIgnored::Contradicts });
                merging.append(&mut joined);
            }
        }
        self.blocks = merging.into_iter().map(|block| block.order).collect();
        self.blocks.sort();
        for (n, block) in self.blocks.iter().enumerate() {
            self.block_of.extend(block.iter().enumerate().map(|(position, &ix)| (ix, (n, position))));
        }
    }

    fn add_before(&mut self, before: Vec<(TestIx, TestIx)>, ignored: &mut Vec<Ignored>) {
        let mut wanted = Vec::new();
        for (first, second) in before {
            let why = if first.get().max(second.get()) >= self.suite_len {
                Some(WhyIgnored::OutsideSuite)
            } else if first == second {
                Some(WhyIgnored::Repeated)
            } else {
                match (self.block_of.get(&first), self.block_of.get(&second)) {
                    (Some((block, earlier)), Some((same, later))) if block == same => {
                        if earlier < later {
                            self.count += 1;
                            continue;
                        }
                        Some(WhyIgnored::Contradicts)
                    }
                    _ => None,
                }
            };
            match why {
                Some(why) => ignored.push(Ignored { declared: Declared::Before(first, second), why }),
                None => wanted.push((first, second)),
            }
        }
        let units = |&(first, second): &(TestIx, TestIx)| (self.unit(first), self.unit(second));
        // Usually all fit. Only where they don't is each tried against those before it.
        if Precedence::of(wanted.iter().map(units)).smallest_first().is_none() {
            let mut kept = Precedence::default();
            wanted.retain(|pair| {
                let (first, second) = units(pair);
                let fits = kept.add_if_acyclic(first, second);
                if !fits {
                    let declared = Declared::Before(pair.0, pair.1);
                    ignored.push(Ignored { declared, why: WhyIgnored::Contradicts });
                }
                fits
            });
        }
        self.count += wanted.len();
        for (first, second) in wanted {
            self.needs.entry(second).or_default().insert(first);
        }
    }

    /// How many declarations are kept.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether nothing is declared that is kept.
    pub fn is_none(&self) -> bool {
        self.count == 0
    }

    /// How many tests the suite has that they were declared for; 0 where nothing was declared.
    pub(super) fn suite_len(&self) -> usize {
        self.suite_len
    }

    /// Whether they may order this suite.
    pub(super) fn fits(&self, suite: &Suite) -> bool {
        self.is_none() || self.suite_len == suite.len()
    }

    /// Feeds a canonical form to a digest.
    pub(super) fn digest(&self, hasher: &mut blake3::Hasher) {
        let mut number = |n: usize| {
            hasher.update(&(n as u64).to_le_bytes());
        };
        number(self.blocks.len());
        for block in &self.blocks {
            number(block.len());
            for ix in block {
                number(ix.get());
            }
        }
        number(self.needs.len());
        for (second, firsts) in &self.needs {
            number(second.get());
            number(firsts.len());
            for ix in firsts {
                number(ix.get());
            }
        }
    }

    /// All tests that must run before this one, in the order to run them: those earlier in its group, those declared
    /// to come before it, and theirs.
    pub fn prerequisites(&self, test: TestIx) -> Vec<TestIx> {
        let mut found = BTreeSet::from([test]);
        let mut open = vec![test];
        while let Some(ix) = open.pop() {
            let earlier = self.block_of.get(&ix).and_then(|&(block, position)| {
                let previous = position.checked_sub(1)?;
                self.blocks.get(block)?.get(previous).copied()
            });
            let needs = self.needs.get(&ix).into_iter().flatten().copied();
            open.extend(earlier.into_iter().chain(needs).filter(|&other| found.insert(other)));
        }
        found.remove(&test);
        let mut found: Vec<TestIx> = found.into_iter().collect();
        found.sort_by_key(|ix| self.rank[ix.get()]);
        found
    }

    /// The block of a test, or the test itself, as a number.
    fn unit(&self, test: TestIx) -> usize {
        self.block_of.get(&test).map_or(self.blocks.len() + test.get(), |&(block, _)| block)
    }

    /// The nearest order that keeps the constraints.
    ///
    /// A block gathers where its first test stands. Then the tests and blocks that precedence connects share out the
    /// places they hold among themselves, each time the earliest that may run; nothing else moves. So a test without
    /// a declaration keeps its order relative to all such tests, and where no block is torn open, its very place.
    /// Works on a part of the suite too; tests that are not there constrain nothing.
    pub fn repair(&self, tests: Vec<TestIx>) -> Vec<TestIx> {
        if self.is_none() {
            return tests;
        }
        let here: BTreeSet<TestIx> =
            tests.iter().copied().filter(|ix| self.block_of.contains_key(ix)).collect();
        let mut sequence: Vec<usize> = Vec::with_capacity(tests.len());
        let mut members: BTreeMap<usize, Vec<TestIx>> = BTreeMap::new();
        for ix in tests {
            let unit = self.unit(ix);
            match self.blocks.get(unit) {
                None => {
                    members.insert(unit, vec![ix]);
                    sequence.push(unit);
                }
                Some(block) => {
                    let mut present = block.iter().copied().filter(|other| here.contains(other));
                    if present.clone().next() == Some(ix) {
                        members.insert(unit, present.by_ref().collect());
                        sequence.push(unit);
                    }
                }
            }
        }
        self.settle(&mut sequence);
        sequence.iter().flat_map(|unit| members.remove(unit).unwrap_or_default()).collect()
    }

    /// Orders the units that precedence connects, within the places they hold.
    fn settle(&self, sequence: &mut [usize]) {
        let place_of: BTreeMap<usize, usize> =
            (0..).zip(&*sequence).map(|(place, &unit)| (unit, place)).collect();
        let place = |ix: &TestIx| place_of.get(&self.unit(*ix)).copied();
        let edges =
            self.needs.iter().flat_map(|(second, firsts)| firsts.iter().map(move |first| (first, second)));
        let precedence =
            Precedence::of(edges.filter_map(|(first, second)| Some((place(first)?, place(second)?))));
        let components = precedence.components();
        let mut places: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (&place, &component) in components.iter().rev() {
            places.entry(component).or_default().push(place);
        }
        let before = sequence.to_vec();
        // There is no cycle: `new` left none.
        for place in precedence.smallest_first().into_iter().flatten() {
            if let Some(next) = components.get(&place).and_then(|c| places.get_mut(c)?.pop()) {
                sequence[next] = before[place];
            }
        }
    }
}

/// The order that keeps each of the chains, each time the test collected first that may come next; `None` where they
/// contradict each other.
fn merge(chains: &[Vec<TestIx>]) -> Option<Vec<TestIx>> {
    let pairs = chains.iter().flat_map(|chain| chain.windows(2)).map(|pair| (pair[0], pair[1]));
    let by_index: BTreeMap<usize, TestIx> = chains.iter().flatten().map(|&ix| (ix.get(), ix)).collect();
    let sorted = Precedence::of(pairs.map(|(first, second)| (first.get(), second.get()))).smallest_first()?;
    Some(sorted.iter().filter_map(|ix| by_index.get(ix).copied()).collect())
}
