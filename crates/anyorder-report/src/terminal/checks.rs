//! The checks that are stored, a line each.

use std::io;

use unicode_width::UnicodeWidthStr;

use super::sheet::{Sheet, Tone, pad};
use crate::escape;
use crate::view::ChecksView;
use crate::wording;

pub(super) fn write(view: &ChecksView, sheet: &mut Sheet<'_>) -> io::Result<()> {
    if view.checks.is_empty() {
        return sheet.headline(Tone::Warn, "no check is stored yet: `anyorder check` makes one");
    }
    let wide = |text: &dyn Fn(&crate::view::StoredCheckView) -> usize| view.checks.iter().map(text).max();
    let id = wide(&|c| c.id.width()).unwrap_or(0);
    let verdict = wide(&|c| c.verdict.width()).unwrap_or(0);
    for check in &view.checks {
        let tone = match check.verdict.as_str() {
            "accept" => Tone::Good,
            "block" => Tone::Bad,
            _ => Tone::Warn,
        };
        let base = check.base.get(..12).unwrap_or(&check.base);
        let patches: Vec<String> = check.patches.iter().map(|p| escape::id(p)).collect();
        sheet.line(&[
            (Tone::Strong, pad(&escape::text(&check.id), id)),
            (Tone::Plain, format!("  {}  ", wording::moment(check.created_ms))),
            (tone, pad(&escape::text(&check.verdict), verdict)),
            (Tone::Plain, format!("  {} against {}", patches.join(", "), escape::text(base))),
        ])?;
    }
    sheet.gap()?;
    sheet.plain(Tone::Dim, "times are UTC; `anyorder show c1` shows one of them again")
}
