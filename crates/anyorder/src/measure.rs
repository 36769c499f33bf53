//! Measures one tree: starts its interpreter, makes the plan, runs it, and reruns what needs telling apart.

use std::fmt::Write;

use anyorder_core::model::{Executor, OrderLabel, Suite, Tree};
use anyorder_core::order::{Coverage, CoverageCounter, Plan, PlanRequest};
use anyorder_core::verdict::{ClassRules, Classifier, Side, TreeResult};
use anyorder_runner::tree::products_digest;
use anyorder_runner::{Collection, Event, Flow, Listener, Session, SessionConfig, StartError};
use anyorder_store::{LockedStore, Sweep as StoredSweep, SweepKey, SweepState};

use crate::args::ExecutorChoice;
use crate::book::Book;
use crate::clock;
use crate::declared::{self, DeclaredOrder};
use crate::exit_code::ExitCode;
use crate::hint::Failed;
use crate::progress::Progress;
use crate::project::Project;
use crate::settings::PlanSettings;
use crate::slow;
use crate::stores;
use crate::sweep::{self, OrderMaker, Outputs, Task};
use crate::{cost, rerun};

/// A tree whose interpreter has collected.
#[derive(Debug)]
pub struct Collected {
    /// Which tree.
    pub tree: Tree,
    /// What progress calls it; empty where there is only one.
    pub shown: String,
    /// Digest of its content.
    pub digest: String,
    /// Its interpreter.
    pub session: Session,
    /// What the suite and the configuration declare.
    pub declared: DeclaredOrder,
    /// The executor for its sweep.
    pub executor: Executor,
    /// Why that one, where it was not free to choose.
    pub executor_why: Option<String>,
}

/// A tree that was measured.
#[derive(Debug)]
pub struct Measured {
    /// The tree and its interpreter.
    pub collected: Collected,
    /// Which orders were planned.
    pub plan: Plan,
    /// What the runs showed.
    pub book: Book,
    /// What the outcomes mean.
    pub result: TreeResult,
    /// The store's sweep.
    pub stored: StoredSweep,
    /// How many orders an earlier sweep had.
    pub reused: usize,
    /// Which pairs of tests were exercised.
    pub coverage: Coverage,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

impl Measured {
    /// The tests.
    pub fn suite(&self) -> &Suite {
        self.book.matrix().suite()
    }

    /// Where its orders come from.
    pub fn maker(&self) -> OrderMaker<'_> {
        OrderMaker { suite: self.suite(), shuffle: self.plan.shuffle(), declared: &self.collected.declared }
    }

    /// The store's id of the run of an order, for `anyorder replay`.
    pub fn run_of(&self, label: &OrderLabel) -> Option<String> {
        self.book.run_of(label).filter(|_| *label != OrderLabel::Alone).map(str::to_owned)
    }
}

/// What may be taken from the store instead of being run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// Nothing: everything is run.
    Nothing,
    /// What an interrupted sweep left.
    Unfinished,
    /// That, and sweeps that are complete.
    Complete,
}

/// Starts the interpreter of a tree and lets it collect.
pub fn collect(
    project: &Project,
    tree: Tree,
    digest: String,
    config: SessionConfig,
    progress: &mut Progress,
) -> Result<Collected, Failed> {
    let shown = if tree == Tree::Base { "collecting base" } else { "collecting" };
    progress.activity(shown);
    let mut listener = Notes { progress };
    let session =
        Session::start(SessionConfig { tree: tree.clone(), ..config }, &mut listener, &project.watch.cancel)
            .map_err(|e| start_failed(project, &tree, &e))?;
    let collection = session.collection();
    let sorts = collection.switched_off.iter().any(|off| off.what.starts_with("pytest-order"));
    let declared =
        declared::collect(&collection.suite, &collection.declared, &project.settings.sequential, sorts);
    for ignored in &declared.ignored {
        progress.note(ignored);
    }
    let (executor, executor_why) = choose_executor(project.executor(), collection)?;
    let shown = tree_name(&tree);
    Ok(Collected { tree, shown, digest, session, declared, executor, executor_why })
}

