//! Peeks: tests run in children that a run forks while it waits. Each has an account, a connection and a time limit of
//! its own, and ends in exactly one record.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyorder_core::model::{
    Ending, Excerpt, Failure, Order, Outcome, Peek, PeekAt, Phase, Signature, TestIx, TestResult,
};
use rustix::process::Signal;

use super::account::{Account, Closing, Departure};
use super::hear::Refusal;
use super::host::HostId;
use super::run::{Place, Run, Stop, StopReason};
use super::{ConnId, Engine, Owner};
use crate::Listener;
use crate::process::signal_group;
use crate::protocol::{Exit, Hello, RunEvent};

/// A peek that was asked for, and what is known of it.
#[derive(Debug)]
pub(crate) struct Peeking {
    at: PeekAt,
    /// The order of this one test.
    order: Order,
    /// `None` until the run has forked it.
    forked: Option<i32>,
    /// Who said that it is the child.
    speaker: Option<i32>,
    pub(crate) conn: Option<ConnId>,
    pub(crate) expected: u64,
    greeted: bool,
    account: Account,
    since: Instant,
    stop: Option<Stop>,
    over: Option<Over>,
}

/// How it went away.
#[derive(Debug)]
struct Over {
    /// In words, for a test that it died in.
    how: String,
    /// What the process had written by then.
    output: Excerpt,
}

impl Peeking {
    /// A peek of a run of `order`. `known` says whether the interpreter has the test.
    pub(crate) fn new(at: PeekAt, order: Order, known: bool) -> Self {
        let sent: Vec<TestIx> = if known { vec![at.test] } else { Vec::new() };
        Self {
            at,
            account: Account::new(&order, sent),
            order,
            forked: None,
            speaker: None,
            conn: None,
            expected: 0,
            greeted: false,
            since: Instant::now(),
            stop: None,
            over: None,
        }
    }

    /// Whether its child is there now.
    fn is_active(&self) -> bool {
        self.forked.is_some() && self.over.is_none()
    }

    /// Its process group, while that is there.
    pub(crate) fn group(&self) -> Option<i32> {
        self.forked.filter(|_| self.is_active())
    }

    /// Its one record. `departure` is how its run went, in case that ended first.
    pub(crate) fn close(self, run: &Departure) -> Peek {
        let Self { at, order, forked, account, stop, over, .. } = self;
        let departure = match (&over, stop) {
            (None, _) if forked.is_none() => return absent_peek(at),
            (_, Some(_)) => Departure::TimedOut,
            (Some(over), None) => Departure::Gone(over.how.clone()),
            (None, None) => run.clone(),
        };
        let output = over.map(|o| o.output).unwrap_or_default();
        let closing = Closing {
            order,
            attempt: 0,
            executor: anyorder_core::model::Executor::Fork,
            departure,
            wall: Duration::ZERO,
            output: output.clone(),
        };
        let mut peek = absent_peek(at);
        if let Ok((mut record, _)) = account.close(closing)
            && let Some(result) = record.results.pop()
        {
            peek.result = settled(result, &record.ending, output);
        }
        peek
    }
}

/// A peek that never came.
pub(crate) fn absent_peek(at: PeekAt) -> Peek {
    let result =
        TestResult { test: at.test, outcome: Outcome::Absent, duration: Duration::ZERO, failure: None };
    Peek { after: at.after, result }
}

/// Only with its end marker is a peek what it says; a child that died outside of its test died all the same.
fn settled(mut result: TestResult, ending: &Ending, output: Excerpt) -> TestResult {
    let (outcome, how) = match ending {
        Ending::Completed | Ending::Interrupted => return result,
        Ending::TimedOut { .. } => (Outcome::Timeout, "timeout"),
        Ending::Crashed { how, .. } => (Outcome::Crashed, how.as_str()),
        Ending::OutOfOrder { .. } => (Outcome::Crashed, "it ran another test than the one asked for"),
    };
    if result.outcome != outcome {
        result.outcome = outcome;
        result.failure.get_or_insert_with(|| Failure {
            phase: Phase::Setup,
            signature: Signature(Arc::from(how)),
            text: output,
        });
    }
    result
}

