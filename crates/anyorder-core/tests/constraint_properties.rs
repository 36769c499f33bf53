//! Declared order is kept, and nothing else moves.

use std::collections::{BTreeMap, BTreeSet};

use anyorder_core::model::{OrderLabel, Seed, Suite, TestIx};
use anyorder_core::order::{Constraints, Declared, Ignored, MakeError, Shuffle, WhyIgnored, alone, make};
use proptest::prelude::*;

fn tests(numbers: &[u32]) -> Vec<TestIx> {
    numbers.iter().copied().map(TestIx).collect()
}

fn pairs(numbers: &[(u32, u32)]) -> Vec<(TestIx, TestIx)> {
    numbers.iter().map(|&(first, second)| (TestIx(first), TestIx(second))).collect()
}

fn kept(len: usize, groups: &[&[u32]], before: &[(u32, u32)]) -> Constraints {
    let (constraints, ignored) =
        Constraints::new(len, groups.iter().map(|group| tests(group)).collect(), pairs(before));
    assert_eq!(ignored, []);
    constraints
}

fn repaired(constraints: &Constraints, order: &[u32]) -> Vec<u32> {
    constraints.repair(tests(order)).iter().map(|ix| ix.0).collect()
}

fn groups() -> impl Strategy<Value = Vec<Vec<TestIx>>> {
    prop::collection::vec(prop::collection::vec(0..26u32, 0..5), 0..5)
        .prop_map(|groups| groups.iter().map(|group| tests(group)).collect())
}

fn before() -> impl Strategy<Value = Vec<(TestIx, TestIx)>> {
    prop::collection::vec((0..25u32, 0..25u32), 0..12).prop_map(|before| pairs(&before))
}

/// What of the declarations was not ignored.
fn remaining(
    groups: &[Vec<TestIx>],
    before: &[(TestIx, TestIx)],
    ignored: &[Ignored],
) -> (Vec<Vec<TestIx>>, Vec<(TestIx, TestIx)>) {
    let is_kept = |declared: Declared| !ignored.iter().any(|ignored| ignored.declared == declared);
    let groups = groups.iter().filter(|group| is_kept(Declared::Group((*group).clone())));
    let before = before.iter().filter(|(first, second)| is_kept(Declared::Before(*first, *second)));
    (groups.cloned().collect(), before.copied().collect())
}

/// Groups that share tests, together.
fn joined(groups: &[Vec<TestIx>]) -> Vec<BTreeSet<TestIx>> {
    let mut all: Vec<BTreeSet<TestIx>> = Vec::new();
    for group in groups.iter().filter(|group| group.len() > 1) {
        let mut group: BTreeSet<TestIx> = group.iter().copied().collect();
        all.retain(|other| {
            let apart = other.is_disjoint(&group);
            if !apart {
                group.extend(other);
            }
            apart
        });
        all.push(group);
    }
    all
}

proptest! {
    #[test]
    fn what_is_not_ignored_holds_in_every_order(
        groups in groups(), before in before(), seed in any::<i128>(),
        shuffle in prop::sample::select(&Shuffle::ALL[..]), backwards: bool,
    ) {
        let suite = Suite::from_raw_ids((0..25).map(|n| format!("test_{}.py::test_{n}", n % 4)));
        let (constraints, ignored) = Constraints::new(25, groups.clone(), before.clone());
        let label = if backwards { OrderLabel::SeedReverse(Seed(seed)) } else { OrderLabel::Seed(Seed(seed)) };
        let order = make(&label, &suite, shuffle, &constraints).unwrap();
        prop_assert_eq!(order.len(), 25);
        let place: BTreeMap<TestIx, usize> = (0..).zip(order.tests()).map(|(place, &ix)| (ix, place)).collect();
        let (groups, before) = remaining(&groups, &before, &ignored);
        for group in &groups {
            prop_assert!(group.windows(2).all(|pair| place[&pair[0]] < place[&pair[1]]));
        }
        for (first, second) in &before {
            prop_assert!(place[first] < place[second]);
        }
        for together in joined(&groups) {
            let places: BTreeSet<usize> = together.iter().map(|ix| place[ix]).collect();
            prop_assert_eq!(places.last().unwrap() - places.first().unwrap(), together.len() - 1);
        }
        let counted = groups.iter().filter(|group| group.len() > 1).count() + before.len();
        prop_assert_eq!(constraints.count(), counted);
    }

    #[test]
    fn tests_without_a_declaration_never_move_past_each_other(
        groups in groups(), before in before(), order in Just((0..25).collect::<Vec<u32>>()).prop_shuffle(),
    ) {
        let (constraints, ignored) = Constraints::new(25, groups.clone(), before.clone());
        let (groups, before) = remaining(&groups, &before, &ignored);
        let declared: BTreeSet<u32> = groups.iter().filter(|group| group.len() > 1).flatten().copied()
            .chain(before.iter().flat_map(|(first, second)| [*first, *second])).map(|ix| ix.0).collect();
        let free = |order: &[u32]| order.iter().copied().filter(|ix| !declared.contains(ix)).collect::<Vec<_>>();
        let now = repaired(&constraints, &order);
        prop_assert_eq!(free(&now), free(&order));
        if groups.iter().all(|group| group.len() < 2) {
            for (now, was) in now.iter().zip(&order).filter(|(_, was)| !declared.contains(was)) {
                prop_assert_eq!(now, was);
            }
        }
        prop_assert_eq!(repaired(&constraints, &now), now);
    }

    #[test]
    fn prerequisites_are_closed_and_in_an_order_that_holds(groups in groups(), before in before()) {
        let (constraints, ignored) = Constraints::new(25, groups.clone(), before.clone());
        let (groups, before) = remaining(&groups, &before, &ignored);
        let edges: Vec<(TestIx, TestIx)> =
            groups.iter().flat_map(|group| group.windows(2)).map(|pair| (pair[0], pair[1])).chain(before).collect();
        for test in (0..25).map(TestIx) {
            let mut all = constraints.prerequisites(test);
            prop_assert!(!all.contains(&test));
            all.push(test);
            for (first, second) in &edges {
                if let Some(second) = all.iter().position(|ix| ix == second) {
                    prop_assert!(all[..second].contains(first), "{} first: {:?}", first.0, all);
                }
            }
        }
    }
}

