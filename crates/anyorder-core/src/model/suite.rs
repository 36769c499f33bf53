//! Tests and the suite they form.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

/// The runner's own id of a test (pytest: node id), unchanged, plus which of several tests with that id it is.
///
/// Two collected items may carry the same id; the second has `occurrence` 2. `Display` shows the id, followed by
/// ` (#2)` for a repeated one; this text is also how ids stand in JSON and on disk.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TestId {
    id: Arc<str>,
    occurrence: u32,
}

impl TestId {
    /// The first (usually the only) test with this id.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self { id: id.into(), occurrence: 1 }
    }

    /// The `occurrence`-th test with this id, counted from 1.
    pub fn repeated(id: impl Into<Arc<str>>, occurrence: u32) -> Self {
        Self { id: id.into(), occurrence: occurrence.max(1) }
    }

    /// The runner's id, as the runner spelt it.
    pub fn raw(&self) -> &str {
        &self.id
    }

    /// 1 for the first test with this id, 2 for the second, and so on.
    pub fn occurrence(&self) -> u32 {
        self.occurrence
    }

    /// What stands before the first `::`: pytest's path of the file, relative to the root directory.
    pub fn file(&self) -> &str {
        self.id.split("::").next().unwrap_or("")
    }
}

impl fmt::Display for TestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)?;
        if self.occurrence > 1 {
            write!(f, " (#{})", self.occurrence)?;
        }
        Ok(())
    }
}

/// Position of a test in its [`Suite`], which is its position in the default order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TestIx(pub u32);

impl TestIx {
    /// As an index into a slice of the suite's length.
    pub fn get(self) -> usize {
        self.0 as usize
    }
}

/// A test as collected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestInfo {
    /// Its id.
    pub id: TestId,
    /// The file it is defined in, as the runner names it; groups nested orders. Usually [`TestId::file`].
    pub file: Arc<str>,
    /// Fingerprint of the test's own source where the runner could read it; equal text, equal fingerprint.
    pub source: Option<u64>,
}

impl TestInfo {
    /// A test in the file its id names, of unknown source.
    pub fn new(id: TestId) -> Self {
        let file = Arc::from(id.file());
        Self { id, file, source: None }
    }
}

/// The tests of one tree in their default order; every id once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suite {
    tests: Vec<TestInfo>,
    by_id: HashMap<TestId, TestIx>,
}

/// Why tests do not form a suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SuiteError {
    /// The same id and occurrence stands twice.
    Duplicate(TestId),
    /// More tests than an index can name.
    TooLarge(usize),
}

impl fmt::Display for SuiteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate(id) => write!(f, "test `{id}` stands twice in one suite"),
            Self::TooLarge(n) => write!(f, "{n} tests are more than a suite can hold"),
        }
    }
}

impl std::error::Error for SuiteError {}

impl Suite {
    /// A suite of these tests, in this default order.
    pub fn new(tests: Vec<TestInfo>) -> Result<Self, SuiteError> {
        let mut by_id = HashMap::with_capacity(tests.len());
        if u32::try_from(tests.len()).is_err() {
            return Err(SuiteError::TooLarge(tests.len()));
        }
        for (ix, test) in (0u32..).zip(&tests) {
            if by_id.insert(test.id.clone(), TestIx(ix)).is_some() {
                return Err(SuiteError::Duplicate(test.id.clone()));
            }
        }
        Ok(Self { tests, by_id })
    }

    /// A suite from raw ids; a repeated id gets its occurrence counted up.
    pub fn from_raw_ids<I: IntoIterator<Item = S>, S: Into<Arc<str>>>(ids: I) -> Self {
        let mut seen: BTreeMap<Arc<str>, u32> = BTreeMap::new();
        let mut suite = Self::default();
        for (ix, id) in (0u32..).zip(ids) {
            let id: Arc<str> = id.into();
            let occurrence = seen.entry(Arc::clone(&id)).or_insert(0);
            *occurrence += 1;
            let info = TestInfo::new(TestId::repeated(id, *occurrence));
            suite.by_id.insert(info.id.clone(), TestIx(ix));
            suite.tests.push(info);
        }
        suite
    }

    /// How many tests.
    pub fn len(&self) -> usize {
        self.tests.len()
    }

    /// Whether there is no test.
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    /// The tests in default order.
    pub fn tests(&self) -> &[TestInfo] {
        &self.tests
    }

    /// The test at an index of this suite.
    ///
    /// # Panics
    /// When the index belongs to a larger suite.
    pub fn info(&self, ix: TestIx) -> &TestInfo {
        &self.tests[ix.get()]
    }

    /// The id at an index of this suite.
    ///
    /// # Panics
    /// When the index belongs to a larger suite.
    pub fn id(&self, ix: TestIx) -> &TestId {
        &self.info(ix).id
    }

    /// Where a test stands, if it is here.
    pub fn find(&self, id: &TestId) -> Option<TestIx> {
        self.by_id.get(id).copied()
    }

    /// All indices in default order.
    pub fn indices(&self) -> impl DoubleEndedIterator<Item = TestIx> + ExactSizeIterator + use<> {
        (0..u32::try_from(self.tests.len()).unwrap_or(u32::MAX)).map(TestIx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_id_is_told_apart_by_its_occurrence() {
        let suite = Suite::from_raw_ids(["a.py::t", "b.py::t", "a.py::t"]);
        let shown: Vec<String> = suite.tests().iter().map(|t| t.id.to_string()).collect();
        assert_eq!(shown, ["a.py::t", "b.py::t", "a.py::t (#2)"]);
        assert_eq!(suite.find(&TestId::repeated("a.py::t", 2)), Some(TestIx(2)));
        assert_eq!(suite.id(TestIx(2)).file(), "a.py");
    }

    #[test]
    fn the_same_test_twice_is_no_suite() {
        let twice = vec![TestInfo::new(TestId::new("a")), TestInfo::new(TestId::new("a"))];
        assert_eq!(Suite::new(twice), Err(SuiteError::Duplicate(TestId::new("a"))));
    }
}
