//! Arguments of `check`.

use std::path::PathBuf;

use clap::Args;

use super::{PlanArgs, SuiteArgs};
use crate::budget::Amount;

/// Arguments of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// What the change is compared with [default: the merge base with the upstream default branch; HEAD with --patch]
    #[arg(long, value_name = "REV")]
    pub base: Option<String>,
    /// Judge this patch file instead of the working tree; may be given several times
    #[arg(long, value_name = "FILE")]
    pub patch: Vec<PathBuf>,
    /// Compare the trees even if lock files or installed packages differ
    #[arg(long)]
    pub allow_env_drift: bool,
    /// Measure both trees again even where a finished sweep is stored
    #[arg(long)]
    pub fresh_sweeps: bool,
    /// Spend no more on replays than this (300s, 5m, or 20x the suite); what is undecided then wants a review
    #[arg(long, value_name = "AMOUNT")]
    pub budget: Option<Amount>,
    /// Do not put new and changed tests before and behind all others
    #[arg(long)]
    pub no_star: bool,
    /// Explain a finding, such as `pre_existing`, and judge nothing
    #[arg(long, value_name = "FINDING")]
    pub explain: Option<String>,
    /// Which orders.
    #[command(flatten)]
    pub plan: PlanArgs,
    /// How to reach and run the suite.
    #[command(flatten)]
    pub suite: SuiteArgs,
}
