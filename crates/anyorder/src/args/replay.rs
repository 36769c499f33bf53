//! Arguments of `replay`.

use clap::Args;

use super::SuiteArgs;

/// Arguments of `replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// A stored run (such as r17), an order (default, reverse, seed:7, seed:7:reverse), or a file of test ids
    #[arg(value_name = "RUN|ORDER|FILE")]
    pub what: String,
    /// Stop the order after this test
    #[arg(long, value_name = "TEST")]
    pub until: Option<String>,
    /// How often
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub times: u32,
    /// How a seed makes an order: mixed, nested, flat, files or python [default: mixed]
    #[arg(long, value_name = "KIND")]
    pub shuffle: Option<String>,
    /// How to reach and run the suite.
    #[command(flatten)]
    pub suite: SuiteArgs,
}
