//! Arguments of `quarantine`.

use clap::Args;

use super::{PlanArgs, SuiteArgs};

/// Arguments of `quarantine`.
#[derive(Debug, Args)]
pub struct QuarantineArgs {
    /// Tests by id; `*` stands for anything
    #[arg(value_name = "TEST", required = true)]
    pub tests: Vec<String>,
    /// Where somebody works on it, such as the link of an issue
    #[arg(long, value_name = "REF")]
    pub issue: String,
    /// End it after this day at the latest, such as 2027-01-05
    #[arg(long, value_name = "DATE", group = "term")]
    pub until: Option<String>,
    /// End it after this time at the latest, such as 30d or 4w
    #[arg(long = "for", id = "term_for", value_name = "TIME", group = "term")]
    pub term: Option<String>,
    /// Which orders.
    #[command(flatten)]
    pub plan: PlanArgs,
    /// How to reach and run the suite.
    #[command(flatten)]
    pub suite: SuiteArgs,
}
