//! The engine: one thread, one loop over sockets, pipes and processes; runs in, records out.
//!
//! `turn` waits and reads, `hear` understands lines, `dispatch` starts runs, `settle` closes them. It must not print,
//! store or judge, and knows nothing of seeds or plans.

mod account;
mod dispatch;
mod folder;
mod gather;
mod hear;
mod host;
mod launch;
mod peek;
mod run;
mod settle;
mod turn;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Instant;

use anyorder_core::model::{RunRecord, Suite};

use self::folder::Folder;
use self::gather::Failure;
use self::host::{Host, HostId, State};
use self::run::Run;
use crate::channel::{Conn, Server};
use crate::process::{Survivors, become_subreaper};
use crate::protocol::Command;
use crate::{
    Cancel, Collection, EngineError, Event, Flow, Listener, RunRequest, RunSource, SessionConfig, StartError,
    Text, Urgency,
};

/// Names a connection within its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ConnId(u64);

/// Whose connection it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// It has not said.
    Stranger,
    Host(HostId),
    Run(u64),
    /// A peek of a run, by its place among those asked for.
    Peek(u64, usize),
}

impl Owner {
    /// The run that it speaks for, where that is no interpreter's own.
    fn run(self) -> Option<u64> {
        match self {
            Self::Run(run) | Self::Peek(run, _) => Some(run),
            Self::Stranger | Self::Host(_) => None,
        }
    }
}

/// Everything of a session.
#[derive(Debug)]
pub(crate) struct Engine {
    config: SessionConfig,
    /// Begins the marker of each of its processes.
    name: String,
    server: Server,
    conns: BTreeMap<ConnId, (Conn, Owner)>,
    hosts: BTreeMap<HostId, Host>,
    runs: BTreeMap<u64, Run>,
    template: Option<HostId>,
    /// The first collection, until it is handed out.
    collected: Option<Result<Collection, Failure>>,
    /// The tests; empty until the first collection.
    suite: Suite,
    fork_refused: bool,
    /// What keeps the template apart; a run that has less is noted.
    sandbox: String,
    waiting: VecDeque<Waiting>,
    finished: VecDeque<Finished>,
    notes: VecDeque<Notice>,
    survivors: Survivors,
    /// Notes that are made once a session, however often a test gives cause.
    noted: BTreeSet<&'static str>,
    next_conn: u64,
    next_host: u32,
    /// Records came a moment ago: more will follow, so look again soon instead of being woken by each.
    busy: bool,
    stopping: bool,
    /// How many runs may be under way; less than `jobs` after the system refused to fork.
    allowed: usize,
    /// Interpreters that died since the last run that went through.
    deaths: usize,
    error: Option<EngineError>,
    /// Last, so that processes are gone before it goes.
    folder: Folder,
}

/// A run that could not start yet.
#[derive(Debug)]
struct Waiting {
    request: RunRequest,
    retries: u8,
    refusals: u32,
    not_before: Instant,
    /// Nothing else may be forked meanwhile: it may be the one that kills templates.
    exclusive: bool,
}

/// A run whose record waits to be told.
#[derive(Debug)]
struct Finished {
    run: u64,
    record: RunRecord,
    /// How many of its results were told already.
    told: usize,
}

/// What waits to be told to the listener.
#[derive(Debug)]
enum Notice {
    Started(RunRequest),
    Text(String),
    Foreign(u64, Vec<crate::Origin>),
}

impl Engine {
    /// Starts the template and lets it collect.
    pub(crate) fn start(
        config: SessionConfig,
        listener: &mut dyn Listener,
        cancel: &Cancel,
    ) -> Result<(Self, Collection), StartError> {
        let io = |doing: &str| {
            let doing = doing.to_owned();
            move |source| StartError::Io { doing, source }
        };
        become_subreaper();
        let folder = Folder::create(&config.scratch, &config.short_scratch)
            .map_err(io(&format!("make a private folder in `{}`", config.scratch.display())))?;
        folder.write("anyorder_agent.py", config.agent.as_bytes()).map_err(io("write the agent"))?;
        let server = Server::bind(&folder.socket()).map_err(io("listen on a Unix socket"))?;
        let name = folder::random_hex(8).map_err(io("read random bytes"))?;
        let survivors = Survivors::new(&name);
        let allowed = config.jobs.max(1);
        let mut engine = Self {
            config,
            name,
            server,
            conns: BTreeMap::new(),
            hosts: BTreeMap::new(),
            runs: BTreeMap::new(),
            template: None,
            collected: None,
            suite: Suite::default(),
            fork_refused: false,
            sandbox: String::new(),
            waiting: VecDeque::new(),
            finished: VecDeque::new(),
            notes: VecDeque::new(),
            survivors,
            noted: BTreeSet::new(),
            next_conn: 0,
            next_host: 0,
            busy: false,
            stopping: false,
            allowed,
            deaths: 0,
            error: None,
            folder,
        };
        let collection = engine.collect(listener, cancel)?;
        Ok((engine, collection))
    }

