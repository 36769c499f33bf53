//! `anyorder check`: the gate. Two trees, the same orders, a verdict.

use std::path::Path;
use std::time::Instant;

use anyorder_core::model::{OrderLabel, Tree};
use anyorder_core::verdict::{Action, Finding, Rules, VerdictOutcome};
use anyorder_report::view::{CandidateView, CheckView};
use anyorder_report::{json, terminal};
use anyorder_runner::tree::{PreparedTree, Rev};
use anyorder_store::{CheckRecord, LockedStore};

use crate::args::{CheckArgs, GlobalArgs};
use crate::budget::Budget;
use crate::check::{self, Trial};
use crate::clock;
use crate::exit_code::ExitCode;
use crate::hint::Failed;
use crate::ledger::Shelf;
use crate::measure::{self, Measured, Reuse};
use crate::progress::Progress;
use crate::project::{Needs, Project, style_of_report};
use crate::settings::{ConfigFile, PlanSettings, nearest};
use crate::stores;

/// Runs the command.
pub fn run(global: &GlobalArgs, args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let project = Project::open(global, &args.suite, Needs::Git)?;
    let plan = PlanSettings::resolve(&args.plan, &project.config)?;
    let rules = rules(&project.config)?;
    let shelf = Shelf::open(&project)?;
    let rev = base(&project, args)?;
    let candidates = candidates(&project, args, &rev)?;
    let interpreter = project.interpreter()?;
    let mut store = stores::open(&project.store_dir())?;
    let mut store = store.lock().map_err(Failed::cannot_measure)?;
    let mut progress = project.progress();
    progress.lasting(&format!("base is {} ({})", short(&rev.oid), rev.how));

    let tree = project.checkout.at(&rev, &folder(&project, "base")?).map_err(Failed::cannot_measure)?;
    let shelf = shelf.beside(&tree, &project);
    let collected = check::collect(&project, &interpreter.path, Tree::Base, tree, &mut progress)?;
    let reuse = if args.fresh_sweeps { Reuse::Nothing } else { Reuse::Complete };
    let mut base = measure::measure(&project, collected, &plan, reuse, &mut store, &mut progress)?;
    stop_if_interrupted(&project, &base, &mut progress)?;
    store.finish_sweep(base.stored.id, clock::now_ms()).map_err(|e| stores::failed(&e))?;

    let mut views = Vec::new();
    let mut drift = Vec::new();
    for (at, (name, tree)) in candidates.into_iter().enumerate() {
        let candidate = Tree::Patched(name.as_deref().map(Into::into));
        let changed = tree.changed.clone();
        let untracked = tree.untracked.in_patch.len();
        let collected = check::collect(&project, &interpreter.path, candidate, tree, &mut progress)?;
        drift = check::drift(&base.collected, &collected);
        if !drift.is_empty() && !args.allow_env_drift {
            return Err(Failed::cannot_measure(format!(
                "the two trees differ in their environment, so that their results cannot be compared: {}",
                drift.join("; ")
            ))
            .hint("`--allow-env-drift` compares them all the same, and the report says so")
            .into());
        }
        let reuse = if args.fresh_sweeps { Reuse::Nothing } else { Reuse::Unfinished };
        let patched = measure::measure(&project, collected, &plan, reuse, &mut store, &mut progress)?;
        stop_if_interrupted(&project, &patched, &mut progress)?;
        let patch = args.patch.get(at).map(|p| p.display().to_string());
        let rules = rules.clone();
        let suite =
            base.book.columns().iter().find(|c| c.label == OrderLabel::Default && c.over).map(|c| c.wall);
        let budget = Budget::begin(args.budget, suite);
        let star = !args.no_star;
        let mut trial = Trial {
            base: &mut base,
            patched,
            changed,
            untracked,
            rules,
            name,
            patch,
            rev: &rev,
            star,
            budget,
        };
        let mut verdict = check::judge(&project, &mut trial, &mut store, &mut progress)?;
        let effect = shelf.apply(&mut verdict, &trial.patched.result);
        stop_if_interrupted(&project, &trial.patched, &mut progress)?;
        store.finish_sweep(trial.patched.stored.id, clock::now_ms()).map_err(|e| stores::failed(&e))?;
        let mut shown = check::candidate_view(&trial, &verdict);
        shown.list(&effect);
        views.push(shown);
    }
    progress.finish();
    rank(&mut views);
    let code = exit_code(&views, &base);
    let mut view = check::view(&project, &base, &rev, views, drift, started.elapsed(), code);
    remember(&mut store, &mut view, &rev)?;
    super::print(
        &project,
        |out| terminal::check(&view, style_of_report(), out),
        |out| json::check(&view, out),
    )?;
    Ok(code)
}

/// What the change is compared with.
fn base(project: &Project, args: &CheckArgs) -> Result<Rev, Failed> {
    let named = args.base.as_deref().or(project.config.base.as_deref());
    let rev = match named {
        Some(name) => project.checkout.resolve(name),
        None if args.patch.is_empty() => project.checkout.default_base(),
        None => project.checkout.head(),
    };
    rev.map_err(Failed::cannot_measure)
}

