//! Sentences and figures that several formats share. Everything here is ours; untrusted text is not touched.

use std::time::Duration;

use anyorder_core::ledger::{Date, Entry};
use anyorder_core::model::Outcome;

use crate::view::{Bound, Class, Finding, Weakness};

/// `13.9 %`, `4.95 %`, `100 %`: three figures at the most; `?` for what is no number.
pub(crate) fn percent(share: f64) -> String {
    let value = share * 100.0;
    if !value.is_finite() {
        return "?".to_owned();
    }
    let digits = if value >= 9.95 { 1 } else { 2 };
    let text = format!("{value:.digits$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{} %", if text.is_empty() || text == "-" { "0" } else { text })
}

/// `3 ms`, `1.2 s`, `41 s`, `3 min 20 s`, `2 h 5 min`.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 0.9995 {
        return format!("{} ms", time.as_millis());
    }
    if seconds < 9.95 {
        return format!("{seconds:.1} s");
    }
    let whole = time.as_secs() + u64::from(time.subsec_millis() >= 500);
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => two_units(whole, 60, "min", "s"),
        _ => two_units(whole / 60, 60, "h", "min"),
    }
}

fn two_units(value: u64, per: u64, large: &str, small: &str) -> String {
    match value % per {
        0 => format!("{} {large}", value / per),
        rest => format!("{} {large} {rest} {small}", value / per),
    }
}

/// `1 test`, `1,204 tests`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", thousands(number as u64), if number == 1 { "" } else { "s" })
}

/// `1,204`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// What a test does that has this outcome: `fails`, `never runs`.
pub(crate) fn verb(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passes",
        Outcome::Failed => "fails",
        Outcome::Error => "ends in an error",
        Outcome::Skipped => "is skipped",
        Outcome::Xfailed => "fails as declared",
        Outcome::Xpassed => "passes against its declaration",
        Outcome::Timeout => "times out",
        Outcome::Crashed => "crashes",
        Outcome::Absent => "never runs",
    }
}

/// A class in words.
pub(crate) fn class(class: Class) -> &'static str {
    match class {
        Class::StablePass => "passes in every order",
        Class::StableFail => "fails in every order",
        Class::StableSkip => "skipped in every order",
        Class::OrderSensitive => "order-sensitive",
        Class::Flaky => "flaky",
    }
}

/// What a finding says, as a clause about the test.
pub(crate) fn finding(finding: Finding) -> &'static str {
    match finding {
        Finding::Repaired => "failed on base, passes on patched in every order",
        Finding::Introduced => "passes on base in every order, depends on order since the patch",
        Finding::NewTestCoupled => "a new test that depends on order",
        Finding::PoisonsNeighbours => "a new or changed test makes it depend on order",
        Finding::NewLeak => "touched by the patch, leaves state behind that base did not",
        Finding::Regressed => "passes on base in every order, fails on patched in every order",
        Finding::NewTestFails => "a new test that fails in every order",
        Finding::UnexplainedAbsence => "never ran or crashed in some order on patched",
        Finding::PreExisting => "depends on order on both trees in the same way",
        Finding::Masked => "depends on order on base; passes on patched only because new state hides it",
        Finding::Replaced => "depended on order through one cause, and does now through another",
        Finding::Exposed => "depends on order since a test that cleaned up was removed or moved",
        Finding::Fixed => "depended on order on base, and does no longer",
        Finding::BrokenOnBase => "fails in every order on both trees",
        Finding::EvidenceLost => "passed on base, is skipped or gone on patched",
        Finding::Flaky => "has two outcomes for one order: chance, not order",
        Finding::Destabilised => "has two outcomes for one order since the patch",
        Finding::Inconclusive => "the budget was spent before this could be decided",
    }
}

/// Said where forked and fresh runs of one order differ.
pub(crate) const EXECUTORS_DISAGREE: &str =
    "forked and fresh runs of one order differ: the cause is outside the process";

