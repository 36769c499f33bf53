//! A tree of a stored check.

use anyorder_core::model::OrderLabel;
use anyorder_core::stats;
use serde::Deserialize;

use super::{id, label, time};
use crate::view::{self, TreeDescription};

#[derive(Deserialize)]
pub(super) struct TreeDetail {
    name: String,
    revision: Option<String>,
    tests: usize,
    cached: bool,
    order_details: Vec<OrderDetail>,
    bound: Option<Bound>,
    coverage: Coverage,
}

#[derive(Deserialize)]
struct OrderDetail {
    order: String,
    run: Option<String>,
    ending: String,
    culprit: Option<String>,
    how: Option<String>,
    position: Option<usize>,
    duration_s: Option<f64>,
    fixture_setups: Option<u32>,
    reused: bool,
}

#[derive(Deserialize)]
struct Bound {
    independent_seeds: u32,
    failing: u32,
}

#[derive(Deserialize)]
struct Coverage {
    ordered_pairs: Option<f64>,
    adjacent_pairs: Option<f64>,
    sampled: bool,
}

impl TreeDetail {
    pub(super) fn view(self) -> Option<TreeDescription> {
        let alone = |o: &OrderDetail| o.order == OrderLabel::Alone.to_string() && o.ending != "not_run";
        let isolated = self.order_details.iter().any(alone);
        let bound = self
            .bound
            .map(|b| view::Bound::of(&stats::Bound::new(b.independent_seeds, b.failing, isolated), isolated));
        Some(TreeDescription {
            name: self.name,
            revision: self.revision,
            tests: self.tests,
            orders: self.order_details.into_iter().map(OrderDetail::view).collect::<Option<_>>()?,
            bound,
            coverage: view::Coverage {
                ordered_pairs: self.coverage.ordered_pairs.unwrap_or(f64::NAN),
                adjacent_pairs: self.coverage.adjacent_pairs.unwrap_or(f64::NAN),
                sampled: self.coverage.sampled,
            },
            cached: self.cached,
        })
    }
}

impl OrderDetail {
    fn view(self) -> Option<view::OrderView> {
        let culprit = self.culprit.as_deref().map(id);
        Some(view::OrderView {
            label: label(&self.order)?,
            duration: match self.duration_s {
                Some(seconds) => Some(time(seconds)?),
                None => None,
            },
            fixture_setups: self.fixture_setups,
            ending: match self.ending.as_str() {
                "completed" => view::EndingView::Completed,
                "crashed" => view::EndingView::Crashed { culprit, how: self.how? },
                "timed_out" => view::EndingView::TimedOut { culprit },
                "out_of_order" => view::EndingView::OutOfOrder { position: self.position? },
                "interrupted" => view::EndingView::Interrupted,
                "not_run" => view::EndingView::NotRun,
                _ => return None,
            },
            run: self.run,
            reused: self.reused,
        })
    }
}