impl Run {
    /// The peek that the run waits for.
    pub(crate) fn active_peek(&self) -> Option<(usize, &Peeking)> {
        let (number, peek) = self.peeks.iter().enumerate().find(|(_, p)| p.is_active())?;
        Some((number, peek))
    }

    /// When the engine has to look at the peek that the run waits for.
    pub(crate) fn peek_deadline(&self, limit: Option<Duration>) -> Option<Instant> {
        let (_, peek) = self.active_peek()?;
        match &peek.stop {
            Some(stop) => Some(stop.next),
            None => limit.map(|limit| peek.since + limit),
        }
    }

    /// Ends the peek that takes too long: in peace, then by force. False when there is none, or force did not help.
    pub(crate) fn end_peek(&mut self, now: Instant, grace: Duration, patience: Duration) -> bool {
        let Some(peek) = self.peeks.iter_mut().find(|p| p.is_active()) else { return false };
        let Some(group) = peek.group() else { return false };
        match &mut peek.stop {
            None => {
                peek.stop = Some(Stop { reason: StopReason::TimedOut, next: now + grace, killed: false });
                signal_group(group, Signal::TERM);
            }
            Some(stop) if !stop.killed => {
                stop.killed = true;
                stop.next = now + patience;
                signal_group(group, Signal::KILL);
            }
            Some(_) => return false,
        }
        true
    }
}

impl Engine {
    /// Finds out whether a connection is that of a peek.
    pub(super) fn greet_peek(
        &mut self,
        id: ConnId,
        host: HostId,
        (run_id, number): (u64, usize),
        hello: &Hello,
        n: u64,
        listener: &mut dyn Listener,
    ) -> Result<Owner, Refusal> {
        const OVER: Refusal = "a connection was refused: its run is over";
        let run = self.runs.get(&run_id).filter(|r| r.host == host).ok_or(OVER)?;
        let peek = run.peeks.get(number).ok_or("a connection was refused: nobody asked for its peek")?;
        if peek.forked.or(peek.speaker).is_some_and(|pid| pid != hello.pid) {
            return Err("a connection was refused: it is not the child of its peek");
        }
        if let Some(before) = peek.conn.filter(|_| hello.again) {
            self.read(before, listener, true);
            self.conns.remove(&before);
        }
        let peek = self.runs.get_mut(&run_id).and_then(|r| r.peeks.get_mut(number)).ok_or(OVER)?;
        if hello.again != peek.greeted || n != peek.expected {
            return Err("a connection was refused: its peek is connected already");
        }
        peek.speaker = Some(hello.pid);
        peek.conn = Some(id);
        peek.expected += 1;
        peek.greeted = true;
        if let Some(sandbox) = hello.sandbox.as_ref().filter(|s| s.mode != self.sandbox && !hello.again) {
            let (mode, why) = (&sandbox.mode, sandbox.why.as_deref().unwrap_or("no reason given"));
            self.note(format!("a peek of run {run_id} has only the sandbox `{mode}`: {why}"));
        }
        Ok(Owner::Peek(run_id, number))
    }

