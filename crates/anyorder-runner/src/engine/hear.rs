//! Understanding lines: who speaks, whether the line comes in its turn, and what it changes.

use std::time::Instant;

use anyorder_core::model::Phase;

use super::host::{HostId, State};
use super::run::Place;
use super::{ConnId, Engine, Failure, Notice, Owner};
use crate::channel::Conn;
use crate::protocol::{self, Hello, Line, Message, Role, RunEvent};
use crate::{Event, Flow, Listener, Origin};

/// Why a connection is nobody's.
pub(super) type Refusal = &'static str;

impl Engine {
    /// Reads one connection and deals with its lines. Returns whether something came.
    pub(super) fn read(&mut self, id: ConnId, listener: &mut dyn Listener, to_the_end: bool) -> bool {
        let Some((mut conn, mut owner)) = self.conns.remove(&id) else { return false };
        conn.flush();
        let something = conn.fill(to_the_end);
        let mut refused = false;
        while let Some(line) = conn.line() {
            if line.is_empty() {
                continue;
            }
            if owner == Owner::Stranger {
                let line = line.to_vec();
                match self.greet(id, &conn, &line, listener) {
                    Ok(known) => {
                        owner = known;
                        conn.trust();
                    }
                    Err(why) => {
                        self.note_once(why);
                        refused = true;
                        break;
                    }
                }
            } else {
                self.line(owner, line, listener);
            }
        }
        if conn.torn() > 0 {
            self.drop_line(owner, "a line without its end");
        }
        if refused || conn.is_over() {
            self.forget(id, owner);
        } else {
            self.conns.insert(id, (conn, owner));
        }
        something
    }

    fn forget(&mut self, id: ConnId, owner: Owner) {
        match owner {
            Owner::Stranger => {}
            Owner::Host(host) => {
                if let Some(host) = self.hosts.get_mut(&host).filter(|h| h.conn == Some(id)) {
                    host.conn = None;
                }
            }
            Owner::Run(run) => {
                if let Some(Place::Child { conn, .. }) = self.runs.get_mut(&run).map(|r| &mut r.place) {
                    conn.take_if(|c| *c == id);
                }
            }
            Owner::Peek(run, number) => {
                if let Some(peek) = self.runs.get_mut(&run).and_then(|r| r.peeks.get_mut(number)) {
                    peek.conn.take_if(|c| *c == id);
                }
            }
        }
    }

    /// Finds out whose connection it is. The error says why it is nobody's.
    fn greet(
        &mut self,
        id: ConnId,
        conn: &Conn,
        line: &[u8],
        listener: &mut dyn Listener,
    ) -> Result<Owner, Refusal> {
        let numbered =
            protocol::decode(line).map_err(|_| "a connection was refused: its first line is no greeting")?;
        let Line::Message(Message::Hello(hello)) = numbered.line else {
            return Err("a connection was refused: its first line is no greeting");
        };
        let host = self.hosts.iter().find(|(_, h)| h.token == hello.token).map(|(id, _)| *id);
        let host = host.ok_or("a connection was refused: it does not know the secret")?;
        if conn.peer().is_some_and(|peer| peer != hello.pid) {
            return Err("a connection was refused: it is another process than it says");
        }
        match (hello.role, hello.run) {
            (Role::Main, None) => self.greet_host(id, host, &hello, numbered.n, listener),
            (Role::Peek, Some(run)) if hello.peek.is_some() => {
                let peek = (run, hello.peek.unwrap_or_default());
                self.greet_peek(id, host, peek, &hello, numbered.n, listener)
            }
            (Role::Run, Some(run)) => self.greet_run(id, host, run, &hello, numbered.n, listener),
            _ => Err("a connection was refused: it does not say what it is"),
        }
    }

