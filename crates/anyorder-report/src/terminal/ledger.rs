//! What a command of the ledger did and found.

use std::io;

use anyorder_core::ledger::{Entry, Standing};
use anyorder_core::model::Signature;

use super::sheet::{Sheet, Tone, tie};
use crate::escape;
use crate::view::{Done, EntryView, LedgerCommand, LedgerView, ListedView};
use crate::wording;

/// Width of the words before the paragraphs of an entry.
const LABEL: usize = 4;
/// Failures shown of one entry.
const FAILURES: usize = 3;

pub(super) fn write(view: &LedgerView, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let (tone, text) = headline(view);
    sheet.headline(tone, &tie(&text))?;
    let mut parts = vec![escape::text(&view.project.name).into_owned()];
    parts.push(escape::text(&view.file).into_owned());
    parts.push(view.today.to_string());
    if let Some(measured) = &view.measured {
        let orders = wording::count(measured.orders, "order");
        let from = if measured.stored { "taken from" } else { "measured in" };
        parts.push(format!("{from} sweep {}, {orders}", escape::text(&measured.sweep)));
    }
    parts.retain(|p| !p.is_empty());
    let text = parts.join(sheet.dot());
    sheet.paragraph(2, Tone::Dim, &tie(&text))?;
    // Whoever checks wants to know what to do.
    let told = |e: &&EntryView| view.command != LedgerCommand::Check || !e.standing.protects();
    for entry in view.entries.iter().filter(told) {
        self::entry(entry, view.command, sheet)?;
    }
    for refused in &view.refused {
        sheet.gap()?;
        sheet.line(&[
            (Tone::Bad, "refused".to_owned()),
            (Tone::Plain, "  ".to_owned()),
            (Tone::Strong, escape::id(&refused.test.to_string())),
        ])?;
        sheet.entry(2, "why", LABEL, &escape::text(&refused.why))?;
        sheet.entry(2, "next", LABEL, &escape::text(&refused.advice))?;
    }
    if view.passed_over > 0 {
        sheet.gap()?;
        let tests = wording::count(view.passed_over, "test");
        let what = if view.command == LedgerCommand::Freeze { "order-sensitive" } else { "flaky" };
        sheet.paragraph(0, Tone::Dim, &format!("{tests} that a pattern matched: not {what}, passed over"))?;
    }
    Ok(())
}

fn headline(view: &LedgerView) -> (Tone, String) {
    let number = |standing: &dyn Fn(&Standing) -> bool| {
        view.entries.iter().filter(|e| e.done != Some(Done::Dropped) && standing(&e.standing)).count()
    };
    let done = |done| view.entries.iter().filter(|e| e.done == Some(done)).count();
    let of = |n: usize, what: &str| (n > 0).then(|| format!("{} {what}", wording::thousands(n as u64)));
    let joined = |parts: Vec<Option<String>>| parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    match view.command {
        LedgerCommand::List | LedgerCommand::Check => {
            if view.entries.is_empty() {
                return (Tone::Good, "nothing is frozen or quarantined".to_owned());
            }
            let text = joined(vec![
                of(number(&|s| matches!(s, Standing::Expired { .. })), "expired"),
                of(number(&|s| matches!(s, Standing::Lapsed { .. })), "lapsed"),
                of(number(&|s| *s == Standing::Gone), "gone"),
            ]);
            let all = wording::count(view.entries.len(), "entry").replace("entrys", "entries");
            if text.is_empty() {
                (Tone::Good, format!("{all}, each of them protects"))
            } else {
                (Tone::Bad, format!("{text}, of {all}"))
            }
        }
        LedgerCommand::Prune => match done(Done::Dropped) {
            0 => (Tone::Good, "nothing to drop".to_owned()),
            1 => (Tone::Good, "1 entry dropped".to_owned()),
            n => (Tone::Good, format!("{} entries dropped", wording::thousands(n as u64))),
        },
        LedgerCommand::Freeze | LedgerCommand::Quarantine => {
            let verb = if view.command == LedgerCommand::Freeze { "frozen" } else { "quarantined" };
            let text = joined(vec![
                of(done(Done::Written), verb),
                of(done(Done::Renewed), "measured again and renewed"),
                of(view.refused.len(), "refused"),
            ]);
            let tone = if view.refused.is_empty() { Tone::Good } else { Tone::Bad };
            (tone, if text.is_empty() { format!("nothing {verb}") } else { text })
        }
    }
}

