//! Order that the suite or the configuration declares, turned into constraints on orders.
//!
//! pytest-order's ordinals, pytest-dependency's names, incremental classes and `[[sequential]]` groups.

use std::collections::BTreeMap;

use anyorder_core::model::{Order, OrderLabel, Suite, TestIx};
use anyorder_core::order::{self, Constraints, Declared as CoreDeclared, Ignored, Shuffle};
use anyorder_runner::Declared;

use crate::hint::Failed;
use crate::settings::Sequential;

/// Constraints of a suite.
#[derive(Clone, Debug)]
pub struct DeclaredOrder {
    /// What every order must keep.
    pub kept: Constraints,
    /// What a test needs before it even when it runs alone; a marker such as `order(0)` is not in it, since being
    /// first is not the same as being needed.
    pub needed: Constraints,
    /// What the plugin that sorts by marks would make of the collected order, had it not been switched off; `None`
    /// where there is none.
    pub sorted: Option<Constraints>,
    /// How many tests declare something.
    pub tests: usize,
    /// What was declared but cannot be kept, in sentences.
    pub ignored: Vec<String>,
}

impl DeclaredOrder {
    /// The full order of a label. `default` is what the runner itself would run: the order of collection, sorted where
    /// a plugin sorts.
    pub fn order(&self, label: &OrderLabel, suite: &Suite, shuffle: Shuffle) -> Result<Order, Failed> {
        match (&self.sorted, label) {
            (Some(sorted), OrderLabel::Default) => {
                let tests = sorted.repair(suite.indices().collect());
                Order::full(label.clone(), tests, suite.len()).map_err(Failed::usage)
            }
            _ => order::make(label, suite, shuffle, &self.kept).map_err(Failed::usage),
        }
    }
}

/// Collects the constraints of a suite. `sorts` says whether a plugin was switched off that sorts by marks.
pub fn collect(
    suite: &Suite,
    declared: &[(TestIx, Declared)],
    sequential: &[Sequential],
    sorts: bool,
) -> DeclaredOrder {
    let mut ignored = Vec::new();
    let mut groups: Vec<Vec<TestIx>> = Vec::new();
    for group in sequential {
        let name = group.name.clone().unwrap_or_else(|| group.tests.join(", "));
        let tests = matching(suite, &group.tests);
        match tests.len() {
            0 => ignored.push(format!("`[[sequential]]` {name}: no test matches")),
            1 => ignored.push(format!("`[[sequential]]` {name}: only one test matches")),
            _ => groups.push(tests),
        }
    }
    let mut incremental: BTreeMap<&str, Vec<TestIx>> = BTreeMap::new();
    for (test, what) in declared {
        if let Some(class) = &what.incremental {
            incremental.entry(class).or_default().push(*test);
        }
    }
    groups.extend(incremental.into_values().filter(|g| g.len() > 1));

    let mut needed = dependencies(suite, declared, &mut ignored);
    let numbered = ordinals(declared);
    needed.extend(numbered.windows(2).filter(|w| w[0].0 != w[1].0).map(|w| (w[0].1, w[1].1)));
    let mut kept = needed.clone();
    kept.extend(first_and_last(suite, &numbered));
    let marks = declared.iter().any(|(_, d)| d.ordinal.is_some() || !d.before.is_empty());
    let sorted = (sorts && marks).then(|| Constraints::new(suite.len(), Vec::new(), kept.clone()).0);

    let mut concerned: Vec<TestIx> = groups.iter().flatten().copied().collect();
    concerned.extend(declared.iter().filter(|(_, d)| *d != Declared::default()).map(|(t, _)| *t));
    concerned.sort_unstable();
    concerned.dedup();

    let (kept, refused) = Constraints::new(suite.len(), groups.clone(), kept);
    let (needed, _) = Constraints::new(suite.len(), groups, needed);
    ignored.extend(refused.iter().map(|r| refusal(suite, r)));
    DeclaredOrder { kept, needed, sorted, tests: concerned.len(), ignored }
}

/// A declaration that is not kept, in a sentence.
fn refusal(suite: &Suite, ignored: &Ignored) -> String {
    match &ignored.declared {
        CoreDeclared::Before(a, b) => {
            format!("`{}` cannot be kept before `{}`: {}", suite.id(*a), suite.id(*b), ignored.why)
        }
        CoreDeclared::Group(tests) => {
            let first = tests.first().map_or_else(String::new, |t| suite.id(*t).to_string());
            format!("the sequence that begins with `{first}` cannot be kept together: {}", ignored.why)
        }
    }
}

/// Tests whose id matches one of the patterns, in the order of the patterns, each once.
pub fn matching(suite: &Suite, patterns: &[String]) -> Vec<TestIx> {
    let mut found: Vec<TestIx> = Vec::new();
    for pattern in patterns {
        for ix in suite.indices() {
            if wildcard(pattern, &suite.id(ix).to_string()) && !found.contains(&ix) {
                found.push(ix);
            }
        }
    }
    found
}