    fn greet_host(
        &mut self,
        id: ConnId,
        host_id: HostId,
        hello: &Hello,
        n: u64,
        listener: &mut dyn Listener,
    ) -> Result<Owner, Refusal> {
        let host = self.hosts.get(&host_id).ok_or("a connection was refused: its process is gone")?;
        if host.process.pid() != hello.pid {
            return Err("a connection was refused: it is not the process that was started");
        }
        if let Some(before) = host.conn.filter(|_| hello.again) {
            // What it wrote to its old connection comes first.
            self.read(before, listener, true);
            self.conns.remove(&before);
        }
        let host = self.hosts.get_mut(&host_id).ok_or("a connection was refused: its process is gone")?;
        if hello.again != (host.expected > 0) || n != host.expected {
            return Err("a connection was refused: it is connected already");
        }
        if hello.protocol != protocol::VERSION && !hello.again {
            let what = format!("it speaks protocol {}, not {}", hello.protocol, protocol::VERSION);
            self.collection_failed(host_id, Failure::Protocol(what));
            return Err("a connection was refused: it speaks another protocol");
        }
        host.expected += 1;
        host.conn = Some(id);
        Ok(Owner::Host(host_id))
    }

    fn greet_run(
        &mut self,
        id: ConnId,
        host: HostId,
        run_id: u64,
        hello: &Hello,
        n: u64,
        listener: &mut dyn Listener,
    ) -> Result<Owner, Refusal> {
        const OVER: Refusal = "a connection was refused: its run is over";
        let run = self.runs.get(&run_id).filter(|r| r.host == host).ok_or(OVER)?;
        let Place::Child { pid, conn: before, .. } = run.place else {
            return Err("a connection was refused: its run is not a child's");
        };
        if pid.is_some_and(|pid| pid != hello.pid) {
            return Err("a connection was refused: it is not the child of its run");
        }
        if let Some(before) = before.filter(|_| hello.again && pid.is_some()) {
            self.read(before, listener, true);
            self.conns.remove(&before);
        }
        let run = self.runs.get_mut(&run_id).ok_or(OVER)?;
        let Place::Child { pid, conn, expected, greeted } = &mut run.place else { return Err(OVER) };
        if hello.again != *greeted || n != *expected {
            return Err("a connection was refused: its run is connected already");
        }
        *pid = Some(hello.pid);
        *conn = Some(id);
        *expected += 1;
        *greeted = true;
        run.since = Instant::now();
        if let Some(sandbox) = hello.sandbox.as_ref().filter(|s| s.mode != self.sandbox && !hello.again) {
            let (mode, why) = (&sandbox.mode, sandbox.why.as_deref().unwrap_or("no reason given"));
            self.note(format!("run {run_id} has only the sandbox `{mode}`: {why}"));
        }
        Ok(Owner::Run(run_id))
    }

    /// A line of somebody known.
    fn line(&mut self, owner: Owner, bytes: &[u8], listener: &mut dyn Listener) {
        let numbered = match protocol::decode(bytes) {
            Ok(numbered) => numbered,
            Err(error) => return self.drop_line(owner, error),
        };
        let expected = match owner {
            Owner::Stranger => None,
            Owner::Host(host) => self.hosts.get_mut(&host).map(|h| &mut h.expected),
            Owner::Run(run) => self.runs.get_mut(&run).and_then(|r| match &mut r.place {
                Place::Child { expected, .. } => Some(expected),
                Place::Here => None,
            }),
            Owner::Peek(run, number) => {
                self.runs.get_mut(&run).and_then(|r| r.peeks.get_mut(number)).map(|p| &mut p.expected)
            }
        };
        let Some(expected) = expected else { return };
        if numbered.n != *expected {
            let repeated = numbered.n < *expected;
            return self.out_of_sequence(owner, repeated);
        }
        *expected += 1;
        match (numbered.line, owner) {
            (Line::Run(event), Owner::Run(run)) => self.run_event(run, event, listener),
            (Line::Run(event), Owner::Peek(run, number)) => self.peek_event(run, number, event),
            (Line::Run(event), Owner::Host(host)) => match self.hosts.get(&host).and_then(|h| h.run) {
                Some(run) => self.run_event(run, event, listener),
                None => self.drop_line(owner, "an event of a run from a process that runs nothing"),
            },
            (Line::Message(message), Owner::Host(host)) => self.host_message(host, message),
            (Line::Message(Message::Internal(text)), Owner::Run(run)) => self.internal(run, text),
            (Line::Message(Message::ImportFailed { module, text }), Owner::Run(run)) => {
                self.import_failed(run, &module, &text);
            }
            (Line::Message(Message::Internal(text)), Owner::Peek(run, number)) => {
                self.peek_internal(run, number, text);
            }
            (Line::Message(_), _) | (_, Owner::Stranger) => {
                self.drop_line(owner, "a message that only a main process may send");
            }
        }
    }

