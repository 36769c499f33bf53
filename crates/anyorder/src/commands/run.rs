//! `anyorder run`: one tree under many orders.

use std::time::Instant;

use anyorder_core::model::Tree;
use anyorder_report::{json, terminal};

use crate::args::{GlobalArgs, RunArgs};
use crate::clock;
use crate::exit_code::ExitCode;
use crate::hint::Failed;
use crate::ledger::{Shelf, is_uncovered};
use crate::measure::{self, Measured, Reuse};
use crate::project::{Needs, Project, style_of_report};
use crate::settings::PlanSettings;
use crate::{stores, views};

/// Runs the command.
pub fn run(global: &GlobalArgs, args: &RunArgs) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let project = Project::open(global, &args.suite, Needs::Folder)?;
    let plan = PlanSettings::resolve(&args.plan, &project.config)?;
    // A run has no verdict; a mistake in the table is better told now than at the next check.
    super::check::rules(&project.config)?;
    let shelf = Shelf::open(&project)?;
    let interpreter = project.interpreter()?;
    let mut store = stores::open(&project.store_dir())?;
    let mut store = store.lock().map_err(Failed::cannot_measure)?;
    let mut progress = project.progress();
    let tree = project.checkout.working(project.scratch.path()).map_err(Failed::cannot_measure)?;
    let config = project.session_config(&interpreter.path);
    let mut collected = measure::collect(&project, Tree::Patched(None), tree.digest, config, &mut progress)?;
    collected.shown.clear();
    for origin in collected.session.collection().origins.iter().filter(|o| !o.in_tree) {
        progress.note(&format!(
            "`{}` was imported from `{}`, not from this project's folder",
            origin.module,
            origin.file.display()
        ));
    }
    let reuse = if args.resume { Reuse::Unfinished } else { Reuse::Nothing };
    let measured = measure::measure(&project, collected, &plan, reuse, &mut store, &mut progress)?;
    if !measured.stopped {
        store.finish_sweep(measured.stored.id, clock::now_ms()).map_err(|e| stores::failed(&e))?;
    }
    progress.finish();
    let known = shelf.found(&measured.result);
    let code = exit_code(&project, &measured, is_uncovered(&measured.result, &known));
    let mut view = views::run(&project, &measured, started.elapsed(), code);
    view.list(&known);
    super::print(&project, |out| terminal::run(&view, style_of_report(), out), |out| json::run(&view, out))?;
    Ok(code)
}

/// What was found and no entry of the ledger covers, as an exit code: incomplete wins over clean.
fn exit_code(project: &Project, measured: &Measured, found: bool) -> ExitCode {
    if let Some(code) = project.watch.exit_code() {
        return code;
    }
    if found {
        ExitCode::Found
    } else if measured.book.unfinished() > 0 || measured.book.with_absent() > 0 {
        ExitCode::Incomplete
    } else {
        ExitCode::Clean
    }
}
