//! The report of one tree.

use std::io;

use anyorder_core::model::{OrderLabel, Outcome};

use super::block::Block;
use super::columns::Columns;
use super::footer::{self, LABEL, Method};
use super::glyph;
use super::ledger::listed;
use super::sheet::{Sheet, Tone, pad, shorten, tie};
use crate::escape;
use crate::view::{Cause, Class, EndingView, OrderView, RunView, TestView};
use crate::wording;

/// Causes shown in full.
const CAUSES: usize = 20;
/// Rows of one cause in the matrix.
const ROWS: usize = 3;

pub(super) fn write(view: &RunView, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let (tone, text) = headline(view);
    sheet.headline(tone, &tie(&text))?;
    subline(view, sheet)?;
    footer::endings(sheet, &view.orders)?;
    if let Some(incomplete) = &view.incomplete {
        footer::incomplete(sheet, incomplete, &["run", "--resume"], &view.invocation)?;
    }
    for cause in view.causes.iter().take(CAUSES) {
        block(view, cause, sheet)?;
    }
    if view.causes.len() > CAUSES {
        sheet.gap()?;
        let more = wording::count(view.causes.len() - CAUSES, "more cause");
        sheet.plain(Tone::Dim, format!("and {more}: `--format json` has them all"))?;
    }
    sheet.gap()?;
    matrix(view, sheet)?;
    stable(view, sheet)?;
    sheet.gap()?;
    footer::bound(sheet, "bound", &view.bound)?;
    footer::coverage(sheet, &view.coverage)?;
    footer::weaknesses(sheet, &view.weaknesses)?;
    orders(&view.orders, sheet)?;
    Method {
        environment: &view.environment,
        executor: &view.executor,
        sandbox: &view.sandbox,
        switched_off: &view.switched_off,
        constraints: view.constraints,
        resumed: view.resumed,
        cost: &view.cost,
    }
    .write(sheet)
}

fn of_class(view: &RunView, class: Class) -> usize {
    view.tests.iter().filter(|t| t.class == class).count()
}

fn ran(view: &RunView) -> usize {
    view.orders.iter().filter(|o| !matches!(o.ending, EndingView::NotRun | EndingView::Interrupted)).count()
}

fn headline(view: &RunView) -> (Tone, String) {
    if view.tests.is_empty() {
        return (Tone::Warn, "there is no test to run".to_owned());
    }
    let total = wording::count(view.tests.len(), "test");
    let sensitive = of_class(view, Class::OrderSensitive);
    let flaky = of_class(view, Class::Flaky);
    let failing = of_class(view, Class::StableFail);
    let mut parts = Vec::new();
    if sensitive > 0 {
        let verb = if sensitive == 1 { "depends" } else { "depend" };
        parts.push(format!("{} of {total} {verb} on order", wording::thousands(sensitive as u64)));
    }
    if flaky > 0 {
        let verb = if flaky == 1 { "is" } else { "are" };
        let of = if sensitive > 0 { String::new() } else { format!(" of {total}") };
        parts.push(format!("{}{of} {verb} flaky", wording::thousands(flaky as u64)));
    }
    let found = !parts.is_empty();
    let covered = view.tests.iter().filter(|t| t.listed.as_ref().is_some_and(|l| l.covered)).count();
    let all_covered = covered > 0 && covered == sensitive + flaky;
    if all_covered {
        let each = if covered == 1 { "it is" } else { "all of them are" };
        parts.push(format!("{each} frozen or quarantined"));
    } else if covered > 0 {
        parts.push(format!("{} of them frozen or quarantined", wording::thousands(covered as u64)));
    }
    if failing > 0 {
        let verb = if failing == 1 { "fails" } else { "fail" };
        let of = if found { String::new() } else { format!(" of {total}") };
        parts.push(format!("{}{of} {verb} in every order", wording::thousands(failing as u64)));
    }
    let ended_badly = view
        .orders
        .iter()
        .any(|o| !matches!(o.ending, EndingView::Completed | EndingView::NotRun | EndingView::Interrupted));
    let (tone, text) = match (found, failing > 0 || ended_badly) {
        (true, _) => (if all_covered { Tone::Warn } else { Tone::Bad }, parts.join(", ")),
        (false, true) if parts.is_empty() => (Tone::Warn, "some orders did not run to their end".to_owned()),
        (false, true) => (Tone::Warn, format!("{}, none depends on order", parts.join(", "))),
        (false, false) => (
            Tone::Good,
            format!("no order dependence in {total} under {}", wording::count(ran(view), "order")),
        ),
    };
    match &view.incomplete {
        None => (tone, text),
        Some(incomplete) => {
            let tone = if tone == Tone::Good { Tone::Warn } else { tone };
            let missing = match incomplete.missing {
                0 => String::new(),
                n => format!(", {} missing", wording::count(n as usize, "order")),
            };
            (tone, format!("incomplete, {}{missing}; so far {text}", escape::text(&incomplete.why)))
        }
    }
}

