//! Prints how often search and attribution are right in planted suites, what they cost, and how often a test that fails by
//! chance gets a certificate.
//!
//! `cargo run --release -p anyorder-testkit --example attribution [WORLDS [TRIALS [fresh]]]`: so many suites a row, so many
//! trials of certificates, and without forks.

use std::io::Write as _;

use anyorder_core::attribution::{BlameOptions, Role, Why};
use anyorder_testkit::{Inquired, Inquiry, Rng, Truth, is_explained, is_planted};

const TRUTHS: [Truth; 15] = [
    Truth::Polluter { cleaners: 0 },
    Truth::Polluter { cleaners: 2 },
    Truth::Polluter { cleaners: 5 },
    Truth::Polluter { cleaners: 10 },
    Truth::Polluters { polluters: 4, cleaners: 0 },
    Truth::Polluters { polluters: 4, cleaners: 5 },
    Truth::Conjunction(2),
    Truth::Sequence(2),
    Truth::Conjunction(3),
    Truth::Brittle(1),
    Truth::Brittle(5),
    Truth::Brittle(20),
    Truth::Sometimes(0.9),
    Truth::Sometimes(0.6),
    Truth::Sometimes(0.3),
];

/// What one row of the table is made of.
#[derive(Default)]
struct Row {
    seen: u32,
    planted: u32,
    explained: u32,
    /// In suite-equivalents: the search, and everything with its certificate.
    search: Vec<f64>,
    all: Vec<f64>,
    goal_runs: Vec<f64>,
    queries: Vec<f64>,
}

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |n: usize, default: u64| args.get(n).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (worlds, trials) = (number(0, 200), number(1, 10_000));
    let forks = args.get(2).is_none_or(|a| a != "fresh");
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{worlds} suites a row, 20 seeds before, forks: {forks}. S: suite-equivalents, median / p95."
    )?;
    writeln!(
        out,
        "{:<6}{:<42}{:>6}{:>9}{:>11}{:>14}{:>14}{:>14}{:>12}",
        "n", "planted", "seen", "right %", "certified", "search S", "all S", "goal runs", "queries"
    )?;
    for n in [500, 5000] {
        for truth in TRUTHS {
            let row = measure(truth, n, worlds, forks);
            let percent = |count: u32| 100.0 * f64::from(count) / f64::from(row.seen.max(1));
            writeln!(
                out,
                "{n:<6}{:<42}{:>6}{:>9.1}{:>11.1}{:>14}{:>14}{:>14}{:>12}",
                format!("{truth:?}"),
                row.seen,
                percent(row.planted),
                percent(row.explained),
                both(row.search, 2),
                both(row.all, 2),
                both(row.goal_runs, 0),
                both(row.queries, 0),
            )?;
        }
    }
    chance(&mut out, trials, forks)
}

fn inquiry(n: usize, forks: bool) -> Inquiry {
    let mut options = BlameOptions { forks, cleaners: 0, ..BlameOptions::default() };
    options.search.budget = 30 * n as u64;
    Inquiry { options, ..Inquiry::default() }
}

fn measure(truth: Truth, n: usize, worlds: u64, forks: bool) -> Row {
    let mut row = Row::default();
    for seed in 0..worlds {
        let mut rng = Rng::new(seed.wrapping_mul(7919) + n as u64);
        let (world, _) = truth.plant(n, &mut rng);
        let Inquired { blamed, run } = inquiry(n, forks).run(&world, &mut rng);
        let (goal, said) = (&world.goals()[0], &blamed.tests[0]);
        if said.role == Role::Unreproduced && run.is_empty() {
            // No order showed it: detection is another matter.
            continue;
        }
        row.seen += 1;
        row.planted += u32::from(said.sets.first().is_some_and(|set| is_planted(goal, &set.tests)));
        row.explained += u32::from(is_explained(goal, said));
        let searching = run.iter().filter(|(query, _)| query.why == Why::Search);
        let (mut cost, mut goal_runs, mut queries) = (0, 0, 0);
        for (query, _) in searching {
            cost += query.cost();
            goal_runs += query.peeks.len() + query.tail.len();
            queries += 1;
        }
        row.search.push(cost as f64 / n as f64);
        row.all.push(blamed.spent.tests as f64 / n as f64);
        row.goal_runs.push(goal_runs as f64);
        row.queries.push(f64::from(queries));
    }
    row
}

/// Median and 95th percentile.
fn both(mut values: Vec<f64>, digits: usize) -> String {
    values.sort_by(f64::total_cmp);
    let at =
        |percent: usize| values.get(values.len().saturating_sub(1) * percent / 100).copied().unwrap_or(0.0);
    format!("{:.digits$} / {:.digits$}", at(50), at(95))
}

/// Certificates for tests that fail by chance in any order: each trial is a suite of its own.
fn chance(out: &mut impl std::io::Write, trials: u64, forks: bool) -> std::io::Result<()> {
    writeln!(out, "\nTests that fail by chance, {trials} trials each (n = 40):")?;
    for rate in [0.02, 0.1, 0.3, 0.5, 0.7, 0.9] {
        let (mut certified, mut sets, mut shown) = (0u64, 0u64, 0u64);
        for seed in 0..trials {
            let mut rng = Rng::new(seed.wrapping_mul(104_729) + 17);
            let (world, _) = Truth::Flake(rate).plant(40, &mut rng);
            let Inquired { blamed, run } = inquiry(40, forks).run(&world, &mut rng);
            shown += u64::from(!run.is_empty());
            sets += u64::from(!blamed.tests[0].sets.is_empty());
            certified += u64::from(blamed.tests[0].is_certified());
        }
        writeln!(
            out,
            "rate {rate:<5} looked at {shown:>6}  with a suspect {sets:>5}  certified {certified:>4} ({:.1e})",
            certified as f64 / trials.max(1) as f64
        )?;
    }
    Ok(())
}
