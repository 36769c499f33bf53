//! What documents have in common.

use std::time::Duration;

use anyorder_core::model::{OrderLabel, TestId, Tree};
use serde::{Serialize, Serializer};

use crate::view::{
    Bound as BoundView, Cost as CostView, Coverage as CoverageView, EndingView,
    Environment as EnvironmentView, FailureView, Incomplete as IncompleteView, OrderView,
    Project as ProjectView, SandboxView, Seen, SwitchedOff as OffView, Weakness as WeaknessView,
    Witness as WitnessView,
};
use crate::wording;

/// Writes what displays as a text: ids, labels, vectors.
pub(super) fn text<T: std::fmt::Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// An id, exact.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct Id<'a>(#[serde(serialize_with = "text")] pub(super) &'a TestId);

/// An order's name.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct Label<'a>(#[serde(serialize_with = "text")] pub(super) &'a OrderLabel);

pub(super) fn labels(orders: &[OrderView]) -> Vec<Label<'_>> {
    orders.iter().map(|o| Label(&o.label)).collect()
}

/// A share, where it is a number.
pub(super) fn finite(share: f64) -> Option<f64> {
    share.is_finite().then_some(share)
}

/// Seconds to the microsecond.
pub(super) fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e6
}

#[derive(Serialize)]
pub(super) struct Project<'a> {
    name: &'a str,
    root: &'a str,
}

impl<'a> Project<'a> {
    pub(super) fn of(view: &'a ProjectView) -> Self {
        Self { name: &view.name, root: &view.root }
    }
}

#[derive(Serialize)]
pub(super) struct Environment<'a> {
    interpreter: &'a str,
    python: &'a str,
    implementation: &'a str,
    platform: &'a str,
    pytest: &'a str,
    plugins: Vec<Plugin<'a>>,
    fingerprint: &'a str,
}

#[derive(Serialize)]
struct Plugin<'a> {
    name: &'a str,
    version: &'a str,
}

impl<'a> Environment<'a> {
    pub(super) fn of(view: &'a EnvironmentView) -> Self {
        Self {
            interpreter: &view.interpreter,
            python: &view.python,
            implementation: &view.implementation,
            platform: &view.platform,
            pytest: &view.pytest,
            plugins: view.plugins.iter().map(|(name, version)| Plugin { name, version }).collect(),
            fingerprint: &view.fingerprint,
        }
    }
}

#[derive(Serialize)]
pub(super) struct Sandbox<'a> {
    mode: &'a str,
    why: Option<&'a str>,
}

impl<'a> Sandbox<'a> {
    pub(super) fn of(view: &'a SandboxView) -> Self {
        Self { mode: &view.mode, why: view.why.as_deref() }
    }
}

#[derive(Serialize)]
pub(super) struct SwitchedOff<'a> {
    what: &'a str,
    how: &'a str,
    whence: &'a str,
}

pub(super) fn switched_off(off: &[OffView]) -> Vec<SwitchedOff<'_>> {
    off.iter().map(|o| SwitchedOff { what: &o.what, how: &o.how, whence: &o.whence }).collect()
}

/// One order, at large.
#[derive(Serialize)]
pub(super) struct OrderDetail<'a> {
    order: Label<'a>,
    run: Option<&'a str>,
    ending: &'static str,
    culprit: Option<Id<'a>>,
    how: Option<&'a str>,
    position: Option<usize>,
    duration_s: Option<f64>,
    fixture_setups: Option<u32>,
    reused: bool,
}

pub(super) fn order_details(orders: &[OrderView]) -> Vec<OrderDetail<'_>> {
    orders
        .iter()
        .map(|o| {
            let (culprit, how, position) = match &o.ending {
                EndingView::Crashed { culprit, how } => (culprit.as_ref(), Some(how.as_str()), None),
                EndingView::TimedOut { culprit } => (culprit.as_ref(), None, None),
                EndingView::OutOfOrder { position } => (None, None, Some(*position)),
                EndingView::Completed | EndingView::Interrupted | EndingView::NotRun => (None, None, None),
            };
            OrderDetail {
                order: Label(&o.label),
                run: o.run.as_deref(),
                ending: o.ending.word(),
                culprit: culprit.map(Id),
                how,
                position,
                duration_s: o.duration.map(seconds),
                fixture_setups: o.fixture_setups,
                reused: o.reused,
            }
        })
        .collect()
}

