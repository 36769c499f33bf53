//! A row of the verdict's table, for a person.

use std::io;

use super::footer::LABEL;
use super::sheet::{Sheet, Tone, tie};
use crate::explain;
use crate::view::{Action, ExplainView, Finding};
use crate::wording;

pub(super) fn write(view: &ExplainView, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let row = explain::of(view.finding);
    sheet.line(&[
        (Tone::Strong, view.finding.word().to_owned()),
        (Tone::Plain, format!("  {}", wording::finding(view.finding))),
    ])?;
    sheet.gap()?;
    for (label, text) in [("on base", row.on_base), ("on patched", row.on_patched)] {
        if !text.is_empty() {
            sheet.entry(0, label, LABEL, text)?;
        }
    }
    sheet.entry(0, "action", LABEL, &action(view))?;
    sheet.entry(0, "evidence", LABEL, evidence(view.action))?;
    for (label, text) in [("shown by", row.reasoning), ("example", row.example), ("what to do", row.advice)] {
        sheet.entry(0, label, LABEL, &tie(text))?;
    }
    Ok(())
}

fn action(view: &ExplainView) -> String {
    let meaning = match view.action {
        Action::Block => "the patch must not be merged as it is (exit code 1)",
        Action::Review => "a person must look (exit code 3)",
        Action::Freeze | Action::Quarantine | Action::Ignore => "speaks neither for nor against the patch",
        Action::Credit => "speaks for the patch, more than others do",
        Action::Evidence => "speaks for the patch",
    };
    let source = if view.action != view.default_action {
        format!("; set in `[verdict]`, the default is `{}`", view.default_action.word())
    } else if view.finding == Finding::Exposed {
        "; `block` where the default order fails".to_owned()
    } else {
        String::new()
    };
    format!("`{}`: {meaning}{source}", view.action.word())
}

fn evidence(action: Action) -> &'static str {
    if action.is_evidence() {
        "yes: the test may be cited for the patch"
    } else {
        "no: the test may not be cited for the patch"
    }
}
