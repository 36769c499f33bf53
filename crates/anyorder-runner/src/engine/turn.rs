//! One turn of the loop: wait, read everything, close what is over, look at the clock.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Signal;

use super::host::State;
use super::run::{Place, StopReason};
use super::{ConnId, Engine, Owner};
use crate::protocol::{Command, Exit};
use crate::{Cancel, Listener, Urgency};

/// While records come in, runs are read this often instead of at each record: waking up four times a test would take
/// time from the tests. Well below the time in which fast tests fill a socket's buffer.
const BATCH: Duration = Duration::from_millis(8);
/// While stopping, and where the kernel has no pidfd, processes are looked at this often.
const WATCH: Duration = Duration::from_millis(20);
/// A main process that does not see its killed child go within this time is given up itself.
const PATIENCE: Duration = Duration::from_secs(10);
/// Connections of one process that have not said who they are; older ones are closed.
const STRANGERS: usize = 16;
/// Connections taken before those that are there get their turn.
const ACCEPTED: usize = 128;

impl Engine {
    /// Waits for something to happen, and deals with it.
    pub(super) fn turn(&mut self, listener: &mut dyn Listener, cancel: &Cancel) -> io::Result<()> {
        self.send_commands();
        self.wait(cancel)?;
        self.heed(cancel);
        for host in self.hosts.values_mut() {
            host.process.drain();
        }
        self.busy = self.read_all(listener, false)?;
        self.settle(listener)?;
        self.look_at_clock(Instant::now());
        Ok(())
    }

