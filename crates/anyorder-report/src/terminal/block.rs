//! One cause: its tests, their vector, why we believe it, how it fails, what to do next.

use std::io;

use anyorder_core::model::{Excerpt, OutcomeVector, TestId};

use super::columns::Columns;
use super::sheet::{Sheet, Tone, pad, tie};
use super::witness;
use crate::view::{FailureView, OrderView, Witness};
use crate::wording;
use crate::{escape, telling};

/// Ids shown of one cause.
const IDS: usize = 3;
/// Lines shown of one failure's text.
const EXCERPT: usize = 8;
/// Width of the words before the paragraphs of a block.
const LABEL: usize = 4;

/// What a block shows, whichever command it is for.
pub(super) struct Block<'a> {
    pub(super) tone: Tone,
    /// `order-sensitive`, `introduced`.
    pub(super) title: String,
    /// Said after the title.
    pub(super) remark: String,
    pub(super) ids: Vec<&'a TestId>,
    /// A name of the row (empty when there is one), its columns, its outcomes.
    pub(super) rows: Vec<(&'static str, &'a [OrderView], &'a OutcomeVector)>,
    pub(super) witness: &'a Witness,
    pub(super) notes: Vec<&'a str>,
    pub(super) failure: Option<&'a FailureView>,
    /// What to type next.
    pub(super) next: Vec<String>,
}

impl Block<'_> {
    pub(super) fn write(&self, sheet: &mut Sheet<'_>) -> io::Result<()> {
        sheet.gap()?;
        sheet.line(&[(self.tone, self.title.clone()), (Tone::Plain, format!("  {}", self.remark))])?;
        for id in self.ids.iter().take(IDS) {
            sheet.line(&[(Tone::Plain, "  ".to_owned()), (Tone::Strong, escape::id(&id.to_string()))])?;
        }
        if self.ids.len() > IDS {
            let more = wording::thousands((self.ids.len() - IDS) as u64);
            sheet.plain(Tone::Dim, format!("  and {more} more with the same outcomes"))?;
        }
        self.vectors(sheet)?;
        let why = witness::sentence(self.witness);
        if !why.is_empty() {
            sheet.entry(2, "why", LABEL, &tie(&why))?;
        }
        for note in &self.notes {
            sheet.entry(2, "note", LABEL, &escape::text(note))?;
        }
        self.minimal(sheet)?;
        if let Some(failure) = self.failure {
            let phase = failure.phase.map(|p| format!(" (in {})", p.word())).unwrap_or_default();
            sheet.entry(2, "how", LABEL, &format!("{}{phase}", escape::text(&failure.signature)))?;
            excerpt(sheet, &failure.text)?;
        }
        self.next(sheet)
    }

    fn vectors(&self, sheet: &mut Sheet<'_>) -> io::Result<()> {
        let name_width = self.rows.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
        // Columns bring a space of their own.
        let indent = if name_width == 0 { " " } else { "  " };
        let available = sheet.style.columns().saturating_sub(2 + name_width);
        let mut at = 0;
        while let Some((_, orders, _)) = self.rows.get(at) {
            // Rows with the same columns stand under one header.
            let labels = |o: &[OrderView]| o.iter().map(|o| o.label.clone()).collect::<Vec<_>>();
            let same =
                self.rows[at..].iter().take_while(|(_, other, _)| labels(other) == labels(orders)).count();
            let columns = Columns::new(orders, available, sheet.style);
            for stretch in &columns.stretches {
                sheet.plain(
                    Tone::Dim,
                    format!("{indent}{}{}", pad("", name_width), columns.header(stretch)),
                )?;
                for (name, _, vector) in &self.rows[at..at + same] {
                    let mut line = vec![(Tone::Plain, format!("{indent}{}", pad(name, name_width)))];
                    line.extend(columns.cells(stretch, vector));
                    sheet.line(&line)?;
                }
            }
            at += same;
        }
        Ok(())
    }

    fn minimal(&self, sheet: &mut Sheet<'_>) -> io::Result<()> {
        let order = &self.witness.minimal_order;
        if order.len() < 2 {
            return Ok(());
        }
        let fails = self.witness.seen.iter().any(|s| s.tests == *order && s.not_passed().is_some());
        let passes = !fails && self.witness.seen.iter().any(|s| s.tests == *order);
        let shows = if passes {
            "the shortest order in which it passes:"
        } else {
            "the shortest order that shows it:"
        };
        sheet.entry(2, "who", LABEL, shows)?;
        for (at, id) in order.iter().enumerate() {
            let line = format!("        {}. {}", at + 1, escape::id(&id.to_string()));
            sheet.plain(Tone::Plain, line)?;
        }
        Ok(())
    }

    fn next(&self, sheet: &mut Sheet<'_>) -> io::Result<()> {
        for (at, command) in self.next.iter().enumerate() {
            sheet.line(&[
                (Tone::Plain, "  ".to_owned()),
                (Tone::Strong, pad(if at == 0 { "next" } else { "" }, LABEL)),
                (Tone::Plain, "  ".to_owned()),
                (Tone::Command, command.clone()),
            ])?;
        }
        Ok(())
    }
}

fn excerpt(sheet: &mut Sheet<'_>, text: &Excerpt) -> io::Result<()> {
    let shown = telling::lines(text, EXCERPT);
    let (bar, room) = (sheet.bar(), sheet.style.columns().saturating_sub(12));
    for line in shown {
        let line = super::sheet::shorten(&escape::text(line.trim_end()), room, sheet.ellipsis());
        sheet.plain(Tone::Dim, format!("        {bar}{line}"))?;
    }
    let kept = (text.head.len() + text.tail.len()) as u64;
    if text.total_bytes > kept {
        let total = wording::thousands(text.total_bytes);
        sheet.plain(Tone::Dim, format!("        {bar}({total} bytes in all)"))?;
    }
    Ok(())
}
