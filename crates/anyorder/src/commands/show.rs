//! `anyorder show`: the checks that were made, and the report of one of them again.

use anyorder_report::view::{ChecksView, StoredCheckView};
use anyorder_report::{escape, json, terminal};
use anyorder_store::{CheckId, OpenError, Store, StoreError};

use crate::args::{Format, GlobalArgs, ShowArgs, SuiteArgs};
use crate::exit_code::ExitCode;
use crate::hint::Failed;
use crate::project::{Needs, Project, style_of_report};
use crate::stores;

/// Runs the command.
pub fn run(global: &GlobalArgs, args: &ShowArgs) -> anyhow::Result<ExitCode> {
    let project = Project::open(global, &SuiteArgs::default(), Needs::Folder)?;
    let store = match Store::open_read_only(&project.store_dir()) {
        Ok(store) => Some(store),
        Err(OpenError::Absent { .. }) => None,
        Err(error) => {
            return Err(Failed::cannot_measure(format!("could not open the store: {error}")).into());
        }
    };
    match &args.check {
        None => list(&project, store.as_ref()),
        Some(name) => one(&project, store.as_ref(), name),
    }
}

fn list(project: &Project, store: Option<&Store>) -> anyhow::Result<ExitCode> {
    let stored = match store {
        Some(store) => store.checks().map_err(|e| stores::failed(&e))?,
        None => Vec::new(),
    };
    let view = ChecksView {
        project: project.view(),
        checks: stored
            .into_iter()
            .map(|check| StoredCheckView {
                id: check.id.to_string(),
                created_ms: check.created_ms,
                verdict: check.verdict,
                base: check.base,
                patches: check.patches,
            })
            .collect(),
        exit_code: ExitCode::Clean.number(),
    };
    super::print(
        project,
        |out| terminal::checks(&view, style_of_report(), out),
        |out| json::checks(&view, out),
    )?;
    Ok(ExitCode::Clean)
}

fn one(project: &Project, store: Option<&Store>, name: &str) -> anyhow::Result<ExitCode> {
    let unknown = || {
        Failed::usage(format!("there is no check `{name}` in the store")).hint("`anyorder show` lists all")
    };
    let id: CheckId = name.parse().map_err(|()| {
        Failed::usage(format!("`{name}` is no check: write its number, such as `c5`"))
            .hint("`anyorder show` lists all")
    })?;
    let store = store.ok_or_else(unknown)?;
    let document = store.check_document(id).map_err(|error| match error {
        StoreError::Missing(_) => unknown(),
        other => stores::failed(&other),
    })?;
    // The number was not known yet when the document was written. In a JSON text these characters are a key and its
    // value and nothing else: within a string the quotes would be escaped.
    let document = document.replacen("\"check\":null", &format!("\"check\":\"{id}\""), 1);
    let text = match project.format {
        Format::Json => document.trim_end().to_owned() + "\n",
        Format::Terminal => {
            let mut out = Vec::new();
            match json::stored_check(&document) {
                Some(view) => terminal::check(&view, style_of_report(), &mut out)?,
                None => out.extend_from_slice(plain(&document).as_bytes()),
            }
            String::from_utf8(out)?
        }
    };
    super::write(text.as_bytes())?;
    Ok(ExitCode::Clean)
}

/// A document that no view can be made of, such as one of another version: as it stands, so that it can be read.
fn plain(document: &str) -> String {
    let value = serde_json::from_str::<serde_json::Value>(document);
    let text = value.and_then(|v| serde_json::to_string_pretty(&v)).unwrap_or_else(|_| document.to_owned());
    escape::lines(text.trim_end()) + "\n"
}
