//! What the process says to its caller, one meaning each, the same in every command (DESIGN section 9).

use std::process;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitCode {
    /// Nothing that blocks.
    Clean,
    /// Blocked (`check`), or order-sensitive or flaky tests found (`run`).
    Found,
    /// The command line or the configuration is wrong.
    Usage,
    /// A person should look.
    Review,
    /// Nothing to judge: no tests, no reports.
    Nothing,
    /// Not finished: budget spent, input truncated, interrupted by policy.
    Incomplete,
    /// Could not measure: the suite can't be collected, trees or environments differ, no sandbox, store.
    CannotMeasure,
    /// A defect of anyorder.
    Defect,
    /// Ended by Ctrl-C.
    Interrupted,
    /// Ended by SIGTERM.
    Terminated,
}

impl ExitCode {
    /// The number the shell sees.
    pub fn number(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Found => 1,
            Self::Usage => 2,
            Self::Review => 3,
            Self::Nothing => 4,
            Self::Incomplete => 5,
            Self::CannotMeasure => 6,
            Self::Defect => 70,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }
}

impl From<ExitCode> for process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.number())
    }
}
