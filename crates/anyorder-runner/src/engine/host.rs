//! Main processes: interpreters that collect, and then run an order themselves or fork children that do.

use std::time::Instant;

use anyorder_core::model::{Suite, TestIx};

use super::ConnId;
use super::gather::Gathering;
use crate::Collection;
use crate::process::Process;

/// Names a main process within its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HostId(pub(crate) u32);

/// A main process.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) process: Process,
    /// What its processes must know.
    pub(crate) token: String,
    pub(crate) conn: Option<ConnId>,
    /// Commands that were not handed to its connection yet.
    pub(crate) commands: Vec<u8>,
    /// Number of the line that must come next.
    pub(crate) expected: u64,
    pub(crate) state: State,
    pub(crate) started: Instant,
    /// The run that this interpreter was started for; `None` for the template.
    pub(crate) run: Option<u64>,
    /// When it will be killed for having collected too long and not ended when told to.
    pub(crate) kill_at: Option<Instant>,
    /// Lines that were no records, and what was wrong with the first.
    pub(crate) dropped: Dropped,
}

/// How far a main process is.
#[derive(Debug)]
pub(crate) enum State {
    Collecting(Gathering),
    /// It has collected and waits for, or carries out, commands.
    Ready(Mapping),
    /// It will not be used any more.
    Spent,
}

/// Lines that were no records.
#[derive(Debug, Default)]
pub(crate) struct Dropped {
    pub(crate) lines: u32,
    pub(crate) first: String,
}

impl Dropped {
    pub(crate) fn count(&mut self, what: impl std::fmt::Display) {
        if self.lines == 0 {
            self.first = what.to_string();
        }
        self.lines += 1;
    }
}

/// How the numbers that a process gave its items relate to the suite.
#[derive(Debug)]
pub(crate) enum Mapping {
    /// They are the suite's.
    Same,
    /// It collected something else: suite index of each item, item of each suite index.
    Table { to_suite: Vec<Option<TestIx>>, to_items: Vec<Option<u32>> },
}

impl Mapping {
    /// Relates a later collection to the suite by id and occurrence.
    pub(crate) fn between(suite: &Suite, other: &Collection) -> Self {
        let other = &other.suite;
        if other.len() == suite.len() && other.tests().iter().zip(suite.tests()).all(|(a, b)| a.id == b.id) {
            return Self::Same;
        }
        let to_suite: Vec<_> = other.tests().iter().map(|t| suite.find(&t.id)).collect();
        let mut to_items = vec![None; suite.len()];
        for (item, test) in (0u32..).zip(&to_suite) {
            if let Some(test) = test {
                to_items[test.get()] = Some(item);
            }
        }
        Self::Table { to_suite, to_items }
    }

    /// The test that an item is.
    pub(crate) fn test(&self, item: u32, suite: &Suite) -> Option<TestIx> {
        match self {
            Self::Same => ((item as usize) < suite.len()).then_some(TestIx(item)),
            Self::Table { to_suite, .. } => to_suite.get(item as usize).copied().flatten(),
        }
    }

    /// The item that a test is.
    pub(crate) fn item(&self, test: TestIx) -> Option<u32> {
        match self {
            Self::Same => Some(test.0),
            Self::Table { to_items, .. } => to_items.get(test.get()).copied().flatten(),
        }
    }

    /// How the other collection differs, in words: tests it lacks, tests it has besides.
    pub(crate) fn difference(&self) -> Option<String> {
        let Self::Table { to_suite, to_items } = self else { return None };
        let lacking = to_items.iter().filter(|i| i.is_none()).count();
        let besides = to_suite.iter().filter(|t| t.is_none()).count();
        Some(match (lacking, besides) {
            (0, 0) => "it collected the same tests in another order".to_owned(),
            _ => format!("it collected {lacking} tests fewer and {besides} others"),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn collection(ids: &[&str]) -> Collection {
        Collection {
            suite: Suite::from_raw_ids(ids.iter().copied()),
            declared: Vec::new(),
            environment: crate::Environment::default(),
            switched_off: Vec::new(),
            fork_refused: Vec::new(),
            sandbox: crate::SandboxState::default(),
            origins: Vec::new(),
            imports: Vec::new(),
            startup: Duration::ZERO,
            collecting: Duration::ZERO,
        }
    }

    #[test]
    fn another_collection_is_related_by_id() {
        let suite = Suite::from_raw_ids(["a", "b", "b", "c"]);
        let same = Mapping::between(&suite, &collection(&["a", "b", "b", "c"]));
        assert!(same.difference().is_none());
        assert_eq!((same.item(TestIx(3)), same.test(4, &suite)), (Some(3), None));
        let other = Mapping::between(&suite, &collection(&["b", "x", "b", "a"]));
        assert_eq!(other.test(2, &suite), Some(TestIx(2)));
        assert_eq!(other.test(1, &suite), None);
        assert_eq!(other.item(TestIx(0)), Some(3));
        assert_eq!(other.item(TestIx(3)), None);
        assert_eq!(other.difference().as_deref(), Some("it collected 1 tests fewer and 1 others"));
    }
}
