//! Closing what is over: runs into records, main processes into nothing.

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

use anyorder_core::model::{Excerpt, Peek, PeekAt};
use rustix::process::Signal;

use super::account::{Account, Closing, Departure};
use super::dispatch::REFUSALS;
use super::folder::remove_tree;
use super::host::{HostId, Mapping, State};
use super::peek::{Peeking, absent_peek};
use super::run::{Place, Run};
use super::{Engine, Failure, Finished, Owner, Waiting};
use crate::process::signal_group;
use crate::protocol::{Command, Exit};
use crate::{Collection, EngineError, Listener, RunRequest};

/// After so many interpreters died in a row there is no point in starting more, for each job.
const DEATHS: usize = 4;

impl Engine {
    /// Closes the runs whose process is gone, and deals with main processes that are.
    pub(super) fn settle(&mut self, listener: &mut dyn Listener) -> io::Result<()> {
        let hosts: Vec<HostId> = self.hosts.keys().copied().collect();
        for id in hosts {
            let exit = self.hosts.get_mut(&id).and_then(|h| h.process.poll_exit());
            if let Some(exit) = exit {
                self.host_gone(id, exit, listener)?;
            }
        }
        let over: Vec<u64> = self.runs.iter().filter(|(_, r)| r.exit.is_some()).map(|(id, _)| *id).collect();
        for id in over {
            self.read_rest(Owner::Run(id), listener)?;
            self.close_run(id, None);
        }
        Ok(())
    }

    /// Reads what somebody who is gone has left, over connections that may not have been taken yet.
    fn read_rest(&mut self, owner: Owner, listener: &mut dyn Listener) -> io::Result<()> {
        self.read_all(listener, false)?;
        let conns: Vec<_> = self
            .conns
            .iter()
            .filter(|(_, (_, o))| *o == owner || (o.run().is_some() && o.run() == owner.run()))
            .map(|(id, _)| *id)
            .collect();
        for conn in conns {
            self.read(conn, listener, true);
        }
        Ok(())
    }

    fn host_gone(&mut self, id: HostId, exit: Exit, listener: &mut dyn Listener) -> io::Result<()> {
        self.read_rest(Owner::Host(id), listener)?;
        let Some(host) = self.hosts.get_mut(&id) else { return Ok(()) };
        host.process.drain();
        signal_group(host.process.pid(), Signal::KILL);
        match &host.state {
            State::Collecting(_) => {
                let failure =
                    if host.kill_at.is_some() { Failure::TimedOut } else { Failure::Died(exit.to_string()) };
                self.collection_failed(id, failure);
            }
            State::Ready(_) => match host.run {
                Some(run) => {
                    if let Some(run) = self.runs.get_mut(&run) {
                        run.exit = Some(exit);
                    }
                    self.close_run(run, None);
                }
                None => self.template_died(id, exit, listener)?,
            },
            State::Spent => {}
        }
        if let Some(host) = self.hosts.get(&id)
            && host.dropped.lines > 0
        {
            let (lines, first) = (host.dropped.lines, host.dropped.first.clone());
            self.note(format!("{lines} lines of an interpreter were no records: {first}"));
        }
        // The first template's output is still wanted by the error that tells how it died.
        if self.collected.is_none() {
            self.remove_host(id);
        } else if let Some(host) = self.hosts.get_mut(&id) {
            host.state = State::Spent;
        }
        Ok(())
    }

    fn remove_host(&mut self, id: HostId) {
        self.hosts.remove(&id);
        self.conns.retain(|_, (_, owner)| *owner != Owner::Host(id));
        if self.template == Some(id) {
            self.template = None;
        }
    }

    /// The template is gone: its children go too, and start over once.
    fn template_died(&mut self, id: HostId, exit: Exit, listener: &mut dyn Listener) -> io::Result<()> {
        let how = format!("the interpreter it was forked from was gone: {exit}");
        let children: Vec<u64> = self.runs.iter().filter(|(_, r)| r.host == id).map(|(id, _)| *id).collect();
        for run_id in children {
            if let Some(group) = self.group_of(run_id) {
                signal_group(group, Signal::KILL);
            }
            self.read_rest(Owner::Run(run_id), listener)?;
            let Some(run) = self.runs.get(&run_id) else { continue };
            let is_settled = run.stop.is_some() || run.account.as_ref().is_some_and(Account::has_ended);
            if is_settled || run.retries > 0 {
                self.close_run(run_id, Some(how.clone()));
            } else if let Some(run) = self.runs.remove(&run_id) {
                self.note(format!("run {run_id} starts over: {how}"));
                let Run { request, retries, refusals, folder, .. } = run;
                remove_tree(&folder);
                let not_before = Instant::now();
                let retries = retries + 1;
                self.waiting.push_back(Waiting { request, retries, refusals, not_before, exclusive: true });
            }
        }
        self.conns.retain(|_, (_, owner)| owner.run().is_none_or(|run| self.runs.contains_key(&run)));
        if self.template == Some(id) {
            self.template = None;
        }
        self.count_death(how);
        Ok(())
    }

