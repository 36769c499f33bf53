//! Orders are a contract: the same seed gives the same order on any machine and in any release.
//!
//! They are stored, compared across trees and replayed, so `golden/orders.txt` never changes for a seed that stands
//! in it. A new way to order gets a new word beside those there are.

use std::fmt::Write;

use anyorder_core::model::{OrderLabel, Seed, Suite, TestId, TestInfo};
use anyorder_core::order::{Constraints, Shuffle, make};

const GOLDEN: &str = include_str!("golden/orders.txt");

/// Three files, one of them torn apart in the default order; ids with spaces, brackets, no ASCII, and one twice; a
/// test whose file is not the one its id names.
fn suite() -> Suite {
    let ids = [
        "tests/test_api.py::test_get",
        "tests/test_api.py::test_post",
        "tests/test_api.py::TestUser::test_name[a b]",
        "tests/test_api.py::TestUser::test_name[a\nb]",
        "tests/test_db.py::test_insert",
        "tests/test_db.py::test_insert",
        "tests/test_db.py::test_größe[€]",
        "tests/test_cache.py::test_hit",
        "tests/test_cache.py::test_miss",
        "tests/test_api.py::test_late",
    ];
    let mut tests = Suite::from_raw_ids(ids).tests().to_vec();
    let mut inherited = TestInfo::new(TestId::new("tests/base.py::test_inherited"));
    inherited.file = "tests/test_db.py".into();
    tests.push(inherited);
    Suite::new(tests).expect("each id stands there once")
}

fn text() -> String {
    let suite = suite();
    let mut text = String::new();
    for (n, test) in suite.tests().iter().enumerate() {
        writeln!(text, "{n} {} {:?}", test.file, test.id.to_string()).expect("a string takes text");
    }
    for shuffle in Shuffle::ALL {
        for seed in [1, 2, 3, 4, 5, 0, -1, 1 << 70].map(Seed) {
            for label in [OrderLabel::Seed(seed), OrderLabel::SeedReverse(seed)] {
                let order = make(&label, &suite, shuffle, &Constraints::none()).expect("a seed has an order");
                let tests: Vec<String> = order.tests().iter().map(|ix| ix.0.to_string()).collect();
                let kind = shuffle.resolve(seed);
                let tests = tests.join(" ");
                writeln!(text, "{shuffle} {label} is {kind}: {tests}").expect("a string takes text");
            }
        }
    }
    text
}

#[test]
fn every_shuffle_gives_the_orders_that_were_written_down() {
    for (ours, golden) in text().lines().zip(GOLDEN.lines()) {
        assert_eq!(ours, golden, "an order has changed");
    }
    assert_eq!(text(), GOLDEN);
}

#[test]
#[ignore = "writes the golden text to the standard output, for a new shuffle"]
#[expect(clippy::print_stdout, reason = "that is what it is for")]
fn print_the_golden_text() {
    print!("{}", text());
}
