//! The `anyorder` command: arguments, settings, wiring, exit codes, signals, progress. No algorithm lives here.
#![expect(
    unreachable_pub,
    reason = "a binary's modules: `pub` says what the others may use, nobody else can"
)]

mod args;
mod artefacts;
mod book;
mod budget;
mod check;
mod clock;
mod commands;
mod cost;
mod declared;
mod env_vars;
mod exit_code;
mod hint;
mod ledger;
mod measure;
mod progress;
mod project;
mod rerun;
mod settings;
mod signals;
mod slow;
mod stores;
mod sweep;
mod views;

use std::ffi::OsString;
use std::io::Write;
use std::panic::{self, AssertUnwindSafe};

use clap::Parser;

pub use args::Cli;
pub use exit_code::ExitCode;
use hint::Failed;

/// Runs the command that these arguments (the program's name first) ask for.
pub fn run<I: IntoIterator<Item = T>, T: Into<OsString> + Clone>(args: I) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(refused) => {
            let code = if refused.use_stderr() { ExitCode::Usage } else { ExitCode::Clean };
            drop(refused.print());
            return code;
        }
    };
    set_color(cli.global.color);
    match panic::catch_unwind(AssertUnwindSafe(|| commands::dispatch(cli))) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            let code = error.downcast_ref::<Failed>().map_or(ExitCode::Defect, |failed| failed.code);
            let shown = match error.downcast_ref::<Failed>() {
                Some(failed) => failed.to_string(),
                None => format!("error: {error:#}"),
            };
            drop(writeln!(anstream::stderr(), "{}", anyorder_report::escape_lines(&shown)));
            code
        }
        Err(_) => {
            let note = "error: anyorder itself failed; what was measured before is stored\nhint: please report this with the lines above";
            drop(writeln!(anstream::stderr(), "{note}"));
            ExitCode::Defect
        }
    }
}

fn set_color(when: args::ColorWhen) {
    match when {
        args::ColorWhen::Auto => {}
        args::ColorWhen::Always => anstream::ColorChoice::Always.write_global(),
        args::ColorWhen::Never => anstream::ColorChoice::Never.write_global(),
    }
}
