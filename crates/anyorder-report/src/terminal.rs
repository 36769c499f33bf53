//! For people at a terminal.

use std::io::{self, Write};

use crate::Style;
use crate::view::{CheckView, DoctorView, PlanView, RunView};

/// The report of `anyorder run`.
pub fn run(view: &RunView, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let _ = style;
    writeln!(out, "{} tests", view.tests.len())
}

/// The report of `anyorder check`.
pub fn check(view: &CheckView, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let _ = style;
    writeln!(out, "{} candidates", view.candidates.len())
}

/// The report of `anyorder doctor`.
pub fn doctor(view: &DoctorView, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let _ = style;
    writeln!(out, "{} rows", view.rows.len())
}

/// What a sweep will cost, before it starts.
pub fn plan(view: &PlanView, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let _ = style;
    writeln!(out, "{} orders", view.orders.len())
}
