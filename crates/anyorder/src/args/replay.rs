//! Arguments of `replay`.

use std::path::PathBuf;

use clap::Args;

use super::SuiteArgs;

/// Arguments of `replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// A stored run (such as r17), an order (default, reverse, seed:7, seed:7:reverse), tests in the sequence in which
    /// they are to run, or a file of test ids
    #[arg(value_name = "RUN|ORDER|TEST|FILE", required = true)]
    pub what: Vec<String>,
    /// Run on the tree of this revision instead of the working tree
    #[arg(long, value_name = "REV")]
    pub rev: Option<String>,
    /// Run on HEAD (or on --rev) with this patch
    #[arg(long, value_name = "FILE")]
    pub patch: Option<PathBuf>,
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
