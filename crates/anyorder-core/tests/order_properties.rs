//! What holds for every order of every suite.

use std::collections::{BTreeMap, BTreeSet};

use anyorder_core::model::{Order, OrderLabel, Seed, Suite, TestId, TestIx};
use anyorder_core::order::{
    Constraints, CoverageCounter, FromIdsError, MakeError, Shuffle, alone, from_ids, make, restrict,
};
use proptest::prelude::*;

/// The shuffles in which a test's place depends on no other test.
const KEYED: [Shuffle; 4] = [Shuffle::Mixed, Shuffle::Nested, Shuffle::Flat, Shuffle::Files];

fn order(label: &OrderLabel, suite: &Suite, shuffle: Shuffle) -> Order {
    make(label, suite, shuffle, &Constraints::none()).expect("the label names one order")
}

fn seeded(suite: &Suite, seed: i128, shuffle: Shuffle) -> Order {
    order(&OrderLabel::Seed(Seed(seed)), suite, shuffle)
}

fn ids<'s>(order: &Order, suite: &'s Suite) -> Vec<&'s TestId> {
    order.tests().iter().map(|&ix| suite.id(ix)).collect()
}

/// Ids in a few files, files torn apart, some ids repeated.
fn raw_ids() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec((0..5u8, "[a-cé \\[]{0,3}"), 0..60)
        .prop_map(|tests| tests.iter().map(|(file, name)| format!("d/test_{file}.py::{name}")).collect())
}

fn label() -> impl Strategy<Value = OrderLabel> {
    prop_oneof![
        Just(OrderLabel::Default),
        Just(OrderLabel::Reverse),
        any::<i128>().prop_map(|seed| OrderLabel::Seed(Seed(seed))),
        (-9..9i128).prop_map(|seed| OrderLabel::SeedReverse(Seed(seed))),
    ]
}

proptest! {
    #[test]
    fn every_order_is_a_permutation_and_the_same_each_time(
        raw in raw_ids(), label in label(), shuffle in prop::sample::select(&Shuffle::ALL[..]),
    ) {
        let suite = Suite::from_raw_ids(raw.clone());
        let made = order(&label, &suite, shuffle);
        let sorted: BTreeSet<TestIx> = made.tests().iter().copied().collect();
        prop_assert_eq!(sorted.len(), suite.len());
        prop_assert_eq!(made.len(), suite.len());
        prop_assert_eq!(made.label(), &label);
        prop_assert_eq!(made, order(&label, &Suite::from_raw_ids(raw), shuffle));
    }

    #[test]
    fn adding_or_removing_tests_never_moves_two_others(
        raw in raw_ids(), keep in prop::collection::vec(any::<bool>(), 60), seed in any::<i128>(), backwards: bool,
        shuffle in prop::sample::select(&KEYED[..]),
    ) {
        let large = Suite::from_raw_ids(raw);
        let kept: Vec<_> = large.tests().iter().zip(&keep).filter(|(_, keep)| **keep).map(|(test, _)| test.clone()).collect();
        let small = Suite::new(kept).expect("distinct tests stay distinct");
        let seed = Seed(seed);
        let label = if backwards { OrderLabel::SeedReverse(seed) } else { OrderLabel::Seed(seed) };
        let (in_large, in_small) = (order(&label, &large, shuffle), order(&label, &small, shuffle));
        let common = restrict(&in_large, |ix| small.find(large.id(ix)).is_some());
        prop_assert_eq!(ids(&common, &large), ids(&in_small, &small));
    }

    #[test]
    fn the_order_of_a_suite_collected_otherwise_is_the_same(
        raw in prop::collection::btree_set("[ab]\\.py::[a-z]{1,3}", 0..40), seed in any::<i128>(),
    ) {
        let forwards = Suite::from_raw_ids(raw.iter().cloned());
        let backwards = Suite::from_raw_ids(raw.iter().rev().cloned());
        for shuffle in [Shuffle::Mixed, Shuffle::Nested, Shuffle::Flat] {
            let one = seeded(&forwards, seed, shuffle);
            let other = seeded(&backwards, seed, shuffle);
            prop_assert_eq!(ids(&one, &forwards), ids(&other, &backwards));
        }
    }

    #[test]
    fn a_reverse_is_exact(raw in raw_ids(), seed in any::<i128>(), shuffle in prop::sample::select(&Shuffle::ALL[..])) {
        let suite = Suite::from_raw_ids(raw);
        let seed = Seed(seed);
        let pairs = [
            (OrderLabel::Default, OrderLabel::Reverse),
            (OrderLabel::Seed(seed), OrderLabel::SeedReverse(seed)),
        ];
        for (forwards, backwards) in pairs {
            let mut tests = order(&forwards, &suite, shuffle).tests().to_vec();
            tests.reverse();
            let backwards = order(&backwards, &suite, shuffle);
            prop_assert_eq!(&tests, backwards.tests());
        }
    }

    #[test]
    fn nested_and_files_never_leave_a_file_before_it_is_done(raw in raw_ids(), seed in any::<i128>()) {
        let suite = Suite::from_raw_ids(raw);
        for shuffle in [Shuffle::Nested, Shuffle::Files] {
            let order = seeded(&suite, seed, shuffle);
            let mut files: Vec<&str> = order.tests().iter().map(|&ix| &*suite.info(ix).file).collect();
            files.dedup();
            let distinct: BTreeSet<&&str> = files.iter().collect();
            prop_assert_eq!(distinct.len(), files.len());
            if shuffle == Shuffle::Files {
                let mut places: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
                for ix in order.tests() {
                    places.entry(&suite.info(*ix).file).or_default().push(ix.0);
                }
                prop_assert!(places.values().all(|places| places.is_sorted()));
            }
        }
    }

    #[test]
    fn mixed_is_what_it_resolves_to(raw in raw_ids(), seed in any::<i128>()) {
        let suite = Suite::from_raw_ids(raw);
        let kind = Shuffle::Mixed.resolve(Seed(seed));
        prop_assert_eq!(seeded(&suite, seed, Shuffle::Mixed), seeded(&suite, seed, kind));
    }

    #[test]
    fn a_list_of_ids_is_run_as_it_stands(raw in raw_ids(), seed in any::<i128>()) {
        let suite = Suite::from_raw_ids(raw);
        let order = seeded(&suite, seed, Shuffle::Flat);
        let listed: Vec<TestId> = ids(&order, &suite).into_iter().cloned().collect();
        match from_ids("mine", &listed, &suite) {
            Ok(made) => {
                prop_assert_eq!(made.tests(), order.tests());
                prop_assert_eq!(made.label().to_string(), "list:mine");
            }
            Err(error) => prop_assert_eq!(error, FromIdsError::Empty { name: "mine".into() }),
        }
    }
}

