//! How a terminal wants to be written to.

/// What the terminal can show. The binary finds it out (`NO_COLOR`, locale, width); here it is only obeyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to write ANSI colours. Nothing is ever said by colour alone.
    pub color: bool,
    /// Whether glyphs outside ASCII may be used.
    pub unicode: bool,
    /// Columns of the terminal; narrower than 40 is treated as 40.
    pub width: usize,
}

impl Style {
    /// No colour, Unicode glyphs, 100 columns: for files and tests.
    pub const PLAIN: Self = Self { color: false, unicode: true, width: 100 };

    /// The width to lay out for.
    pub(crate) fn columns(self) -> usize {
        self.width.max(40)
    }
}

impl Default for Style {
    fn default() -> Self {
        Self::PLAIN
    }
}
