//! For people at a terminal: what is wrong, why we believe it, what to do next; then the matrix; then how far it goes.

mod block;
mod check;
mod checks;
mod columns;
mod doctor;
mod explain;
mod footer;
pub(crate) mod glyph;
mod ledger;
mod plan;
mod run;
pub(crate) mod sheet;
mod witness;

use std::io::{self, Write};

use self::sheet::Sheet;
use crate::Style;
use crate::view::{CheckView, ChecksView, DoctorView, ExplainView, LedgerView, PlanView, RunView};

/// The report of `anyorder run`.
pub fn run(view: &RunView, style: Style, out: &mut dyn Write) -> io::Result<()> {
    run::write(view, &mut Sheet::new(out, style))
}

/// The report of `anyorder check`.
pub fn check(view: &CheckView, style: Style, out: &mut dyn Write) -> io::Result<()> {
    check::write(view, &mut Sheet::new(out, style))
}

/// The report of `anyorder doctor`.
pub fn doctor(view: &DoctorView, style: Style, out: &mut dyn Write) -> io::Result<()> {
    doctor::write(view, &mut Sheet::new(out, style))
}

/// What a command of the ledger did and found.
pub fn ledger(view: &LedgerView, style: Style, out: &mut dyn Write) -> io::Result<()> {
    ledger::write(view, &mut Sheet::new(out, style))
}

/// The checks that are stored.
pub fn checks(view: &ChecksView, style: Style, out: &mut dyn Write) -> io::Result<()> {
    checks::write(view, &mut Sheet::new(out, style))
}

/// A row of the verdict's table.
pub fn explain(view: &ExplainView, style: Style, out: &mut dyn Write) -> io::Result<()> {
    explain::write(view, &mut Sheet::new(out, style))
}

/// What a sweep will cost, before it starts.
pub fn plan(view: &PlanView, style: Style, out: &mut dyn Write) -> io::Result<()> {
    plan::write(view, &mut Sheet::new(out, style))
}
