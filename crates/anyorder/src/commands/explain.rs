//! `anyorder check --explain`: a row of the table that the verdict follows.

use anyorder_core::verdict::Finding;
use anyorder_report::view::ExplainView;
use anyorder_report::{json, terminal};

use super::check::rules;
use crate::args::{GlobalArgs, SuiteArgs};
use crate::exit_code::ExitCode;
use crate::hint::Failed;
use crate::project::{Needs, Project, style_of_report};
use crate::settings::nearest;

/// Explains a finding.
pub fn run(global: &GlobalArgs, suite: &SuiteArgs, word: &str) -> anyhow::Result<ExitCode> {
    let known = || Finding::ALL.into_iter().map(Finding::word);
    let finding = Finding::from_word(&word.replace('-', "_")).ok_or_else(|| {
        let all: Vec<&str> = known().collect();
        let failed = Failed::usage(format!("`{word}` is no finding; there are {}", all.join(", ")));
        // As people write them, so that an underscore is not taken for a difference.
        let dashed: Vec<String> = known().map(|w| w.replace('_', "-")).collect();
        match nearest(word, dashed.iter().map(String::as_str)) {
            Some(near) => failed.hint(format!("did you mean `{}`?", near.replace('-', "_"))),
            None => failed,
        }
    })?;
    let project = Project::open(global, suite, Needs::Folder)?;
    let view = ExplainView::of(finding, &rules(&project.config)?);
    super::print(
        &project,
        |out| terminal::explain(&view, style_of_report(), out),
        |out| json::explain(&view, out),
    )?;
    Ok(ExitCode::Clean)
}
