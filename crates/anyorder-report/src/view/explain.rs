//! What `anyorder check --explain` says.

use anyorder_core::verdict::{Action, Finding, Rules};

/// A row of the verdict's table, with the action that the configuration gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainView {
    /// Which.
    pub finding: Finding,
    /// What follows from it here.
    pub action: Action,
    /// What follows from it unless the configuration says otherwise.
    pub default_action: Action,
    /// The exit code that the process will end with.
    pub exit_code: u8,
}

impl ExplainView {
    /// A finding under rules.
    pub fn of(finding: Finding, rules: &Rules) -> Self {
        Self {
            finding,
            action: rules.action(finding, false),
            default_action: finding.default_action(),
            exit_code: 0,
        }
    }
}