#[test]
fn a_group_gathers_where_its_first_test_stands() {
    let constraints = kept(7, &[&[1, 2, 3]], &[]);
    assert_eq!(repaired(&constraints, &[3, 0, 1, 5, 2, 4, 6]), [0, 1, 2, 3, 5, 4, 6]);
    assert_eq!(repaired(&constraints, &[0, 1, 2, 3]), [0, 1, 2, 3]);
}

#[test]
fn tests_that_depend_on_each_other_share_out_their_own_places() {
    let constraints = kept(8, &[], &[(0, 1), (0, 2), (6, 7)]);
    assert_eq!(repaired(&constraints, &[2, 3, 7, 1, 4, 0, 6, 5]), [0, 3, 6, 2, 4, 1, 7, 5]);
    assert_eq!(repaired(&constraints, &[0, 6, 2, 1, 7]), [0, 6, 2, 1, 7]);
}

#[test]
fn a_part_of_a_group_keeps_its_order_too() {
    let constraints = kept(6, &[&[0, 1, 2, 3]], &[]);
    assert_eq!(repaired(&constraints, &[3, 4, 1]), [4, 1, 3]);
}

#[test]
fn groups_that_share_tests_become_one_block() {
    let constraints = kept(9, &[&[4, 2, 7], &[7, 1], &[2, 7]], &[(4, 1)]);
    assert_eq!(constraints.count(), 4);
    assert_eq!(repaired(&constraints, &[8, 1, 7, 0, 4, 3, 2, 5, 6]), [8, 0, 4, 2, 7, 1, 3, 5, 6]);
}

#[test]
fn what_contradicts_earlier_declarations_is_named() {
    let groups = vec![tests(&[1, 2]), tests(&[2, 1]), tests(&[3, 3]), tests(&[5, 40]), tests(&[9])];
    let before = pairs(&[(2, 1), (1, 6), (6, 2), (7, 8), (8, 7), (0, 0), (41, 0), (7, 8)]);
    let (constraints, ignored) = Constraints::new(10, groups, before);
    let shown: Vec<(Declared, WhyIgnored)> = ignored.into_iter().map(|one| (one.declared, one.why)).collect();
    let group = |numbers: &[u32]| Declared::Group(tests(numbers));
    let before = |first, second| Declared::Before(TestIx(first), TestIx(second));
    assert_eq!(
        shown,
        [
            (group(&[2, 1]), WhyIgnored::Contradicts),
            (group(&[3, 3]), WhyIgnored::Repeated),
            (group(&[5, 40]), WhyIgnored::OutsideSuite),
            (before(2, 1), WhyIgnored::Contradicts),
            (before(0, 0), WhyIgnored::Repeated),
            (before(41, 0), WhyIgnored::OutsideSuite),
            // 6 would have to run inside the group of 1 and 2.
            (before(6, 2), WhyIgnored::Contradicts),
            (before(8, 7), WhyIgnored::Contradicts),
        ]
    );
    assert_eq!(constraints.count(), 4);
}

#[test]
fn a_test_alone_runs_after_what_it_declares_that_it_needs() {
    let suite = Suite::from_raw_ids((0..9).map(|n| format!("t.py::test_{n}")));
    let constraints = kept(9, &[&[5, 3, 1]], &[(8, 5), (7, 8), (0, 2)]);
    assert_eq!(alone(&suite, &constraints, TestIx(3)).tests(), tests(&[7, 8, 5, 3]));
    assert_eq!(alone(&suite, &constraints, TestIx(4)).tests(), tests(&[4]));
}

#[test]
fn constraints_of_another_suite_are_refused_and_the_default_order_is_left_alone() {
    let suite = Suite::from_raw_ids(["a", "b", "c"]);
    let constraints = kept(3, &[&[2, 0]], &[]);
    let order = make(&OrderLabel::Default, &suite, Shuffle::Mixed, &constraints).unwrap();
    assert_eq!(order.tests(), tests(&[0, 1, 2]));
    let order = make(&OrderLabel::Reverse, &suite, Shuffle::Mixed, &constraints).unwrap();
    assert_eq!(order.tests(), tests(&[2, 0, 1]));
    let larger = Suite::from_raw_ids(["a", "b", "c", "d"]);
    assert_eq!(
        make(&OrderLabel::Default, &larger, Shuffle::Mixed, &constraints),
        Err(MakeError::ForeignConstraints { constraints: 3, suite: 4 })
    );
}

#[test]
fn a_long_chain_is_repaired_and_followed_in_no_time() {
    let len = 5000;
    let chain: Vec<(u32, u32)> = (1..len).map(|n| (n - 1, n)).collect();
    let constraints = kept(5000, &[], &chain);
    let backwards: Vec<u32> = (0..len).rev().collect();
    assert!(repaired(&constraints, &backwards).is_sorted());
    assert_eq!(constraints.prerequisites(TestIx(4999)).len(), 4999);
}
