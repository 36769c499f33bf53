//! A suite in a temporary folder, sessions of it, and what a session told.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyorder_core::model::{Ending, Executor, Order, OrderLabel, Outcome, RunRecord, TestIx};
use anyorder_runner::{
    Cancel, EngineError, Event, Flow, Listener, RunRequest, SandboxAsk, SandboxMode, Session, SessionConfig,
    StartError,
};

pub(crate) const FAKE_AGENT: &str = include_str!("../fake_agent.py");

/// A project in a folder of its own.
pub(crate) struct Project {
    folder: tempfile::TempDir,
    pub(crate) agent: Option<&'static str>,
    /// More arguments for pytest.
    pub(crate) arguments: Vec<String>,
    pub(crate) jobs: usize,
    pub(crate) limit: Duration,
    pub(crate) grace: Duration,
}

impl Project {
    /// A project for the stand-in: the functions of `suite` are its tests.
    pub(crate) fn fake(suite: &str) -> Self {
        let project = Self::empty(Some(FAKE_AGENT));
        project.file("suite.py", suite);
        project
    }

    /// A project for pytest and the real agent.
    pub(crate) fn pytest() -> Self {
        Self::empty(None)
    }

    fn empty(agent: Option<&'static str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs_err::create_dir(folder.path().join("project")).unwrap();
        fs_err::create_dir(folder.path().join("scratch")).unwrap();
        let arguments = Vec::new();
        Self {
            folder,
            agent,
            arguments,
            jobs: 2,
            limit: Duration::from_secs(20),
            grace: Duration::from_secs(2),
        }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub(crate) fn scratch(&self) -> PathBuf {
        self.folder.path().join("scratch")
    }

    pub(crate) fn file(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }

    pub(crate) fn config(&self) -> SessionConfig {
        let mut config = SessionConfig::new(python(self.agent.is_none()), self.root(), self.scratch());
        if let Some(agent) = self.agent {
            config.agent = agent.into();
            config.pytest_args = vec![self.root().join("suite.py").to_str().unwrap().to_owned()];
        }
        config.pytest_args.extend(self.arguments.iter().cloned());
        config.base_env = inherited();
        config.jobs = self.jobs;
        config.sandbox = SandboxAsk { mode: SandboxMode::None, lower: Vec::new() };
        config.limits.test = Some(self.limit);
        config.limits.collect = Some(self.limit);
        config.limits.grace = self.grace;
        config
    }

    pub(crate) fn start(&self) -> Result<Session, StartError> {
        Session::start(self.config(), &mut Heard::default(), &Cancel::new().unwrap())
    }

    /// Runs each order once and gives what was heard.
    pub(crate) fn sweep(&self, executor: Executor, orders: &[Vec<u32>]) -> Heard {
        let mut session = self.start().unwrap();
        sweep(&mut session, executor, orders).1
    }
}

/// Runs each order once in a session.
pub(crate) fn sweep(
    session: &mut Session,
    executor: Executor,
    orders: &[Vec<u32>],
) -> (Result<(), EngineError>, Heard) {
    let mut heard = Heard::default();
    let requests = requests(session, executor, orders);
    let result = session.execute(&mut requests.into_iter(), &mut heard, &Cancel::new().unwrap());
    (result, heard)
}

pub(crate) fn requests(session: &Session, executor: Executor, orders: &[Vec<u32>]) -> Vec<RunRequest> {
    let len = session.collection().suite.len();
    let request = |(run, tests): (u64, &Vec<u32>)| {
        let tests = tests.iter().copied().map(TestIx).collect();
        let order = Order::partial(OrderLabel::List(format!("order {run}")), tests, len).unwrap();
        RunRequest { run, order, attempt: 0, executor, peeks: Vec::new(), imports: Vec::new() }
    };
    (0..).zip(orders).map(request).collect()
}

/// What a session told.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) records: BTreeMap<u64, RunRecord>,
    pub(crate) notes: Vec<String>,
    pub(crate) started: Vec<u64>,
    pub(crate) told: BTreeMap<u64, Vec<TestIx>>,
    /// Asked at each event; true stops the sweep.
    pub(crate) stop_at: Option<fn(&Event<'_>) -> bool>,
}

impl Listener for Heard {
    fn event(&mut self, event: Event<'_>) -> Flow {
        match &event {
            Event::RunStarted(request) => {
                self.started.push(request.run);
                self.told.remove(&request.run);
            }
            Event::TestFinished { run, result } => self.told.entry(*run).or_default().push(result.test),
            Event::RunFinished { run, record } => {
                assert!(record.is_accounted(), "run {run} does not add up");
                assert!(self.records.insert(*run, (*record).clone()).is_none(), "run {run} ended twice");
                let results: Vec<TestIx> = record.results.iter().map(|r| r.test).collect();
                assert_eq!(
                    self.told.get(run).unwrap_or(&Vec::new()),
                    &results,
                    "run {run} was told otherwise"
                );
            }
            Event::Note(text) => self.notes.push(text.clone()),
            _ => {}
        }
        if self.stop_at.is_some_and(|f| f(&event)) { Flow::Stop } else { Flow::Continue }
    }
}

/// Counts complete runs and keeps nothing.
#[derive(Default)]
pub(crate) struct Count(pub(crate) usize);

impl Listener for Count {
    fn event(&mut self, event: Event<'_>) -> Flow {
        if let Event::RunFinished { record, .. } = event {
            self.0 += usize::from(record.ending.is_complete());
        }
        Flow::Continue
    }
}

impl Heard {
    pub(crate) fn ending(&self, run: u64) -> &Ending {
        &self.records[&run].ending
    }

    /// A run's outcomes in executed order, as letters.
    pub(crate) fn letters(&self, run: u64) -> String {
        self.records[&run].results.iter().map(|r| r.outcome.letter()).collect()
    }

    pub(crate) fn outcome(&self, run: u64, test: u32) -> Outcome {
        self.records[&run].outcome_of(TestIx(test)).unwrap()
    }

    pub(crate) fn noted(&self, what: &str) -> bool {
        self.notes.iter().any(|n| n.contains(what))
    }
}

/// The environment of the tests themselves, handed on.
pub(crate) fn inherited() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// An interpreter: any for the stand-in, one with pytest otherwise.
pub(crate) fn python(with_pytest: bool) -> PathBuf {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test is told by the environment which interpreter to use"
    )]
    let named = std::env::var_os("ANYORDER_TEST_PYTHON");
    match named {
        Some(python) => python.into(),
        None if with_pytest => {
            panic!("set ANYORDER_TEST_PYTHON to an interpreter that has pytest (`make test` does)")
        }
        None => PathBuf::from("python3"),
    }
}

/// Waits until no process carries `marker` in its environment or command line.
pub(crate) fn assert_no_process_with(marker: &str) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let alive: Vec<PathBuf> = processes_with(marker);
        if alive.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "`{marker}` survives in {alive:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn processes_with(marker: &str) -> Vec<PathBuf> {
    let holds = |path: &Path| {
        let bytes = fs_err::read(path).unwrap_or_default();
        bytes.windows(marker.len()).any(|w| w == marker.as_bytes())
    };
    let entries = fs_err::read_dir("/proc").unwrap().flatten().map(|e| e.path());
    let own = format!("/proc/{}", std::process::id());
    let mut found: Vec<PathBuf> =
        entries.filter(|p| p.join("environ").exists() && !p.ends_with(&own[6..])).collect();
    found.retain(|p| holds(&p.join("environ")) || holds(&p.join("cmdline")));
    found
}