    fn run_of(&self, owner: Owner) -> Option<u64> {
        match owner {
            Owner::Run(run) | Owner::Peek(run, _) => Some(run),
            Owner::Host(host) => self.hosts.get(&host).and_then(|h| h.run),
            Owner::Stranger => None,
        }
    }

    fn out_of_sequence(&mut self, owner: Owner, repeated: bool) {
        let what = if repeated { "a line that was there already" } else { "a line after a missing one" };
        self.drop_line(owner, what);
        if let Owner::Peek(run, number) = owner {
            return self.peek_disturbed(run, number);
        }
        let Some(run) = self.run_of(owner).and_then(|r| self.runs.get_mut(&r)) else { return };
        run.lost |= !repeated;
        // The true line with this number comes after all: what was taken for it was somebody else's.
        if let Some(account) = run.account.as_mut().filter(|_| repeated) {
            account.disturb();
        }
    }

    fn drop_line(&mut self, owner: Owner, what: impl std::fmt::Display) {
        if let Some(run) = self.run_of(owner).and_then(|r| self.runs.get_mut(&r)) {
            run.dropped.count(what);
        } else if let Owner::Host(host) = owner
            && let Some(host) = self.hosts.get_mut(&host)
        {
            host.dropped.count(what);
        }
    }

    fn host_message(&mut self, id: HostId, message: Message) {
        let Some(host) = self.hosts.get_mut(&id) else { return };
        let State::Collecting(gathering) = &mut host.state else {
            return self.late_message(id, message);
        };
        match message {
            Message::Environment(line) => gathering.environment(line),
            Message::Off(line) => gathering.off(line),
            Message::Tests(items) => gathering.tests(items),
            Message::Collected(line) => match std::mem::take(gathering).finish(line) {
                Ok(collection) => self.collected(id, collection),
                Err(failure) => self.collection_failed(id, failure),
            },
            Message::CollectFailed(errors) => self.collection_failed(id, Failure::CollectFailed(errors)),
            Message::NoTests => self.collection_failed(id, Failure::NoTests),
            Message::Broken { what, text } => self.collection_failed(id, Failure::Broken { what, text }),
            Message::Internal(text) => {
                self.collection_failed(id, Failure::Broken { what: "internal".to_owned(), text });
            }
            Message::ImportFailed { .. }
            | Message::Hello(_)
            | Message::Forked { .. }
            | Message::NotForked { .. }
            | Message::Exit { .. } => {
                host.dropped.count("a message out of place");
            }
        }
    }

    /// A message of a main process that has collected.
    fn late_message(&mut self, id: HostId, message: Message) {
        match message {
            Message::Forked { run, pid } => self.forked(id, run, pid),
            Message::NotForked { run, why } => self.not_forked(id, run, &why),
            Message::Exit { run, exit } => {
                if let Some(run) = self.child_run(id, run) {
                    run.exit = Some(exit);
                }
            }
            Message::Internal(text) => {
                if let Some(run) = self.hosts.get(&id).and_then(|h| h.run) {
                    self.internal(run, text);
                }
            }
            Message::ImportFailed { module, text } => {
                if let Some(run) = self.hosts.get(&id).and_then(|h| h.run) {
                    self.import_failed(run, &module, &text);
                }
            }
            Message::Hello(_)
            | Message::Environment(_)
            | Message::Off(_)
            | Message::Tests(_)
            | Message::Collected(_)
            | Message::CollectFailed(_)
            | Message::NoTests
            | Message::Broken { .. } => self.drop_line(Owner::Host(id), "a message out of place"),
        }
    }