/// The trees to judge, each with its name where there are several.
fn candidates(
    project: &Project,
    args: &CheckArgs,
    base: &Rev,
) -> anyhow::Result<Vec<(Option<String>, PreparedTree)>> {
    let checkout = &project.checkout;
    if args.patch.is_empty() {
        let scratch = folder(project, "patched")?;
        let tree = checkout.patched_working(base, &scratch).map_err(Failed::cannot_measure)?;
        if tree.changed.is_empty() {
            return Err(Failed::new(ExitCode::Nothing, format!("nothing differs from {}", short(&base.oid)))
                .hint("commit or edit something, name another --base, or give a --patch")
                .into());
        }
        return Ok(vec![(None, tree)]);
    }
    let mut trees = Vec::new();
    for (at, patch) in args.patch.iter().enumerate() {
        let scratch = folder(project, &format!("patch-{at}"))?;
        let path = project.cwd.join(patch);
        if !path.exists() {
            return Err(Failed::usage(format!("there is no patch file `{}`", patch.display())).into());
        }
        let tree = checkout.with_patch(base, &path, &scratch).map_err(Failed::cannot_measure)?;
        trees.push((Some(name_of(patch, &args.patch)), tree));
    }
    Ok(trees)
}

/// A patch's file name; its whole path where two have the same name.
fn name_of(patch: &Path, all: &[std::path::PathBuf]) -> String {
    let unique = all.iter().filter(|p| p.file_name() == patch.file_name()).count() == 1;
    match patch.file_name() {
        Some(name) if unique => name.to_string_lossy().into_owned(),
        _ => patch.display().to_string(),
    }
}

fn folder(project: &Project, name: &str) -> anyhow::Result<std::path::PathBuf> {
    let path = project.scratch.path().join(name);
    fs_err::create_dir_all(&path)?;
    Ok(path)
}

/// The table of the verdict, with what the configuration changes.
pub fn rules(config: &ConfigFile) -> Result<Rules, Failed> {
    let mut rules = Rules::default();
    for (finding, action) in &config.verdict {
        let unknown = |what: &str, word: &str, near: Option<&str>| {
            let failed = Failed::usage(format!("`[verdict]` names the unknown {what} `{word}`"));
            match near {
                Some(near) => failed.hint(format!("did you mean `{near}`?")),
                None => failed,
            }
        };
        let found = Finding::from_word(&finding.replace('-', "_")).ok_or_else(|| {
            unknown("finding", finding, nearest(finding, Finding::ALL.into_iter().map(Finding::word)))
        })?;
        let wanted = Action::from_word(action).ok_or_else(|| {
            unknown("action", action, nearest(action, Action::ALL.into_iter().map(Action::word)))
        })?;
        rules.set(found, wanted).map_err(|e| Failed::usage(format!("`[verdict]`: {e}")))?;
    }
    Ok(rules)
}

fn stop_if_interrupted(
    project: &Project,
    measured: &Measured,
    progress: &mut Progress,
) -> Result<(), Failed> {
    let Some(code) = project.watch.exit_code() else { return Ok(()) };
    progress.finish();
    let done = measured.book.columns().iter().filter(|c| c.over).count();
    Err(Failed::new(
        code,
        format!("stopped before a verdict; {done} of {} orders are stored", measured.book.columns().len()),
    )
    .hint("the same command goes on from there"))
}

/// The best patch first: accepted before reviewed before blocked, more evidence before less.
fn rank(views: &mut [CandidateView]) {
    views.sort_by_key(|v| (v.verdict, std::cmp::Reverse(v.evidence.len())));
}

/// The worst verdict counts; not having run everything wins over acceptance.
fn exit_code(views: &[CandidateView], base: &Measured) -> ExitCode {
    let incomplete = base.book.unfinished() > 0 || views.iter().any(|v| v.incomplete.is_some());
    match views.iter().map(|v| v.verdict).max() {
        Some(VerdictOutcome::Block) => ExitCode::Found,
        Some(VerdictOutcome::Review) => ExitCode::Review,
        Some(VerdictOutcome::Accept) | None if incomplete => ExitCode::Incomplete,
        Some(VerdictOutcome::Accept) | None => ExitCode::Clean,
    }
}

fn remember(store: &mut LockedStore<'_>, view: &mut CheckView, rev: &Rev) -> anyhow::Result<()> {
    let mut document = Vec::new();
    json::check(view, &mut document)?;
    let worst = view.candidates.iter().map(|c| c.verdict).max().unwrap_or(VerdictOutcome::Accept);
    let record = CheckRecord {
        created_ms: clock::now_ms(),
        verdict: worst.word().to_owned(),
        base: rev.oid.clone(),
        patches: view.candidates.iter().map(|c| c.patched.name.clone()).collect(),
        document: String::from_utf8_lossy(&document).into_owned(),
    };
    let id = store.save_check(&record).map_err(|e| stores::failed(&e))?;
    view.check = Some(id.to_string());
    Ok(())
}

/// A commit, short enough to read.
pub fn short(oid: &str) -> &str {
    oid.get(..12).unwrap_or(oid)
}
