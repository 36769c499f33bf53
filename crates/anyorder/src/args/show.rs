//! Arguments of `show`.

use clap::Args;

/// Arguments of `show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// A check, such as c5; without one, all are listed
    #[arg(value_name = "ID")]
    pub check: Option<String>,
}
