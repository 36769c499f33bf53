//! `anyorder ledger`: what is on the list, whether it still protects, and taking entries out.

use std::collections::BTreeSet;

use anyorder_core::ledger::{Entry, Ledger, Now, Standing, standing};
use anyorder_core::model::{Suite, TestId, Tree};
use anyorder_report::view::{Done, EntryView, LedgerCommand as Which, LedgerView};
use anyorder_report::{json, terminal};

use crate::args::{GlobalArgs, LedgerArgs, LedgerCheckArgs, LedgerCommand, LedgerPruneArgs, SuiteArgs};
use crate::declared::wildcard;
use crate::exit_code::ExitCode;
use crate::hint::Failed;
use crate::ledger::{Shelf, failed};
use crate::measure;
use crate::project::{Needs, Project, style_of_report};

/// Runs the command.
pub fn run(global: &GlobalArgs, args: &LedgerArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        LedgerCommand::List => list(global),
        LedgerCommand::Check(args) => check(global, args),
        LedgerCommand::Prune(args) => prune(global, args),
    }
}

fn list(global: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let project = Project::open(global, &SuiteArgs::default(), Needs::Folder)?;
    let shelf = Shelf::open(&project)?;
    let mut view = view(&project, &shelf, Which::List);
    view.entries = entries(&project, &shelf, None);
    print(&project, view, ExitCode::Clean)
}

fn check(global: &GlobalArgs, args: &LedgerCheckArgs) -> anyhow::Result<ExitCode> {
    let project = Project::open(global, &args.suite, Needs::Folder)?;
    let shelf = Shelf::open(&project)?;
    let mut view = view(&project, &shelf, Which::Check);
    if !shelf.file.ledger().is_empty() {
        let suite = collect(&project)?;
        view.entries = entries(&project, &shelf, Some((&suite, is_whole(&project, &args.suite))));
    }
    let found = view.entries.iter().any(|e| !e.standing.protects());
    print(&project, view, if found { ExitCode::Found } else { ExitCode::Clean })
}

fn prune(global: &GlobalArgs, args: &LedgerPruneArgs) -> anyhow::Result<ExitCode> {
    let project = Project::open(global, &args.suite, Needs::Folder)?;
    let mut shelf = Shelf::open(&project)?;
    let mut view = view(&project, &shelf, Which::Prune);
    let mut ledger = shelf.file.ledger().clone();
    let named = named(&ledger, &args.tests)?;
    if ledger.is_empty() {
        return print(&project, view, ExitCode::Clean);
    }
    // Entries that are named go without a look at the suite, which may be what cannot be collected.
    let suite = if args.tests.is_empty() { Some(collect(&project)?) } else { None };
    let whole = is_whole(&project, &args.suite);
    for mut shown in entries(&project, &shelf, suite.as_ref().map(|s| (s, whole))) {
        let named = named.contains(shown.entry.test());
        let over = matches!(shown.standing, Standing::Expired { .. } | Standing::Lapsed { .. });
        if named || (suite.is_some() && shown.standing == Standing::Gone) || (args.expired && over) {
            ledger.remove(shown.entry.test());
            shown.done = Some(Done::Dropped);
            shown.next.clear();
            view.entries.push(shown);
        }
    }
    if !view.entries.is_empty() {
        shelf.file.write(ledger).map_err(|e| failed(&e))?;
    }
    print(&project, view, ExitCode::Clean)
}

/// The entries that names and patterns mean. A name that is a test's id means that test, whatever characters it has.
fn named(ledger: &Ledger, names: &[String]) -> Result<BTreeSet<TestId>, Failed> {
    let mut chosen = BTreeSet::new();
    let ids: Vec<(String, &TestId)> = ledger.iter().map(|e| (e.test().to_string(), e.test())).collect();
    for name in names {
        let own = ids.iter().find(|(id, _)| id == name);
        let matching = ids.iter().filter(|(id, _)| own.is_none() && name.contains('*') && wildcard(name, id));
        let meant: Vec<TestId> = own.into_iter().chain(matching).map(|(_, test)| (*test).clone()).collect();
        if meant.is_empty() {
            return Err(Failed::usage(format!("`{name}` is no entry of the ledger"))
                .hint("`anyorder ledger list` shows all; `*` stands for anything"));
        }
        chosen.extend(meant);
    }
    Ok(chosen)
}

/// The tests of the working tree; none is run.
fn collect(project: &Project) -> Result<Suite, Failed> {
    let interpreter = project.interpreter()?;
    let mut progress = project.progress();
    let config = project.session_config(&interpreter.path);
    let collected = measure::collect(project, Tree::Patched(None), String::new(), config, &mut progress)?;
    progress.finish();
    Ok(collected.session.collection().suite.clone())
}

/// Whether what was collected is the whole suite. A test that the command line, or the folder that the user stands in,
/// leaves out is not gone.
fn is_whole(project: &Project, args: &SuiteArgs) -> bool {
    let config = project.settings.config_path.as_deref().and_then(std::path::Path::parent);
    let top = config.unwrap_or_else(|| project.checkout.root());
    args.pytest_args.is_empty() && project.cwd == top
}

/// All entries with how they stand; with a suite, those that it says something about.
fn entries(project: &Project, shelf: &Shelf, suite: Option<(&Suite, bool)>) -> Vec<EntryView> {
    let now = |entry: &Entry| match suite {
        None => Some(Now::Unknown),
        Some((suite, whole)) => match suite.find(entry.test()) {
            Some(ix) => Some(Now::Collected(suite.info(ix).source)),
            None => whole.then_some(Now::Gone),
        },
    };
    let shown = |entry: &Entry| {
        // What was left out of the collection is judged by its day alone.
        let standing = standing(entry, shelf.today, now(entry).unwrap_or(Now::Unknown));
        EntryView::of(entry, standing, &project.invocation())
    };
    shelf.file.ledger().iter().map(shown).collect()
}

fn view(project: &Project, shelf: &Shelf, command: Which) -> LedgerView {
    LedgerView {
        command,
        project: project.view(),
        file: shelf.shown(project),
        today: shelf.today,
        measured: None,
        entries: Vec::new(),
        refused: Vec::new(),
        passed_over: 0,
        exit_code: 0,
    }
}

fn print(project: &Project, mut view: LedgerView, code: ExitCode) -> anyhow::Result<ExitCode> {
    view.exit_code = code.number();
    super::print(
        project,
        |out| terminal::ledger(&view, style_of_report(), out),
        |out| json::ledger(&view, out),
    )?;
    Ok(code)
}
