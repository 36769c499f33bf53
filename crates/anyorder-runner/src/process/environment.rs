//! The environment of an interpreter: the user's own, without what would disturb measuring.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use anyorder_core::model::Tree;

/// Names that go away: state of a pytest or coverage run around us, and our own of a session around us.
const REMOVED: [&str; 5] = [
    "PYTEST_CURRENT_TEST",
    "PYTEST_VERSION",
    "COVERAGE_PROCESS_START",
    "COVERAGE_PROCESS_CONFIG",
    "PYTHONINSPECT",
];
const REMOVED_PREFIXES: [&str; 3] = ["PYTEST_XDIST_", "COV_CORE_", "ANYORDER_"];

/// What a suite can tell its runs apart by.
#[derive(Clone, Debug)]
pub(crate) struct Marker<'a> {
    /// Unique on this machine; every process of a session carries one that begins with the session's name.
    pub(crate) run: String,
    /// Number below `jobs`, held by one run at a time.
    pub(crate) slot: usize,
    /// The tree.
    pub(crate) tree: &'a Tree,
}

impl<'a> Marker<'a> {
    /// As variables.
    pub(crate) fn variables(&self) -> [(&'a str, String); 3] {
        [
            ("ANYORDER_RUN", self.run.clone()),
            ("ANYORDER_SLOT", self.slot.to_string()),
            ("ANYORDER_TREE", self.tree.to_string()),
        ]
    }
}

/// `base` without what disturbs, with `extra`, a fixed hash seed and the marker.
pub(crate) fn environment(
    base: &[(OsString, OsString)],
    extra: &[(String, String)],
    hash_seed: u32,
    marker: &Marker<'_>,
) -> Vec<(OsString, OsString)> {
    let mut all: BTreeMap<OsString, OsString> =
        base.iter().filter(|(name, _)| !is_removed(name)).cloned().collect();
    let fixed = [("PYTHONHASHSEED", hash_seed.to_string())];
    // Any text means yes; the agent takes this one back where writing does no harm, and leaves the user's own.
    all.entry("PYTHONDONTWRITEBYTECODE".into()).or_insert_with(|| "anyorder".into());
    let extra = extra.iter().map(|(name, value)| (name.as_str(), value.clone()));
    for (name, value) in extra.chain(fixed).chain(marker.variables()) {
        all.insert(name.into(), value.into());
    }
    all.into_iter().collect()
}

fn is_removed(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| {
        REMOVED.contains(&name) || REMOVED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_disturbs_is_taken_out_and_the_rest_handed_on() {
        let base = [
            ("PATH", "/bin"),
            ("PYTEST_ADDOPTS", "-q"),
            ("PYTEST_XDIST_WORKER", "gw0"),
            ("PYTEST_CURRENT_TEST", "x"),
            ("COV_CORE_SOURCE", "x"),
            ("ANYORDER_RUN", "outer"),
            ("PYTHONHASHSEED", "random"),
        ]
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let extra = [("DB".to_owned(), "x".to_owned())];
        let marker = Marker { run: "s-1".to_owned(), slot: 3, tree: &Tree::Base };
        let all: Vec<(String, String)> = environment(&base, &extra, 7, &marker)
            .into_iter()
            .map(|(n, v)| (n.into_string().unwrap(), v.into_string().unwrap()))
            .collect();
        let expected = [
            ("ANYORDER_RUN", "s-1"),
            ("ANYORDER_SLOT", "3"),
            ("ANYORDER_TREE", "base"),
            ("DB", "x"),
            ("PATH", "/bin"),
            ("PYTEST_ADDOPTS", "-q"),
            ("PYTHONDONTWRITEBYTECODE", "anyorder"),
            ("PYTHONHASHSEED", "7"),
        ];
        assert_eq!(all, expected.map(|(n, v)| (n.to_owned(), v.to_owned())));
    }
}
