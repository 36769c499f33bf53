//! Interpreters as processes: starting, watching, ending. The only place that starts any.

mod environment;
mod output;
mod survivors;

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyorder_core::model::Excerpt;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

pub(crate) use environment::{Marker, environment};
pub(crate) use output::Output;
pub(crate) use survivors::{Survivors, become_subreaper};

use crate::protocol::Exit;
use crate::sys;

/// Room in a pipe, so that a chatty suite is not slowed down by our batched reading.
#[cfg(target_os = "linux")]
const PIPE_ROOM: usize = 1 << 20;

/// A process that we started, with what it writes.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    pid: Pid,
    pidfd: Option<OwnedFd>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    output: Output,
    exit: Option<Exit>,
}

impl Process {
    /// Starts `program` in a session of its own, with exactly this environment.
    pub(crate) fn spawn(
        program: &Path,
        arguments: &[&Path],
        cwd: &Path,
        environment: Vec<(OsString, OsString)>,
        output_limit: usize,
    ) -> io::Result<Self> {
        #[expect(clippy::disallowed_methods, reason = "this is the place that starts processes")]
        let mut command = Command::new(program);
        command.args(arguments).current_dir(cwd).env_clear().envs(environment);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        sys::lead_own_session(&mut command);
        let mut child = survivors::register(|| command.spawn())?;
        let pid = Pid::from_child(&child);
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        if let Some(pipe) = &stdout {
            prepare_pipe(pipe)?;
        }
        if let Some(pipe) = &stderr {
            prepare_pipe(pipe)?;
        }
        make_first_to_go(pid, "300");
        let output = Output::new(output_limit);
        Ok(Self { child, pid, pidfd: open_pidfd(pid), stdout, stderr, output, exit: None })
    }

    /// Its process id, which is also its group's.
    pub(crate) fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Readable when the process is gone; `None` where the kernel has no such descriptors.
    pub(crate) fn pidfd(&self) -> Option<BorrowedFd<'_>> {
        self.pidfd.as_ref().filter(|_| self.exit.is_none()).map(AsFd::as_fd)
    }

    /// Its open output pipes.
    pub(crate) fn pipes(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let stdout = self.stdout.as_ref().map(AsFd::as_fd);
        stdout.into_iter().chain(self.stderr.as_ref().map(AsFd::as_fd))
    }

    /// Takes what it has written so far.
    pub(crate) fn drain(&mut self) {
        drain_pipe(&mut self.stdout, &mut self.output);
        drain_pipe(&mut self.stderr, &mut self.output);
    }

    /// What it wrote, shortened.
    pub(crate) fn output(&self) -> Excerpt {
        self.output.excerpt()
    }

    /// How it ended, if it has.
    pub(crate) fn poll_exit(&mut self) -> Option<Exit> {
        if self.exit.is_none() {
            // An error means that somebody else has waited for it: it is gone, and nobody knows how.
            let status = match self.child.try_wait() {
                Ok(None) => return None,
                Ok(Some(status)) => exit_of(status),
                Err(_) => Exit::Code(-1),
            };
            self.exit = Some(status);
            survivors::unregister(self.pid);
        }
        self.exit
    }

    /// Signals it and everything in its group. A stopped process is woken, so that it can hear.
    pub(crate) fn signal(&self, signal: Signal) {
        if self.exit.is_none() {
            // Also by its own number, which is its own until we have waited for it: it may have left its group.
            let _ = kill_process(self.pid, signal);
        }
        signal_group(self.pid(), signal);
    }

    /// Waits a little while for it to go.
    pub(crate) fn wait(&mut self, patience: Duration) -> Option<Exit> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(exit) = self.poll_exit() {
                return Some(exit);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            self.drain();
            std::thread::sleep(left.min(Duration::from_millis(2)));
        }
    }
}

impl Drop for Process {
    /// Nothing that was started lives on.
    fn drop(&mut self) {
        if self.poll_exit().is_none() {
            self.signal(Signal::KILL);
            if self.child.wait().is_ok() {
                survivors::unregister(self.pid);
            }
        }
    }
}

/// Signals a process group by the pid of its leader; wakes it where it is stopped. Groups of pid 1 and below are
/// nobody we started.
pub(crate) fn signal_group(leader: i32, signal: Signal) {
    if leader <= 1 {
        return;
    }
    if let Some(group) = Pid::from_raw(leader) {
        let sent = kill_process_group(group, signal);
        if sent.is_ok() && signal == Signal::TERM {
            // It may be gone between the two calls, which is what was wanted.
            let _ = kill_process_group(group, Signal::CONT);
        }
    }
}

/// Makes the kernel prefer this process when memory runs out; best effort.
pub(crate) fn make_first_to_go(pid: Pid, score: &str) {
    if cfg!(target_os = "linux") {
        let path = format!("/proc/{}/oom_score_adj", pid.as_raw_nonzero());
        let _ = fs_err::write(path, score);
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Code(-1),
    }
}

fn prepare_pipe(pipe: &impl AsFd) -> io::Result<()> {
    fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK)?;
    #[cfg(target_os = "linux")]
    {
        // Above the user's limit for pipes the default size has to do.
        let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_ROOM);
    }
    Ok(())
}

fn drain_pipe(pipe: &mut Option<impl io::Read>, output: &mut Output) {
    if pipe.as_mut().is_some_and(|p| output.drain(p).is_break()) {
        *pipe = None;
    }
}

#[cfg(target_os = "linux")]
fn open_pidfd(pid: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn open_pidfd(_: Pid) -> Option<OwnedFd> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Process {
        let path = vec![(OsString::from("PATH"), OsString::from("/usr/bin:/bin"))];
        Process::spawn(Path::new("sh"), &[Path::new("-c"), Path::new(script)], Path::new("/"), path, 64)
            .unwrap()
    }

    #[test]
    fn a_process_leads_its_own_session_and_its_output_is_kept_at_both_ends() {
        let mut process = shell("echo first; head -c 100000 /dev/zero; echo last; ps -o sid= -p $$; exit 3");
        assert_eq!(process.wait(Duration::from_secs(20)), Some(Exit::Code(3)));
        process.drain();
        let output = process.output();
        assert!(output.head.starts_with("first\n"), "{output:?}");
        assert!(output.tail.contains("last\n"), "{output:?}");
        assert!(output.total_bytes > 100_000);
        assert!(output.tail.contains(&process.pid().to_string()), "{output:?}");
    }

    #[test]
    fn a_dropped_process_and_its_children_are_gone() {
        let process = shell("sleep 1000 & echo $!; wait");
        let group = Pid::from_raw(process.pid()).unwrap();
        drop(process);
        let deadline = Instant::now() + Duration::from_secs(5);
        while rustix::process::test_kill_process_group(group).is_ok() {
            assert!(Instant::now() < deadline, "the group lives on");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let missing = Process::spawn(Path::new("/nonexistent/python"), &[], Path::new("/"), Vec::new(), 64);
        assert_eq!(missing.err().map(|e| e.kind()), Some(io::ErrorKind::NotFound));
    }
}