fn subline(view: &RunView, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let mut parts =
        vec![escape::text(&view.project.name).into_owned(), escape::text(&view.tree).into_owned()];
    parts.push(wording::count(ran(view), "order"));
    parts.push(wording::duration(view.cost.wall));
    if let Some(sweep) = &view.sweep {
        parts.push(format!("sweep {}", escape::text(sweep)));
    }
    parts.retain(|p| !p.is_empty());
    let text = parts.join(sheet.dot());
    sheet.paragraph(2, Tone::Dim, &tie(&text))
}

fn block(view: &RunView, cause: &Cause, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let members: Vec<&TestView> = cause.members.iter().filter_map(|&at| view.tests.get(at)).collect();
    let Some(first) = members.first() else { return Ok(()) };
    let tests = wording::count(members.len(), "test");
    let (tone, remark) = match first.class {
        Class::OrderSensitive => (Tone::Bad, format!("{tests}{}", alone(view, first, members.len() > 1))),
        Class::Flaky => (Tone::Warn, format!("{tests}: two outcomes for one order, so chance and not order")),
        _ => (Tone::Warn, format!("{tests}: order is not the reason")),
    };
    let rows = match first.class {
        Class::OrderSensitive | Class::Flaky => vec![("", view.orders.as_slice(), &first.vector)],
        _ => Vec::new(),
    };
    let listed = listed(members.iter().map(|t| t.listed.as_ref()));
    let listed = listed.iter().map(String::as_str);
    Block {
        tone,
        title: wording::class(first.class).to_owned(),
        remark,
        ids: members.iter().map(|t| &t.id).collect(),
        rows,
        witness: &first.witness,
        notes: first.notes.iter().map(String::as_str).chain(cause.because.as_deref()).chain(listed).collect(),
        failure: first.failures.first().and_then(|f| view.failures.get(f.failure)),
        next: view.next(first),
    }
    .write(sheet)
}

/// What it means that the test passes or fails by itself (DESIGN section 1: victim, brittle); empty where unknown.
fn alone(view: &RunView, test: &TestView, several: bool) -> &'static str {
    let at = view.orders.iter().position(|o| o.label == OrderLabel::Alone);
    let outcome = at.and_then(|at| test.vector.0.get(at)).copied();
    let absent = test.vector.0.iter().any(|o| matches!(o, Outcome::Absent | Outcome::Crashed));
    match (outcome, several) {
        _ if absent => "",
        (Some(Outcome::Passed), true) => ": they pass alone, an earlier test breaks them",
        (Some(Outcome::Passed), false) => ": it passes alone, an earlier test breaks it",
        (Some(Outcome::Failed | Outcome::Error), true) => ": they fail alone, they need an earlier test",
        (Some(Outcome::Failed | Outcome::Error), false) => ": it fails alone, it needs an earlier test",
        _ => "",
    }
}

