//! A session: one tree, its interpreter, and everything run in it. The face that the binary sees.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use anyorder_core::model::{Excerpt, TestIx, Tree};

use crate::engine::Engine;
use crate::{Cancel, Collection, Listener, RunSource};

/// Everything a session needs to know. Nothing is read from this process's own environment.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    /// The interpreter: a path, or a name to be found on `base_env`'s `PATH`.
    pub python: PathBuf,
    /// Where pytest is started.
    pub cwd: PathBuf,
    /// Top of the project: where the tree is, or appears to be.
    pub root: PathBuf,
    /// Which tree this is; handed to the suite as `ANYORDER_TREE`.
    pub tree: Tree,
    /// The user's arguments to pytest.
    pub pytest_args: Vec<String>,
    /// Collect these test files and no others: what stands before the first `::` of ids. The user's arguments count but for
    /// the files and folders among them.
    pub only: Option<Vec<String>>,
    /// What shall keep runs apart.
    pub sandbox: SandboxAsk,
    /// Set where the tree lives in a git worktree instead of at the project's path.
    pub remap: Option<Remap>,
    /// Variables for the suite, on top of `base_env`.
    pub env: Vec<(String, String)>,
    /// The whole environment to hand on; what would disturb measuring is taken out of it.
    pub base_env: Vec<(OsString, OsString)>,
    /// How many runs at once; 0 counts as 1.
    pub jobs: usize,
    /// A folder on a local disk in which the session makes its own private one.
    pub scratch: PathBuf,
    /// A folder with a short path for the socket where `scratch` is too deep, such as `/tmp`.
    pub short_scratch: PathBuf,
    /// How long things may take.
    pub limits: Limits,
    /// `PYTHONHASHSEED`; the same on both trees.
    pub hash_seed: u32,
    /// Reseed `random` (and NumPy when loaded) before each test.
    pub reseed: Option<u64>,
    /// Bytes of failure text kept at each end.
    pub text_limit: usize,
    /// Source of the agent; [`crate::AGENT_SOURCE`] but for tests of the engine.
    pub agent: Cow<'static, str>,
}

impl SessionConfig {
    /// A session of `root` under `python` with the defaults for everything else: one job, an empty environment.
    pub fn new(python: impl Into<PathBuf>, root: impl Into<PathBuf>, scratch: impl Into<PathBuf>) -> Self {
        let root = root.into();
        Self {
            python: python.into(),
            cwd: root.clone(),
            root,
            tree: Tree::Base,
            pytest_args: Vec::new(),
            only: None,
            sandbox: SandboxAsk::default(),
            remap: None,
            env: Vec::new(),
            base_env: Vec::new(),
            jobs: 1,
            scratch: scratch.into(),
            short_scratch: PathBuf::from("/tmp"),
            limits: Limits::default(),
            hash_seed: 0,
            reseed: None,
            text_limit: 4096,
            agent: Cow::Borrowed(crate::AGENT_SOURCE),
        }
    }
}

/// What shall keep runs apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxAsk {
    /// How.
    pub mode: SandboxMode,
    /// Folders laid over the project, topmost first, where there is an overlay.
    pub lower: Vec<PathBuf>,
}

/// How runs are kept apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SandboxMode {
    /// The best there is.
    #[default]
    Auto,
    /// An overlay of the tree for each run; refused where there is none.
    Overlay,
    /// A temporary folder for each run; the tree itself is shared.
    Tmp,
    /// Nothing.
    None,
}

/// The tree lives at `to`; ids and paths are spoken of as if it were at `from`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remap {
    /// The project's own path.
    pub from: PathBuf,
    /// The worktree.
    pub to: PathBuf,
}

/// How long things may take; `None` is for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the start of an interpreter until it has collected.
    pub collect: Option<Duration>,
    /// One test, its fixtures included.
    pub test: Option<Duration>,
    /// One run.
    pub run: Option<Duration>,
    /// Between asking a process to end and ending it.
    pub grace: Duration,
}

impl Default for Limits {
    /// Ten minutes to collect, ten minutes a test, no limit on a run, five seconds of grace.
    fn default() -> Self {
        Self {
            collect: Some(Duration::from_secs(600)),
            test: Some(Duration::from_secs(600)),
            run: None,
            grace: Duration::from_secs(5),
        }
    }
}

/// An excerpt of untrusted text inside an error. `Display` shows nothing of it but its length: escaping is the
/// reporter's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(pub Excerpt);

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of output", self.0.total_bytes)
    }
}

