//! Outcomes as single characters. Each has its own shape, so nothing is said by colour alone.

use anyorder_core::model::Outcome;

use super::sheet::Tone;
use crate::Style;

/// The character for an outcome: its letter, except that the two common ones are drawn where Unicode is at hand.
pub(crate) fn glyph(outcome: Outcome, style: Style) -> char {
    match outcome {
        Outcome::Passed if style.unicode => '✓',
        Outcome::Failed if style.unicode => '✗',
        other => other.letter(),
    }
}

/// The tone for an outcome.
pub(crate) fn tone(outcome: Outcome) -> Tone {
    match outcome {
        Outcome::Passed => Tone::Good,
        Outcome::Failed | Outcome::Error | Outcome::Timeout | Outcome::Crashed | Outcome::Absent => Tone::Bad,
        Outcome::Skipped | Outcome::Xfailed => Tone::Dim,
        Outcome::Xpassed => Tone::Warn,
    }
}

/// `✓ passed  ✗ failed` for the outcomes that occur.
pub(crate) fn legend(occurring: &[Outcome], style: Style) -> String {
    let known: Vec<String> = Outcome::ALL
        .iter()
        .filter(|outcome| occurring.contains(outcome))
        .map(|&outcome| format!("{} {}", glyph(outcome, style), outcome.word()))
        .collect();
    known.join("  ")
}
