//! Arguments of `run`, and of the plan that `check` shares with it.

use clap::Args;

use super::SuiteArgs;

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Go on with the last unfinished sweep of the same tree, environment and plan
    #[arg(long)]
    pub resume: bool,
    /// Which orders.
    #[command(flatten)]
    pub plan: PlanArgs,
    /// How to reach and run the suite.
    #[command(flatten)]
    pub suite: SuiteArgs,
}

/// Which orders.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Orders")]
pub struct PlanArgs {
    /// How many independent seeds [default: 20]
    #[arg(long, value_name = "N", group = "amount", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub seeds: Option<u32>,
    /// As many seeds as it takes for this bound, such as 5%
    #[arg(long, value_name = "P", group = "amount")]
    pub bound: Option<String>,
    /// Each test alone, the default order, one seed and its reverse
    #[arg(long, group = "amount")]
    pub quick: bool,
    /// Forty seeds
    #[arg(long, group = "amount")]
    pub deep: bool,
    /// Fifty-nine seeds, for a bound under 5%
    #[arg(long, group = "amount")]
    pub certify: bool,
    /// Exactly these orders, such as default,alone,reverse,seed:1..20
    #[arg(long, value_name = "LIST", group = "amount")]
    pub orders: Option<String>,
    /// How a seed makes an order: mixed, nested, flat, files or python [default: mixed]
    #[arg(long, value_name = "KIND")]
    pub shuffle: Option<String>,
}