#[derive(Serialize)]
pub(super) struct Failure<'a> {
    phase: Option<&'static str>,
    signature: &'a str,
    excerpt: Excerpt<'a>,
}

#[derive(Serialize)]
struct Excerpt<'a> {
    head: &'a str,
    tail: &'a str,
    total_bytes: u64,
}

pub(super) fn failures(failures: &[FailureView]) -> Vec<Failure<'_>> {
    failures
        .iter()
        .map(|f| Failure {
            phase: f.phase.map(anyorder_core::model::Phase::word),
            signature: &f.signature,
            excerpt: Excerpt { head: &f.text.head, tail: &f.text.tail, total_bytes: f.text.total_bytes },
        })
        .collect()
}

#[derive(Serialize)]
pub(super) struct Witness<'a> {
    seen: Vec<SeenAt<'a>>,
    minimal_order: Vec<Id<'a>>,
}

#[derive(Serialize)]
struct SeenAt<'a> {
    order: Label<'a>,
    tree: Option<&'static str>,
    outcomes: String,
    fresh: u32,
    common_only: bool,
    run: Option<&'a str>,
    tests: Vec<Id<'a>>,
}

impl<'a> Witness<'a> {
    pub(super) fn of(view: &'a WitnessView) -> Self {
        Self {
            seen: view.seen.iter().map(seen).collect(),
            minimal_order: view.minimal_order.iter().map(Id).collect(),
        }
    }
}

fn seen(seen: &Seen) -> SeenAt<'_> {
    SeenAt {
        order: Label(&seen.order),
        tree: seen.tree.as_ref().map(|tree| match tree {
            Tree::Base => "base",
            Tree::Patched(_) => "patched",
        }),
        outcomes: seen.outcomes.to_string(),
        fresh: seen.fresh,
        common_only: seen.common_only,
        run: seen.run.as_deref(),
        tests: seen.tests.iter().map(Id).collect(),
    }
}

#[derive(Serialize)]
pub(super) struct Bound {
    independent_seeds: u32,
    failing: u32,
    upper95: Option<f64>,
    lower95: Option<f64>,
    rule_of_three: Option<f64>,
    does_not_exclude: Option<String>,
}

impl Bound {
    pub(super) fn of(view: &BoundView) -> Self {
        Self {
            independent_seeds: view.independent_seeds,
            failing: view.failing,
            upper95: finite(view.upper95),
            lower95: finite(view.lower95),
            rule_of_three: view.rule_of_three.and_then(finite),
            does_not_exclude: wording::does_not_exclude(view),
        }
    }
}

#[derive(Serialize)]
pub(super) struct Coverage {
    ordered_pairs: Option<f64>,
    adjacent_pairs: Option<f64>,
    sampled: bool,
}

impl Coverage {
    pub(super) fn of(view: &CoverageView) -> Self {
        Self {
            ordered_pairs: finite(view.ordered_pairs),
            adjacent_pairs: finite(view.adjacent_pairs),
            sampled: view.sampled,
        }
    }
}

#[derive(Serialize)]
pub(super) struct Weakness {
    kind: &'static str,
    text: String,
}

pub(super) fn weaknesses(weaknesses: &[WeaknessView]) -> Vec<Weakness> {
    weaknesses
        .iter()
        .map(|w| Weakness {
            kind: match w {
                WeaknessView::FewTests { .. } => "few_tests",
                WeaknessView::DeclaredOrder { .. } => "declared_order",
                WeaknessView::StateOutside { .. } => "state_outside",
                WeaknessView::TooSlow { .. } => "too_slow",
                WeaknessView::Other(_) => "other",
            },
            text: wording::weakness(w),
        })
        .collect()
}

#[derive(Serialize)]
pub(super) struct Incomplete<'a> {
    why: &'a str,
    missing: u32,
    resumable: bool,
}

impl<'a> Incomplete<'a> {
    pub(super) fn of(view: &'a IncompleteView) -> Self {
        Self { why: &view.why, missing: view.missing, resumable: view.resumable }
    }
}

#[derive(Serialize)]
pub(super) struct Cost {
    wall_s: f64,
    runs: u32,
    replays: u32,
    suite_equivalents: Option<f64>,
}

impl Cost {
    pub(super) fn of(view: &CostView) -> Self {
        Self {
            wall_s: seconds(view.wall),
            runs: view.runs,
            replays: view.replays,
            suite_equivalents: view.suite_equivalents.and_then(finite),
        }
    }
}
