//! For programs: one JSON document on one line, its schema in `docs/schema/`.
//!
//! Keys stand in one order, ids are exact, numbers are finite (what is no number becomes `null`), times are seconds.

mod check;
mod checks;
mod doctor;
mod explain;
mod ledger;
mod parts;
mod run;
mod stored;

use std::io::{self, Write};

use serde::Serialize;

use crate::view::{CheckView, ChecksView, DoctorView, ExplainView, LedgerView, RunView};

/// `anyorder/run/1`.
pub fn run(view: &RunView, out: &mut dyn Write) -> io::Result<()> {
    write(&run::Document::of(view), out)
}

/// `anyorder/check/1`. The keys at the top are those of the first candidate; `others` holds the rest.
pub fn check(view: &CheckView, out: &mut dyn Write) -> io::Result<()> {
    write(&check::Document::of(view), out)
}

/// `anyorder/doctor/1`.
pub fn doctor(view: &DoctorView, out: &mut dyn Write) -> io::Result<()> {
    write(&doctor::Document::of(view), out)
}

/// The view that an `anyorder/check/1` was written from, as far as the document holds it; `None` where it is of another
/// kind or version, or damaged.
pub fn stored_check(document: &str) -> Option<CheckView> {
    stored::check(document)
}

/// `anyorder/ledger/1`.
pub fn ledger(view: &LedgerView, out: &mut dyn Write) -> io::Result<()> {
    write(&ledger::Document::of(view), out)
}

/// `anyorder/checks/1`.
pub fn checks(view: &ChecksView, out: &mut dyn Write) -> io::Result<()> {
    write(&checks::Document::of(view), out)
}

/// `anyorder/explain/1`.
pub fn explain(view: &ExplainView, out: &mut dyn Write) -> io::Result<()> {
    write(&explain::Document::of(view), out)
}

fn write(document: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, document)?;
    out.write_all(b"\n")
}
