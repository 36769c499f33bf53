//! Untrusted text on a terminal: everything that could steer it, or mislead its reader, is shown and not obeyed.
//!
//! PROMISES S6 (CWE-150): C0, C1, DEL, bidirectional controls, zero-width and other format characters become
//! `\n`, `\x1b` or `\u{202e}`.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character would steer a terminal or hide from a reader.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// The text with everything unsafe escaped, on one line: a newline becomes `\n`.
pub fn text(raw: &str) -> Cow<'_, str> {
    if !raw.chars().any(is_unsafe) {
        return Cow::Borrowed(raw);
    }
    let mut shown = String::with_capacity(raw.len() + 8);
    for c in raw.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if !is_unsafe(c) => shown.push(c),
            c if u32::from(c) <= 0xff => _ = write!(shown, "\\x{:02x}", u32::from(c)),
            c => _ = write!(shown, "\\u{{{:x}}}", u32::from(c)),
        }
    }
    Cow::Owned(shown)
}
