//! Outcome vectors under the names of their orders.

use std::ops::Range;

use anyorder_core::model::{OrderLabel, OutcomeVector};
use unicode_width::UnicodeWidthStr;

use super::glyph;
use super::sheet::{Piece, Tone, shorten};
use crate::Style;
use crate::escape;
use crate::view::OrderView;

/// The columns of a matrix, laid out for a width; several stretches when they don't fit side by side.
pub(super) struct Columns {
    headers: Vec<String>,
    /// A word that stands before the column: `seed` before the first of a row of seeds.
    marks: Vec<&'static str>,
    pub(super) stretches: Vec<Range<usize>>,
    style: Style,
}

impl Columns {
    /// Columns with full names where they fit into `available`, with short ones otherwise.
    pub(super) fn new(orders: &[OrderView], available: usize, style: Style) -> Self {
        let full = Self::layout(orders, available, style, false);
        if full.stretches.len() <= 1 { full } else { Self::layout(orders, available, style, true) }
    }

    fn layout(orders: &[OrderView], available: usize, style: Style, short: bool) -> Self {
        let headers: Vec<String> = orders.iter().map(|o| header(&o.label, short, style)).collect();
        let is_seed = |o: &OrderView| matches!(o.label, OrderLabel::Seed(_) | OrderLabel::SeedReverse(_));
        let marks: Vec<&'static str> = orders
            .iter()
            .enumerate()
            .map(
                |(at, o)| {
                    if !short && is_seed(o) && (at == 0 || !is_seed(&orders[at - 1])) { "seed" } else { "" }
                },
            )
            .collect();
        let mut columns = Self { headers, marks, stretches: Vec::new(), style };
        let mut start = 0;
        let mut used = 0;
        for at in 0..orders.len() {
            let wide = columns.width_of(at);
            if at > start && used + wide > available {
                columns.stretches.push(start..at);
                start = at;
                used = 0;
            }
            used += wide;
        }
        if start < orders.len() {
            columns.stretches.push(start..orders.len());
        }
        columns
    }

    /// Width of a column with the space before it.
    fn width_of(&self, at: usize) -> usize {
        let mark = self.marks[at].width();
        self.headers[at].width() + 1 + if mark > 0 { mark + 1 } else { 0 }
    }

    /// Width of the widest stretch.
    pub(super) fn width(&self) -> usize {
        self.stretches.iter().map(|s| s.clone().map(|at| self.width_of(at)).sum()).max().unwrap_or(0)
    }

    /// The names of a stretch.
    pub(super) fn header(&self, stretch: &Range<usize>) -> String {
        let mut line = String::new();
        for at in stretch.clone() {
            if !self.marks[at].is_empty() {
                line.push(' ');
                line.push_str(self.marks[at]);
            }
            line.push(' ');
            line.push_str(&self.headers[at]);
        }
        line
    }

    /// The cells of a stretch. A vector that ends before the columns do leaves them empty.
    pub(super) fn cells(&self, stretch: &Range<usize>, vector: &OutcomeVector) -> Vec<Piece> {
        let mut pieces = Vec::with_capacity(stretch.len() * 2);
        for at in stretch.clone() {
            pieces.push((Tone::Plain, " ".repeat(self.width_of(at) - 1)));
            pieces.push(match vector.0.get(at) {
                Some(&outcome) => (glyph::tone(outcome), glyph::glyph(outcome, self.style).to_string()),
                None => (Tone::Plain, " ".to_owned()),
            });
        }
        pieces
    }
}

fn header(label: &OrderLabel, short: bool, style: Style) -> String {
    let ellipsis = if style.unicode { "…" } else { "~" };
    let number = |n: String| shorten(&n, 8, ellipsis);
    match (label, short) {
        (OrderLabel::Default, true) => "def".to_owned(),
        (OrderLabel::Reverse, true) => "rev".to_owned(),
        (OrderLabel::Alone, true) => "alo".to_owned(),
        (OrderLabel::Seed(seed), _) => number(seed.to_string()),
        (OrderLabel::SeedReverse(seed), _) => number(format!("{seed}r")),
        (OrderLabel::List(name), _) => {
            shorten(&escape::id(name).replace(' ', "_"), if short { 4 } else { 12 }, ellipsis)
        }
        (other, false) => other.to_string(),
    }
}
