//! The command line, as typed.

mod check;
mod freeze;
mod ledger;
mod quarantine;
mod replay;
mod run;
mod show;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use check::CheckArgs;
pub use freeze::FreezeArgs;
pub use ledger::{LedgerArgs, LedgerCheckArgs, LedgerCommand, LedgerPruneArgs};
pub use quarantine::QuarantineArgs;
pub use replay::ReplayArgs;
pub use run::{PlanArgs, RunArgs};
pub use show::ShowArgs;

/// Does this patch pass because it is right, or because its tests ran in the order that hands them the state they need?
#[derive(Debug, Parser)]
#[command(name = "anyorder", version, max_term_width = 100)]
#[command(after_help = "Arguments for pytest follow after `--`: anyorder run -- tests -k http")]
pub struct Cli {
    /// Options that every command takes.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Options that every command takes.
#[derive(Clone, Debug, Args)]
pub struct GlobalArgs {
    /// Work as if started in this folder
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t = ColorWhen::Auto)]
    pub color: ColorWhen,
    /// Show no progress
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// What the answer looks like
    #[arg(long, global = true, value_enum, default_value_t = Format::Terminal)]
    pub format: Format,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What the answer looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a person
    Terminal,
    /// One JSON document on standard output
    Json,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Judge a change: run base and patched tree under the same orders, and say accept, review or block
    Check(CheckArgs),
    /// Run one tree under many orders: outcome matrix, classes, bound
    Run(RunArgs),
    /// Run one order again, exactly
    Replay(ReplayArgs),
    /// Keep a known order-sensitive test out of the evidence until a day; measures it
    Freeze(FreezeArgs),
    /// Keep a known flaky test out of the evidence until it is edited; measures it
    Quarantine(QuarantineArgs),
    /// Show, check or prune what is frozen and quarantined
    Ledger(LedgerArgs),
    /// List past checks, or show the report of one again
    Show(ShowArgs),
    /// Say what was found: interpreter, pytest, plugins, executor, sandbox
    Doctor(DoctorArgs),
    /// Print a completion script for a shell
    Completions {
        /// Which shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(hide = true)]
    Man,
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// How to reach and run the suite.
    #[command(flatten)]
    pub suite: SuiteArgs,
}

/// How to reach and run the suite.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Running")]
pub struct SuiteArgs {
    /// Interpreter that has pytest and the project's dependencies
    #[arg(long, value_name = "PATH|VERSION")]
    pub python: Option<String>,
    /// How runs get their interpreter: forked after one collection where that is safe, or a fresh one each
    #[arg(long, value_enum, value_name = "WHICH")]
    pub executor: Option<ExecutorChoice>,
    /// What keeps runs apart
    #[arg(long, value_enum, value_name = "WHICH")]
    pub sandbox: Option<SandboxChoice>,
    /// How many runs at once [default: the number of cores]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: Option<u16>,
    /// Seconds that one test may take [default: 300]
    #[arg(long, value_name = "SECONDS")]
    pub test_timeout: Option<u64>,
    /// Seconds that start-up and collection may take [default: 600]
    #[arg(long, value_name = "SECONDS")]
    pub collect_timeout: Option<u64>,
    /// Seed `random` (and NumPy) with this before each test
    #[arg(long, value_name = "N")]
    pub reseed: Option<u64>,
    /// Arguments for pytest
    #[arg(last = true, value_name = "PYTEST ARGUMENTS")]
    pub pytest_args: Vec<String>,
}

/// How runs get their interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutorChoice {
    /// Fork where it is safe
    Auto,
    /// A fresh interpreter for each run
    Fresh,
    /// Fork, or an error where that is not safe
    Fork,
}

/// What keeps runs apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxChoice {
    /// The most that this machine allows
    Auto,
    /// An overlay of the tree for each run, or an error
    Overlay,
    /// A temporary folder for each run
    Tmp,
    /// Nothing
    None,
}
