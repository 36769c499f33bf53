//! `anyorder replay`: one order again, exactly.

use std::io::Write;
use std::path::Path;

use anyorder_core::model::{Executor, Order, OrderLabel, RunRecord, Suite, TestId, Tree};
use anyorder_core::order;
use anyorder_report::escape;
use anyorder_runner::tree::PreparedTree;
use anyorder_runner::{Event, Flow, Listener, RunRequest};
use anyorder_store::{RunId, Store, read_order_file};

use crate::args::{ExecutorChoice, Format, GlobalArgs, ReplayArgs};
use crate::check;
use crate::exit_code::ExitCode;
use crate::hint::Failed;
use crate::measure;
use crate::project::{Needs, Project};
use crate::settings::parse_shuffle;

/// Orders up to this length are also shown as a pytest command.
const SHORT: usize = 20;

/// Runs the command.
pub fn run(global: &GlobalArgs, args: &ReplayArgs) -> anyhow::Result<ExitCode> {
    if global.format == Format::Json {
        return Err(Failed::usage("`replay` has no JSON document")
            .hint("`anyorder run --orders ORDER --format json` has one")
            .into());
    }
    let elsewhere = args.rev.is_some() || args.patch.is_some();
    let project = Project::open(global, &args.suite, if elsewhere { Needs::Git } else { Needs::Folder })?;
    let interpreter = project.interpreter()?;
    let mut progress = project.progress();
    let mut collected = if let Some(tree) = tree(&project, args)? {
        check::collect(&project, &interpreter.path, Tree::Patched(None), tree, &mut progress)?
    } else {
        let config = project.session_config(&interpreter.path);
        measure::collect(&project, Tree::Patched(None), String::new(), config, &mut progress)?
    };
    let suite = collected.session.collection().suite.clone();
    let mut asked = wanted(&project, args, &suite, &collected)?;
    if let Some(until) = &args.until {
        asked = cut(&asked, &suite, until)?;
    }
    // A fresh interpreter is what a replay is trusted for; fork only where it was asked for.
    let executor = match project.executor() {
        ExecutorChoice::Fork => Executor::Fork,
        ExecutorChoice::Auto | ExecutorChoice::Fresh => Executor::Fresh,
    };
    progress.activity(&format!("replaying {} of {} tests", asked.label(), asked.len()));
    let mut requests = (0..args.times).map(|n| RunRequest {
        run: u64::from(n),
        order: asked.clone(),
        attempt: n,
        executor,
        peeks: Vec::new(),
        imports: Vec::new(),
    });
    let mut gather = Gather { records: Vec::new(), notes: Vec::new() };
    collected
        .session
        .execute(&mut requests, &mut gather, &project.watch.cancel)
        .map_err(|e| Failed::cannot_measure(format!("could not run the order: {e}")))?;
    progress.finish();
    gather.notes.iter().for_each(|n| progress.note(n));
    let mut out = Vec::new();
    for record in &gather.records {
        show(&mut out, &suite, record)?;
    }
    if asked.len() <= SHORT && asked.tests().iter().all(|t| suite.id(*t).occurrence() == 1) {
        let python = anyorder_report::quote(&interpreter.path.display().to_string()).into_owned();
        let ids: Vec<String> =
            asked.tests().iter().map(|t| anyorder_report::quote(suite.id(*t).raw()).into_owned()).collect();
        writeln!(out, "without anyorder: {python} -m pytest -p no:randomly {}", ids.join(" "))?;
    }
    super::write(&out)?;
    if let Some(code) = project.watch.exit_code() {
        return Ok(code);
    }
    let bad = gather.records.iter().any(|r| r.results.iter().any(|t| t.outcome.is_bad()));
    Ok(if bad { ExitCode::Found } else { ExitCode::Clean })
}

/// The tree that the user means; `None` for the working tree.
fn tree(project: &Project, args: &ReplayArgs) -> Result<Option<PreparedTree>, Failed> {
    let (checkout, scratch) = (&project.checkout, project.scratch.path());
    if args.rev.is_none() && args.patch.is_none() {
        return Ok(None);
    }
    let rev = match &args.rev {
        Some(rev) => checkout.resolve(rev),
        None => checkout.head(),
    }
    .map_err(Failed::cannot_measure)?;
    let tree = match &args.patch {
        Some(patch) => checkout.with_patch(&rev, &project.cwd.join(patch), scratch),
        None => checkout.at(&rev, scratch),
    };
    tree.map(Some).map_err(Failed::cannot_measure)
}

