//! `anyorder quarantine`: puts flaky tests on the list, as they were measured.

use anyorder_core::ledger::{
    Date, Entry, Ledger, QuarantineRefusal, Quarantined, Standing, may_quarantine, signatures,
};
use anyorder_report::view::{Done, EntryView, LedgerCommand, LedgerView, RefusedView};

use super::freeze::finish;
use crate::args::{GlobalArgs, QuarantineArgs};
use crate::exit_code::ExitCode;
use crate::ledger::{Chosen, Listing, Shelf, issue, measure, until};
use crate::project::{Needs, Project};

/// Runs the command.
pub fn run(global: &GlobalArgs, args: &QuarantineArgs) -> anyhow::Result<ExitCode> {
    let project = Project::open(global, &args.suite, Needs::Folder)?;
    let mut shelf = Shelf::open(&project)?;
    let until = until(args.until.as_deref(), args.term.as_deref(), shelf.today)?;
    let terms = Terms { today: shelf.today, until, issue: issue(&args.issue)? };
    let listing = measure(&project, &args.plan, &args.tests, shelf.file.ledger())?;
    let mut ledger = shelf.file.ledger().clone();
    let mut view = listing.view(&project, &shelf, LedgerCommand::Quarantine);
    for chosen in &listing.chosen {
        enter(&project, &listing, *chosen, &terms, &mut ledger, &mut view);
    }
    finish(&project, &mut shelf, ledger, view)
}

/// What is asked for, beside the tests.
struct Terms {
    today: Date,
    until: Option<Date>,
    issue: String,
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
    let info = tree.sweep.suite().info(chosen.test);
    let old = ledger.get(&info.id);
    let without_end = info.source.is_none() && terms.until.is_none();
    let chance = may_quarantine(tree, chosen.test)
        .and_then(|chance| if without_end { Err(QuarantineRefusal::NoSource) } else { Ok(chance) });
    let chance = match chance {
        Ok(chance) => chance,
        Err(_) if !chosen.named && old.is_none() => {
            view.passed_over += 1;
            return;
        }
        Err(refusal) => {
            view.refused.push(RefusedView {
                test: info.id.clone(),
                why: refusal.to_string(),
                advice: refusal.advice().to_owned(),
            });
            return;
        }
    };
    let entry = Entry::Quarantined(Quarantined {
        test: info.id.clone(),
        source: info.source,
        chance,
        signatures: signatures(tree, chosen.test),
        quarantined_at: terms.today,
        until: terms.until,
        issue: terms.issue.clone(),
    });
    let mut shown = EntryView::of(&entry, Standing::Protects, &project.invocation());
    shown.done = Some(if old.is_some() { Done::Renewed } else { Done::Written });
    if let Some(Entry::Frozen(_)) = old {
        shown.notes.push("it was frozen before: that entry is gone".to_owned());
    }
    if info.source.is_none() {
        shown
            .notes
            .push("its source cannot be read: only its last day or another failure ends it".to_owned());
    }
    ledger.put(entry);
    view.entries.push(shown);
}
