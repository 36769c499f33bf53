//! Untrusted text on a terminal or in a CI log: everything that could steer the reader's program, or mislead the
//! reader, is shown and not obeyed.
//!
//! * C0, C1, DEL, bidirectional controls, zero-width and other invisible characters become `\n`, `\x1b`,
//!   `\u{202e}` (PROMISES S6, CWE-150).
//! * `::` where a word starts becomes `\x3a:`, and the `#` of `##[`, `##vso[` and `##teamcity[` becomes `\x23`: CI
//!   runners look for commands at the start of a line after white space, and for some of them anywhere (PROMISES S4).

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character would steer a terminal or hide from a reader.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Whether `rest` begins what some CI runner takes for a command.
fn starts_command(rest: &str, at_word: bool) -> bool {
    (at_word && rest.starts_with("::"))
        || ["##[", "##vso[", "##teamcity["].iter().any(|prefix| rest.starts_with(prefix))
}

fn needs_escape(raw: &str) -> bool {
    raw.chars().any(is_hidden) || raw.contains("##") || raw.contains("::")
}

/// The text on one line, with everything unsafe escaped.
pub fn text(raw: &str) -> Cow<'_, str> {
    if !needs_escape(raw) {
        return Cow::Borrowed(raw);
    }
    let mut shown = String::with_capacity(raw.len() + 8);
    let mut at_word = true;
    for (at, c) in raw.char_indices() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if is_hidden(c) || (matches!(c, ':' | '#') && starts_command(&raw[at..], at_word)) => {
                push_code(&mut shown, c);
            }
            c => shown.push(c),
        }
        at_word = c.is_whitespace();
    }
    Cow::Owned(shown)
}

/// As [`text`], with the line breaks of the text kept: for messages of our own that quote untrusted text.
pub fn lines(raw: &str) -> String {
    raw.split('\n').map(text).collect::<Vec<_>>().join("\n")
}

fn push_code(shown: &mut String, c: char) {
    let code = u32::from(c);
    // Writing to a `String` cannot fail.
    _ = if code <= 0xff { write!(shown, "\\x{code:02x}") } else { write!(shown, "\\u{{{code:x}}}") };
}

/// An id as [`text`], and so that its ends can be seen: an empty one is `''`, an outer space `\x20`.
pub fn id(raw: &str) -> String {
    if raw.is_empty() {
        return "''".to_owned();
    }
    let inner = raw.trim_matches(' ');
    if inner.is_empty() {
        return "\\x20".repeat(raw.len());
    }
    let before = raw.len() - raw.trim_start_matches(' ').len();
    let after = raw.len() - before - inner.len();
    format!("{}{}{}", "\\x20".repeat(before), text(inner), "\\x20".repeat(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_ids_are_shown_as_they_are() {
        for raw in ["tests/test_a.py::TestX::test_y[é-日本-1]", "a b", "#1 fixes #2", "C:\\x"] {
            assert_eq!(text(raw), raw);
            assert_eq!(id(raw), raw);
        }
    }

    #[test]
    fn what_steers_a_terminal_is_shown_as_its_code() {
        assert_eq!(text("\u{1b}[2J\u{7}\u{9b}31m\u{7f}"), "\\x1b[2J\\x07\\x9b31m\\x7f");
        assert_eq!(text("a\nb\r\tc\0"), "a\\nb\\r\\tc\\x00");
        assert_eq!(text("\u{202e}evil\u{200b}\u{feff}"), "\\u{202e}evil\\u{200b}\\u{feff}");
    }

    #[test]
    fn what_a_ci_runner_would_obey_is_shown_as_its_code() {
        assert_eq!(text("::error::x"), "\\x3a:error::x");
        assert_eq!(text("a ::error::x"), "a \\x3a:error::x");
        assert_eq!(text("a##[error]x"), "a\\x23#[error]x");
        assert_eq!(text("##vso[x]"), "\\x23#vso[x]");
        assert_eq!(text("t.py::test"), "t.py::test");
    }

    #[test]
    fn lines_are_kept_and_each_is_made_harmless() {
        assert_eq!(lines("error: a\n::error::b\u{1b}[2J\n"), "error: a\n\\x3a:error::b\\x1b[2J\n");
    }

    #[test]
    fn the_ends_of_an_id_can_be_seen() {
        assert_eq!(id(""), "''");
        assert_eq!(id(" a "), "\\x20a\\x20");
        assert_eq!(id("  "), "\\x20\\x20");
    }
}
