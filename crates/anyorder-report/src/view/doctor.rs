//! What `anyorder doctor` reports.

use super::facts::{Environment, ExecutorView, Project, SandboxView, SwitchedOff};

/// How well something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// As it should be.
    Good,
    /// Works, with less.
    Limited,
    /// Nothing can be measured like that.
    Bad,
}

impl Health {
    /// The word for it, as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Limited => "limited",
            Self::Bad => "bad",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoctorRow {
    /// What: `interpreter`, `git`, `store`.
    pub name: String,
    /// How it stands.
    pub health: Health,
    /// What was found, in a line.
    pub found: String,
    /// Details, such as what was tried, a line each.
    pub details: Vec<String>,
    /// What to do about it, in a sentence.
    pub advice: Option<String>,
}

/// What was found on this machine and in this project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoctorView {
    /// Our own version.
    pub version: String,
    /// The project.
    pub project: Project,
    /// The interpreter, when one was found that imports pytest.
    pub environment: Option<Environment>,
    /// How many tests were collected.
    pub tests: Option<usize>,
    /// The executor that `auto` would choose.
    pub executor: Option<ExecutorView>,
    /// The sandbox that `auto` would choose.
    pub sandbox: Option<SandboxView>,
    /// What would be switched off.
    pub switched_off: Vec<SwitchedOff>,
    /// Everything else, in reading order (interpreter discovery, git, store, configuration).
    pub rows: Vec<DoctorRow>,
    /// The exit code that the process will end with.
    pub exit_code: u8,
}
