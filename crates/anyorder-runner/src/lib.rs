//! Runs orders: starts interpreters, speaks with the agent inside them, prepares trees.
//!
//! The engine turns [`RunRequest`]s into [`anyorder_core::model::RunRecord`]s and tells a [`Listener`] what
//! happens meanwhile. It never prints, stores or judges. The interface that the binary relies on is this file.

#[cfg(not(unix))]
compile_error!("anyorder runs suites on Unix systems only: its channel to the interpreter is a Unix socket");

use std::path::PathBuf;
use std::time::Duration;

use anyorder_core::model::{Executor, Order, PeekAt, RunRecord, Suite, TestIx, TestResult};

mod agent;
mod cancel;
mod channel;
mod engine;
mod git;
pub mod interpreter;
mod process;
mod protocol;
mod session;
mod sys;
pub mod tree;

pub use agent::SOURCE as AGENT_SOURCE;
pub use cancel::{Cancel, Urgency};
pub use session::{
    EngineError, Limits, Remap, SandboxAsk, SandboxMode, Session, SessionConfig, StartError, Text,
};

/// One order to run once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRequest {
    /// Chosen by the caller, unique in a session; comes back in every event.
    pub run: u64,
    /// What to run, in indices of [`Collection::suite`].
    pub order: Order,
    /// 0 for the sweep's own run, 1 and up for reruns of the same order.
    pub attempt: u32,
    /// Which executor; `Fork` needs [`Collection::fork_refused`] to be empty.
    pub executor: Executor,
    /// Tests to be run in children of their own in the middle of it, in any sequence, any number at one place; only with
    /// `Fork`. Each does what it would do as the last test of a run of those before it, but that fixtures of session scope
    /// which the run had set up stay up. What is not kept apart stands in docs/design/001-agent-protocol.md.
    pub peeks: Vec<PeekAt>,
    /// Modules (dotted names) to import in the run's process before its first test, one after the other. A run whose import
    /// fails has crashed without a culprit, and says which import it was.
    pub imports: Vec<String>,
}

/// What the agent found when it collected.
#[derive(Clone, Debug)]
pub struct Collection {
    /// The tests in default order.
    pub suite: Suite,
    /// Order that the suite itself declares, for each test that declares some.
    pub declared: Vec<(TestIx, Declared)>,
    /// Interpreter, pytest, plugins, lock files.
    pub environment: Environment,
    /// What was neutralised: (what, how, where it was asked for).
    pub switched_off: Vec<SwitchedOff>,
    /// Why fork is not safe here; empty when it is.
    pub fork_refused: Vec<String>,
    /// What keeps runs apart: `overlay`, `tmp` or `none`, and why not more.
    pub sandbox: SandboxState,
    /// Project modules and where they were loaded from.
    pub origins: Vec<Origin>,
    /// For each test file the modules of the tree (dotted names, in the sequence of their import) that nobody had imported before
    /// it was collected. Files whose collection imported nothing new are not there.
    pub imports: Vec<(String, Vec<String>)>,
    /// From the start of the interpreter to the start of collection.
    pub startup: Duration,
    /// Collection itself.
    pub collecting: Duration,
}

/// Order that a test declares by marks (pytest-order, pytest-dependency, incremental classes).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// pytest-order's ordinal.
    pub ordinal: Option<i64>,
    /// Names this test provides to `depends_on` of others.
    pub provides: Vec<String>,
    /// Names or ids that must have run before it.
    pub depends_on: Vec<String>,
    /// Names or ids that must not have run before it.
    pub before: Vec<String>,
    /// The incremental class it belongs to.
    pub incremental: Option<String>,
}

/// The facts that must agree between two trees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// Such as `3.11.7`.
    pub python: String,
    /// Such as `cpython`.
    pub implementation: String,
    /// Path of the interpreter.
    pub executable: PathBuf,
    /// Such as `linux-x86_64`.
    pub platform: String,
    /// Version of pytest.
    pub pytest: String,
    /// Plugins from distributions: name and version.
    pub plugins: Vec<(String, String)>,
    /// Digest of all installed distributions.
    pub distributions: String,
    /// Digest of each lock file.
    pub locks: Vec<(String, String)>,
}

/// One thing that was switched off for measured runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchedOff {
    /// Plugin or option.
    pub what: String,
    /// What was done about it.
    pub how: String,
    /// `addopts`, `command line`, `PYTEST_ADDOPTS`, `plugin`, `environment`.
    pub source: String,
}

/// How runs are kept apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxState {
    /// `overlay`, `tmp` or `none`.
    pub mode: String,
    /// Why not more, where it is less than asked for.
    pub why_not: Option<String>,
}

/// Where a project module was loaded from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Its top-level name.
    pub module: String,
    /// The file it came from.
    pub file: PathBuf,
    /// Whether that file belongs to the tree being measured.
    pub in_tree: bool,
}

/// What happens while orders run.
#[derive(Debug)]
pub enum Event<'a> {
    /// An interpreter was started to collect.
    Collecting,
    /// Collection is over.
    Collected(&'a Collection),
    /// A run began. Comes a second time for a run that has to start over.
    RunStarted(&'a RunRequest),
    /// A test of a run began.
    TestStarted {
        /// Which run.
        run: u64,
        /// Which test.
        test: TestIx,
    },
    /// A test of a run ended, or will never be reported (then just before its `RunFinished`).
    TestFinished {
        /// Which run.
        run: u64,
        /// Its record.
        result: &'a TestResult,
    },
    /// A run ended; its record is complete and accounted.
    RunFinished {
        /// Which run.
        run: u64,
        /// Everything about it.
        record: &'a RunRecord,
    },
    /// A run loaded project modules from outside the tree: what it says is not about this tree.
    Foreign {
        /// Which run.
        run: u64,
        /// The modules and where they came from.
        origins: &'a [Origin],
    },
    /// Something the user should know, in a sentence.
    Note(String),
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// Start nothing more, end what runs.
    Stop,
}

/// Hears what happens.
pub trait Listener {
    /// Called for each event, in order, on the thread that called the engine.
    fn event(&mut self, event: Event<'_>) -> Flow;
}

/// Where runs come from. Asked again after each finished run, so that what to run next may depend on what came out.
pub trait RunSource {
    /// The next order to run; `None` when there is none now. The sweep ends at `None` with nothing running.
    fn next_run(&mut self) -> Option<RunRequest>;
}

impl<I: Iterator<Item = RunRequest>> RunSource for I {
    fn next_run(&mut self) -> Option<RunRequest> {
        self.next()
    }
}
