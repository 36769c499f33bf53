//! The matrix filling up: a cell an order, a row a test worth watching, and what is being done.

use std::ops::Range;

use anyorder_core::model::Outcome;
use unicode_width::UnicodeWidthStr;

use super::{ProgressOrder, ProgressView, gravity};
use crate::terminal::glyph;
use crate::terminal::sheet::{Piece, Tone, pad, paint, shorten};
use crate::{Style, escape, wording};

/// Rows shown at the most.
const ROWS: usize = 6;

/// The lines of a live display, each at most `style.width` columns (colour aside): a strip with a cell an order, a row
/// for each of the first tests worth watching, the figures, and what is being done.
pub fn lines(view: &ProgressView, style: Style) -> Vec<String> {
    let width = style.columns();
    let rows = &view.rows[..view.rows.len().min(ROWS)];
    let name = if view.tree.is_empty() { "orders" } else { view.tree.as_str() };
    let name = escape::text(name);
    let longest = rows.iter().map(|row| escape::id(&row.id.to_string()).width()).max().unwrap_or(0);
    let label_width = longest.max(name.width()).min(width * 2 / 5);
    let cells = cells(view.orders.len(), width.saturating_sub(label_width + 1));
    let ellipsis = if style.unicode { "…" } else { "..." };

    let mut lines = Vec::with_capacity(rows.len() + 3);
    let label = shorten(&name, label_width, ellipsis);
    let strip = cells.iter().map(|range| order_cell(&view.orders[range.clone()], style));
    lines.push(line(&label, label_width, strip, style));
    for row in rows {
        let label = shorten(&escape::id(&row.id.to_string()), label_width, ellipsis);
        let strip = cells.iter().map(|range| {
            let known = row.outcomes.get(range.start..range.end.min(row.outcomes.len())).unwrap_or(&[]);
            test_cell(known, style)
        });
        lines.push(line(&label, label_width, strip, style));
    }
    lines.push(fit(&figures(view, rows.len(), style), width, style));
    let doing = doing(view);
    if !doing.is_empty() {
        lines.push(fit(&[(Tone::Dim, doing)], width, style));
    }
    lines
}

/// Which orders each cell stands for: one, or as many as needed to fit.
fn cells(orders: usize, available: usize) -> Vec<Range<usize>> {
    let per = orders.div_ceil(available.max(1)).max(1);
    (0..orders).step_by(per).map(|start| start..(start + per).min(orders)).collect()
}

fn line(label: &str, label_width: usize, cells: impl Iterator<Item = (Tone, char)>, style: Style) -> String {
    let mut line = format!("{} ", pad(label, label_width));
    for (tone, cell) in cells {
        line.push_str(&paint(style, tone, cell.encode_utf8(&mut [0; 4])));
    }
    line
}

/// Over and well, over and not, under way by eighths (tenths in ASCII), waiting.
fn order_cell(orders: &[ProgressOrder], style: Style) -> (Tone, char) {
    let worst = orders.iter().filter_map(|o| o.worst).max_by_key(|&o| gravity(o));
    let bad = worst.filter(|o| o.is_bad());
    if orders.iter().all(|o| o.over) {
        return match bad {
            Some(outcome) => (Tone::Bad, glyph::glyph(outcome, style)),
            None => (Tone::Good, if style.unicode { '█' } else { '#' }),
        };
    }
    let sum = |of: fn(&ProgressOrder) -> u32| orders.iter().map(of).map(u64::from).sum::<u64>();
    let (ended, planned) = (sum(|o| o.ended), sum(|o| o.planned).max(1));
    let begun = ended > 0 || orders.iter().any(|o| o.over);
    if !begun {
        return (Tone::Dim, if style.unicode { '·' } else { '.' });
    }
    let steps: &[char] = if style.unicode {
        &['▁', '▂', '▃', '▄', '▅', '▆', '▇']
    } else {
        &['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']
    };
    let at = usize::try_from(ended.min(planned) * steps.len() as u64 / planned).unwrap_or(0);
    let tone = if bad.is_some() { Tone::Bad } else { Tone::Plain };
    (tone, steps[at.min(steps.len() - 1)])
}

fn test_cell(outcomes: &[Option<Outcome>], style: Style) -> (Tone, char) {
    match outcomes.iter().flatten().copied().max_by_key(|&o| gravity(o)) {
        Some(outcome) => (glyph::tone(outcome), glyph::glyph(outcome, style)),
        None => (Tone::Dim, if style.unicode { '·' } else { '.' }),
    }
}

/// `7 of 23 orders · 12 s · about 31 s left · 3 tests to look at`.
fn figures(view: &ProgressView, shown: usize, style: Style) -> Vec<Piece> {
    let dot = if style.unicode { " · " } else { ", " };
    let over = view.orders.iter().filter(|o| o.over).count();
    let mut pieces =
        vec![(Tone::Strong, format!("{over} of {}", wording::count(view.orders.len(), "order")))];
    pieces.push((Tone::Plain, format!("{dot}{}", wording::duration(view.elapsed))));
    if let Some(left) = view.left {
        pieces.push((Tone::Plain, format!("{dot}about {} left", wording::duration(left))));
    }
    if view.suspects > 0 {
        let suspects = wording::count(view.suspects as usize, "test");
        let hidden = (view.suspects as usize).saturating_sub(shown);
        let more = if hidden > 0 && shown > 0 {
            format!(" ({} not shown)", wording::thousands(hidden as u64))
        } else {
            String::new()
        };
        pieces.push((Tone::Plain, dot.to_owned()));
        pieces.push((Tone::Warn, format!("{suspects} to look at{more}")));
    }
    pieces
}

/// `seed:7 412/909, seed:8 88/909; telling order from chance`.
fn doing(view: &ProgressView) -> String {
    let running: Vec<String> = view
        .orders
        .iter()
        .filter(|o| !o.over && o.ended > 0)
        .take(3)
        .map(|o| format!("{} {}/{}", escape::text(&o.label.to_string()), o.ended, o.planned))
        .collect();
    let activity = escape::text(&view.activity);
    match (running.is_empty(), activity.is_empty()) {
        (true, _) => activity.into_owned(),
        (false, true) => running.join(", "),
        (false, false) => format!("{activity}: {}", running.join(", ")),
    }
}

/// Pieces cut at the end to fit.
fn fit(pieces: &[Piece], width: usize, style: Style) -> String {
    let mut line = String::new();
    let mut room = width;
    for (tone, text) in pieces {
        let wide = text.width();
        if wide <= room {
            line.push_str(&paint(style, *tone, text));
            room -= wide;
            continue;
        }
        let mut cut = String::new();
        for c in text.chars() {
            let wide = unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
            if wide > room {
                break;
            }
            room -= wide;
            cut.push(c);
        }
        line.push_str(&paint(style, *tone, &cut));
        break;
    }
    line
}