    fn collect(&mut self, listener: &mut dyn Listener, cancel: &Cancel) -> Result<Collection, StartError> {
        self.launch_template()?;
        let mut flow = listener.event(Event::Collecting);
        loop {
            if flow == Flow::Stop || cancel.urgency() > Urgency::None {
                return Err(StartError::Interrupted);
            }
            let turned = self.turn(listener, cancel);
            turned
                .map_err(|source| StartError::Io { doing: "wait for the interpreter".to_owned(), source })?;
            flow = self.tell_notes(listener);
            match self.collected.take() {
                None => {}
                Some(Err(failure)) => return Err(self.start_error(failure)),
                Some(Ok(collection)) => {
                    self.suite = collection.suite.clone();
                    self.sandbox.clone_from(&collection.sandbox.mode);
                    self.fork_refused = !collection.fork_refused.is_empty();
                    if listener.event(Event::Collected(&collection)) == Flow::Stop {
                        return Err(StartError::Interrupted);
                    }
                    return Ok(collection);
                }
            }
        }
    }

    fn start_error(&self, failure: Failure) -> StartError {
        let python = self.config.python.clone();
        let output = self.template.and_then(|t| self.hosts.get(&t)).map(|h| Text(h.process.output()));
        let output = output.unwrap_or_default();
        match failure {
            Failure::CollectFailed(errors) => StartError::CollectFailed {
                errors: errors.into_iter().map(|(id, text)| (id, Text(text))).collect(),
            },
            Failure::NoTests => StartError::NoTests { cwd: self.config.cwd.clone() },
            Failure::Broken { what, text } => match what.as_str() {
                "no_pytest" => StartError::NoPytest { python, text: Text(text) },
                "python" => StartError::TooOld { python, why: text.head },
                "sandbox" => StartError::Sandbox { why: text.head },
                _ => StartError::Broken { what, text: Text(text) },
            },
            Failure::Died(how) => StartError::Died { how, output },
            Failure::TimedOut => {
                StartError::TimedOut { limit: self.config.limits.collect.unwrap_or_default(), output }
            }
            Failure::Protocol(what) => StartError::Protocol { what },
        }
    }

    /// Runs what `source` gives until nothing runs and nothing more comes.
    pub(crate) fn execute(
        &mut self,
        source: &mut dyn RunSource,
        listener: &mut dyn Listener,
        cancel: &Cancel,
    ) -> Result<(), EngineError> {
        self.stopping = false;
        self.deaths = 0;
        let result = self.run_all(source, listener, cancel);
        if result.is_err() {
            self.abandon();
        }
        result
    }

    fn run_all(
        &mut self,
        source: &mut dyn RunSource,
        listener: &mut dyn Listener,
        cancel: &Cancel,
    ) -> Result<(), EngineError> {
        let mut dry = false;
        loop {
            self.heed(cancel);
            self.dispatch(source, &mut dry)?;
            let told = self.finished.len();
            if self.tell(listener) == Flow::Stop {
                self.stop_all(cancel.urgency());
            }
            if told > 0 {
                // A source may have learned something from what was told just now.
                dry = false;
                continue;
            }
            if self.runs.is_empty() && self.waiting.is_empty() && (dry || self.stopping) {
                return Ok(());
            }
            let turned = self.turn(listener, cancel);
            turned.map_err(|source| EngineError::Io { doing: "wait for runs".to_owned(), source })?;
            if let Some(error) = self.error.take() {
                return Err(error);
            }
        }
    }

    /// Tells what happened: notes first, then finished runs.
    fn tell(&mut self, listener: &mut dyn Listener) -> Flow {
        let mut flow = self.tell_notes(listener);
        let mut heard = |event: Event<'_>| {
            if listener.event(event) == Flow::Stop {
                flow = Flow::Stop;
            }
        };
        while let Some(Finished { run, record, told }) = self.finished.pop_front() {
            for result in &record.results[told..] {
                heard(Event::TestFinished { run, result });
            }
            heard(Event::RunFinished { run, record: &record });
        }
        flow
    }

    fn tell_notes(&mut self, listener: &mut dyn Listener) -> Flow {
        let mut flow = Flow::Continue;
        while let Some(notice) = self.notes.pop_front() {
            let said = match &notice {
                Notice::Started(request) => listener.event(Event::RunStarted(request)),
                Notice::Text(text) => listener.event(Event::Note(text.clone())),
                Notice::Foreign(run, origins) => listener.event(Event::Foreign { run: *run, origins }),
            };
            if said == Flow::Stop {
                flow = Flow::Stop;
            }
        }
        flow
    }

    fn note(&mut self, text: impl Into<String>) {
        self.notes.push_back(Notice::Text(text.into()));
    }

    fn note_once(&mut self, text: &'static str) {
        if self.noted.insert(text) {
            self.note(text);
        }
    }

    /// Queues a command for a main process.
    fn command(&mut self, host: HostId, command: &Command<'_>) {
        let Ok(bytes) = command.encode() else { return };
        if let Some(host) = self.hosts.get_mut(&host) {
            host.commands.extend(bytes);
        }
    }

    /// Sends the commands that wait. Not while a connection is being read: then it is not in its place.
    fn send_commands(&mut self) {
        for host in self.hosts.values_mut().filter(|h| !h.commands.is_empty()) {
            if let Some((conn, _)) = host.conn.and_then(|c| self.conns.get_mut(&c)) {
                conn.send(&std::mem::take(&mut host.commands));
            }
        }
    }

    fn active(&self) -> BTreeSet<u64> {
        self.runs.keys().copied().collect()
    }

    /// Whether the template can fork now.
    fn ready_template(&self) -> Option<HostId> {
        let id = self.template?;
        self.hosts.get(&id).filter(|h| matches!(h.state, State::Ready(_))).map(|_| id)
    }
}
