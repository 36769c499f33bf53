//! Two trees at one path: starting both, replaying what the judge asks for, and what the report says of it.

use std::path::Path;
use std::time::Duration;

use anyorder_core::model::{Order, OrderLabel, Tree};
use anyorder_core::order::Shuffle;
use anyorder_core::verdict::{
    Answer, Judge, JudgeInput, JudgeRules, Probe, Rules, Selection, Side, Star, StarResult, StarRules,
    TouchedTests, Verdict, Why,
};
use anyorder_report::view::{CandidateView, CheckView, Judged, TreeDescription};
use anyorder_runner::tree::{ChangedPath, PreparedTree, Rev, TreeKind};
use anyorder_runner::{Remap, SandboxMode};
use anyorder_store::LockedStore;

use crate::budget::Budget;
use crate::cost;
use crate::exit_code::ExitCode;
use crate::hint::Failed;
use crate::measure::{self, Collected, Measured};
use crate::progress::Progress;
use crate::project::Project;
use crate::rerun;
use crate::sweep::{OrderMaker, Outputs, Task};
use crate::views;

/// One patch against the base.
#[derive(Debug)]
pub struct Trial<'a> {
    /// The base, measured.
    pub base: &'a mut Measured,
    /// The patched tree, measured.
    pub patched: Measured,
    /// What the patch changes.
    pub changed: Vec<ChangedPath>,
    /// How many files of it nobody has added to git.
    pub untracked: usize,
    /// What follows from which finding.
    pub rules: Rules,
    /// The patch's name, where it came from a file.
    pub name: Option<String>,
    /// The patch's path, as given, where it came from a file.
    pub patch: Option<String>,
    /// The base revision.
    pub rev: &'a Rev,
    /// Whether the touched tests are put before and behind all others.
    pub star: bool,
    /// What may still be spent on a verdict.
    pub budget: Budget,
}

/// Starts the interpreter of a tree, at the project's own path where that can be, in a worktree elsewhere, and makes
/// sure that it imports this tree's modules and no other's.
pub fn collect(
    project: &Project,
    python: &Path,
    tree: Tree,
    prepared: PreparedTree,
    progress: &mut Progress,
) -> Result<Collected, Failed> {
    let overlaid = matches!(prepared.kind, TreeKind::Overlay { .. });
    let mode = project.sandbox_mode();
    let can = matches!(mode, SandboxMode::Auto | SandboxMode::Overlay);
    if !overlaid || can {
        let mut config = project.session_config(python);
        config.sandbox.lower = prepared.lower();
        let collected = measure::collect(project, tree.clone(), prepared.digest.clone(), config, progress)?;
        if !overlaid || collected.session.collection().sandbox.mode == "overlay" {
            return checked(collected);
        }
        progress.note("no overlay is to be had here: the base is laid out in a git worktree");
    }
    let folder =
        project.scratch.path().join(format!("worktree-{}", measure::tree_name(&tree).replace('/', "_")));
    fs_err::create_dir_all(&folder).map_err(Failed::cannot_measure)?;
    let moved = project.checkout.as_worktree(&prepared, &folder).map_err(Failed::cannot_measure)?;
    let mut config = project.session_config(python);
    if let Some((from, to)) = moved.remap() {
        let inside = project.cwd.strip_prefix(&from).unwrap_or(Path::new(""));
        config.cwd = to.join(inside);
        config.root.clone_from(&to);
        config.remap = Some(Remap { from, to });
    }
    config.sandbox.mode = match mode {
        SandboxMode::None => SandboxMode::None,
        _ => SandboxMode::Tmp,
    };
    checked(measure::collect(project, tree, prepared.digest, config, progress)?)
}

/// Refuses a tree whose modules came from elsewhere: what it shows would not be about it.
fn checked(collected: Collected) -> Result<Collected, Failed> {
    let foreign = collected.session.collection().origins.iter().find(|o| !o.in_tree);
    match foreign {
        None => Ok(collected),
        Some(origin) => Err(foreign_module(&collected.tree, &origin.module, &origin.file)),
    }
}