/// Whether a text matches a pattern in which `*` stands for anything. Brackets are themselves: test ids have them.
pub fn wildcard(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(first) = parts.next() else { return text.is_empty() };
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

fn dependencies(
    suite: &Suite,
    declared: &[(TestIx, Declared)],
    ignored: &mut Vec<String>,
) -> Vec<(TestIx, TestIx)> {
    let mut by_name: BTreeMap<(&str, &str), TestIx> = BTreeMap::new();
    let mut anywhere: BTreeMap<&str, TestIx> = BTreeMap::new();
    for (test, what) in declared {
        for name in &what.provides {
            by_name.insert((suite.id(*test).file(), name.as_str()), *test);
            anywhere.entry(name.as_str()).or_insert(*test);
        }
    }
    for info in suite.tests() {
        if let Some(ix) = suite.find(&info.id) {
            let raw = info.id.raw();
            anywhere.entry(raw).or_insert(ix);
            if let Some((file, name)) = raw.split_once("::") {
                by_name.entry((file, name)).or_insert(ix);
            }
        }
    }
    let mut edges = Vec::new();
    for (test, what) in declared {
        let file = suite.id(*test).file();
        for name in &what.depends_on {
            match by_name.get(&(file, name.as_str())).or_else(|| anywhere.get(name.as_str())) {
                Some(before) if before != test => edges.push((*before, *test)),
                Some(_) => {}
                None => ignored.push(format!("`{}` depends on `{name}`, which is no test", suite.id(*test))),
            }
        }
        for name in &what.before {
            match by_name.get(&(file, name.as_str())).or_else(|| anywhere.get(name.as_str())) {
                Some(after) if after != test => edges.push((*test, *after)),
                Some(_) => {}
                None => ignored.push(format!("`{}` goes before `{name}`, which is no test", suite.id(*test))),
            }
        }
    }
    edges
}

fn ordinals(declared: &[(TestIx, Declared)]) -> Vec<(i64, TestIx)> {
    let mut numbered: Vec<(i64, TestIx)> =
        declared.iter().filter_map(|(t, d)| d.ordinal.map(|n| (n, *t))).collect();
    numbered.sort_by_key(|&(n, t)| (n < 0, n, t));
    numbered
}

fn first_and_last<'a>(
    suite: &'a Suite,
    numbered: &'a [(i64, TestIx)],
) -> impl Iterator<Item = (TestIx, TestIx)> + 'a {
    let last_of_first = numbered.iter().rev().find(|(n, _)| *n >= 0).map(|(_, t)| *t);
    let first_of_last = numbered.iter().find(|(n, _)| *n < 0).map(|(_, t)| *t);
    let free = move |t: &TestIx| !numbered.iter().any(|(_, other)| other == t);
    suite.indices().filter(free).flat_map(move |t| {
        [last_of_first.map(|before| (before, t)), first_of_last.map(|after| (t, after))].into_iter().flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_takes_brackets_as_they_are() {
        assert!(wildcard("tests/a.py::*", "tests/a.py::test_x[1-2]"));
        assert!(wildcard("*test_x[*]", "tests/a.py::test_x[1-2]"));
        assert!(wildcard("a.py::t[1]", "a.py::t[1]"));
        assert!(!wildcard("a.py::t[1]", "a.py::t1"));
        assert!(!wildcard("a*b*c", "a-c"));
        assert!(wildcard("*", ""));
    }

    #[test]
    fn dependencies_are_found_by_name_in_the_same_file_first() {
        let suite = Suite::from_raw_ids(["a.py::T::x", "a.py::T::y", "b.py::x"]);
        let depends = Declared { depends_on: vec!["T::x".into()], ..Declared::default() };
        let order = collect(&suite, &[(TestIx(1), depends)], &[], false);
        assert_eq!(order.needed.prerequisites(TestIx(1)), [TestIx(0)]);
        assert_eq!(order.tests, 1);
        assert!(order.ignored.is_empty());
    }

    #[test]
    fn a_numbered_test_comes_first_but_is_not_needed_by_the_others() {
        let suite = Suite::from_raw_ids(["a", "b", "c"]);
        let first = Declared { ordinal: Some(0), ..Declared::default() };
        let order = collect(&suite, &[(TestIx(2), first)], &[], false);
        assert!(order.needed.prerequisites(TestIx(0)).is_empty());
        assert_eq!(order.kept.prerequisites(TestIx(0)), [TestIx(2)]);
    }

    #[test]
    fn a_test_that_goes_before_another_is_kept_there() {
        let suite = Suite::from_raw_ids(["a.py::x", "a.py::y"]);
        let before = Declared { before: vec!["x".into()], ..Declared::default() };
        let order = collect(&suite, &[(TestIx(1), before)], &[], true);
        assert_eq!(order.kept.prerequisites(TestIx(0)), [TestIx(1)]);
        let default = order.order(&OrderLabel::Default, &suite, Shuffle::Mixed).unwrap();
        assert_eq!(default.tests(), [TestIx(1), TestIx(0)]);
    }

    #[test]
    fn a_group_that_matches_nothing_is_said() {
        let suite = Suite::from_raw_ids(["a", "b"]);
        let group = Sequential { name: None, tests: vec!["z*".into()] };
        assert_eq!(collect(&suite, &[], &[group], false).ignored.len(), 1);
    }
}
