//! How far it goes and how it was measured: the closing entries of a report.

use std::io;

use anyorder_core::model::TestId;

use super::sheet::{Sheet, Tone, tie};
use crate::escape;
use crate::view::{
    Bound, Cost, Coverage, Environment, ExecutorView, Incomplete, Invocation, OrderView, SandboxView,
    SwitchedOff, Weakness,
};
use crate::wording;

/// Width of the words before the entries.
pub(super) const LABEL: usize = 12;

/// The bound with what it does not exclude.
pub(super) fn bound(sheet: &mut Sheet<'_>, label: &str, bound: &Bound) -> io::Result<()> {
    let open = wording::does_not_exclude(bound).map(|s| format!(" {s}")).unwrap_or_default();
    sheet.entry(0, label, LABEL, &tie(&format!("{}{open}", wording::bound(bound))))
}

/// The shares of pairs.
pub(super) fn coverage(sheet: &mut Sheet<'_>, coverage: &Coverage) -> io::Result<()> {
    let text = format!(
        "{} of ordered pairs{}, {} of adjacent pairs",
        wording::percent(coverage.ordered_pairs),
        if coverage.sampled { " (of a sample)" } else { "" },
        wording::percent(coverage.adjacent_pairs)
    );
    sheet.entry(0, "coverage", LABEL, &tie(&text))
}

/// Where the method is weak here, one entry each.
pub(super) fn weaknesses(sheet: &mut Sheet<'_>, weaknesses: &[Weakness]) -> io::Result<()> {
    for (at, weakness) in weaknesses.iter().enumerate() {
        let text = wording::weakness(weakness);
        sheet.entry(0, if at == 0 { "weak here" } else { "" }, LABEL, &tie(&escape::text(&text)))?;
    }
    Ok(())
}

/// How it was measured.
pub(super) struct Method<'a> {
    pub(super) environment: &'a Environment,
    pub(super) executor: &'a ExecutorView,
    pub(super) sandbox: &'a SandboxView,
    pub(super) switched_off: &'a [SwitchedOff],
    pub(super) constraints: usize,
    pub(super) resumed: usize,
    pub(super) cost: &'a Cost,
}

impl Method<'_> {
    pub(super) fn write(&self, sheet: &mut Sheet<'_>) -> io::Result<()> {
        switched_off(sheet, self.switched_off)?;
        if self.constraints > 0 {
            let text = format!("{} of declared order", wording::count(self.constraints, "constraint"));
            sheet.entry(0, "kept", LABEL, &text)?;
        }
        executor(sheet, self.executor)?;
        sandbox(sheet, self.sandbox)?;
        environment(sheet, self.environment)?;
        let mut cost = vec![wording::duration(self.cost.wall)];
        let runs = wording::count(self.cost.runs as usize, "run");
        cost.push(match self.cost.replays {
            0 => runs,
            replays => format!("{runs}, {} of them to make sure", wording::thousands(u64::from(replays))),
        });
        if let Some(equivalents) = self.cost.suite_equivalents.filter(|e| e.is_finite()) {
            cost.push(format!("{equivalents:.1} times the default order"));
        }
        if self.resumed > 0 {
            cost.push(format!("{} from before", wording::count(self.resumed, "order")));
        }
        sheet.entry(0, "cost", LABEL, &tie(&cost.join(sheet.dot())))
    }
}

pub(super) fn switched_off(sheet: &mut Sheet<'_>, off: &[SwitchedOff]) -> io::Result<()> {
    for (at, item) in off.iter().enumerate() {
        let mut text = escape::text(&item.what).into_owned();
        if !item.how.is_empty() {
            text.push_str(": ");
            text.push_str(&escape::text(&item.how));
        }
        if !item.whence.is_empty() {
            text = format!("{text} ({})", escape::text(&item.whence));
        }
        sheet.entry(0, if at == 0 { "switched off" } else { "" }, LABEL, &text)?;
    }
    Ok(())
}

pub(super) fn executor(sheet: &mut Sheet<'_>, executor: &ExecutorView) -> io::Result<()> {
    sheet.entry(0, "executor", LABEL, &with_reason(executor.executor.word(), executor.why.as_deref()))
}

pub(super) fn sandbox(sheet: &mut Sheet<'_>, sandbox: &SandboxView) -> io::Result<()> {
    if sandbox.mode.is_empty() {
        return Ok(());
    }
    sheet.entry(0, "sandbox", LABEL, &with_reason(&sandbox.mode, sandbox.why.as_deref()))
}

pub(super) fn environment(sheet: &mut Sheet<'_>, environment: &Environment) -> io::Result<()> {
    if environment.python.is_empty() {
        return Ok(());
    }
    let text = format!(
        "{} {}, pytest {}, {}",
        environment.implementation, environment.python, environment.pytest, environment.interpreter
    );
    sheet.entry(0, "python", LABEL, &escape::text(&text))
}

/// What an environment difference was allowed to be.
pub(super) fn drift(sheet: &mut Sheet<'_>, drift: &[String]) -> io::Result<()> {
    for (at, line) in drift.iter().enumerate() {
        let label = if at == 0 { "drift" } else { "" };
        sheet.entry(0, label, LABEL, &format!("environments differ: {}", escape::text(line)))?;
    }
    Ok(())
}

/// Orders that did not end well, and what that cost.
pub(super) fn endings(sheet: &mut Sheet<'_>, orders: &[OrderView]) -> io::Result<()> {
    use crate::view::EndingView as E;
    for order in orders {
        let culprit = |id: &Option<TestId>| match id {
            Some(id) => format!(" in {}", escape::id(&id.to_string())),
            None => String::new(),
        };
        let (tone, what) = match &order.ending {
            E::Completed | E::NotRun => continue,
            E::Crashed { culprit: id, how } => {
                (Tone::Bad, format!("crashed{}: {}", culprit(id), escape::text(how)))
            }
            E::TimedOut { culprit: id } => (Tone::Bad, format!("timed out{}", culprit(id))),
            E::OutOfOrder { position } => {
                (Tone::Bad, format!("ran out of order from position {} on", position + 1))
            }
            E::Interrupted => (Tone::Warn, "was interrupted".to_owned()),
        };
        let label = escape::text(&order.label.to_string()).into_owned();
        sheet.line(&[(tone, format!("  {label} ")), (Tone::Plain, what)])?;
    }
    Ok(())
}

/// Why not all that was planned was run, and how to go on.
pub(super) fn incomplete(
    sheet: &mut Sheet<'_>,
    incomplete: &Incomplete,
    words: &[&str],
    invocation: &Invocation,
) -> io::Result<()> {
    if incomplete.resumable {
        sheet.line(&[
            (Tone::Plain, "  go on with  ".to_owned()),
            (Tone::Command, invocation.command(words)),
        ])?;
    }
    Ok(())
}

fn with_reason(what: &str, why: Option<&str>) -> String {
    match why {
        Some(why) => format!("{}: {}", escape::text(what), escape::text(why)),
        None => escape::text(what).into_owned(),
    }
}