/// Runs the plan of a tree, or what an earlier sweep left of it, and tells order from chance.
pub fn measure(
    project: &Project,
    mut collected: Collected,
    settings: &PlanSettings,
    reuse: Reuse,
    store: &mut LockedStore<'_>,
    progress: &mut Progress,
) -> anyhow::Result<Measured> {
    let suite = collected.session.collection().suite.clone();
    // Where each test alone would need an interpreter of its own, only what the other orders call into question is
    // run alone, by the classifier.
    let isolation = collected.executor == Executor::Fork;
    let request = PlanRequest { isolation, ..settings.request.clone() };
    let plan = Plan::new(&request, settings.shuffle, &collected.declared.kept).map_err(Failed::usage)?;
    let key = key(project, &collected, &plan, &suite);
    let labels = plan.labels().to_vec();
    let mut begin = |resume| {
        let begun = store.begin_or_resume(&key, &collected.tree, &suite, &labels, clock::now_ms(), resume);
        begun.map_err(|e| stores::failed(&e))
    };
    let mut stored = begin(reuse != Reuse::Nothing)?;
    if stored.state == SweepState::Complete && reuse != Reuse::Complete {
        stored = begin(false)?;
    }
    let mut book = Book::new(suite.clone(), &labels);
    progress.begin(&collected.shown, &labels, suite.len());
    let reused = take_stored(store, &stored, &mut book, progress)?;

    let maker = OrderMaker { suite: &suite, shuffle: settings.shuffle, declared: &collected.declared };
    let tasks = tasks(&book, collected.executor);
    let (first, mut rest): (Vec<Task>, Vec<Task>) =
        tasks.into_iter().partition(|t| t.label == OrderLabel::Default);
    if !first.is_empty() {
        progress.activity("running the default order");
        let out = Outputs { store, progress, watch: &project.watch };
        sweep::execute(&mut collected.session, maker, first, &stored, &mut book, out)?;
        slow::tell(&book, rest.len(), project.settings.test_timeout, progress);
    }
    if !rest.is_empty() && project.watch.exit_code().is_none() {
        let timed = rest.iter().filter(|t| t.label == OrderLabel::Alone).take(cost::TIMED_FORKS).count();
        if timed > 0 {
            // The plan's cost is told from what these took.
            rest.sort_by_key(|t| t.label != OrderLabel::Alone);
            let others = rest.split_off(timed);
            let out = Outputs { store, progress, watch: &project.watch };
            sweep::execute(&mut collected.session, maker, rest, &stored, &mut book, out)?;
            rest = others;
        }
        cost::say(project, &collected, &plan, &book, progress);
        progress.activity("running the other orders");
        let out = Outputs { store, progress, watch: &project.watch };
        sweep::execute(&mut collected.session, maker, rest, &stored, &mut book, out)?;
    }
    let mut stopped = project.watch.exit_code().is_some();
    let side = if collected.tree == Tree::Base { Side::Base } else { Side::Patched };
    let mut classifier = Classifier::new(side, book.sweep().clone(), ClassRules::default());
    if stopped {
        classifier.give_up();
    } else {
        let out = Outputs { store, progress, watch: &project.watch };
        let jobs = project.settings.jobs;
        rerun::classify(&mut collected.session, maker, &stored, &mut book, &mut classifier, out, jobs)?;
        stopped = project.watch.exit_code().is_some();
    }
    let coverage = coverage(maker, &book)?;
    let result = classifier.finish();
    Ok(Measured { collected, plan, book, result, stored, reused, coverage, stopped })
}

/// Enters what an earlier sweep has into the book.
fn take_stored(
    store: &LockedStore<'_>,
    stored: &StoredSweep,
    book: &mut Book,
    progress: &mut Progress,
) -> anyhow::Result<usize> {
    if matches!(stored.state, SweepState::New) {
        return Ok(0);
    }
    for summary in store.runs(stored.id).map_err(|e| stores::failed(&e))? {
        let record = store.load_run(summary.id).map_err(|e| stores::failed(&e))?;
        book.absorb(&record, Some(&summary.id.to_string()), true);
    }
    let mut reused = 0;
    for (at, column) in book.columns().iter().enumerate() {
        if column.over {
            reused += 1;
            let worst = book.counts(at).into_iter().map(|(o, _)| o).find(|o| o.is_bad());
            progress.already(&column.label, worst);
        }
    }
    Ok(reused)
}

/// What is still to be run: cheap and telling things first.
fn tasks(book: &Book, executor: Executor) -> Vec<Task> {
    let mut tasks = Vec::new();
    for (at, column) in book.columns().iter().enumerate().filter(|(_, c)| !c.over) {
        let task = |test| Task {
            label: column.label.clone(),
            test,
            order: None,
            peeks: Vec::new(),
            attempt: 0,
            executor,
        };
        if column.label == OrderLabel::Alone {
            tasks.extend(book.missing(at).map(|test| task(Some(test))));
        } else {
            tasks.push(task(None));
        }
    }
    tasks
}

fn key(project: &Project, collected: &Collected, plan: &Plan, suite: &Suite) -> SweepKey {
    let settings = &project.settings;
    let mut digest = blake3::Hasher::new();
    for argument in &settings.pytest_args {
        digest.update(argument.as_bytes()).update(&[0]);
    }
    for (name, value) in &settings.env {
        digest.update(name.as_bytes()).update(b"=").update(value.as_bytes()).update(&[0]);
    }
    // A rebuilt extension or a changed `.env` is in no commit, and changes what is measured all the same.
    if let Ok(products) = products_digest(project.checkout.root()) {
        digest.update(products.as_bytes());
    }
    digest.update(project.cwd.as_os_str().as_encoded_bytes());
    digest.update(format!("{:?} {:?}", collected.executor, settings.reseed).as_bytes());
    for test in suite.tests() {
        digest.update(test.id.to_string().as_bytes()).update(&[0]);
    }
    SweepKey {
        tree_digest: collected.digest.clone(),
        environment_digest: fingerprint(collected.session.collection()),
        plan_digest: plan.digest().to_owned(),
        settings_digest: digest.finalize().to_hex().to_string(),
    }
}