/// Why a session could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The interpreter could not be started at all.
    #[error("cannot start the interpreter `{}`", python.display())]
    NoInterpreter {
        /// What was tried.
        python: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The interpreter runs and has no pytest.
    #[error("`{}` cannot import pytest; install it there or name another interpreter", python.display())]
    NoPytest {
        /// The interpreter that was tried.
        python: PathBuf,
        /// What the import said.
        text: Text,
    },
    /// The interpreter or its pytest is too old.
    #[error("`{}` cannot run the agent: {why}", python.display())]
    TooOld {
        /// The interpreter that was tried.
        python: PathBuf,
        /// Which version is missing.
        why: String,
    },
    /// Modules could not be collected; nothing ran.
    #[error("pytest could not collect {} of the suite's modules", errors.len())]
    CollectFailed {
        /// What failed (a path or id) and pytest's account of it.
        errors: Vec<(String, Text)>,
    },
    /// Collection succeeded and found nothing.
    #[error("pytest collected no tests in `{}`", cwd.display())]
    NoTests {
        /// Where it looked.
        cwd: PathBuf,
    },
    /// The sandbox that was asked for is not to be had.
    #[error("the sandbox asked for is not available: {why}")]
    Sandbox {
        /// Why not.
        why: String,
    },
    /// pytest gave up: a usage error, an internal error.
    #[error("pytest gave up before running anything: {what}")]
    Broken {
        /// Such as `usage` or `internal`.
        what: String,
        /// pytest's account of it.
        text: Text,
    },
    /// The interpreter died before it had collected.
    #[error("the interpreter died while it collected: {how}")]
    Died {
        /// Signal or exit code, in words.
        how: String,
        /// What it wrote.
        output: Text,
    },
    /// Collection took longer than allowed.
    #[error("collection took longer than {} s", limit.as_secs_f64())]
    TimedOut {
        /// The limit.
        limit: Duration,
        /// What it wrote.
        output: Text,
    },
    /// Stopped by the caller.
    #[error("interrupted while it collected")]
    Interrupted,
    /// The agent spoke something else than this engine understands.
    #[error("the agent and the engine do not understand each other: {what}")]
    Protocol {
        /// What was wrong.
        what: String,
    },
    /// A file, socket or process operation of our own failed.
    #[error("cannot {doing}")]
    Io {
        /// What was attempted.
        doing: String,
        /// Why not.
        source: io::Error,
    },
}

/// Why a session could not go on.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A fork was asked for where it is refused.
    #[error("run {run} asks for the fork executor, which is refused here")]
    ForkRefused {
        /// Which run.
        run: u64,
    },
    /// Peeks were asked of an interpreter of its own.
    #[error(
        "run {run} asks for peeks, which need the fork executor; run each test after its sequence instead"
    )]
    PeeksNeedFork {
        /// Which run.
        run: u64,
    },
    /// A peek at a place or of a test that does not exist.
    #[error("run {run} asks to peek at test {} after {after} tests, which it does not have", test.0)]
    NoSuchPeek {
        /// Which run.
        run: u64,
        /// The place.
        after: usize,
        /// The test.
        test: TestIx,
    },
    /// A run's number is in use already.
    #[error("run {run} was asked for twice")]
    Repeated {
        /// Which run.
        run: u64,
    },
    /// Interpreters keep dying.
    #[error("{deaths} interpreters died in a row, the last: {how}")]
    CrashLoop {
        /// How many.
        deaths: usize,
        /// How the last one did.
        how: String,
    },
    /// A run's records do not add up (PROMISES I1): a defect of ours.
    #[error("run {run} has {reported} records for {planned} planned tests")]
    Unaccounted {
        /// Which run.
        run: u64,
        /// Tests in its order.
        planned: usize,
        /// Records made.
        reported: usize,
    },
    /// A file, socket or process operation of our own failed.
    #[error("cannot {doing}")]
    Io {
        /// What was attempted.
        doing: String,
        /// Why not.
        source: io::Error,
    },
}

/// One tree with its interpreter, collected. Dropping it ends every process that it started.
///
/// Start it and run it on a thread that outlives it: on Linux, interpreters die with the thread that started them.
#[derive(Debug)]
pub struct Session {
    engine: Engine,
    collection: Collection,
}

impl Session {
    /// Starts the interpreter and lets it collect.
    pub fn start(
        config: SessionConfig,
        listener: &mut dyn Listener,
        cancel: &Cancel,
    ) -> Result<Self, StartError> {
        let (engine, collection) = Engine::start(config, listener, cancel)?;
        Ok(Self { engine, collection })
    }

    /// What was collected.
    pub fn collection(&self) -> &Collection {
        &self.collection
    }

    /// Runs what `source` gives, up to `jobs` at once, and returns when nothing runs and nothing more comes, or when
    /// told to stop. Records come in completion order.
    pub fn execute(
        &mut self,
        source: &mut dyn RunSource,
        listener: &mut dyn Listener,
        cancel: &Cancel,
    ) -> Result<(), EngineError> {
        self.engine.execute(source, listener, cancel)
    }
}