    fn count_death(&mut self, how: String) {
        self.deaths += 1;
        if self.deaths >= DEATHS * self.config.jobs.max(1) {
            self.error.get_or_insert(EngineError::CrashLoop { deaths: self.deaths, how });
        }
    }

    /// A main process has collected.
    pub(super) fn collected(&mut self, id: HostId, collection: Collection) {
        let first = self.suite.is_empty();
        let Some(host) = self.hosts.get_mut(&id) else { return };
        if first {
            host.state = State::Ready(Mapping::Same);
            self.collected = Some(Ok(collection));
            return;
        }
        let mapping = Mapping::between(&self.suite, &collection);
        let difference = mapping.difference();
        host.state = State::Ready(mapping);
        host.kill_at = None;
        let run = host.run;
        if let Some(difference) = difference {
            self.note(format!("an interpreter does not agree with the first one: {difference}"));
        }
        if let Some(error) = run.and_then(|r| self.send_order(r).err()) {
            self.error.get_or_insert(error);
        }
    }

    /// A main process will not run anything.
    pub(super) fn collection_failed(&mut self, id: HostId, failure: Failure) {
        let Some(host) = self.hosts.get_mut(&id) else { return };
        host.state = State::Spent;
        let run = host.run;
        if self.suite.is_empty() {
            self.collected = Some(Err(failure));
            return;
        }
        host.process.signal(Signal::KILL);
        let how = failure.words();
        match run {
            Some(run_id) => {
                if let (Failure::TimedOut, Some(run)) = (&failure, self.runs.get_mut(&run_id)) {
                    let now = Instant::now();
                    run.end(super::run::StopReason::TimedOut, None, Duration::ZERO, now);
                }
                self.close_run(run_id, Some(how.clone()));
            }
            None => self.template = None,
        }
        self.count_death(how);
    }

    /// The template could not fork.
    pub(super) fn not_forked(&mut self, host: HostId, id: u64, why: &str) {
        if self.child_run(host, id).is_none() {
            return;
        }
        let how = format!("could not be forked: {why}");
        let refusals = self.runs.get(&id).map_or(REFUSALS, |r| r.refusals);
        if refusals >= REFUSALS || self.stopping {
            return self.close_run(id, Some(how));
        }
        if let Some(run) = self.runs.remove(&id) {
            self.note(format!("run {id} {how}; trying again with fewer at once"));
            let Run { request, retries, refusals, folder, .. } = run;
            remove_tree(&folder);
            let not_before = Instant::now();
            self.back_off(Waiting { request, retries, refusals, not_before, exclusive: retries > 0 });
        }
    }

    /// Turns a run into its record. `how` says how its process went, where its exit does not.
    pub(super) fn close_run(&mut self, id: u64, how: Option<String>) {
        let group = self.group_of(id).filter(|_| self.runs.get(&id).is_some_and(|r| r.account.is_some()));
        let Some(run) = self.runs.remove(&id) else { return };
        if let Some(peek) = run.active_peek().and_then(|(_, peek)| peek.group()) {
            signal_group(peek, Signal::KILL);
        }
        self.sweep();
        if let Some(group) = group {
            let left = rustix::process::Pid::from_raw(group)
                .is_some_and(|g| rustix::process::test_kill_process_group(g).is_ok());
            signal_group(group, Signal::KILL);
            if left && run.exit.is_some() && matches!(run.place, Place::Child { .. }) {
                self.note(format!("run {id} left processes behind, which were ended"));
            }
        }
        self.conns.retain(|_, (_, owner)| owner.run() != Some(id));
        if run.dropped.lines > 0 {
            let (lines, first) = (run.dropped.lines, &run.dropped.first);
            self.note(format!("{lines} lines of run {id} were no records: {first}"));
        }
        let output = self.hosts.get(&run.host).map(|h| h.process.output()).unwrap_or_default();
        let departure = run.departure(how);
        self.record(run, departure, output);
    }

