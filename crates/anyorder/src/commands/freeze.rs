//! `anyorder freeze`: puts order-sensitive tests on the list, as they were measured.

use anyorder_core::ledger::{
    Comparison, Date, Entry, Frozen, Ledger, Renewal, Standing, may_freeze, signatures,
};
use anyorder_core::model::TestId;
use anyorder_report::view::{Done, EntryView, LedgerCommand, LedgerView, RefusedView};
use anyorder_report::{json, terminal};

use crate::args::{FreezeArgs, GlobalArgs};
use crate::exit_code::ExitCode;
use crate::hint::Failed;
use crate::ledger::{Chosen, Listing, Shelf, chosen, failed, issue, measure, until};
use crate::project::{Needs, Project, style_of_report};

/// Runs the command.
pub fn run(global: &GlobalArgs, args: &FreezeArgs) -> anyhow::Result<ExitCode> {
    let project = Project::open(global, &args.suite, Needs::Folder)?;
    let mut shelf = Shelf::open(&project)?;
    let until = until(args.until.as_deref(), args.term.as_deref(), shelf.today)?;
    let until = until.ok_or_else(|| Failed::usage("say until when: `--until DATE` or `--for 30d`"))?;
    let issue = issue(&args.issue)?;
    let listing = measure(&project, &args.plan, &args.tests, shelf.file.ledger())?;
    let polluters = polluters(&listing, &args.polluter)?;
    let mut ledger = shelf.file.ledger().clone();
    let mut view = listing.view(&project, &shelf, LedgerCommand::Freeze);
    let terms = Terms { today: shelf.today, until, issue, polluters };
    for chosen in &listing.chosen {
        enter(&project, &listing, *chosen, &terms, &mut ledger, &mut view);
    }
    finish(&project, &mut shelf, ledger, view)
}

/// What is asked for, beside the tests.
struct Terms {
    today: Date,
    until: Date,
    issue: String,
    polluters: Vec<TestId>,
}

/// Writes the entry of one test, or says why not.
fn enter(
    project: &Project,
    listing: &Listing,
    chosen: Chosen,
    terms: &Terms,
    ledger: &mut Ledger,
    view: &mut LedgerView,
) {
    let tree = &listing.measured.result;
    let test = tree.sweep.suite().id(chosen.test).clone();
    let old = ledger.get(&test).cloned();
    let recorded = match may_freeze(tree, chosen.test) {
        Ok(recorded) => recorded,
        Err(_) if !chosen.named && old.is_none() => {
            view.passed_over += 1;
            return;
        }
        Err(refusal) => {
            view.refused.push(RefusedView {
                why: refusal.to_string(),
                advice: refusal.advice().replace("TEST", &anyorder_report::quote(&test.to_string())),
                test,
            });
            return;
        }
    };
    let renewed = match &old {
        Some(Entry::Frozen(old)) => {
            Some(Renewal { since: old.frozen_at, compared: Comparison::of(&old.recorded, &recorded) })
        }
        Some(Entry::Quarantined(_)) | None => None,
    };
    let polluters = match &old {
        Some(Entry::Frozen(old)) if terms.polluters.is_empty() => old.polluters.clone(),
        _ => terms.polluters.clone(),
    };
    let entry = Entry::Frozen(Frozen {
        test,
        recorded,
        polluters,
        signatures: signatures(tree, chosen.test),
        frozen_at: terms.today,
        freeze_until: terms.until,
        issue: terms.issue.clone(),
        renewed,
    });
    let mut shown = EntryView::of(&entry, Standing::Protects, &project.invocation());
    shown.done = Some(if old.is_some() { Done::Renewed } else { Done::Written });
    if let Some(Entry::Quarantined(_)) = &old {
        shown.notes.push("it was quarantined before: that entry is gone".to_owned());
    }
    if tree.classes.get(chosen.test).is_some_and(|c| c.executors_disagree) {
        shown.notes.push("forked and fresh runs of it differ: its cause is outside the process".to_owned());
    }
    ledger.put(entry);
    view.entries.push(shown);
}

/// The tests named with `--polluter`; each must be there.
fn polluters(listing: &Listing, names: &[String]) -> Result<Vec<TestId>, Failed> {
    let suite = listing.measured.suite();
    let chosen = chosen(suite, names)?;
    Ok(chosen.into_iter().map(|c| suite.id(c.test).clone()).collect())
}

/// Writes the ledger where something was entered, and reports.
pub fn finish(
    project: &Project,
    shelf: &mut Shelf,
    ledger: Ledger,
    mut view: LedgerView,
) -> anyhow::Result<ExitCode> {
    if !view.entries.is_empty() {
        shelf.file.write(ledger).map_err(|e| failed(&e))?;
    }
    let clean = view.refused.is_empty() && !view.entries.is_empty();
    let code = if clean { ExitCode::Clean } else { ExitCode::Found };
    view.exit_code = code.number();
    super::print(
        project,
        |out| terminal::ledger(&view, style_of_report(), out),
        |out| json::ledger(&view, out),
    )?;
    Ok(code)
}
