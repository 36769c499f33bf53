//! `anyorder/checks/1`.

use serde::Serialize;

use super::parts::Project;
use crate::view::ChecksView;

#[derive(Serialize)]
pub(super) struct Document<'a> {
    schema: &'static str,
    exit_code: u8,
    project: Project<'a>,
    checks: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    check: &'a str,
    created_ms: i64,
    verdict: &'a str,
    base: &'a str,
    candidates: &'a [String],
}

impl<'a> Document<'a> {
    pub(super) fn of(view: &'a ChecksView) -> Self {
        let row = |c: &'a crate::view::StoredCheckView| Row {
            check: &c.id,
            created_ms: c.created_ms,
            verdict: &c.verdict,
            base: &c.base,
            candidates: &c.patches,
        };
        Self {
            schema: "anyorder/checks/1",
            exit_code: view.exit_code,
            project: Project::of(&view.project),
            checks: view.checks.iter().map(row).collect(),
        }
    }
}