/// The order that the user means.
fn wanted(
    project: &Project,
    args: &ReplayArgs,
    suite: &Suite,
    collected: &measure::Collected,
) -> Result<Order, Failed> {
    let find = |id: &String| suite.indices().find(|t| suite.id(*t).to_string() == *id);
    let [what] = args.what.as_slice() else {
        let tests = args.what.iter().map(|id| {
            find(id).ok_or_else(|| {
                Failed::usage(format!("`{id}` is no test of this tree"))
                    .hint("of several words each must be a test id; a run, an order or a file stands alone")
            })
        });
        let tests = tests.collect::<Result<Vec<_>, _>>()?;
        return Order::partial(OrderLabel::List("tests".to_owned()), tests, suite.len())
            .map_err(Failed::usage);
    };
    if let Ok(run) = what.parse::<RunId>() {
        return stored(project, run, suite);
    }
    if let Ok(label) = what.parse::<OrderLabel>() {
        let shuffle = parse_shuffle(args.shuffle.as_deref().or(project.config.shuffle.as_deref()))?;
        return collected.declared.order(&label, suite, shuffle);
    }
    if let Some(test) = find(what) {
        return Ok(order::alone(suite, &collected.declared.needed, test));
    }
    let path = project.cwd.join(what);
    if path.is_file() {
        return from_file(&path, suite);
    }
    Err(Failed::usage(format!("`{what}` is no stored run, no order, no test and no file")).hint(
        "write a run such as `r17`, an order such as `seed:7`, a test id, or the path of a list of test ids",
    ))
}

fn stored(project: &Project, run: RunId, suite: &Suite) -> Result<Order, Failed> {
    let failed = |e: &dyn std::fmt::Display| Failed::cannot_measure(format!("could not read run {run}: {e}"));
    let store = Store::open_read_only(&project.store_dir()).map_err(|e| failed(&e))?;
    let record = store.load_run(run).map_err(|e| failed(&e))?;
    let summary = store.run(run).map_err(|e| failed(&e))?;
    let then = store.suite_of(summary.sweep).map_err(|e| failed(&e))?;
    let ids: Vec<TestId> = record.order.tests().iter().map(|t| then.id(*t).clone()).collect();
    let order = order::from_ids(&run.to_string(), &ids, suite).map_err(|e| {
        Failed::cannot_measure(format!("run {run} cannot be run on this tree: {e}"))
            .hint("it was made on another tree: check that out first")
    })?;
    Ok(order)
}

fn from_file(path: &Path, suite: &Suite) -> Result<Order, Failed> {
    let text = fs_err::read_to_string(path).map_err(Failed::usage)?;
    let ids = read_order_file(&text).map_err(|e| Failed::usage(format!("`{}`: {e}", path.display())))?;
    let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    order::from_ids(&name, &ids, suite).map_err(Failed::usage)
}

fn cut(order: &Order, suite: &Suite, until: &str) -> Result<Order, Failed> {
    let at = order.tests().iter().position(|t| suite.id(*t).to_string() == until);
    let at = at.ok_or_else(|| Failed::usage(format!("`{until}` is not in the order")))?;
    let tests = order.tests()[..=at].to_vec();
    Order::partial(order.label().clone(), tests, suite.len()).map_err(Failed::usage)
}

fn show(out: &mut dyn Write, suite: &Suite, record: &RunRecord) -> std::io::Result<()> {
    let passed = record.results.iter().filter(|r| r.outcome.passed()).count();
    for result in record.results.iter().filter(|r| r.outcome.is_bad()) {
        writeln!(out, "{} {}", result.outcome.word(), escape::text(&suite.id(result.test).to_string()))?;
        if let Some(failure) = &result.failure {
            writeln!(out, "    {}", escape::text(&failure.signature.0))?;
        }
    }
    let ending = if record.ending.is_complete() {
        String::new()
    } else {
        format!(" ({})", escape::text(&crate::artefacts::ending_words(&record.ending)))
    };
    let bad = record.results.iter().filter(|r| r.outcome.is_bad()).count();
    writeln!(
        out,
        "{}: {passed} passed, {bad} not, {} in all, {:.1} s in {} interpreter{ending}",
        escape::text(&record.order.label().to_string()),
        record.results.len(),
        record.wall.as_secs_f64(),
        if record.executor == Executor::Fresh { "a fresh" } else { "a forked" },
    )
}

struct Gather {
    records: Vec<RunRecord>,
    notes: Vec<String>,
}

impl Listener for Gather {
    fn event(&mut self, event: Event<'_>) -> Flow {
        match event {
            Event::RunFinished { record, .. } => self.records.push(record.clone()),
            Event::Note(note) => self.notes.push(note),
            Event::Foreign { .. }
            | Event::Collecting
            | Event::Collected(_)
            | Event::RunStarted(_)
            | Event::TestStarted { .. }
            | Event::TestFinished { .. } => {}
        }
        Flow::Continue
    }
}