    fn record(&mut self, run: Run, departure: Departure, output: Excerpt) {
        let Run { request, account, began, ended, folder, peeks, .. } = run;
        remove_tree(&folder);
        let id = request.run;
        let peeks = peeks_of(&request, peeks, &departure);
        let account = account.unwrap_or_else(|| Account::new(&request.order, request.order.tests().to_vec()));
        let closing = Closing {
            order: request.order,
            attempt: request.attempt,
            executor: request.executor,
            departure,
            // The run itself: neither the start of its interpreter nor what comes after its last test.
            wall: ended.unwrap_or_else(Instant::now).saturating_duration_since(began),
            output,
        };
        match account.close(closing) {
            Ok((mut record, told)) => {
                record.peeks = peeks;
                if record.ending.is_complete() {
                    self.deaths = 0;
                }
                self.finished.push_back(Finished { run: id, record, told });
            }
            Err(sum) => {
                let error =
                    EngineError::Unaccounted { run: id, planned: sum.planned, reported: sum.reported };
                self.error.get_or_insert(error);
            }
        }
    }

    /// Ends what runs have left behind outside their groups.
    fn sweep(&mut self) {
        let active = self.active();
        for leftover in self.survivors.sweep(&active) {
            let runs: Vec<String> = leftover.runs.iter().map(u64::to_string).collect();
            let (name, runs) = (leftover.name, runs.join(" or "));
            self.note(format!("run {runs} left a process behind, which was ended: `{name}`"));
        }
    }

    /// Runs that wait are not started any more. One that had begun before gets its record.
    pub(super) fn drop_waiting(&mut self) {
        while let Some(Waiting { request, retries, refusals, .. }) = self.waiting.pop_front() {
            if retries == 0 && refusals == 0 {
                continue;
            }
            let id = request.run;
            let peeks = peeks_of(&request, Vec::new(), &Departure::Interrupted);
            let closing = Closing {
                attempt: request.attempt,
                executor: request.executor,
                departure: Departure::Interrupted,
                wall: Duration::ZERO,
                output: Excerpt::default(),
                order: request.order,
            };
            let account = Account::new(&closing.order, closing.order.tests().to_vec());
            if let Ok((mut record, told)) = account.close(closing) {
                record.peeks = peeks;
                self.finished.push_back(Finished { run: id, record, told });
            }
        }
    }

    /// Ends all runs without records, after an error.
    pub(super) fn abandon(&mut self) {
        let ids: Vec<u64> = self.runs.keys().copied().collect();
        for id in ids {
            if let Some(group) = self.group_of(id) {
                signal_group(group, Signal::KILL);
            }
            if let Some(run) = self.runs.remove(&id) {
                remove_tree(&run.folder);
            }
        }
        self.conns.retain(|_, (_, owner)| owner.run().is_none());
        let spent: Vec<HostId> = self.hosts.keys().copied().filter(|h| self.template != Some(*h)).collect();
        for id in spent {
            self.remove_host(id);
        }
        self.waiting.clear();
        self.finished.clear();
        self.error = None;
    }
}

/// Exactly one record for each peek asked for, in that sequence: `begun` are those of a run whose order was sent.
fn peeks_of(request: &RunRequest, begun: Vec<Peeking>, departure: &Departure) -> Vec<Peek> {
    let mut begun = begun.into_iter();
    let record = |at: &PeekAt| begun.next().map_or_else(|| absent_peek(*at), |peek| peek.close(departure));
    request.peeks.iter().map(record).collect()
}

impl Drop for Engine {
    /// Ends every process of the session: first in peace, soon by force.
    fn drop(&mut self) {
        self.abandon();
        let ids: Vec<HostId> = self.hosts.keys().copied().collect();
        for id in &ids {
            if matches!(self.hosts.get(id).map(|h| &h.state), Some(State::Ready(_))) {
                self.command(*id, &Command::Quit);
                self.send_commands();
                if let Some(host) = self.hosts.get_mut(id) {
                    host.process.wait(Duration::from_millis(500));
                }
            }
            self.remove_host(*id);
        }
        // What the interpreters left becomes ours only now.
        let none = BTreeSet::new();
        for _ in 0..3 {
            if self.survivors.sweep(&none).is_empty() {
                break;
            }
        }
    }
}