/// Digest of everything about the environment that must agree between two trees.
pub fn fingerprint(collection: &Collection) -> String {
    let e = &collection.environment;
    let mut digest = blake3::Hasher::new();
    for part in [&e.python, &e.implementation, &e.platform, &e.pytest, &e.distributions] {
        digest.update(part.as_bytes()).update(&[0]);
    }
    for (name, value) in &e.locks {
        digest.update(name.as_bytes()).update(b"=").update(value.as_bytes()).update(&[0]);
    }
    digest.finalize().to_hex().to_string()
}

fn choose_executor(
    choice: ExecutorChoice,
    collection: &Collection,
) -> Result<(Executor, Option<String>), Failed> {
    let refused = &collection.fork_refused;
    match choice {
        ExecutorChoice::Fresh => Ok((Executor::Fresh, Some("asked for".to_owned()))),
        ExecutorChoice::Fork if !refused.is_empty() => Err(Failed::cannot_measure(format!(
            "the fork executor was asked for and is not safe here: {}",
            refused.join("; ")
        ))
        .hint("`--executor auto` uses fresh interpreters then")),
        ExecutorChoice::Fork => Ok((Executor::Fork, Some("asked for".to_owned()))),
        ExecutorChoice::Auto if refused.is_empty() => Ok((Executor::Fork, None)),
        ExecutorChoice::Auto => Ok((Executor::Fresh, Some(refused.join("; ")))),
    }
}

fn coverage(maker: OrderMaker<'_>, book: &Book) -> Result<Coverage, Failed> {
    let mut counter = CoverageCounter::new(maker.suite.len());
    for column in book.columns().iter().filter(|c| c.over && c.label != OrderLabel::Alone) {
        if !matches!(column.label, OrderLabel::List(_)) {
            counter.add(&maker.full(&column.label)?);
        }
    }
    Ok(counter.coverage())
}

/// The name of a tree in progress lines.
pub fn tree_name(tree: &Tree) -> String {
    match tree {
        Tree::Base => "base".to_owned(),
        Tree::Patched(None) => "patched".to_owned(),
        Tree::Patched(Some(name)) => name.to_string(),
    }
}

/// A session that did not start, as an error of the command.
fn start_failed(project: &Project, tree: &Tree, error: &StartError) -> Failed {
    let on = match tree {
        Tree::Base => " on the base tree",
        Tree::Patched(_) => "",
    };
    match error {
        StartError::NoTests { .. } => Failed::new(ExitCode::Nothing, format!("{error}{on}"))
            .hint("arguments for pytest follow after `--`: anyorder run -- tests"),
        StartError::Interrupted => Failed::new(
            project.watch.exit_code().unwrap_or(ExitCode::Incomplete),
            "stopped while pytest was collecting; nothing was run",
        ),
        StartError::CollectFailed { errors } => {
            let mut message = format!("{error}{on}; nothing was run");
            for (id, text) in errors.iter().take(3) {
                _ = write!(message, "\n\n{id}\n{}", shortened(&text.0));
            }
            if errors.len() > 3 {
                _ = write!(message, "\n\nand {} more", errors.len() - 3);
            }
            Failed::cannot_measure(message)
        }
        StartError::Broken { text, .. } | StartError::NoPytest { text, .. } => {
            Failed::cannot_measure(format!("{error}{on}\n{}", shortened(&text.0)))
        }
        StartError::Died { output, .. } | StartError::TimedOut { output, .. } => {
            Failed::cannot_measure(format!("{error}{on}\n{}", shortened(&output.0)))
        }
        StartError::Sandbox { .. } => Failed::cannot_measure(format!("{error}{on}"))
            .hint("`--sandbox auto` takes what there is and says so"),
        StartError::Io { source, .. } | StartError::NoInterpreter { source, .. } => {
            Failed::cannot_measure(format!("{error}{on}: {source}"))
        }
        StartError::TooOld { .. } | StartError::Protocol { .. } => {
            Failed::cannot_measure(format!("{error}{on}"))
        }
    }
}

fn shortened(text: &anyorder_core::model::Excerpt) -> String {
    if text.tail.is_empty() { text.head.clone() } else { format!("{}\n…\n{}", text.head, text.tail) }
}

/// Passes notes on while an interpreter collects.
struct Notes<'a> {
    progress: &'a mut Progress,
}

impl Listener for Notes<'_> {
    fn event(&mut self, event: Event<'_>) -> Flow {
        if let Event::Note(note) = event {
            self.progress.note(&note);
        }
        Flow::Continue
    }
}
