//! One file a command.

mod check;
mod doctor;
mod explain;
mod freeze;
mod ledger;
mod quarantine;
mod replay;
mod run;
mod show;

use std::io::{self, Write};

use clap::CommandFactory;

use crate::args::{Cli, Command, Format};
use crate::exit_code::ExitCode;
use crate::project::Project;

pub use check::short;

/// Does what the command line asks for.
pub fn dispatch(cli: Cli) -> anyhow::Result<ExitCode> {
    match cli.command {
        Command::Run(args) => run::run(&cli.global, &args),
        Command::Check(args) => match &args.explain {
            Some(finding) => explain::run(&cli.global, &args.suite, finding),
            None => check::run(&cli.global, &args),
        },
        Command::Replay(args) => replay::run(&cli.global, &args),
        Command::Freeze(args) => freeze::run(&cli.global, &args),
        Command::Quarantine(args) => quarantine::run(&cli.global, &args),
        Command::Ledger(args) => ledger::run(&cli.global, &args),
        Command::Show(args) => show::run(&cli.global, &args),
        Command::Doctor(args) => doctor::run(&cli.global, &args),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "anyorder", &mut text);
            write(&text)?;
            Ok(ExitCode::Clean)
        }
        Command::Man => {
            let mut text = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut text)?;
            write(&text)?;
            Ok(ExitCode::Clean)
        }
    }
}

/// Writes a report to standard output, in the format asked for.
fn print(
    project: &Project,
    terminal: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    json: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    let mut text = Vec::new();
    match project.format {
        Format::Terminal => terminal(&mut text)?,
        Format::Json => json(&mut text)?,
    }
    write(&text)
}

/// Writes to standard output, and is content when nobody reads it to its end.
fn write(text: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        // The reader has gone away, as in `| head`: it has what it wanted.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}