    fn wait(&mut self, cancel: &Cancel) -> io::Result<()> {
        let writable = PollFlags::IN | PollFlags::OUT;
        let mut fds = Vec::with_capacity(4 + 4 * self.hosts.len() + self.conns.len());
        let urgent = |host| self.hosts.get(&host).is_some_and(|h: &super::Host| h.run.is_none());
        for (conn, owner) in self.conns.values() {
            // Commands are answered, and ends of children told, on the template's connection: never batched.
            let at_once = !self.busy || matches!(owner, Owner::Host(host) if urgent(*host));
            match (at_once, conn.wants_to_send()) {
                (_, true) => fds.push(PollFd::new(conn, writable)),
                (true, false) => fds.push(PollFd::new(conn, PollFlags::IN)),
                (false, false) => {}
            }
        }
        for host in self.hosts.values() {
            fds.extend(host.process.pidfd().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            if !self.busy {
                fds.extend(host.process.pipes().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            }
        }
        if !self.busy {
            fds.push(PollFd::new(&self.server, PollFlags::IN));
        }
        if !self.stopping {
            fds.push(PollFd::from_borrowed_fd(cancel.wake_fd(), PollFlags::IN));
        }
        let timeout = self.patience(Instant::now()).map(|left| Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        });
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// How long to wait at most; `None` until something happens.
    fn patience(&self, now: Instant) -> Option<Duration> {
        let limits = &self.config.limits;
        let runs = self.runs.values().filter_map(|r| r.deadline(limits));
        let hosts = self.hosts.values().filter_map(|h| match h.state {
            State::Collecting(_) => h.kill_at.or_else(|| limits.collect.map(|l| h.started + l)),
            State::Ready(_) | State::Spent => None,
        });
        let waiting = self.waiting.iter().map(|w| w.not_before).filter(|at| *at > now);
        let deadline = runs.chain(hosts).chain(waiting).min();
        let left = deadline.map(|d| d.saturating_duration_since(now));
        let watched = self.stopping || self.hosts.values().any(|h| h.process.pidfd().is_none());
        let look = if self.busy { Some(BATCH) } else { watched.then_some(WATCH) };
        [left, look].into_iter().flatten().min()
    }

    /// Takes new connections and reads all of them. Returns whether a run said something.
    pub(super) fn read_all(&mut self, listener: &mut dyn Listener, to_the_end: bool) -> io::Result<bool> {
        let mut heard = !self.accept_all()?;
        let ids: Vec<ConnId> = self.conns.keys().copied().collect();
        for id in ids {
            let something = self.read(id, listener, to_the_end);
            let of_run = match self.conns.get(&id) {
                Some((_, Owner::Host(host))) => self.hosts.get(host).is_some_and(|h| h.run.is_some()),
                Some((_, Owner::Run(_) | Owner::Peek(..))) => true,
                Some((_, Owner::Stranger)) | None => false,
            };
            heard |= something && of_run;
        }
        self.close_silent();
        Ok(heard)
    }

    /// Takes waiting connections. False when there is no room for one now: then it is better not to look at once.
    fn accept_all(&mut self) -> io::Result<bool> {
        for _ in 0..ACCEPTED {
            match self.server.accept() {
                Ok(None) => break,
                Ok(Some(conn)) => {
                    self.conns.insert(ConnId(self.next_conn), (conn, Owner::Stranger));
                    self.next_conn += 1;
                }
                Err(e) if is_exhausted(&e) => {
                    self.note_once(
                        "connections have to wait: there are no descriptors or no memory for them",
                    );
                    return Ok(false);
                }
                Err(e) => return Err(e),
            }
        }
        Ok(true)
    }

    /// Closes connections that stay silent. A process that connects without end costs only its own.
    fn close_silent(&mut self) {
        let mut silent: BTreeMap<Option<i32>, usize> = BTreeMap::new();
        let mut spare = Vec::new();
        for (id, (conn, owner)) in self.conns.iter().rev() {
            if *owner == Owner::Stranger {
                let count = silent.entry(conn.peer()).or_default();
                *count += 1;
                if *count > STRANGERS {
                    spare.push(*id);
                }
            }
        }
        for id in spare {
            self.conns.remove(&id);
        }
    }

    /// Hears a request to stop.
    pub(super) fn heed(&mut self, cancel: &Cancel) {
        let urgency = cancel.urgency();
        if urgency > Urgency::None {
            cancel.heard();
            self.stop_all(urgency);
        }
    }

    /// Starts nothing more, and ends what runs.
    pub(super) fn stop_all(&mut self, urgency: Urgency) {
        self.stopping = true;
        let now = Instant::now();
        self.drop_waiting();
        let ids: Vec<u64> = self.runs.keys().copied().collect();
        for id in ids {
            self.end_run(id, StopReason::Interrupted, now);
            let group = self.group_of(id);
            if let Some(run) = self.runs.get_mut(&id)
                && urgency == Urgency::Kill
                && run.stop.as_ref().is_some_and(|s| !s.killed)
            {
                run.kill(group, now + PATIENCE);
            }
        }
    }

    /// The leader of a run's processes, once it is known.
    pub(super) fn group_of(&self, run: u64) -> Option<i32> {
        let run = self.runs.get(&run)?;
        match run.place {
            Place::Here => self.hosts.get(&run.host).map(|h| h.process.pid()),
            Place::Child { pid, .. } => pid,
        }
    }

    pub(super) fn end_run(&mut self, id: u64, reason: StopReason, now: Instant) {
        let group = self.group_of(id);
        let grace = self.config.limits.grace;
        let Some(run) = self.runs.get_mut(&id) else { return };
        if run.exit.is_none() {
            run.end(reason, group, grace, now);
        }
    }

    fn look_at_clock(&mut self, now: Instant) {
        let limits = self.config.limits.clone();
        let due: Vec<u64> = self
            .runs
            .iter()
            .filter(|(_, r)| r.exit.is_none() && r.deadline(&limits).is_some_and(|d| d <= now))
            .map(|(id, _)| *id)
            .collect();
        for id in due {
            self.overdue_run(id, now);
        }
        for host in self.hosts.values_mut() {
            let State::Collecting(_) = host.state else { continue };
            match host.kill_at {
                Some(kill_at) if kill_at <= now => {
                    host.process.signal(Signal::KILL);
                    host.kill_at = Some(now + PATIENCE);
                }
                None if limits.collect.is_some_and(|limit| host.started + limit <= now) => {
                    host.process.signal(Signal::TERM);
                    host.kill_at = Some(now + limits.grace);
                }
                Some(_) | None => {}
            }
        }
    }

    fn overdue_run(&mut self, id: u64, now: Instant) {
        let group = self.group_of(id);
        let grace = self.config.limits.grace;
        let limit = self.config.limits.run;
        let Some(run) = self.runs.get_mut(&id) else { return };
        let host = run.host;
        let in_time = limit.is_none_or(|limit| now < run.began + limit);
        if run.stop.is_none() && in_time && run.end_peek(now, grace, PATIENCE) {
            return;
        }
        match &run.stop {
            None => {
                let ended = run.account.as_ref().is_some_and(super::account::Account::has_ended);
                let reason = if ended { StopReason::Lingers } else { StopReason::TimedOut };
                self.end_run(id, reason, now);
            }
            Some(stop) if !stop.killed => {
                run.kill(group, now + PATIENCE);
                if let Place::Here = run.place
                    && let Some(host) = self.hosts.get(&host)
                {
                    host.process.signal(Signal::KILL);
                }
                self.command(host, &Command::Kill { run: id, signal: Signal::KILL.as_raw() });
            }
            // Killed, and nobody saw it go: the main process is stuck, or was stopped.
            Some(_) => {
                if let Some(host) = self.hosts.get(&host) {
                    host.process.signal(Signal::KILL);
                }
                run.exit = Some(Exit::Signal(Signal::KILL.as_raw()));
            }
        }
    }
}

/// Out of descriptors or memory: it will pass when runs end.
fn is_exhausted(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM))
}