fn foreign_module(tree: &Tree, module: &str, file: &Path) -> Failed {
    Failed::cannot_measure(format!(
        "on the {} tree `{module}` was imported from `{}`, which is not part of that tree: both trees would run the same code",
        measure::tree_name(tree),
        file.display()
    ))
    .hint("install the project editable in this environment (pip install -e .), or uninstall its copy")
}

/// In what the environments of two trees differ.
pub fn drift(base: &Collected, patched: &Collected) -> Vec<String> {
    let (a, b) = (&base.session.collection().environment, &patched.session.collection().environment);
    let mut found = Vec::new();
    let mut compare = |what: &str, a: &str, b: &str| {
        if a != b {
            found.push(format!("{what} (`{a}` on base, `{b}` on patched)"));
        }
    };
    compare("Python", &a.python, &b.python);
    compare("implementation", &a.implementation, &b.implementation);
    compare("platform", &a.platform, &b.platform);
    compare("pytest", &a.pytest, &b.pytest);
    if a.distributions != b.distributions {
        found.push("the installed packages".to_owned());
    }
    let lock = |locks: &[(String, String)], name: &str| {
        locks.iter().find(|(n, _)| n == name).map(|(_, d)| d.clone())
    };
    let mut names: Vec<&String> = a.locks.iter().chain(&b.locks).map(|(n, _)| n).collect();
    names.sort();
    names.dedup();
    for name in names {
        if lock(&a.locks, name) != lock(&b.locks, name) {
            found.push(format!("the lock file `{name}`"));
        }
    }
    found
}

/// Reaches a verdict: replays what the judge asks for, in fresh interpreters, until it asks no more.
pub fn judge(
    project: &Project,
    trial: &mut Trial<'_>,
    store: &mut LockedStore<'_>,
    progress: &mut Progress,
) -> anyhow::Result<Verdict> {
    for measured in [&*trial.base, &trial.patched] {
        if let Some((module, file)) = measured.book.foreign.iter().next() {
            return Err(foreign_module(&measured.collected.tree, module, file).into());
        }
    }
    let shuffle = trial.base.plan.shuffle();
    let touched = touched(trial);
    let star = star(project, trial, &touched, store, progress)?;
    let mut judge = Judge::new(JudgeInput {
        base: trial.base.result.clone(),
        patched: trial.patched.result.clone(),
        touched,
        star,
        rules: trial.rules.clone(),
        judge: JudgeRules { keyed_orders: shuffle != Shuffle::Python, ..JudgeRules::default() },
    });
    while let Some(probe) = judge.next_probe() {
        if trial.budget.is_spent() {
            judge.give_up();
            break;
        }
        let side = if probe.side == Side::Base { "base" } else { "patched" };
        let what = match probe.why {
            Why::Minimise => "shortening a failing order".to_owned(),
            why => format!("replaying {}: {why}", short_label(&probe.label)),
        };
        progress.activity(&format!("{what} (on {side})"));
        let out = Outputs { store, progress, watch: &project.watch };
        let answer = replay(trial, &probe, out, project.settings.jobs)?;
        if project.watch.exit_code().is_some() {
            judge.give_up();
            break;
        }
        judge.observe(probe.id, &answer);
    }
    Ok(judge.finish())
}

/// A label as people read it: short orders go by their own names.
fn short_label(label: &OrderLabel) -> String {
    match label {
        OrderLabel::List(name) => name.clone(),
        label => label.to_string(),
    }
}