fn entry(view: &EntryView, command: LedgerCommand, sheet: &mut Sheet<'_>) -> io::Result<()> {
    sheet.gap()?;
    let word = match view.done {
        Some(done) => format!("{} {}", view.entry.word(), done.word()),
        None => view.entry.word().to_owned(),
    };
    let tone = if view.standing.protects() { Tone::Good } else { Tone::Bad };
    sheet.line(&[
        (tone, word),
        (Tone::Plain, "  ".to_owned()),
        (Tone::Strong, escape::id(&view.entry.test().to_string())),
    ])?;
    if !view.standing.protects() {
        sheet.entry(2, "now", LABEL, &view.standing.to_string())?;
    }
    sheet.entry(2, "what", LABEL, &tie(&escape::text(&wording::entry(&view.entry))))?;
    sheet.entry(2, "why", LABEL, &tie(&measured(&view.entry)))?;
    if command != LedgerCommand::Check {
        failures(view.entry.signatures(), sheet)?;
    }
    if let Entry::Frozen(frozen) = &view.entry {
        if let Some(renewed) = &frozen.renewed {
            let text = format!("since {}: {}", renewed.since, renewed.compared);
            sheet.entry(2, "then", LABEL, &tie(&text))?;
        }
        for polluter in &frozen.polluters {
            sheet.entry(2, "who", LABEL, &escape::id(&polluter.to_string()))?;
        }
    }
    for note in &view.notes {
        sheet.entry(2, "note", LABEL, &escape::text(note))?;
    }
    for (at, command) in view.next.iter().enumerate() {
        sheet.line(&[
            (Tone::Plain, "  ".to_owned()),
            (Tone::Strong, super::sheet::pad(if at == 0 { "next" } else { "" }, LABEL)),
            (Tone::Plain, "  ".to_owned()),
            (Tone::Command, command.clone()),
        ])?;
    }
    Ok(())
}

/// What the ledger says of tests that are told together, each text once; empty where none has an entry.
pub(super) fn listed<'a>(members: impl Iterator<Item = Option<&'a ListedView>>) -> Vec<String> {
    let mut all = 0;
    let mut texts: Vec<(&str, usize)> = Vec::new();
    for member in members {
        all += 1;
        let Some(listed) = member else { continue };
        match texts.iter_mut().find(|(text, _)| *text == listed.text) {
            Some((_, number)) => *number += 1,
            None => texts.push((&listed.text, 1)),
        }
    }
    let of_them = |number: usize, text: &str| match number {
        n if n == all => text.to_owned(),
        n => format!("{} of them {text}", wording::thousands(n as u64)),
    };
    texts.into_iter().map(|(text, number)| of_them(number, text)).collect()
}

/// `2026-12-01: failed in 9 of 23 orders, 20 independent seeds among them`.
fn measured(entry: &Entry) -> String {
    match entry {
        Entry::Frozen(frozen) => {
            let outcomes = &frozen.recorded.vector().0;
            let failed = outcomes.iter().filter(|o| !o.passed()).count();
            format!(
                "did not pass in {failed} of {}, measured on {}; {} among them",
                wording::count(outcomes.len(), "order"),
                frozen.frozen_at,
                wording::count(frozen.recorded.seeds(), "independent seed"),
            )
        }
        Entry::Quarantined(quarantined) => {
            let outcomes = &quarantined.chance.outcomes().0;
            let failed = outcomes.iter().filter(|o| !o.passed()).count();
            format!(
                "did not pass in {failed} of {} of one order ({}), measured on {}",
                wording::count(outcomes.len(), "run"),
                escape::text(&quarantined.chance.order().to_string()),
                quarantined.quarantined_at,
            )
        }
    }
}

fn failures(signatures: &[Signature], sheet: &mut Sheet<'_>) -> io::Result<()> {
    for (at, signature) in signatures.iter().take(FAILURES).enumerate() {
        sheet.entry(2, if at == 0 { "how" } else { "" }, LABEL, &escape::text(&signature.0))?;
    }
    if signatures.len() > FAILURES {
        let more = wording::count(signatures.len() - FAILURES, "more failure");
        sheet.entry(2, "", LABEL, &format!("and {more}"))?;
    }
    Ok(())
}
