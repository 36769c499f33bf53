//! Finds the interpreter that a project's tests run under, in the order that users of uv expect, and says what it
//! tried. Nothing is read from this process's own environment: the caller hands it in.

mod candidate;
mod probe;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use candidate::Source;
use candidate::{Candidate, Place};
use probe::Probed;

/// What is known about where an interpreter may be.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// `--python`: a path, a folder with an environment in it, a name, or a version such as `3.11`.
    pub flag: Option<String>,
    /// `VIRTUAL_ENV`.
    pub virtual_env: Option<PathBuf>,
    /// `UV_PROJECT_ENVIRONMENT`: stands for `.venv` where it is set; relative to `root`.
    pub uv_project_environment: Option<PathBuf>,
    /// `CONDA_PREFIX`.
    pub conda_prefix: Option<PathBuf>,
    /// `PATH`.
    pub path_var: Option<OsString>,
    /// Where the user stands.
    pub cwd: PathBuf,
    /// Top of the project: the last folder in which a `.venv` is looked for.
    pub root: PathBuf,
    /// How long one interpreter or tool may take to answer; 10 s when zero.
    pub patience: Duration,
}

/// The interpreter that will be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// Its path, as it was found: links are kept, since a virtual environment is known by the link's place.
    pub path: PathBuf,
    /// Where it was found.
    pub source: Source,
    /// Such as `3.11.7`.
    pub version: String,
    /// Such as `cpython`.
    pub implementation: String,
    /// Version of pytest.
    pub pytest: String,
    /// `sys.prefix`.
    pub prefix: PathBuf,
    /// What was tried before it, and why that would not do.
    pub tried: Vec<Tried>,
}

/// A place that was looked at in vain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Which rule led there.
    pub source: Source,
    /// The interpreter, or what was looked for.
    pub what: String,
    /// Why it would not do.
    pub why: Rejected,
}

/// Why an interpreter would not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// It is not there, or cannot be started; in words.
    Unusable(String),
    /// It runs, and pytest cannot be imported; version of Python and the last line of the error.
    NoPytest {
        /// Such as `3.11.7`.
        version: String,
        /// Such as `ModuleNotFoundError: No module named 'pytest'`.
        error: String,
    },
    /// It is older than 3.8.
    TooOld {
        /// Such as `3.7.9`.
        version: String,
    },
    /// It is not the version asked for.
    WrongVersion {
        /// Such as `3.12.1`.
        version: String,
    },
    /// Nothing came within the time.
    TimedOut,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unusable(why) => f.write_str(why),
            Self::NoPytest { version, error } => write!(f, "Python {version} without pytest ({error})"),
            Self::TooOld { version } => write!(f, "Python {version} is older than 3.8"),
            Self::WrongVersion { version } => write!(f, "it is Python {version}"),
            Self::TimedOut => f.write_str("it did not answer in time"),
        }
    }
}

/// Why there is no interpreter.
#[derive(Debug, thiserror::Error)]
pub enum InterpreterError {
    /// The one that was named would not do.
    #[error("cannot use `--python {flag}`: {}{}", list(tried), fix(tried))]
    Named {
        /// As given.
        flag: String,
        /// What was tried.
        tried: Vec<Tried>,
    },
    /// None that was found would do.
    #[error("found no interpreter with pytest; tried {}{}", list(tried), fix(tried))]
    NotFound {
        /// What was tried.
        tried: Vec<Tried>,
    },
}

impl InterpreterError {
    /// What was tried, in order.
    pub fn tried(&self) -> &[Tried] {
        match self {
            Self::Named { tried, .. } | Self::NotFound { tried } => tried,
        }
    }
}

fn list(tried: &[Tried]) -> String {
    if tried.is_empty() {
        return "nothing: there is no PATH".to_owned();
    }
    let said: Vec<String> =
        tried.iter().map(|tried| format!("`{}` ({}): {}", tried.what, tried.source, tried.why)).collect();
    said.join("; ")
}

/// The command that would help, for the first interpreter that lacks nothing but pytest.
fn fix(tried: &[Tried]) -> String {
    let lacking = tried.iter().find(|tried| matches!(tried.why, Rejected::NoPytest { .. }));
    match lacking {
        Some(tried) => format!("; to fix: {} -m pip install pytest", tried.what),
        None => "; name one: --python PATH".to_owned(),
    }
}

/// Finds the interpreter.
pub fn find(ask: &Ask) -> Result<Interpreter, InterpreterError> {
    let mut tried = Vec::new();
    for place in candidate::places(ask) {
        let source = place.source;
        match settle(ask, place) {
            Ok(None) => {}
            Ok(Some((candidate, probed))) => {
                return Ok(Interpreter {
                    path: candidate,
                    source,
                    version: probed.version,
                    implementation: probed.implementation,
                    pytest: probed.pytest.unwrap_or_default(),
                    prefix: probed.prefix,
                    tried,
                });
            }
            Err((what, why)) => tried.push(Tried { source, what, why }),
        }
    }
    match &ask.flag {
        Some(flag) => Err(InterpreterError::Named { flag: flag.clone(), tried }),
        None => Err(InterpreterError::NotFound { tried }),
    }
}

/// Looks at one place: nothing there worth a word, an interpreter that will do, or one that will not.
fn settle(ask: &Ask, place: Place) -> Result<Option<(PathBuf, Probed)>, (String, Rejected)> {
    let Some(candidate) = place.candidate(ask)? else { return Ok(None) };
    let shown = candidate.path.display().to_string();
    let probed = probe::interpreter(ask, &candidate.path).map_err(|why| (shown.clone(), why))?;
    if let Some(why) = unfit(&candidate, &probed) {
        return Err((shown, why));
    }
    Ok(Some((candidate.path, probed)))
}

fn unfit(candidate: &Candidate, probed: &Probed) -> Option<Rejected> {
    let version = probed.version.clone();
    if candidate.wanted.as_ref().is_some_and(|wanted| !candidate::is_version(&version, wanted)) {
        return Some(Rejected::WrongVersion { version });
    }
    if candidate::older_than_supported(&version) {
        return Some(Rejected::TooOld { version });
    }
    match &probed.pytest {
        Some(_) => None,
        None => Some(Rejected::NoPytest { version, error: probed.error.clone() }),
    }
}

/// How long one question may take.
fn patience(ask: &Ask) -> Duration {
    if ask.patience.is_zero() { Duration::from_secs(10) } else { ask.patience }
}

/// Whether a folder holds an environment, and the interpreter in it.
fn in_environment(folder: &Path) -> PathBuf {
    folder.join("bin/python")
}
