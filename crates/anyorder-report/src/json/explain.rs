//! `anyorder/explain/1`.

use serde::Serialize;

use crate::explain;
use crate::view::ExplainView;

#[derive(Serialize)]
pub(super) struct Document {
    schema: &'static str,
    exit_code: u8,
    finding: &'static str,
    action: &'static str,
    default_action: &'static str,
    evidence: bool,
    on_base: &'static str,
    on_patched: &'static str,
    shown_by: &'static str,
    example: &'static str,
    advice: &'static str,
}

impl Document {
    pub(super) fn of(view: &ExplainView) -> Self {
        let row = explain::of(view.finding);
        Self {
            schema: "anyorder/explain/1",
            exit_code: view.exit_code,
            finding: view.finding.word(),
            action: view.action.word(),
            default_action: view.default_action.word(),
            evidence: view.action.is_evidence(),
            on_base: row.on_base,
            on_patched: row.on_patched,
            shown_by: row.reasoning,
            example: row.example,
            advice: row.advice,
        }
    }
}
