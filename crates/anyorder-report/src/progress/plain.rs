//! One line for each order that is over, for output that is no terminal.

use anyorder_core::model::Outcome;

use super::OrderDone;
use crate::terminal::glyph;
use crate::terminal::sheet::{Tone, paint};
use crate::{Style, escape, wording};

/// `seed:4  909 passed, 1 failed  1.2 s  (7 of 23)`.
pub fn order_line(done: &OrderDone, style: Style) -> String {
    let tree = if done.tree.is_empty() { String::new() } else { format!("{}  ", escape::text(&done.tree)) };
    let mut counts = Vec::new();
    for outcome in Outcome::ALL {
        let number: u32 = done.counts.iter().filter(|(o, _)| *o == outcome).map(|(_, n)| n).sum();
        if number > 0 {
            let text = format!("{} {}", wording::thousands(u64::from(number)), outcome.word());
            counts.push(paint(
                style,
                if outcome.is_bad() { glyph::tone(outcome) } else { Tone::Plain },
                &text,
            ));
        }
    }
    if counts.is_empty() {
        counts.push("no tests".to_owned());
    }
    let ending = match &done.ending {
        Some(how) => paint(style, Tone::Bad, &format!("  {}", escape::text(how))),
        None => String::new(),
    };
    let label = escape::text(&done.label.to_string()).into_owned();
    let place = paint(style, Tone::Dim, &format!("({} of {})", done.number, done.of));
    let time = wording::duration(done.duration);
    format!("{tree}{label}  {}  {time}  {place}{ending}", counts.join(", "))
}
