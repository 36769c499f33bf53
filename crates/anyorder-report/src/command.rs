//! Commands to print: made from our own templates, quoted for a POSIX shell.
//!
//! An argument that a terminal could obey, or a reader could not see, is written as `$'…'`, which bash, zsh, ksh and
//! POSIX 2024 shells read.

use std::borrow::Cow;
use std::fmt::Write as _;

use anyorder_core::model::{OrderLabel, TestId};

use crate::escape;
use crate::view::{Invocation, Seen, Witness};

/// An argument as a shell needs it written.
pub fn quote(argument: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+=,".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) && escape::text(argument) == argument {
        return Cow::Borrowed(argument);
    }
    if escape::text(argument) == argument {
        return Cow::Owned(format!("'{}'", argument.replace('\'', r"'\''")));
    }
    let mut quoted = String::from("$'");
    for c in argument.chars() {
        match c {
            '\'' | '\\' => quoted.extend(['\\', c]),
            c if c == ':' || c == '#' || escape::text(c.encode_utf8(&mut [0; 4])) != c.to_string() => {
                // Octal bytes: three digits never run into the next character.
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    _ = write!(quoted, "\\{byte:03o}");
                }
            }
            c => quoted.push(c),
        }
    }
    quoted.push('\'');
    Cow::Owned(quoted)
}

/// Short orders of at most so many tests are written out.
const SHORT: usize = 20;

impl Invocation {
    /// `anyorder WORDS FLAGS -- PYTEST ARGUMENTS`.
    pub fn command(&self, words: &[&str]) -> String {
        let mut line = quote(&self.program).into_owned();
        let mut push = |word: &str| {
            line.push(' ');
            line.push_str(&quote(word));
        };
        for word in words {
            push(word);
        }
        for flag in &self.flags {
            push(flag);
        }
        if !self.pytest_args.is_empty() {
            push("--");
            for argument in &self.pytest_args {
                push(argument);
            }
        }
        line
    }

    /// The command that runs what was seen once more: by the stored run where there is one.
    pub fn replay(&self, seen: &Seen) -> Option<String> {
        if (1..=SHORT).contains(&seen.tests.len()) && !seen.common_only {
            let ids: Vec<String> = seen.tests.iter().map(ToString::to_string).collect();
            let words = std::iter::once("replay").chain(ids.iter().map(String::as_str));
            let words: Vec<&str> = words.chain(seen.flags.iter().map(String::as_str)).collect();
            return Some(self.command(&words));
        }
        let order = seen.order.to_string();
        let target = match (&seen.run, &seen.order) {
            (Some(run), _) => run,
            (None, OrderLabel::List(_) | OrderLabel::Alone) => return None,
            (None, _) if seen.common_only => return None,
            (None, _) => &order,
        };
        Some(self.replay_of(target, seen))
    }

    /// The same for a test by itself.
    fn replay_alone(&self, seen: &Seen, test: &TestId) -> String {
        self.replay_of(&test.to_string(), seen)
    }

    fn replay_of(&self, target: &str, seen: &Seen) -> String {
        let words: Vec<&str> =
            ["replay", target].into_iter().chain(seen.flags.iter().map(String::as_str)).collect();
        self.command(&words)
    }

    /// The command that finds who breaks a test; `None` when this build has none.
    pub fn blame(&self, test: &TestId) -> Option<String> {
        self.blame.then(|| self.command(&["blame", &test.to_string()]))
    }
}

/// What a reader may want to type next about a test: see it fail again, and find out because of whom.
pub(crate) fn next(
    invocation: &Invocation,
    interpreter: &str,
    witness: &Witness,
    test: &TestId,
    order_sensitive: bool,
) -> Vec<String> {
    let failing = || witness.seen.iter().filter(|seen| seen.not_passed().is_some());
    let replay = failing().find_map(|seen| invocation.replay(seen)).or_else(|| {
        // A test that fails by itself needs nobody's help to be seen.
        let alone = failing().find(|seen| seen.order == OrderLabel::Alone)?;
        let usable = test.occurrence() == 1 && test.raw().contains("::");
        if !usable || !alone.flags.is_empty() {
            return Some(invocation.replay_alone(alone, test));
        }
        Some(plain_pytest(interpreter, test))
    });
    let blame = if order_sensitive { invocation.blame(test) } else { None };
    replay.into_iter().chain(blame).collect()
}

/// The test by itself, with nothing of ours.
pub(crate) fn plain_pytest(interpreter: &str, test: &TestId) -> String {
    let python = if interpreter.is_empty() { "python" } else { interpreter };
    format!("{} -m pytest {}", quote(python), quote(test.raw()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_quoted_only_where_a_shell_needs_it() {
        assert_eq!(quote("tests/test_a.py::test_b"), "tests/test_a.py::test_b");
        assert_eq!(quote("t.py::t[a b]"), "'t.py::t[a b]'");
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote(""), "''");
        assert_eq!(quote("a\n'\u{1b}[2J"), r"$'a\012\'\033[2J'");
        assert_eq!(quote("::error::x"), r"$'\072\072error\072\072x'");
    }

    #[test]
    fn a_command_repeats_what_selects_the_measurement() {
        let invocation = Invocation {
            flags: vec!["--python".into(), "/my venv/bin/python".into()],
            pytest_args: vec!["tests/unit".into()],
            blame: true,
            ..Invocation::default()
        };
        let blame = invocation.blame(&TestId::new("tests/unit/a.py::t[x]"));
        assert_eq!(
            blame.as_deref(),
            Some("anyorder blame 'tests/unit/a.py::t[x]' --python '/my venv/bin/python' -- tests/unit")
        );
        assert_eq!(Invocation::default().blame(&TestId::new("a")), None);
    }
}
