//! Processes that tests left behind. The engine is a subreaper: orphans of the interpreters become its children, are
//! found there, and are ended once every run that may own them is over. Linux; elsewhere process groups have to do.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::process::Child;
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

/// Processes that this program started and waits for itself, in any session.
static OWN: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn own() -> std::sync::MutexGuard<'static, BTreeSet<i32>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a process and notes it as our own before any sweep can take it for an orphan.
pub(super) fn register(start: impl FnOnce() -> io::Result<Child>) -> io::Result<Child> {
    let mut own = own();
    let child = start()?;
    own.insert(Pid::from_child(&child).as_raw_nonzero().get());
    Ok(child)
}

pub(super) fn unregister(pid: Pid) {
    own().remove(&pid.as_raw_nonzero().get());
}

/// Makes orphans of our descendants our own children. Best effort.
pub(crate) fn become_subreaper() {
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
}

/// A process that outlived its run and was ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leftover {
    /// Its name, as the kernel has it.
    pub(crate) name: String,
    /// The runs that may have left it.
    pub(crate) runs: Vec<u64>,
}

/// Orphans that were seen and whose owners may still run.
#[derive(Debug)]
pub(crate) struct Survivors {
    /// The value of `ANYORDER_RUN` begins with this in every process of the session.
    session: String,
    seen: BTreeMap<i32, BTreeSet<u64>>,
    /// Runs that were active at some time since the last sweep.
    candidates: BTreeSet<u64>,
}

impl Survivors {
    pub(crate) fn new(session: &str) -> Self {
        Self { session: session.to_owned(), seen: BTreeMap::new(), candidates: BTreeSet::new() }
    }

    /// A run began: from now on it may leave something.
    pub(crate) fn run_began(&mut self, run: u64) {
        self.candidates.insert(run);
    }

    /// Ends the orphans that belong to none of the runs still `active`, and takes dead ones off the process table.
    pub(crate) fn sweep(&mut self, active: &BTreeSet<u64>) -> Vec<Leftover> {
        let mut ended = Vec::new();
        let mut present = BTreeSet::new();
        for pid in orphans() {
            match self.owners(pid) {
                Orphan::Dead => reap(pid),
                Orphan::Foreign => {}
                Orphan::Ours(owners) => {
                    present.insert(pid);
                    if owners.is_disjoint(active) {
                        let name = name_of(pid);
                        kill(pid);
                        ended.push(Leftover { name, runs: owners.into_iter().collect() });
                    }
                }
            }
        }
        self.seen.retain(|pid, _| present.contains(pid));
        self.candidates.clone_from(active);
        ended
    }

    fn owners(&mut self, pid: i32) -> Orphan {
        if let Some(owners) = self.seen.get(&pid) {
            if is_dead(pid) {
                return Orphan::Dead;
            }
            return Orphan::Ours(owners.clone());
        }
        let Ok(environment) = fs_err::read(format!("/proc/{pid}/environ")) else { return Orphan::Foreign };
        if environment.is_empty() && is_dead(pid) {
            return Orphan::Dead;
        }
        let Some(marker) = marker_of(&environment) else { return Orphan::Foreign };
        let Some(rest) = marker.strip_prefix(&self.session) else { return Orphan::Foreign };
        // A program that was executed inside a run names it; a bare fork still shows its template's marker.
        let named = rest.strip_prefix('-').and_then(|r| r.parse().ok());
        let owners = named.map_or_else(|| self.candidates.clone(), |run| BTreeSet::from([run]));
        self.seen.insert(pid, owners.clone());
        Orphan::Ours(owners)
    }
}

enum Orphan {
    /// A zombie in our keeping.
    Dead,
    /// Not of this session.
    Foreign,
    /// Left by one of these runs.
    Ours(BTreeSet<u64>),
}

fn marker_of(environment: &[u8]) -> Option<&str> {
    let mut variables = environment.split(|b| *b == 0);
    variables.find_map(|v| std::str::from_utf8(v.strip_prefix(b"ANYORDER_RUN=")?).ok())
}

/// Children of ours that nobody here started, in sessions that are not ours.
fn orphans() -> Vec<i32> {
    let mut found = Vec::new();
    let Ok(tasks) = fs_err::read_dir("/proc/self/task") else { return found };
    for task in tasks.flatten() {
        let Ok(children) = fs_err::read_to_string(task.path().join("children")) else { continue };
        found.extend(children.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
    }
    if found.is_empty() {
        return found;
    }
    let own = own();
    found.retain(|pid| !own.contains(pid));
    drop(own);
    let session = session_of("self");
    found.retain(|pid| {
        let theirs = session_of(&pid.to_string());
        theirs.is_some() && theirs != session
    });
    found
}

/// The fields of a process's `stat` from its state on; `None` when there is no such process.
fn stat_of(process: &str) -> Option<String> {
    let stat = fs_err::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in parentheses may hold anything; the state follows the last one.
    stat.rsplit_once(')').map(|(_, rest)| rest.to_owned())
}

/// The session of a process. It is 0 where its leader is outside our namespace of process ids, as for the first command
/// of a container: no number that `rustix` can hold, hence not asked of `getsid`.
fn session_of(process: &str) -> Option<i32> {
    stat_of(process)?.split_ascii_whitespace().nth(3)?.parse().ok()
}

fn is_dead(pid: i32) -> bool {
    stat_of(&pid.to_string()).is_none_or(|rest| rest.trim_start().starts_with(['Z', 'X']))
}

fn name_of(pid: i32) -> String {
    let name = fs_err::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

fn kill(pid: i32) {
    let Some(pid) = Pid::from_raw(pid) else { return };
    // It is our child: its number cannot have passed to another process before we wait for it.
    let _ = rustix::process::kill_process(pid, Signal::KILL);
    let _ = rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
}

fn reap(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    }
}
