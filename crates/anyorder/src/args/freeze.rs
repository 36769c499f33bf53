//! Arguments of `freeze`.

use clap::Args;

use super::{PlanArgs, SuiteArgs};

/// Arguments of `freeze`.
#[derive(Debug, Args)]
pub struct FreezeArgs {
    /// Tests by id; `*` stands for anything
    #[arg(value_name = "TEST", required = true)]
    pub tests: Vec<String>,
    /// The last day on which they are frozen, such as 2027-01-05
    #[arg(long, value_name = "DATE", group = "term", required_unless_present = "term_for")]
    pub until: Option<String>,
    /// For how long, such as 30d or 4w
    #[arg(long = "for", id = "term_for", value_name = "TIME", group = "term")]
    pub term: Option<String>,
    /// Where somebody works on it, such as the link of an issue
    #[arg(long, value_name = "REF")]
    pub issue: String,
    /// A test known to break them, or to give them what they need; may be given several times
    #[arg(long, value_name = "ID")]
    pub polluter: Vec<String>,
    /// Which orders.
    #[command(flatten)]
    pub plan: PlanArgs,
    /// How to reach and run the suite.
    #[command(flatten)]
    pub suite: SuiteArgs,
}
