//! Lines with colour and width. All text handed to it is escaped already.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style as Ansi};
use unicode_width::UnicodeWidthStr;

use crate::Style;

/// What a piece of text means; the colour follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Strong,
    Dim,
    Good,
    Warn,
    Bad,
    /// Something to type.
    Command,
}

impl Tone {
    fn ansi(self) -> Ansi {
        let color = |color: AnsiColor| Ansi::new().fg_color(Some(color.into()));
        match self {
            Self::Plain => Ansi::new(),
            Self::Strong => Ansi::new().bold(),
            Self::Dim => Ansi::new().dimmed(),
            Self::Good => color(AnsiColor::Green),
            Self::Warn => color(AnsiColor::Yellow),
            Self::Bad => color(AnsiColor::Red),
            Self::Command => color(AnsiColor::Cyan),
        }
    }

    /// The same, for a headline.
    fn bold(self) -> Ansi {
        self.ansi().bold()
    }
}

/// A piece of a line.
pub(crate) type Piece = (Tone, String);

/// Paints one text, where colour is wanted.
pub(crate) fn paint(style: Style, tone: Tone, text: &str) -> String {
    if !style.color || tone == Tone::Plain || text.is_empty() {
        return text.to_owned();
    }
    let ansi = tone.ansi();
    format!("{ansi}{text}{ansi:#}")
}

/// Where lines go.
pub(crate) struct Sheet<'a> {
    out: &'a mut dyn Write,
    pub(crate) style: Style,
}

impl<'a> Sheet<'a> {
    pub(crate) fn new(out: &'a mut dyn Write, style: Style) -> Self {
        Self { out, style }
    }

    /// An empty line.
    pub(crate) fn gap(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    /// One line, however long. Space at its end is left out.
    pub(crate) fn line(&mut self, pieces: &[Piece]) -> io::Result<()> {
        let last = pieces.iter().rposition(|(_, text)| !text.trim_end().is_empty());
        for (at, (tone, text)) in pieces.iter().enumerate().take(last.map_or(0, |l| l + 1)) {
            let text = if Some(at) == last { text.trim_end() } else { text };
            write!(self.out, "{}", paint(self.style, *tone, text))?;
        }
        writeln!(self.out)
    }

    /// One line in one tone.
    pub(crate) fn plain(&mut self, tone: Tone, text: impl Into<String>) -> io::Result<()> {
        self.line(&[(tone, text.into())])
    }

    /// The line that says it all.
    pub(crate) fn headline(&mut self, tone: Tone, text: &str) -> io::Result<()> {
        let glyph = match (tone, self.style.unicode) {
            (Tone::Good, true) => "✓ ",
            (Tone::Bad, true) => "✗ ",
            (Tone::Good, false) => "ok: ",
            (Tone::Bad, false) => "!! ",
            _ => "! ",
        };
        let lines = wrap(text, self.style.columns().saturating_sub(4));
        for (at, line) in lines.iter().enumerate() {
            let start = if at == 0 { glyph } else { "  " };
            if self.style.color {
                let ansi = tone.bold();
                writeln!(self.out, "{ansi}{start}{line}{ansi:#}")?;
            } else {
                writeln!(self.out, "{start}{line}")?;
            }
        }
        Ok(())
    }

    /// A paragraph, wrapped, each line indented.
    pub(crate) fn paragraph(&mut self, indent: usize, tone: Tone, text: &str) -> io::Result<()> {
        for line in wrap(text, self.style.columns().saturating_sub(indent)) {
            self.line(&[(Tone::Plain, " ".repeat(indent)), (tone, line)])?;
        }
        Ok(())
    }

    /// `Label  text`, the text wrapped beside the label.
    pub(crate) fn entry(
        &mut self,
        indent: usize,
        label: &str,
        label_width: usize,
        text: &str,
    ) -> io::Result<()> {
        let start = indent + label_width + 2;
        for (at, line) in wrap(text, self.style.columns().saturating_sub(start)).into_iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            self.line(&[
                (Tone::Plain, " ".repeat(indent)),
                (Tone::Strong, pad(label, label_width)),
                (Tone::Plain, "  ".to_owned()),
                (Tone::Plain, line),
            ])?;
        }
        Ok(())
    }

    /// The character between items of one line.
    pub(crate) fn dot(&self) -> &'static str {
        if self.style.unicode { " · " } else { ", " }
    }

    /// What stands where text was left out.
    pub(crate) fn ellipsis(&self) -> &'static str {
        if self.style.unicode { "…" } else { "..." }
    }

    /// What stands before a quoted line.
    pub(crate) fn bar(&self) -> &'static str {
        if self.style.unicode { "│ " } else { "| " }
    }
}

/// Text filled up with spaces to a width.
pub(crate) fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// Text with its middle left out where it is wider than `width`.
pub(crate) fn shorten(text: &str, width: usize, ellipsis: &str) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(ellipsis.width());
    let tail_room = room.div_ceil(2).max(room * 3 / 5);
    let head = take_width(text.chars(), room - tail_room);
    let tail: String = take_width(text.chars().rev(), tail_room).chars().rev().collect();
    format!("{head}{ellipsis}{tail}")
}

fn take_width(chars: impl Iterator<Item = char>, room: usize) -> String {
    let mut taken = String::new();
    let mut used = 0;
    for c in chars {
        used += unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
        if used > room {
            break;
        }
        taken.push(c);
    }
    taken
}

/// Text in lines of at most `width` columns, broken at spaces; a longer word stands alone and whole.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let wide = word.width();
        if used > 0 && used + 1 + wide > width {
            lines.push(String::new());
            used = 0;
        }
        if let Some(line) = lines.last_mut() {
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            line.push_str(word);
        }
        used += wide;
    }
    // `13.9 %` and `1.2 s` must not be torn: a no-break space holds them together until here.
    lines.iter().map(|line| line.replace('\u{a0}', " ")).collect()
}

/// A text in which figures stay beside their units when it is wrapped.
pub(crate) fn tie(text: &str) -> String {
    let mut tied = String::with_capacity(text.len());
    let mut before_space = false;
    for (at, c) in text.char_indices() {
        let unit = c == ' ' && before_space && {
            let after = &text[at + 1..];
            let word = after.split([' ', ',', '.', ':', ';', ')']).next().unwrap_or("");
            matches!(word, "%" | "s" | "ms" | "min" | "h")
        };
        tied.push(if unit { '\u{a0}' } else { c });
        before_space = c.is_ascii_digit();
    }
    tied
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_left_out_and_the_width_kept() {
        assert_eq!(shorten("tests/test_user.py::test_count", 20, "…"), "tests/te…:test_count");
        assert_eq!(shorten("short", 20, "…"), "short");
        for width in 5..30 {
            assert!(shorten("日本語のとても長いテストの名前です", width, "...").width() <= width);
        }
    }

    #[test]
    fn lines_are_broken_at_spaces_and_figures_keep_their_units() {
        assert_eq!(wrap(&tie("at most 13.9 % of it"), 12), ["at most", "13.9 % of it"]);
        assert_eq!(wrap("a averyveryverylongword b", 6), ["a", "averyveryverylongword", "b"]);
        assert_eq!(wrap("", 6), [""]);
    }
}