/// Why a test with a finding may not be cited for the patch.
pub(crate) fn why_not(finding: Finding) -> &'static str {
    match finding {
        Finding::Regressed => "fails since the patch",
        Finding::Introduced | Finding::PoisonsNeighbours => "order-sensitive since the patch",
        Finding::NewTestCoupled => "new and order-sensitive",
        Finding::NewLeak => "leaks new state",
        Finding::NewTestFails => "new and failing",
        Finding::UnexplainedAbsence => "crashed or never ran in some order",
        Finding::PreExisting | Finding::Replaced => "order-sensitive on both trees",
        Finding::Exposed => "order-sensitive since a test was removed or moved",
        Finding::Masked => "passes only because new state hides what broke it",
        Finding::EvidenceLost => "passed on base, skipped or gone on patched",
        Finding::Destabilised | Finding::Flaky => "flaky",
        Finding::Inconclusive => "not decided",
        Finding::BrokenOnBase => "fails in every order on both trees",
        Finding::Fixed | Finding::Repaired => "kept out by the configuration",
    }
}

/// What the ledger says of a test: `frozen until 2027-01-05 (SHOP-7)`. The issue is untrusted.
pub(crate) fn entry(entry: &Entry) -> String {
    let until = match (entry, entry.until()) {
        (Entry::Frozen(_), Some(until)) => format!("until {until}"),
        (Entry::Quarantined(_), Some(until)) => {
            format!("until its source or its failure changes, or {until} is over")
        }
        (_, None) => "until its source or its failure changes".to_owned(),
    };
    format!("{} {until} ({})", entry.word(), entry.issue())
}

/// A moment in UTC, to the minute: `2026-12-01 04:35`.
pub(crate) fn moment(ms: i64) -> String {
    let minutes = ms.div_euclid(60_000).rem_euclid(24 * 60);
    format!("{} {:02}:{:02}", Date::of_unix_ms(ms), minutes / 60, minutes % 60)
}

/// How many tests have a finding, as a clause for a headline.
pub(crate) fn finding_count(finding: Finding, number: usize) -> String {
    let plural = number != 1;
    let of =
        |one: &str, many: &str| format!("{} {}", thousands(number as u64), if plural { many } else { one });
    match finding {
        Finding::Repaired => of("test repaired", "tests repaired"),
        Finding::Introduced => {
            of("test depends on order since the patch", "tests depend on order since the patch")
        }
        Finding::NewTestCoupled => of("new test depends on order", "new tests depend on order"),
        Finding::PoisonsNeighbours => of("old test is poisoned by it", "old tests are poisoned by it"),
        Finding::NewLeak => of("test leaks new state", "tests leak new state"),
        Finding::Regressed => of("test fails since the patch", "tests fail since the patch"),
        Finding::NewTestFails => of("new test fails", "new tests fail"),
        Finding::UnexplainedAbsence => of("test crashed or never ran", "tests crashed or never ran"),
        Finding::PreExisting => of("test depended on order before", "tests depended on order before"),
        Finding::Masked => of("order dependence is only hidden", "order dependences are only hidden"),
        Finding::Replaced => of("test depends on order in a new way", "tests depend on order in a new way"),
        Finding::Exposed => of("order dependence is laid open", "order dependences are laid open"),
        Finding::Fixed => of("order dependence fixed", "order dependences fixed"),
        Finding::BrokenOnBase => of("test was broken before", "tests were broken before"),
        Finding::EvidenceLost => of("test passed before and is gone", "tests passed before and are gone"),
        Finding::Flaky => of("test is flaky", "tests are flaky"),
        Finding::Destabilised => of("test is flaky since the patch", "tests are flaky since the patch"),
        Finding::Inconclusive => of("test could not be decided", "tests could not be decided"),
    }
}

