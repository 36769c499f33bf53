//! What was found on this machine.

use std::io;

use unicode_width::UnicodeWidthStr;

use super::footer::{self, LABEL};
use super::sheet::{Sheet, Tone};
use crate::escape;
use crate::view::{DoctorView, Health};
use crate::wording;

pub(super) fn write(view: &DoctorView, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let worst = view.rows.iter().map(|r| r.health).max().unwrap_or(Health::Good);
    let name = escape::id(&view.project.name);
    let (tone, text) = match worst {
        Health::Good => (Tone::Good, format!("{name} can be measured")),
        Health::Limited => (Tone::Warn, format!("{name} can be measured, with less than there could be")),
        Health::Bad => (Tone::Bad, format!("{name} can't be measured as it is")),
    };
    sheet.headline(tone, &text)?;
    let version = format!("anyorder {}", escape::text(&view.version));
    sheet.paragraph(
        2,
        Tone::Dim,
        &[version, escape::text(&view.project.root).into_owned()].join(sheet.dot()),
    )?;
    sheet.gap()?;
    let longest = view.rows.iter().map(|row| UnicodeWidthStr::width(&*escape::text(&row.name))).max();
    let label_width = longest.unwrap_or(0).clamp(LABEL - 2, 24);
    for row in &view.rows {
        let (glyph, tone) = mark(row.health, sheet.style.unicode);
        let label = escape::text(&row.name).into_owned();
        sheet.line(&[
            (tone, format!("{glyph} ")),
            (Tone::Strong, super::sheet::pad(&label, label_width)),
            (Tone::Plain, format!("  {}", escape::text(&row.found))),
        ])?;
        for detail in &row.details {
            sheet.paragraph(label_width + 4, Tone::Dim, &escape::text(detail))?;
        }
        if let Some(advice) = &row.advice {
            sheet.paragraph(label_width + 4, Tone::Command, &escape::text(advice))?;
        }
    }
    sheet.gap()?;
    if let Some(tests) = view.tests {
        sheet.entry(0, "tests", LABEL, &wording::count(tests, "test"))?;
    }
    if let Some(environment) = &view.environment {
        footer::environment(sheet, environment)?;
        let plugins: Vec<String> =
            environment.plugins.iter().map(|(name, version)| format!("{name} {version}")).collect();
        if !plugins.is_empty() {
            sheet.entry(0, "plugins", LABEL, &escape::text(&plugins.join(", ")))?;
        }
    }
    footer::switched_off(sheet, &view.switched_off)?;
    if let Some(executor) = &view.executor {
        footer::executor(sheet, executor)?;
    }
    if let Some(sandbox) = &view.sandbox {
        footer::sandbox(sheet, sandbox)?;
    }
    Ok(())
}

fn mark(health: Health, unicode: bool) -> (&'static str, Tone) {
    match (health, unicode) {
        (Health::Good, true) => ("✓", Tone::Good),
        (Health::Good, false) => ("+", Tone::Good),
        (Health::Limited, _) => ("!", Tone::Warn),
        (Health::Bad, true) => ("✗", Tone::Bad),
        (Health::Bad, false) => ("X", Tone::Bad),
    }
}
