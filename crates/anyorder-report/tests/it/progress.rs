//! The live display and its plain form.

use std::time::Duration;

use anyorder_core::model::{Outcome, TestId};
use anyorder_report::Style;
use anyorder_report::progress::{OrderDone, ProgressOrder, ProgressRow, ProgressView, lines, order_line};
use insta::assert_snapshot;
use unicode_width::UnicodeWidthStr;

use crate::samples::{labels, seed};

fn half_way() -> ProgressView {
    let mut orders: Vec<ProgressOrder> =
        labels(20).into_iter().map(|label| ProgressOrder::waiting(label, 909)).collect();
    for order in &mut orders[..9] {
        (order.ended, order.over, order.worst) = (909, true, Some(Outcome::Passed));
    }
    orders[2].worst = Some(Outcome::Failed);
    orders[6].worst = Some(Outcome::Crashed);
    for (at, ended) in [(9, 512), (10, 88)] {
        orders[at].ended = ended;
        orders[at].worst = Some(Outcome::Passed);
    }
    let row = |id: &str, letters: &str| ProgressRow {
        id: TestId::new(id),
        outcomes: letters.chars().map(Outcome::from_letter).collect(),
    };
    ProgressView {
        tree: "patched".into(),
        activity: "independent seeds".into(),
        orders,
        rows: vec![
            row("tests/test_price.py::TestRebates::test_price_of_a_book_is_lower", "PPFPPPPPP?P"),
            row("tests/test_c.py::test_free_twice", "PPPPPPCPPP"),
        ],
        suspects: 14,
        elapsed: Duration::from_secs(12),
        left: Some(Duration::from_secs(31)),
    }
}

#[test]
fn the_matrix_fills_up_cell_by_cell() {
    assert_snapshot!(lines(&half_way(), Style::PLAIN).join("\n"), @r"
    patched                                  ██✗███C██▄▁·············
    tests/test_price…rice_of_a_book_is_lower ✓✓✗✓✓✓✓✓✓·✓·············
    tests/test_c.py::test_free_twice         ✓✓✓✓✓✓C✓✓✓··············
    9 of 24 orders · 12 s · about 31 s left · 14 tests to look at (12 not shown)
    independent seeds: seed:6 512/909, seed:7 88/909
    ");
}

#[test]
fn the_matrix_fills_up_in_ascii_too() {
    let text = lines(&half_way(), Style { unicode: false, width: 60, ..Style::PLAIN }).join("\n");
    assert!(text.is_ascii());
    assert_snapshot!(text, @r"
    patched                  ##F###C##50.............
    tests/tes...ook_is_lower PPFPPPPPP.P.............
    tests/tes...t_free_twice PPPPPPCPPP..............
    9 of 24 orders, 12 s, about 31 s left, 14 tests to look at (
    independent seeds: seed:6 512/909, seed:7 88/909
    ");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for orders in [0, 1, 24, 100, 400] {
        for width in [40, 60, 80, 200] {
            let mut view = half_way();
            view.orders = (0..orders).map(|n| ProgressOrder::waiting(seed(n), 10)).collect();
            for line in lines(&view, Style { width, ..Style::PLAIN }) {
                assert!(line.width() <= width, "{} > {width}: {line}", line.width());
            }
        }
    }
}

#[test]
fn a_cell_for_several_orders_shows_the_gravest() {
    let mut view = half_way();
    view.rows.clear();
    view.orders = (0..300).map(|n| ProgressOrder::waiting(seed(n), 10)).collect();
    for order in &mut view.orders {
        (order.ended, order.over, order.worst) = (10, true, Some(Outcome::Passed));
    }
    view.orders[299].worst = Some(Outcome::Error);
    let strip = lines(&view, Style::PLAIN).remove(0);
    assert!(strip.ends_with('E'), "{strip}");
    assert_eq!(strip.matches('E').count(), 1);
}

#[test]
fn an_order_that_is_over_is_one_plain_line() {
    let done = OrderDone {
        label: seed(4),
        tree: String::new(),
        counts: vec![(Outcome::Failed, 1), (Outcome::Passed, 909), (Outcome::Skipped, 0)],
        duration: Duration::from_millis(1230),
        number: 7,
        of: 23,
        ending: None,
    };
    assert_eq!(order_line(&done, Style::PLAIN), "seed:4  909 passed, 1 failed  1.2 s  (7 of 23)");
    let crashed = OrderDone { tree: "base".into(), ending: Some("killed by signal 11".into()), ..done };
    assert_eq!(
        order_line(&crashed, Style::PLAIN),
        "base  seed:4  909 passed, 1 failed  1.2 s  (7 of 23)  killed by signal 11"
    );
}