/// Puts the touched tests before and behind all others, in children of the patched tree's interpreter.
fn star(
    project: &Project,
    trial: &mut Trial<'_>,
    touched: &TouchedTests,
    store: &mut LockedStore<'_>,
    progress: &mut Progress,
) -> anyhow::Result<StarResult> {
    let (collected, suite) = (&trial.patched.collected, trial.patched.suite());
    let needed = suite.indices().filter(|ix| !collected.declared.needed.prerequisites(*ix).is_empty());
    let bound = needed.map(|ix| suite.id(ix).clone()).collect();
    let mut rules = StarRules { bound, executor: collected.executor, ..StarRules::default() };
    if !trial.star {
        // All touched tests are then named as left out.
        (rules.max_peeks, rules.max_runs) = (0, 0);
    }
    let mut star = Star::new(&trial.base.result, &trial.patched.result, touched, rules);
    let jobs = project.settings.jobs;
    let mut done = 0;
    loop {
        let probes: Vec<Probe> = std::iter::from_fn(|| star.next_probe()).take(STAR_BATCH).collect();
        if probes.is_empty() {
            break;
        }
        if trial.budget.is_spent() || project.watch.exit_code().is_some() {
            star.give_up();
            break;
        }
        done += probes.len();
        let rows = star.rows().max(done);
        progress.activity(&format!("running {} ({done} of {rows})", Why::Star));
        let planned = probes.iter().map(|probe| tasks(trial, probe)).collect::<Result<_, _>>()?;
        let out = Outputs { store, progress, watch: &project.watch };
        let answers = ask(&mut trial.patched, &probes, planned, out, jobs)?;
        for (probe, answer) in probes.iter().zip(&answers) {
            star.observe(probe.id, answer);
        }
    }
    Ok(star.finish())
}

/// Rows of the star that are handed to the engine at once.
const STAR_BATCH: usize = 64;

/// Runs one probe on the tree it names.
fn replay(trial: &mut Trial<'_>, probe: &Probe, out: Outputs<'_, '_>, jobs: usize) -> anyhow::Result<Answer> {
    let tasks = tasks(trial, probe)?;
    let measured = match probe.side {
        Side::Base => &mut *trial.base,
        Side::Patched => &mut trial.patched,
    };
    let answers = ask(measured, std::slice::from_ref(probe), vec![tasks], out, jobs)?;
    Ok(answers.into_iter().next().unwrap_or_default())
}

fn ask(
    measured: &mut Measured,
    probes: &[Probe],
    planned: Vec<Vec<Task>>,
    out: Outputs<'_, '_>,
    jobs: usize,
) -> anyhow::Result<Vec<Answer>> {
    let suite = measured.book.matrix().suite().clone();
    let maker = OrderMaker {
        suite: &suite,
        shuffle: measured.plan.shuffle(),
        declared: &measured.collected.declared,
    };
    let session = &mut measured.collected.session;
    rerun::ask(session, maker, probes, planned, &measured.stored, &mut measured.book, out, jobs)
}

fn tasks(trial: &Trial<'_>, probe: &Probe) -> anyhow::Result<Vec<Task>> {
    let tree = |side| match side {
        Side::Base => &*trial.base,
        Side::Patched => &trial.patched,
    };
    let (own, source) = (tree(probe.side), tree(probe.order_of));
    let other = tree(if probe.side == Side::Base { Side::Patched } else { Side::Base });
    if let Selection::Sequence(ids) = &probe.tests {
        let tests = ids.iter().filter_map(|id| own.suite().find(id)).collect();
        let order = Order::partial(probe.label.clone(), tests, own.suite().len())?;
        return Ok(rerun::tasks_of(probe, own.maker(), Some(order), 0)?);
    }
    // Different selections of one order are different runs: their attempts are kept apart in the store.
    let mut offset = match probe.tests {
        Selection::All => 0,
        Selection::Common => 1000,
        Selection::Only(_) | Selection::Sequence(_) => 2000,
    };
    let mut order = None;
    if probe.label != OrderLabel::Alone && (probe.tests != Selection::All || probe.order_of != probe.side) {
        if probe.order_of != probe.side {
            offset += 500;
        }
        let wanted = rerun::selected(own.suite(), other.suite(), &probe.tests);
        let full = source.maker().full(&probe.label)?;
        let tests = full
            .tests()
            .iter()
            .filter_map(|t| own.suite().find(source.suite().id(*t)))
            .filter(|t| wanted[t.get()])
            .collect();
        order = Some(Order::partial(probe.label.clone(), tests, own.suite().len())?);
    }
    let offset = if probe.label == OrderLabel::Alone { 0 } else { offset };
    Ok(rerun::tasks_of(probe, own.maker(), order, offset)?)
}

