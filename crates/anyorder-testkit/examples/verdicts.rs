//! The table of METHODS B4 for this verdict: false blocks, recall, labels, and what the replays cost.
//!
//!     cargo run --release -p anyorder-testkit --example verdicts [NULL PATCHES] [OTHERS]
#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::collections::BTreeMap;

use anyorder_core::model::TestId;
use anyorder_core::verdict::{Action, Judgement, VerdictOutcome};
use anyorder_testkit::{Check, Patch, Rng, Scenario};

/// What a run of one scenario showed.
#[derive(Default)]
struct Row {
    words: BTreeMap<&'static str, u32>,
    blocked: u32,
    reviewed: u32,
    /// Patches in which a test that they have nothing to do with blocks.
    blamed: u32,
    /// Suite-equivalents beyond both sweeps, without the star's.
    extra: Vec<f64>,
    /// The same for each cause that was judged.
    per_cause: Vec<f64>,
}

fn row(scenario: Scenario, count: u64, star: bool) -> Row {
    let mut row = Row::default();
    for seed in 0..count {
        let mut rng = Rng::new(seed * 104_729 + 17 * scenario as u64);
        let patch = Patch::new(scenario, &mut rng);
        let checked = Check { star, ..Check::default() }.run(&patch.base, &patch.patched, &mut rng);
        let target = patch.target.as_deref().map(TestId::new);
        let findings = &checked.verdict.findings;
        let about = findings.iter().find(|j| Some(&j.test) == target.as_ref());
        *row.words.entry(about.map_or("undetected", |j| j.finding.word())).or_default() += 1;
        match checked.verdict.outcome {
            VerdictOutcome::Block => row.blocked += 1,
            VerdictOutcome::Review => row.reviewed += 1,
            VerdictOutcome::Accept => {}
        }
        let blames = |j: &&Judgement| j.action == Action::Block && Some(&j.test) != target.as_ref();
        row.blamed += u32::from(findings.iter().any(|j| blames(&j)));
        let suite = patch.patched.ids().len() as f64;
        let extra = (checked.extra - checked.star) as f64 / suite;
        row.extra.push(extra);
        let causes = findings.iter().map(|j| j.cause).max().unwrap_or(0);
        if causes > 0 {
            row.per_cause.push(extra / f64::from(causes));
        }
    }
    row.extra.sort_by(f64::total_cmp);
    row.per_cause.sort_by(f64::total_cmp);
    row
}

fn at(sorted: &[f64], percent: usize) -> f64 {
    let place = sorted.len() * percent / 100;
    sorted.get(place.min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter_map(|a| a.parse::<u64>().ok());
    let nulls = arguments.next().unwrap_or(2000);
    let others = arguments.next().unwrap_or(300);
    println!(
        "200 tests, 3 old couplings, 4 flaky tests, 4 new tests; default plan. Extra runs in suite-equivalents.\n"
    );
    println!(
        "| scenario | patches | star | block | review | others blamed | extra, median | p95 | per cause, median | p95 | about the target |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let scenarios = [
        (Scenario::Null, nulls),
        (Scenario::NewTestPoisons, others),
        (Scenario::NewVictim, others),
        (Scenario::NewBrittle, others),
        (Scenario::Introduces, others),
        (Scenario::IntroducesSometimes, others),
        (Scenario::Fixes, others),
        (Scenario::Exposes, others),
        (Scenario::Masks, others),
    ];
    for (scenario, count) in scenarios {
        for star in [false, true] {
            let Row { words, blocked, reviewed, blamed, extra, per_cause } = row(scenario, count, star);
            let share = |n: u32| format!("{:.2} %", 100.0 * f64::from(n) / count as f64);
            let words: Vec<String> = words.iter().map(|(word, n)| format!("{word} {n}")).collect();
            println!(
                "| {scenario:?} | {count} | {} | {} | {} | {} | {:.1} | {:.1} | {:.1} | {:.1} | {} |",
                if star { "yes" } else { "no" },
                share(blocked),
                share(reviewed),
                share(blamed),
                at(&extra, 50),
                at(&extra, 95),
                at(&per_cause, 50),
                at(&per_cause, 95),
                if scenario == Scenario::Null { String::new() } else { words.join(", ") },
            );
        }
    }
}
