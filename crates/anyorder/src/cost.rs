//! What a sweep will cost and which bound that buys, said before it starts.

use std::time::Duration;

use anyorder_core::model::OrderLabel;
use anyorder_core::order::Plan;
use anyorder_core::stats;
use anyorder_report::terminal;
use anyorder_report::view::{Bound, PlanOption, PlanView, Weakness};

use crate::book::Book;
use crate::measure::Collected;
use crate::progress::Progress;
use crate::project::{Project, style_of_progress};

/// How many tests are run alone before the cost of a plan is told.
pub const TIMED_FORKS: usize = 4;

/// Sweeps shorter than this need no announcement.
const SHORT: Duration = Duration::from_secs(5);

/// Tells the cost of a plan, from the default order's measured time.
pub fn say(project: &Project, collected: &Collected, plan: &Plan, book: &Book, progress: &Progress) {
    let Some(view) = view(project, collected, plan, book) else { return };
    if view.time.is_some_and(|t| t < SHORT) {
        return;
    }
    let mut text = Vec::new();
    if terminal::plan(&view, style_of_progress(), &mut text).is_ok() {
        progress.lasting(&String::from_utf8_lossy(&text));
    }
}

fn view(project: &Project, collected: &Collected, plan: &Plan, book: &Book) -> Option<PlanView> {
    let first = book.columns().iter().find(|c| c.label == OrderLabel::Default && c.over)?.wall;
    let jobs = project.settings.jobs;
    let suite = book.matrix().suite();
    let count = u32::try_from(suite.len()).unwrap_or(u32::MAX);
    let alone_cost = first + fork_cost(book)? * count;
    let share = |time: Duration| time / u32::try_from(jobs).unwrap_or(1).max(1);
    let cost = |seeds: u32| share(first * (seeds + 1) + alone_cost);
    let option = |flag: &str, seeds: u32| PlanOption {
        flag: flag.to_owned(),
        time: cost(seeds),
        upper95: stats::upper_bound(seeds, 0, 0.95),
    };
    let orders = plan.labels().iter().filter(|l| **l != OrderLabel::Alone).count();
    let alone = plan.labels().contains(&OrderLabel::Alone).then(|| share(alone_cost));
    let rest = share(first * u32::try_from(orders.saturating_sub(1)).unwrap_or(u32::MAX));
    Some(PlanView {
        tree: collected.shown.clone(),
        tests: suite.len(),
        orders: plan.labels().to_vec(),
        first_order: Some(first),
        alone,
        jobs,
        time: Some(rest + alone.unwrap_or_default()),
        bound: Bound::of(&stats::Bound::new(plan.independent_seeds(), 0, alone.is_some()), alone.is_some()),
        options: vec![option("--quick", 1), option("--certify", 59)],
        weaknesses: weaknesses(suite.len(), collected),
    })
}

/// What a run of a single test costs beside the test: a fork, its sandbox and its end, as the first ones took.
fn fork_cost(book: &Book) -> Option<Duration> {
    let Some(alone) = book.columns().iter().find(|c| c.label == OrderLabel::Alone) else {
        return Some(Duration::ZERO);
    };
    let runs = u32::try_from(alone.reported).ok().filter(|n| *n > 0)?;
    Some(alone.wall.saturating_sub(alone.test_time) / runs)
}

/// Where the method is weak on a suite.
pub fn weaknesses(tests: usize, collected: &Collected) -> Vec<Weakness> {
    let mut found = Vec::new();
    if tests < 20 {
        found.push(Weakness::FewTests { tests });
    }
    if collected.declared.tests > 0 {
        found.push(Weakness::DeclaredOrder { constraints: collected.declared.tests });
    }
    let sandbox = &collected.session.collection().sandbox;
    if sandbox.mode != "overlay" {
        let what = "files in the project, which parallel runs share".to_owned();
        found.push(Weakness::StateOutside { what });
    }
    found
}