/// The rows that are not the same in every order, a few of each cause.
fn matrix(view: &RunView, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let interesting = |t: &&TestView| matches!(t.class, Class::OrderSensitive | Class::Flaky);
    let mut rows: Vec<(&TestView, usize)> = Vec::new();
    let mut causes = 0;
    for cause in view.causes.iter().take(CAUSES) {
        let members: Vec<&TestView> =
            cause.members.iter().filter_map(|&at| view.tests.get(at)).filter(interesting).collect();
        causes += usize::from(!members.is_empty());
        let hidden = members.len().saturating_sub(ROWS);
        let shown = members.len() - hidden;
        for (at, test) in members.into_iter().take(ROWS).enumerate() {
            rows.push((test, if at + 1 == shown { hidden } else { 0 }));
        }
    }
    // One cause has shown its vector already.
    if causes < 2 {
        return Ok(());
    }
    let longest = rows.iter().map(|(t, _)| t.id.raw().chars().count()).max().unwrap_or(0);
    let width = sheet.style.columns();
    let ids = longest.min((width / 3).max(20)) + 2;
    let columns = Columns::new(&view.orders, width.saturating_sub(ids + 2), sheet.style);
    // What the columns leave over belongs to the ids.
    let ids = (longest + 2).min(width.saturating_sub(columns.width() + 2)).max(ids);
    for stretch in &columns.stretches {
        sheet.line(&[(Tone::Dim, format!("{}{}", pad("matrix", ids), columns.header(stretch)))])?;
        for (test, hidden) in &rows {
            let id = shorten(&escape::id(&test.id.to_string()), ids - 2, sheet.ellipsis());
            let mut line = vec![(Tone::Plain, format!("  {}", pad(&id, ids - 2)))];
            line.extend(columns.cells(stretch, &test.vector));
            sheet.line(&line)?;
            if *hidden > 0 {
                let more = wording::thousands(*hidden as u64);
                sheet.plain(Tone::Dim, format!("  and {more} more with the same outcomes"))?;
            }
        }
    }
    let occurring: Vec<Outcome> =
        Outcome::ALL.into_iter().filter(|o| rows.iter().any(|(t, _)| t.vector.0.contains(o))).collect();
    sheet.plain(Tone::Dim, format!("  {}", glyph::legend(&occurring, sheet.style)))
}

fn stable(view: &RunView, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let mut parts = Vec::new();
    for (class, one, many) in [
        (Class::StablePass, "passes", "pass"),
        (Class::StableFail, "fails", "fail"),
        (Class::StableSkip, "is skipped or fails as declared", "are skipped or fail as declared"),
    ] {
        let number = of_class(view, class);
        if number > 0 {
            parts.push(format!(
                "{} {}",
                wording::thousands(number as u64),
                if number == 1 { one } else { many }
            ));
        }
    }
    if parts.is_empty() {
        return Ok(());
    }
    sheet.paragraph(0, Tone::Plain, &format!("The same in every order: {}.", parts.join(", ")))
}

/// How long orders took and what they cost in fixtures.
fn orders(orders: &[OrderView], sheet: &mut Sheet<'_>) -> io::Result<()> {
    let full: Vec<&OrderView> =
        orders.iter().filter(|o| o.label != OrderLabel::Alone && o.duration.is_some()).collect();
    let mut times: Vec<_> = full.iter().filter_map(|o| o.duration).collect();
    times.sort_unstable();
    let mut parts = Vec::new();
    if let (Some(median), Some(slowest)) =
        (times.get(times.len() / 2), full.iter().max_by_key(|o| o.duration))
    {
        parts.push(format!("median {}", wording::duration(*median)));
        if let Some(time) = slowest.duration.filter(|t| *t > median.mul_f64(1.2)) {
            parts.push(format!(
                "slowest {} ({})",
                wording::duration(time),
                escape::text(&slowest.label.to_string())
            ));
        }
    }
    if let Some(alone) = orders.iter().find(|o| o.label == OrderLabel::Alone).and_then(|o| o.duration) {
        parts.push(format!("alone {}", wording::duration(alone)));
    }
    let setups = |default: bool| {
        full.iter()
            .filter(move |o| (o.label == OrderLabel::Default) == default)
            .filter_map(|o| o.fixture_setups)
    };
    if let (Some(usual), Some(most)) = (setups(true).next(), setups(false).max()) {
        parts.push(format!(
            "fixtures set up {} in default, up to {} in others",
            wording::count(usual as usize, "time"),
            wording::thousands(u64::from(most))
        ));
    }
    if parts.is_empty() {
        return Ok(());
    }
    let text = parts.join(sheet.dot());
    sheet.entry(0, "orders", LABEL, &tie(&text))
}