    pub(super) fn child_run(&mut self, host: HostId, run: u64) -> Option<&mut super::Run> {
        self.runs.get_mut(&run).filter(|r| r.host == host && matches!(r.place, Place::Child { .. }))
    }

    fn forked(&mut self, host: HostId, run: u64, child: i32) {
        let Some(run) = self.child_run(host, run) else { return };
        let Place::Child { pid, .. } = &mut run.place else { return };
        if pid.replace(child).is_some_and(|before| before != child) {
            // Whoever said hello as this run's child was not.
            if let Some(account) = &mut run.account {
                account.disturb();
            }
        }
        if let (Some(pid), true) = (rustix::process::Pid::from_raw(child), child > 1) {
            crate::process::make_first_to_go(pid, "600");
        }
        if let Some(stop) = &run.stop {
            // It was told to end before anybody knew it.
            let signal =
                if stop.killed { rustix::process::Signal::KILL } else { rustix::process::Signal::TERM };
            crate::process::signal_group(child, signal);
        }
    }

    fn internal(&mut self, run: u64, text: anyorder_core::model::Excerpt) {
        if let Some(account) = self.runs.get_mut(&run).and_then(super::Run::heard) {
            account.internal(text);
        }
    }

    fn import_failed(&mut self, run: u64, module: &str, text: &anyorder_core::model::Excerpt) {
        if let Some(account) = self.runs.get_mut(&run).and_then(super::Run::heard) {
            account.import_failed(module, text);
        }
    }

    fn run_event(&mut self, id: u64, event: RunEvent, listener: &mut dyn Listener) {
        let Some(run) = self.runs.get_mut(&id).filter(|r| r.is_heard()) else { return };
        if event.is_of_peek() {
            if !self.peek_told(id, event) {
                self.drop_line(Owner::Run(id), "a line about a peek that was not to come now");
            }
            return;
        }
        let Some(host) = self.hosts.get(&run.host) else { return };
        let State::Ready(mapping) = &host.state else { return };
        let speaker = match run.place {
            Place::Here => Some(host.process.pid()),
            Place::Child { pid, .. } => pid,
        };
        let Some(account) = &mut run.account else { return };
        let mut flow = Flow::Continue;
        let odd = match event {
            RunEvent::Start { position, index, at } => {
                run.since = Instant::now();
                let started = account.start(position, mapping.test(index, &self.suite), at);
                started.map(|test| flow = listener.event(Event::TestStarted { run: id, test }))
            }
            RunEvent::Call => account.enter(Phase::Call),
            RunEvent::Teardown => account.enter(Phase::Teardown),
            RunEvent::End { position: _, index, outcome, at, failure } => {
                run.since = Instant::now();
                let ended = account.end(mapping.test(index, &self.suite), outcome, at, failure);
                ended.map(|result| flow = listener.event(Event::TestFinished { run: id, result }))
            }
            RunEvent::Finished(mark) if speaker != Some(mark.pid) => {
                run.dropped.count("an end marker of another process");
                Ok(())
            }
            RunEvent::Finished(mut mark) => {
                run.since = Instant::now();
                run.ended = Some(run.since);
                let foreign = std::mem::take(&mut mark.foreign);
                if !foreign.is_empty() {
                    let origin = |(module, file)| Origin { module, file, in_tree: false };
                    self.notes.push_back(Notice::Foreign(id, foreign.into_iter().map(origin).collect()));
                }
                account.finish(mark)
            }
            RunEvent::PeekForked { .. } | RunEvent::PeekGone { .. } | RunEvent::PeekRefused { .. } => Ok(()),
        };
        if let Err(oddity) = odd {
            run.dropped.count(oddity);
        }
        if flow == Flow::Stop {
            self.stop_all(crate::Urgency::Stop);
        }
    }
}