#[test]
fn three_names_of_one_length_take_all_six_orders_about_equally() {
    for (shuffle, names) in [
        (Shuffle::Flat, ["t.py::test_a", "t.py::test_b", "t.py::test_c"]),
        (Shuffle::Nested, ["t.py::test_a", "t.py::test_b", "t.py::test_c"]),
        (Shuffle::Files, ["a.py::test", "b.py::test", "c.py::test"]),
    ] {
        let suite = Suite::from_raw_ids(names);
        let mut seen: BTreeMap<Vec<u32>, i32> = BTreeMap::new();
        for seed in 1..=6000 {
            let tests = seeded(&suite, seed, shuffle).tests().iter().map(|ix| ix.0).collect();
            *seen.entry(tests).or_default() += 1;
        }
        // Chi squared with 5 degrees of freedom exceeds 20.5 once in a thousand.
        let chi_squared: f64 = seen.values().map(|&n| f64::from((n - 1000).pow(2)) / 1000.0).sum();
        assert!(seen.len() == 6 && chi_squared < 20.5, "{shuffle}: {seen:?}");
    }
}

#[test]
fn two_hundred_seeds_show_every_neighbourhood_and_every_triple_of_ten_like_names() {
    let suite = Suite::from_raw_ids((0..10).map(|n| format!("t.py::test_x[{n}]")));
    let mut counter = CoverageCounter::new(10);
    let mut triples = BTreeSet::new();
    let mut orders = BTreeSet::new();
    for seed in 1..=200 {
        let order = seeded(&suite, seed, Shuffle::Flat);
        counter.add(&order);
        let tests = order.tests();
        for (n, first) in tests.iter().enumerate() {
            for (m, second) in tests.iter().enumerate().skip(n + 1) {
                triples.extend(tests[m + 1..].iter().map(|third| (*first, *second, *third)));
            }
        }
        orders.insert(tests.to_vec());
    }
    let covered = counter.coverage();
    assert!(covered.ordered_pairs >= 1.0 && covered.adjacent_pairs >= 1.0, "{covered:?}");
    assert_eq!(triples.len(), 10 * 9 * 8);
    assert_eq!(orders.len(), 200);
}

#[test]
fn labels_that_are_no_one_order_say_what_to_use() {
    let suite = Suite::from_raw_ids(["a", "b"]);
    let refused = |label: &OrderLabel| make(label, &suite, Shuffle::Mixed, &Constraints::none()).unwrap_err();
    assert_eq!(refused(&OrderLabel::Alone), MakeError::Alone);
    assert!(refused(&OrderLabel::Alone).to_string().contains("order of each test"));
    assert!(refused(&OrderLabel::List("x".into())).to_string().contains("`list:x`"));
}

#[test]
fn a_test_alone_is_an_order_of_one() {
    let suite = Suite::from_raw_ids(["a", "b"]);
    let order = alone(&suite, &Constraints::none(), TestIx(1));
    assert_eq!((order.tests(), order.label()), (&[TestIx(1)][..], &OrderLabel::Alone));
}

#[test]
fn ids_that_are_unknown_or_repeated_are_named() {
    let suite = Suite::from_raw_ids(["a", "b", "b"]);
    let id = |text: &str| TestId::new(text);
    let error = |ids: &[TestId]| from_ids("mine", ids, &suite).unwrap_err();
    let gone: Vec<TestId> = (0..7).map(|n| id(&format!("gone{n}"))).collect();
    let shown = error(&gone).to_string();
    assert!(shown.contains("7 ids of no test") && shown.contains("`gone4` and 2 more"), "{shown}");
    assert_eq!(
        error(&[id("a"), id("x"), id("a")]),
        FromIdsError::Unknown { name: "mine".into(), ids: vec![id("x")] }
    );
    assert_eq!(
        error(&[id("a"), id("b"), id("a"), id("a")]),
        FromIdsError::Repeated { name: "mine".into(), ids: vec![id("a")] }
    );
    assert_eq!(error(&[]), FromIdsError::Empty { name: "mine".into() });
    let second = from_ids("mine", &[TestId::repeated("b", 2), id("b")], &suite).unwrap();
    assert_eq!(second.tests(), [TestIx(2), TestIx(1)]);
}