    /// What a run says of the children that it forks; false when that makes no sense.
    pub(super) fn peek_told(&mut self, run_id: u64, event: RunEvent) -> bool {
        let Some(run) = self.runs.get_mut(&run_id).filter(|r| matches!(r.place, Place::Child { .. })) else {
            return false;
        };
        let waits = run.active_peek().map(|(number, _)| number);
        let now = Instant::now();
        run.since = now;
        match event {
            RunEvent::PeekForked { peek, pid, threads } => {
                let Some(peek) = run.peeks.get_mut(peek).filter(|p| waits.is_none() && p.forked.is_none())
                else {
                    return false;
                };
                peek.forked = Some(pid);
                peek.since = now;
                if peek.speaker.is_some_and(|speaker| speaker != pid) {
                    peek.account.disturb();
                }
                if threads > 1 {
                    self.note_once(
                        "a run had threads when it was peeked at: a child has none of them, so that a peek may differ from the run",
                    );
                }
                if self.sandbox != "overlay" {
                    self.note_once(
                        "peeks share the files of their run: there is no overlay to keep them apart",
                    );
                }
            }
            RunEvent::PeekGone { peek, exit } => {
                if waits != Some(peek) {
                    return false;
                }
                let how = exit.map_or_else(|| "vanished".to_owned(), |e| e.to_string());
                let output = self.output_unless(run_id, exit == Some(Exit::Code(0)));
                if let Some(peek) = self.runs.get_mut(&run_id).and_then(|r| r.peeks.get_mut(peek)) {
                    peek.over = Some(Over { how, output });
                }
            }
            RunEvent::PeekRefused { peek, why } => {
                let Some(peek) = run.peeks.get_mut(peek).filter(|p| p.forked.is_none()) else { return false };
                peek.forked = Some(0);
                peek.over =
                    Some(Over { how: format!("could not be forked: {why}"), output: Excerpt::default() });
            }
            RunEvent::Start { .. }
            | RunEvent::Call
            | RunEvent::Teardown
            | RunEvent::End { .. }
            | RunEvent::Finished(_) => return false,
        }
        true
    }

    /// What the processes of a run's interpreter have written, unless nobody will want to know.
    fn output_unless(&mut self, run: u64, clean: bool) -> Excerpt {
        if clean {
            return Excerpt::default();
        }
        let host = self.runs.get(&run).map(|r| r.host);
        let Some(host) = host.and_then(|h| self.hosts.get_mut(&h)) else { return Excerpt::default() };
        host.process.drain();
        host.process.output()
    }

    /// An event of the test that is peeked at.
    pub(super) fn peek_event(&mut self, run_id: u64, number: usize, event: RunEvent) {
        let Some(run) = self.runs.get_mut(&run_id).filter(|r| r.is_heard()) else { return };
        let Some(host) = self.hosts.get(&run.host) else { return };
        let super::host::State::Ready(mapping) = &host.state else { return };
        let Some(peek) = run.peeks.get_mut(number).filter(|p| p.stop.is_none()) else { return };
        let account = &mut peek.account;
        let odd = match event {
            RunEvent::Start { position, index, at } => {
                account.start(position, mapping.test(index, &self.suite), at).map(drop)
            }
            RunEvent::Call => account.enter(Phase::Call),
            RunEvent::Teardown => account.enter(Phase::Teardown),
            RunEvent::End { position: _, index, outcome, at, failure } => {
                account.end(mapping.test(index, &self.suite), outcome, at, failure).map(drop)
            }
            RunEvent::Finished(mark) if peek.speaker == Some(mark.pid) => account.finish(mark),
            RunEvent::Finished(_)
            | RunEvent::PeekForked { .. }
            | RunEvent::PeekGone { .. }
            | RunEvent::PeekRefused { .. } => {
                run.dropped.count("a line of a peek that only its run may write");
                Ok(())
            }
        };
        if let Err(oddity) = odd {
            run.dropped.count(oddity);
        }
    }

    /// pytest itself died in a peek.
    pub(super) fn peek_internal(&mut self, run: u64, number: usize, text: Excerpt) {
        if let Some(peek) = self.runs.get_mut(&run).and_then(|r| r.peeks.get_mut(number)) {
            peek.account.internal(text);
        }
    }

    /// A line of a peek is missing, or came from somebody else.
    pub(super) fn peek_disturbed(&mut self, run: u64, number: usize) {
        if let Some(peek) = self.runs.get_mut(&run).and_then(|r| r.peeks.get_mut(number)) {
            peek.account.disturb();
        }
    }
}
