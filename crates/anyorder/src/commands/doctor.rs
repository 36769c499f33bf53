//! `anyorder doctor`: what was found, and what would be done.

use anyorder_core::model::{Executor, Tree};
use anyorder_report::view::{DoctorRow, DoctorView, ExecutorView, Health};
use anyorder_report::{json, terminal};
use anyorder_store::Store;

use super::short;
use crate::args::{DoctorArgs, GlobalArgs};
use crate::exit_code::ExitCode;
use crate::hint::Failed;
use crate::project::{Needs, Project, style_of_report};
use crate::{measure, views};

/// Runs the command.
pub fn run(global: &GlobalArgs, args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let project = Project::open(global, &args.suite, Needs::Folder)?;
    let mut progress = project.progress();
    let mut view = DoctorView {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        project: project.view(),
        environment: None,
        tests: None,
        executor: None,
        sandbox: None,
        switched_off: Vec::new(),
        rows: vec![git(&project), store(&project), configuration(&project)],
        exit_code: ExitCode::Clean.number(),
    };
    let mut code = ExitCode::Clean;
    match project.interpreter() {
        Err(error) => {
            code = error.code;
            view.rows.insert(0, failed("interpreter", &error));
        }
        Ok(interpreter) => {
            let details =
                interpreter.tried.iter().map(|t| format!("{} ({}): {}", t.what, t.source, t.why)).collect();
            view.rows.insert(
                0,
                DoctorRow {
                    name: "interpreter".to_owned(),
                    health: Health::Good,
                    found: format!("{} ({})", interpreter.path.display(), interpreter.source),
                    details,
                    advice: None,
                },
            );
            let config = project.session_config(&interpreter.path);
            let tree = Tree::Patched(None);
            match measure::collect(&project, tree, String::new(), config, &mut progress) {
                Err(error) => {
                    code = error.code;
                    view.rows.push(failed("collection", &error));
                }
                Ok(collected) => collection(&mut view, &collected),
            }
        }
    }
    progress.finish();
    view.exit_code = code.number();
    super::print(
        &project,
        |out| terminal::doctor(&view, style_of_report(), out),
        |out| json::doctor(&view, out),
    )?;
    Ok(code)
}

fn collection(view: &mut DoctorView, collected: &measure::Collected) {
    let found = collected.session.collection();
    view.environment = Some(views::environment(found));
    view.tests = Some(found.suite.len());
    view.executor = Some(if found.fork_refused.is_empty() {
        ExecutorView { executor: Executor::Fork, why: None }
    } else {
        ExecutorView { executor: Executor::Fresh, why: Some(found.fork_refused.join("; ")) }
    });
    view.sandbox = Some(views::sandbox(found));
    view.switched_off = views::switched_off(found);
    let foreign: Vec<String> = found
        .origins
        .iter()
        .filter(|o| !o.in_tree)
        .map(|o| format!("`{}` comes from `{}`", o.module, o.file.display()))
        .collect();
    view.rows.push(DoctorRow {
        name: "imports".to_owned(),
        health: if foreign.is_empty() { Health::Good } else { Health::Limited },
        found: if foreign.is_empty() {
            "project modules come from the project's folder".to_owned()
        } else {
            format!("{} project modules come from elsewhere", foreign.len())
        },
        advice: (!foreign.is_empty()).then(|| {
            "`anyorder check` needs the project's own modules: install it editable (pip install -e .)"
                .to_owned()
        }),
        details: foreign,
    });
    view.rows.push(DoctorRow {
        name: "declared order".to_owned(),
        health: Health::Good,
        found: match collected.declared.tests {
            0 => "none".to_owned(),
            n => format!("{n} tests declare order, which is kept"),
        },
        details: collected.declared.ignored.clone(),
        advice: None,
    });
}

fn git(project: &Project) -> DoctorRow {
    let checkout = &project.checkout;
    if let Some(why) = &project.no_git {
        return DoctorRow {
            name: "git".to_owned(),
            health: Health::Limited,
            found: why.to_string(),
            details: Vec::new(),
            advice: None,
        };
    }
    let base = checkout.default_base();
    DoctorRow {
        name: "git".to_owned(),
        health: if base.is_ok() { Health::Good } else { Health::Limited },
        found: format!("{}", checkout.root().display()),
        details: Vec::new(),
        advice: match base {
            Ok(base) => Some(format!("`anyorder check` compares with {} ({})", short(&base.oid), base.how)),
            Err(error) => Some(format!("no base of its own: {error}; name one with --base")),
        },
    }
}

fn store(project: &Project) -> DoctorRow {
    let dir = project.store_dir();
    if !dir.join("anyorder.db").exists() {
        return good("store", "nothing is stored yet");
    }
    match Store::open_read_only(&dir) {
        Ok(_) => good("store", &dir.display().to_string()),
        Err(error) => bad("store", &error.to_string()),
    }
}

fn configuration(project: &Project) -> DoctorRow {
    match &project.settings.config_path {
        Some(path) => good("configuration", &path.display().to_string()),
        None => good("configuration", "none; everything is at its default"),
    }
}

fn good(name: &str, found: &str) -> DoctorRow {
    row(name, Health::Good, found)
}

fn bad(name: &str, found: &str) -> DoctorRow {
    row(name, Health::Bad, found)
}

/// An error: its first line as what was found, the rest as details.
fn failed(name: &str, error: &Failed) -> DoctorRow {
    let mut lines = error.message().lines();
    let mut row = bad(name, lines.next().unwrap_or_default());
    row.details = lines.filter(|l| !l.trim().is_empty()).map(str::to_owned).collect();
    row.advice = error.advice().map(str::to_owned);
    row
}

fn row(name: &str, health: Health, found: &str) -> DoctorRow {
    DoctorRow { name: name.to_owned(), health, found: found.to_owned(), details: Vec::new(), advice: None }
}
