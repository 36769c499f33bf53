//! Starting runs: in a child of the template, or in an interpreter of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyorder_core::model::{Executor, Order, TestIx};

use super::account::Account;
use super::host::{Dropped, HostId, Mapping, State};
use super::peek::Peeking;
use super::run::{Place, Run};
use super::{Engine, Notice, Waiting};
use crate::process::Marker;
use crate::protocol::{Command, Job};
use crate::{EngineError, RunRequest, RunSource, StartError};

/// How often a run may be refused a process before it counts as crashed.
pub(super) const REFUSALS: u32 = 8;

impl Engine {
    /// Starts runs while there is room. `dry` is set when the source has none at the moment.
    pub(super) fn dispatch(&mut self, source: &mut dyn RunSource, dry: &mut bool) -> Result<(), EngineError> {
        while !self.stopping && self.runs.len() < self.allowed && !self.runs.values().any(is_exclusive) {
            if let Some(waiting) = self.next_waiting(Instant::now()) {
                self.begin(waiting)?;
                continue;
            }
            if *dry || self.runs.len() + self.waiting.len() >= self.allowed {
                break;
            }
            match source.next_run() {
                None => *dry = true,
                Some(request) => {
                    let run = request.run;
                    let in_use = self.waiting.iter().any(|w| w.request.run == run);
                    if in_use || self.runs.contains_key(&run) {
                        return Err(EngineError::Repeated { run });
                    }
                    if request.executor == Executor::Fork && self.fork_refused {
                        return Err(EngineError::ForkRefused { run });
                    }
                    self.check_peeks(&request)?;
                    let not_before = Instant::now();
                    self.begin(Waiting { request, retries: 0, refusals: 0, not_before, exclusive: false })?;
                }
            }
        }
        Ok(())
    }

    /// Peeks are for forks only, of tests that there are, at places that there are.
    fn check_peeks(&self, request: &RunRequest) -> Result<(), EngineError> {
        let run = request.run;
        if request.executor == Executor::Fresh && !request.peeks.is_empty() {
            return Err(EngineError::PeeksNeedFork { run });
        }
        let size = self.suite.len();
        let odd = request.peeks.iter().find(|p| p.after > request.order.len() || p.test.get() >= size);
        odd.map_or(Ok(()), |p| Err(EngineError::NoSuchPeek { run, after: p.after, test: p.test }))
    }

    /// The first waiting run that can start now.
    fn next_waiting(&mut self, now: Instant) -> Option<Waiting> {
        let ready = self.ready_template().is_some();
        let forked = self.runs.values().any(|r| matches!(r.place, Place::Child { .. }));
        let lacks_template = self.template.is_none();
        let at = self.waiting.iter().position(|w| {
            let can = match w.request.executor {
                Executor::Fresh => true,
                Executor::Fork => (ready || lacks_template) && !(w.exclusive && forked),
            };
            can && w.not_before <= now
        })?;
        self.waiting.remove(at)
    }

    fn begin(&mut self, waiting: Waiting) -> Result<(), EngineError> {
        match waiting.request.executor {
            Executor::Fresh => self.begin_fresh(waiting),
            Executor::Fork => self.begin_fork(waiting),
        }
    }

    fn begin_fork(&mut self, waiting: Waiting) -> Result<(), EngineError> {
        let Some(host) = self.ready_template() else {
            if self.template.is_none()
                && let Err(error) = self.launch_template()
            {
                return self.refused(waiting, error);
            }
            self.waiting.push_front(waiting);
            return Ok(());
        };
        let place = Place::Child { pid: None, conn: None, expected: 0, greeted: false };
        let run = self.enter(waiting, host, place)?;
        self.send_order(run)
    }

    fn begin_fresh(&mut self, waiting: Waiting) -> Result<(), EngineError> {
        if let Some(host) = self.ready_template().filter(|_| self.fork_refused) {
            // It will never fork: it has collected, so it serves as the first fresh interpreter.
            self.template = None;
            if let Some(host) = self.hosts.get_mut(&host) {
                host.run = Some(waiting.request.run);
            }
            let run = self.enter(waiting, host, Place::Here)?;
            return self.send_order(run);
        }
        let folder = self.run_folder(&waiting)?;
        let launched = fs_err::create_dir(folder.join("start"))
            .map_err(|source| StartError::Io { doing: "make a private folder".to_owned(), source })
            .and_then(|()| self.launch(Some(waiting.request.run), self.free_slot(), Some(&folder)));
        match launched {
            Ok(host) => {
                self.enter_in(waiting, host, Place::Here, folder);
                Ok(())
            }
            Err(error) => {
                super::folder::remove_tree(&folder);
                self.refused(waiting, error)
            }
        }
    }

    /// The system gave no process: fewer at once, and later.
    fn refused(&mut self, waiting: Waiting, error: StartError) -> Result<(), EngineError> {
        let (doing, source) = match error {
            StartError::NoInterpreter { python, source } => {
                (format!("start the interpreter `{}`", python.display()), source)
            }
            StartError::Io { doing, source } => (doing, source),
            other => (other.to_string(), std::io::Error::other("no interpreter")),
        };
        let passing =
            matches!(source.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::OutOfMemory);
        if !passing || waiting.refusals >= REFUSALS {
            return Err(EngineError::Io { doing, source });
        }
        self.note(format!("cannot {doing} now ({source}): trying again with fewer at once"));
        self.back_off(waiting);
        Ok(())
    }

