//! Errors that end a command: what was attempted, which exit code that is, and what to do about it.

use std::fmt;

use crate::exit_code::ExitCode;

/// An error that ends a command.
#[derive(Debug)]
pub struct Failed {
    /// How the process ends.
    pub code: ExitCode,
    message: String,
    hint: Option<String>,
}

impl Failed {
    /// An error with this exit code and message.
    pub fn new(code: ExitCode, message: impl fmt::Display) -> Self {
        Self { code, message: message.to_string(), hint: None }
    }

    /// Something on the command line or in the configuration is wrong.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self::new(ExitCode::Usage, message)
    }

    /// The suite or the trees cannot be measured.
    pub fn cannot_measure(message: impl fmt::Display) -> Self {
        Self::new(ExitCode::CannotMeasure, message)
    }

    /// What went wrong, without what to do about it.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it.
    pub fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The same, with what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Failed {}
