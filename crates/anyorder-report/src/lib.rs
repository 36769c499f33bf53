//! Values in, bytes out: what anyorder measured and concluded, in the format that was asked for.
//!
//! One view model ([`view`]) and one module a format, each writing into a `&mut dyn Write`. Nothing here decides:
//! classes, findings, bounds and verdicts arrive as values. It must not know processes, files, clocks or the
//! environment; whether colour is wanted is an argument ([`Style`]).
//!
//! Every text that came from a suite is untrusted. It passes [`escape`] (terminal), an XML writer or a JSON writer
//! before it reaches a sink, and ids are never shortened where somebody may copy them from.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod command;
pub mod escape;
mod explain;
pub mod json;
pub mod junit;
pub mod progress;
mod style;
pub mod telling;
pub mod terminal;
pub mod view;
mod wording;

pub use command::quote;
pub use escape::lines as escape_lines;
pub use style::Style;
