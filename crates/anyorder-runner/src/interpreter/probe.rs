//! Asks an interpreter, or a tool that keeps one, a question within a time.

use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::{Ask, Rejected, patience};

/// Marks the answer: `sitecustomize` and `.pth` files may print as well.
const MARK: &str = "anyorder-probe:";

/// Runs on every Python from 2.7 on, so that old ones can say how old they are. A `json.py` in the current folder is not
/// the one that is meant.
const QUESTION: &str = r#"
import sys
path = sys.path[:]
sys.path[:] = [entry for entry in path if entry]
import json, platform
sys.path[:] = path
answer = {"version": "%d.%d.%d" % tuple(sys.version_info[:3]), "implementation": platform.python_implementation().lower(),
          "prefix": "".join("?" if "\ud800" <= c <= "\udfff" else c for c in sys.prefix), "pytest": None, "error": ""}
try:
    import pytest
    answer["pytest"] = pytest.__version__
except BaseException as error:
    answer["error"] = "%s: %s" % (type(error).__name__, error)
sys.stdout.write("\nanyorder-probe:" + json.dumps(answer) + "\n")
sys.stdout.flush()
"#;

/// What an interpreter says of itself.
#[derive(Clone, Debug, serde::Deserialize)]
pub(super) struct Probed {
    pub(super) version: String,
    pub(super) implementation: String,
    pub(super) prefix: PathBuf,
    pub(super) pytest: Option<String>,
    pub(super) error: String,
}

/// Runs the interpreter and lets it describe itself.
pub(super) fn interpreter(ask: &Ask, path: &Path) -> Result<Probed, Rejected> {
    let mut command = start(ask, path);
    // As `python -m pytest` sees the world: PYTHONPATH counts, and so does the current folder.
    command.args(["-c", QUESTION]).env("PYTHONDONTWRITEBYTECODE", "1");
    let said = answer(command, patience(ask))?;
    let answer = said.out.lines().rev().find_map(|line| line.strip_prefix(MARK));
    match answer.map(serde_json::from_str) {
        Some(Ok(probed)) => Ok(probed),
        _ => Err(Rejected::Unusable(format!("it does not answer as Python does{}", last_line(&said.err)))),
    }
}

/// Runs a tool and gives the last line that it prints.
pub(super) fn tool(ask: &Ask, path: &Path, arguments: &[&str]) -> Result<String, Rejected> {
    let mut command = start(ask, path);
    command.args(arguments);
    let said = answer(command, patience(ask))?;
    match said.out.lines().map(str::trim).rfind(|line| !line.is_empty()) {
        Some(line) if said.success => Ok(line.to_owned()),
        _ => Err(Rejected::Unusable(format!("it names no environment{}", last_line(&said.err)))),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "interpreters and project tools are asked here, before any session"
)]
fn start(ask: &Ask, path: &Path) -> Command {
    let mut command = Command::new(path);
    // A group of its own, so that what it starts can be ended with it.
    command.current_dir(&ask.cwd).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What a process said.
#[derive(Debug)]
struct Said {
    success: bool,
    out: String,
    err: String,
}

fn answer(mut command: Command, limit: Duration) -> Result<Said, Rejected> {
    let cannot = |error: &io::Error| Rejected::Unusable(format!("it cannot be started: {error}"));
    let mut child = command.spawn().map_err(|error| cannot(&error))?;
    let (out, err) = (drain(child.stdout.take()), drain(child.stderr.take()));
    let deadline = Instant::now() + limit;
    let success = loop {
        match child.try_wait().map_err(|error| cannot(&error))? {
            Some(status) => break status.success(),
            None if Instant::now() >= deadline => {
                end(&mut child);
                return Err(Rejected::TimedOut);
            }
            None => thread::sleep(Duration::from_millis(5)),
        }
    };
    // A grandchild may hold the pipes open for ever.
    let rest =
        || Duration::from_millis(500).max(deadline.saturating_duration_since(Instant::now()).min(limit / 4));
    let out = out.recv_timeout(rest()).unwrap_or_default();
    let err = err.recv_timeout(Duration::from_millis(100)).unwrap_or_default();
    Ok(Said { success, out, err })
}

/// Reads a pipe to its end on a thread of its own, at most 1 MiB of it.
fn drain(pipe: Option<impl io::Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    if let Some(pipe) = pipe {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let mut pipe = pipe;
            let _ = pipe.by_ref().take(1 << 20).read_to_end(&mut bytes);
            // The receiver may have given up.
            let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
            let _ = io::copy(&mut pipe, &mut io::sink());
        });
    }
    receiver
}

fn end(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn last_line(text: &str) -> String {
    match text.lines().map(str::trim).rfind(|line| !line.is_empty()) {
        Some(line) => format!(": {}", line.chars().take(200).collect::<String>()),
        None => String::new(),
    }
}
