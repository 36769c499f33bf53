//! Arguments of `ledger`.

use clap::{Args, Subcommand};

use super::SuiteArgs;

/// Arguments of `ledger`.
#[derive(Debug, Args)]
pub struct LedgerArgs {
    /// What to do with it.
    #[command(subcommand)]
    pub command: LedgerCommand,
}

/// What to do with the ledger.
#[derive(Debug, Subcommand)]
pub enum LedgerCommand {
    /// Show all entries
    List,
    /// Fail where an entry is expired, lapsed or gone; collects, runs no test
    Check(LedgerCheckArgs),
    /// Take entries out: those whose test is gone, and those that are named
    Prune(LedgerPruneArgs),
}

/// Arguments of `ledger check`.
#[derive(Debug, Args)]
pub struct LedgerCheckArgs {
    /// How to reach the suite.
    #[command(flatten)]
    pub suite: SuiteArgs,
}

/// Arguments of `ledger prune`.
#[derive(Debug, Args)]
pub struct LedgerPruneArgs {
    /// Entries to take out however they stand, by test; `*` stands for anything
    #[arg(value_name = "TEST")]
    pub tests: Vec<String>,
    /// Also those that are expired or lapsed
    #[arg(long)]
    pub expired: bool,
    /// How to reach the suite.
    #[command(flatten)]
    pub suite: SuiteArgs,
}
