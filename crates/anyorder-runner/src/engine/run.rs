//! A run that is under way.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::ConnId;
use super::account::{Account, Departure};
use super::host::{Dropped, HostId};
use super::peek::Peeking;
use crate::process::signal_group;
use crate::protocol::Exit;
use crate::{Limits, RunRequest};

/// A run that is under way.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) request: RunRequest,
    pub(crate) host: HostId,
    pub(crate) place: Place,
    pub(crate) slot: usize,
    /// `None` until the order was sent.
    pub(crate) account: Option<Account>,
    /// When its order was sent; until then, when it was taken up.
    pub(crate) began: Instant,
    /// When its end marker came.
    pub(crate) ended: Option<Instant>,
    /// Since when the running test runs, or nothing was heard.
    pub(crate) since: Instant,
    pub(crate) folder: PathBuf,
    pub(crate) stop: Option<Stop>,
    /// How its process ended, once it has.
    pub(crate) exit: Option<Exit>,
    pub(crate) dropped: Dropped,
    /// A line is missing from its channel.
    pub(crate) lost: bool,
    /// How often it had to start over.
    pub(crate) retries: u8,
    /// How often the system refused it a process.
    pub(crate) refusals: u32,
    /// One for each peek asked for, in that sequence; none until the order was sent.
    pub(crate) peeks: Vec<Peeking>,
}

/// Where a run runs.
#[derive(Debug)]
pub(crate) enum Place {
    /// In the main process itself.
    Here,
    /// In a child of it, which has a connection of its own.
    Child { pid: Option<i32>, conn: Option<ConnId>, expected: u64, greeted: bool },
}

/// Why the engine ends a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    TimedOut,
    Interrupted,
    /// Its end marker came and it did not go away.
    Lingers,
}

/// An order to end that was given.
#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) reason: StopReason,
    /// When SIGKILL follows, or (once `killed`) when the main process itself is given up.
    pub(crate) next: Instant,
    pub(crate) killed: bool,
}

impl Run {
    /// When the engine has to look at it again, if nothing is heard of it.
    pub(crate) fn deadline(&self, limits: &Limits) -> Option<Instant> {
        if let Some(stop) = &self.stop {
            return Some(stop.next);
        }
        let account = self.account.as_ref()?;
        if account.has_ended() {
            return Some(self.since + limits.grace);
        }
        let test = self.peek_deadline(limits.test).or_else(|| limits.test.map(|limit| self.since + limit));
        let run = limits.run.map(|limit| self.began + limit);
        [test, run].into_iter().flatten().min()
    }

    /// Whether records still count. Once it was told to end, what it says is no longer evidence.
    pub(crate) fn is_heard(&self) -> bool {
        self.stop.is_none()
    }

    /// Its account, while records count.
    pub(crate) fn heard(&mut self) -> Option<&mut Account> {
        if self.is_heard() { self.account.as_mut() } else { None }
    }

    /// Tells it to end. `group` leads its processes.
    pub(crate) fn end(&mut self, reason: StopReason, group: Option<i32>, grace: Duration, now: Instant) {
        if self.stop.is_none() {
            self.stop = Some(Stop { reason, next: now + grace, killed: false });
            let peek = self.active_peek().and_then(|(_, peek)| peek.group());
            for group in [peek, group].into_iter().flatten() {
                signal_group(group, Signal::TERM);
            }
        }
    }

    /// Ends it for good. `again` is when to give up on seeing it go.
    pub(crate) fn kill(&mut self, group: Option<i32>, again: Instant) {
        if let Some(stop) = &mut self.stop {
            stop.killed = true;
            stop.next = again;
        }
        let peek = self.active_peek().and_then(|(_, peek)| peek.group());
        for group in [peek, group].into_iter().flatten() {
            signal_group(group, Signal::KILL);
        }
    }

    /// What its account is closed with.
    pub(crate) fn departure(&self, how: Option<String>) -> Departure {
        match self.stop.as_ref().map(|s| s.reason) {
            Some(StopReason::TimedOut) => return Departure::TimedOut,
            Some(StopReason::Interrupted) => return Departure::Interrupted,
            Some(StopReason::Lingers) | None => {}
        }
        let how = how.or_else(|| self.exit.map(|e| e.to_string())).unwrap_or_else(|| "vanished".to_owned());
        if self.lost && matches!(self.exit, Some(Exit::Code(_))) {
            return Departure::Gone("its record channel was damaged".to_owned());
        }
        Departure::Gone(how)
    }
}