/// Tests whose own source differs between the trees, or that stand in a changed file.
fn touched(trial: &Trial<'_>) -> TouchedTests {
    let (base, patched) = (trial.base.suite(), trial.patched.suite());
    let in_changed = |file: &str| trial.changed.iter().any(|c| c.path.ends_with(file));
    let tests = patched
        .tests()
        .iter()
        .filter(|test| {
            let before = base.find(&test.id).map(|ix| base.info(ix).source);
            in_changed(&test.file) || before.is_some_and(|source| source != test.source)
        })
        .map(|test| test.id.clone())
        .collect();
    TouchedTests { tests }
}

/// A judged patch as the report shows it.
pub fn candidate_view(trial: &Trial<'_>, verdict: &Verdict) -> CandidateView {
    let patched = &trial.patched;
    let mut failures = patched.book.failures().to_vec();
    failures.extend(trial.base.book.failures().iter().cloned());
    let name = trial.name.clone().unwrap_or_else(|| match trial.untracked {
        0 => "working tree".to_owned(),
        1 => "working tree, 1 untracked file included".to_owned(),
        n => format!("working tree, {n} untracked files included"),
    });
    let judged = Judged {
        patched: description(patched, name, None),
        failures,
        incomplete: views::incomplete(patched),
        cost: views::spent(patched, patched.book.columns().iter().map(|c| c.wall).sum()),
    };
    let run_of = |side: Side, label: &OrderLabel| match side {
        Side::Base => trial.base.run_of(label),
        Side::Patched => patched.run_of(label),
    };
    let mut view = CandidateView::of(verdict, judged, &run_of);
    let rev = || ["--rev".to_owned(), trial.rev.oid.clone()];
    for seen in view.findings.iter_mut().flat_map(|f| &mut f.witness.seen) {
        seen.flags = match (&seen.tree, &trial.patch) {
            (Some(Tree::Base), _) => rev().into(),
            (_, Some(patch)) => rev().into_iter().chain(["--patch".to_owned(), patch.clone()]).collect(),
            (_, None) => Vec::new(),
        };
    }
    view
}

fn description(measured: &Measured, name: String, revision: Option<String>) -> TreeDescription {
    TreeDescription {
        name,
        revision,
        tests: measured.suite().len(),
        orders: measured.book.order_views(),
        bound: Some(views::bound(measured)),
        coverage: measured.coverage.into(),
        cached: measured.reused > 0 && measured.reused == measured.book.columns().len(),
    }
}

/// The report of `check`.
pub fn view(
    project: &Project,
    base: &Measured,
    rev: &Rev,
    candidates: Vec<CandidateView>,
    environment_drift: Vec<String>,
    wall: Duration,
    exit_code: ExitCode,
) -> CheckView {
    let collection = base.collected.session.collection();
    let mut cost = views::spent(base, wall);
    for candidate in &candidates {
        cost.runs += candidate.cost.runs;
        cost.replays += candidate.cost.replays;
    }
    CheckView {
        project: project.view(),
        environment: views::environment(collection),
        environment_drift,
        executor: views::executor(&base.collected),
        sandbox: views::sandbox(collection),
        switched_off: views::switched_off(collection),
        constraints: base.collected.declared.tests,
        base: description(base, rev.name.clone(), Some(crate::commands::short(&rev.oid).to_owned())),
        candidates,
        weaknesses: cost::weaknesses(base.suite().len(), &base.collected),
        resumed: base.reused,
        check: None,
        cost,
        exit_code: exit_code.number(),
        invocation: project.invocation(),
    }
}