/// The bound: a sentence.
pub(crate) fn bound(bound: &Bound) -> String {
    let seeds = bound.independent_seeds;
    if seeds == 0 {
        return "no independent seed was run: nothing is said about other orders.".to_owned();
    }
    let seeds_text = count(seeds as usize, "independent seed");
    if bound.failing > 0 {
        return format!(
            "order-sensitive tests failed in {} of {seeds_text}: one more order fails with a chance of {} to {} (at 95 %).",
            bound.failing,
            percent(bound.lower95),
            percent(bound.upper95),
        );
    }
    let rule = bound
        .rule_of_three
        .filter(|r| *r <= 1.0)
        .map(|r| format!("; rule of three: {}", percent(r)))
        .unwrap_or_default();
    format!(
        "no failure in {seeds_text}: one more order fails with a chance of at most {} (at 95 %{rule}).",
        percent(bound.upper95),
    )
}

/// What the bound does not exclude: a sentence (METHODS A4); `None` where there is no bound.
pub(crate) fn does_not_exclude(bound: &Bound) -> Option<String> {
    let mut open = Vec::new();
    if let Some(cleaners) = bound.victim_cleaners {
        open.push(match cleaners {
            0 => "any victim".to_owned(),
            some => format!("a victim with {some} or more cleaners"),
        });
    }
    if let (Some(setters), false) = (bound.brittle_setters, bound.isolated) {
        open.push(match setters {
            0 => "any brittle test".to_owned(),
            some => format!("a brittle test with {some} or more state-setters"),
        });
    }
    if open.is_empty() {
        return None;
    }
    let alone = if bound.isolated && bound.brittle_setters.is_some() {
        "; brittle tests are excluded, as each test was run alone"
    } else {
        ""
    };
    Some(format!("This does not exclude {}{alone}.", open.join(" nor ")))
}

/// A weakness: a sentence. The texts in it are untrusted.
pub(crate) fn weakness(weakness: &Weakness) -> String {
    match weakness {
        Weakness::FewTests { tests } => {
            let are = if *tests == 1 { "is" } else { "are" };
            format!(
                "{} {are} few: most of their orders differ in nothing that matters.",
                count(*tests, "test")
            )
        }
        Weakness::DeclaredOrder { constraints } => format!(
            "{} of declared order were kept, so what stands inside them was never permuted.",
            count(*constraints, "constraint")
        ),
        Weakness::StateOutside { what } => {
            format!("State outside the process is shared by all runs ({what}): orders may have met there.")
        }
        Weakness::TooSlow { asked, reached } => format!(
            "The suite is too slow for the bound asked: {} wanted, {} reached.",
            percent(*asked),
            percent(*reached)
        ),
        Weakness::Other(sentence) => sentence.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_at_the_most() {
        let shown: Vec<_> = [0.1391, 0.0495, 1.0, 0.0, 0.072, f64::NAN, 0.00001].map(percent).into();
        assert_eq!(shown, ["13.9 %", "4.95 %", "100 %", "0 %", "7.2 %", "?", "0 %"]);
        let shown: Vec<_> =
            [3, 999, 1_200, 59_700, 200_000, 7_500_000].map(|ms| duration(Duration::from_millis(ms))).into();
        assert_eq!(shown, ["3 ms", "999 ms", "1.2 s", "1 min", "3 min 20 s", "2 h 5 min"]);
        assert_eq!(count(1, "test"), "1 test");
        assert_eq!(count(1_204_000, "test"), "1,204,000 tests");
    }

    #[test]
    fn the_bound_says_what_it_does_not_exclude() {
        let bound = Bound {
            independent_seeds: 20,
            failing: 0,
            upper95: 0.1391,
            lower95: 0.0,
            rule_of_three: Some(0.15),
            victim_cleaners: Some(6),
            brittle_setters: Some(7),
            isolated: false,
        };
        assert_eq!(
            super::bound(&bound),
            "no failure in 20 independent seeds: one more order fails with a chance of at most 13.9 % (at 95 %; \
             rule of three: 15 %)."
        );
        assert_eq!(
            does_not_exclude(&bound).unwrap(),
            "This does not exclude a victim with 6 or more cleaners nor a brittle test with 7 or more state-setters."
        );
        let isolated = does_not_exclude(&Bound { isolated: true, ..bound }).unwrap();
        assert!(isolated.ends_with("brittle tests are excluded, as each test was run alone."), "{isolated}");
    }
}