    /// Puts a run off that got no process.
    pub(super) fn back_off(&mut self, mut waiting: Waiting) {
        waiting.not_before = Instant::now() + Duration::from_millis(50 << waiting.refusals.min(REFUSALS));
        waiting.refusals += 1;
        self.allowed = self.runs.len().clamp(1, self.allowed);
        self.waiting.push_back(waiting);
    }

    fn free_slot(&self) -> usize {
        let taken: BTreeSet<usize> = self.runs.values().map(|r| r.slot).collect();
        // Among one more slots than are taken, one is free.
        (0..=taken.len()).find(|slot| !taken.contains(slot)).unwrap_or_default()
    }

    fn run_folder(&self, waiting: &Waiting) -> Result<PathBuf, EngineError> {
        // Short, for it stands in the paths of the suite's temporary files.
        let Waiting { request, retries, refusals, .. } = waiting;
        let name = match (retries, refusals) {
            (0, 0) => format!("r{}", request.run),
            _ => format!("r{}-{retries}-{refusals}", request.run),
        };
        let made = self.folder.subfolder(&name);
        made.map_err(|source| EngineError::Io { doing: "make a private folder".to_owned(), source })
    }

    fn enter(&mut self, waiting: Waiting, host: HostId, place: Place) -> Result<u64, EngineError> {
        let folder = self.run_folder(&waiting)?;
        Ok(self.enter_in(waiting, host, place, folder))
    }

    /// Puts a run among those under way.
    fn enter_in(&mut self, waiting: Waiting, host: HostId, place: Place, folder: PathBuf) -> u64 {
        let Waiting { request, retries, refusals, .. } = waiting;
        let id = request.run;
        let now = Instant::now();
        self.notes.push_back(Notice::Started(request.clone()));
        self.survivors.run_began(id);
        let run = Run {
            request,
            host,
            place,
            slot: self.free_slot(),
            account: None,
            began: now,
            ended: None,
            since: now,
            folder,
            stop: None,
            exit: None,
            dropped: Dropped::default(),
            lost: false,
            retries,
            refusals,
            peeks: Vec::new(),
        };
        self.runs.insert(id, run);
        id
    }

    /// Tells the main process what to run.
    pub(super) fn send_order(&mut self, id: u64) -> Result<(), EngineError> {
        let Some(run) = self.runs.get_mut(&id) else { return Ok(()) };
        let Some(State::Ready(mapping)) = self.hosts.get(&run.host).map(|h| &h.state) else { return Ok(()) };
        let known = run.request.order.tests().iter().filter_map(|t| Some((*t, mapping.item(*t)?)));
        let (sent, order): (Vec<TestIx>, Vec<u32>) = known.unzip();
        run.account = Some(Account::new(&run.request.order, sent));
        run.began = Instant::now();
        run.since = run.began;
        let (peeks, known) = peeks_to_send(&run.request, mapping, self.suite.len());
        run.peeks = peeks;
        let marker = Marker { run: format!("{}-{id}", self.name), slot: run.slot, tree: &self.config.tree };
        let env = BTreeMap::from(marker.variables());
        let Some(dir) = run.folder.to_str() else {
            let source = std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is no valid UTF-8");
            return Err(EngineError::Io {
                doing: format!("use the path `{}`", run.folder.display()),
                source,
            });
        };
        let job = Job { run: id, order: &order, dir, env, peeks: &known, imports: &run.request.imports };
        let command = if matches!(run.place, Place::Here) { Command::Here(job) } else { Command::Fork(job) };
        let bytes = command.encode().map_err(|source| EngineError::Io {
            doing: "write a command".to_owned(),
            source: source.into(),
        })?;
        if let Some(host) = self.hosts.get_mut(&run.host) {
            host.commands.extend(bytes);
        }
        Ok(())
    }
}

/// The peeks of a run, and those of them that the interpreter has the test for: number, place in the order that is
/// sent, item.
fn peeks_to_send(
    request: &RunRequest,
    mapping: &Mapping,
    size: usize,
) -> (Vec<Peeking>, Vec<(usize, usize, u32)>) {
    let mut peeks = Vec::with_capacity(request.peeks.len());
    let mut known = Vec::with_capacity(request.peeks.len());
    let mut places = Vec::with_capacity(request.order.len() + 1);
    places.push(0);
    for test in request.order.tests() {
        let sent = usize::from(mapping.item(*test).is_some());
        places.push(places.last().copied().unwrap_or_default() + sent);
    }
    for (number, at) in request.peeks.iter().enumerate() {
        let item = mapping.item(at.test);
        // A test of the suite, which was checked, is an order by itself.
        let Ok(order) = Order::partial(request.order.label().clone(), vec![at.test], size) else { continue };
        peeks.push(Peeking::new(*at, order, item.is_some()));
        if let (Some(item), Some(place)) = (item, places.get(at.after)) {
            known.push((number, *place, item));
        }
    }
    known.sort_by_key(|(_, place, _)| *place);
    (peeks, known)
}

/// A run that starts over runs without others beside it: the one that kills templates is then known.
fn is_exclusive(run: &Run) -> bool {
    run.retries > 0 && matches!(run.place, Place::Child { .. })
}
