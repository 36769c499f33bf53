//! Runs `git`, and only reads: no lock, hook, pager, prompt or background job, and nothing is written into the
//! user's repository. What has to be written (a scratch index, objects of uncommitted files) goes where
//! [`Scratch`] says. It knows nothing of trees or overlays.

mod quote;

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use fs_err as fs;

pub(crate) use quote::c_quoted;

/// Why a `git` command gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no `git`.
    #[error("cannot start `git`; install it, or put it on PATH")]
    Missing(#[source] io::Error),
    /// It could not be fed or read.
    #[error("cannot run `git {what}`")]
    Io {
        /// The subcommand.
        what: String,
        /// Why not.
        source: io::Error,
    },
    /// It said no.
    #[error("`git {what}` failed: {}", said.trim_end())]
    Refused {
        /// The subcommand.
        what: String,
        /// Its exit code; `None` when a signal ended it.
        code: Option<i32>,
        /// What it wrote to standard error.
        said: String,
    },
}

/// Where a command may write instead of the user's repository.
#[derive(Clone, Debug)]
pub(crate) struct Scratch {
    /// Takes the place of the user's index.
    pub index: PathBuf,
    /// Where new objects go.
    pub objects: PathBuf,
}

/// A repository as seen from one working folder.
#[derive(Clone, Debug)]
pub(crate) struct Git {
    /// Where commands are run.
    cwd: PathBuf,
}

/// One command under construction.
#[derive(Debug)]
pub(crate) struct Ask {
    what: String,
    command: Command,
    input: Option<Vec<u8>>,
}

/// What a command answered.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub out: Vec<u8>,
    /// Standard error.
    pub said: String,
}

/// Variables that name another repository, index or worktree (hooks set them), or change what commands print.
const DISTURBING: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_INDEX_VERSION",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
    "GIT_ATTR_SOURCE",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
    "GIT_TRACE",
    "GIT_TRACE2",
    "GIT_TRACE_SETUP",
    "GIT_TRACE_PERFORMANCE",
    "GIT_FSMONITOR_TEST",
    "LANGUAGE",
];

/// Settings that make commands quiet, plain and free of side effects.
const SETTINGS: &[&str] = &[
    "core.quotepath=off",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.hooksPath=/dev/null",
    "core.safecrlf=false",
    "submodule.recurse=false",
    "diff.ignoreSubmodules=none",
    "diff.orderFile=/dev/null",
    "init.defaultRefFormat=files",
    "apply.whitespace=nowarn",
    "apply.ignoreWhitespace=no",
    "advice.addEmbeddedRepo=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

impl Git {
    /// Commands run in `cwd`.
    pub(crate) fn at(cwd: &Path) -> Self {
        Self { cwd: cwd.to_path_buf() }
    }

    /// Starts a command: `git SUBCOMMAND ARGUMENTS`.
    pub(crate) fn ask<S: AsRef<OsStr>>(
        &self,
        subcommand: &str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Ask {
        let mut command = start(&self.cwd);
        command.arg(subcommand).args(arguments);
        Ask { what: subcommand.to_owned(), command, input: None }
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that starts git")]
fn start(cwd: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(cwd).args(["--no-pager", "--no-optional-locks", "--literal-pathspecs"]);
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    for name in DISTURBING {
        command.env_remove(name);
    }
    command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").env("GIT_OPTIONAL_LOCKS", "0");
    command.env("GIT_LFS_SKIP_PUSH", "1").env("GIT_ADVICE", "0");
    command
}

impl Ask {
    /// Uses a scratch index and object folder; objects of the repository stay readable.
    pub(crate) fn scratch(mut self, scratch: &Scratch, repository_objects: &Path) -> Self {
        self.command.env("GIT_INDEX_FILE", &scratch.index);
        self.command.env("GIT_OBJECT_DIRECTORY", &scratch.objects);
        self.command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", c_quoted(repository_objects.as_os_str()));
        self
    }

    /// Names the repository and the folder that counts as its worktree, and runs there.
    pub(crate) fn inside(mut self, git_dir: &Path, work_tree: &Path) -> Self {
        self.command.env("GIT_DIR", git_dir).env("GIT_WORK_TREE", work_tree).current_dir(work_tree);
        self
    }

    /// Feeds bytes to standard input.
    pub(crate) fn input(mut self, bytes: Vec<u8>) -> Self {
        self.input = Some(bytes);
        self
    }

    /// Feeds names, each ended by NUL.
    pub(crate) fn input_names<'a>(self, names: impl IntoIterator<Item = &'a OsStr>) -> Self {
        let mut bytes = Vec::new();
        for name in names {
            bytes.extend_from_slice(name.as_bytes());
            bytes.push(0);
        }
        self.input(bytes)
    }

    /// Runs it, whatever its exit code.
    pub(crate) fn answer(mut self) -> Result<Answer, GitError> {
        let what = self.what;
        let io = |source| GitError::Io { what: what.clone(), source };
        let refused = |source: io::Error| {
            if source.kind() == io::ErrorKind::NotFound { GitError::Missing(source) } else { io(source) }
        };
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = match self.input {
            None => self.command.stdin(Stdio::null()).output().map_err(refused)?,
            Some(bytes) => {
                let mut child = self.command.stdin(Stdio::piped()).spawn().map_err(refused)?;
                let pipe = child.stdin.take();
                // Fed from a thread of its own, so that neither side can block on a full pipe. A command that
                // stops reading says why by its exit code.
                thread::scope(|scope| {
                    scope.spawn(move || pipe.map(|mut pipe| pipe.write_all(&bytes)));
                    child.wait_with_output()
                })
                .map_err(io)?
            }
        };
        Ok(Answer {
            code: output.status.code(),
            out: output.stdout,
            said: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Runs it; a non-zero exit code is an error.
    pub(crate) fn out(self) -> Result<Vec<u8>, GitError> {
        let what = self.what.clone();
        let answer = self.answer()?;
        if answer.code == Some(0) {
            return Ok(answer.out);
        }
        Err(GitError::Refused { what, code: answer.code, said: answer.said })
    }

    /// Runs it and gives its output as text without the line end.
    pub(crate) fn line(self) -> Result<String, GitError> {
        self.out().map(|out| String::from_utf8_lossy(trimmed(&out)).into_owned())
    }

    /// Runs it and gives its output as a path.
    pub(crate) fn path(self) -> Result<PathBuf, GitError> {
        self.out().map(|out| PathBuf::from(OsStr::from_bytes(trimmed(&out))))
    }
}

/// Without the one line end that git adds.
pub(crate) fn trimmed(out: &[u8]) -> &[u8] {
    out.strip_suffix(b"\n").unwrap_or(out)
}

/// The fields of output made with `-z`.
pub(crate) fn fields(out: &[u8]) -> impl Iterator<Item = &[u8]> {
    out.strip_suffix(b"\0").unwrap_or(out).split(|byte| *byte == 0).filter(|field| !field.is_empty())
}

/// A path from git's bytes.
pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}

/// Makes the folders of a scratch repository state inside `folder`.
pub(crate) fn scratch_in(folder: &Path, index: &str) -> io::Result<Scratch> {
    let objects = folder.join("objects");
    fs::create_dir_all(&objects)?;
    Ok(Scratch { index: folder.join(index), objects })
}
