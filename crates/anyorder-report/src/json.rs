//! For programs: one JSON document, its schema in `docs/schema/`.

use std::io::{self, Write};

use crate::view::{CheckView, DoctorView, RunView};

/// `anyorder/run/1`.
pub fn run(view: &RunView, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{{\"exit_code\":{}}}", view.exit_code)
}

/// `anyorder/check/1`.
pub fn check(view: &CheckView, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{{\"exit_code\":{}}}", view.exit_code)
}

/// `anyorder/doctor/1`.
pub fn doctor(view: &DoctorView, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{{\"exit_code\":{}}}", view.exit_code)
}
