//! What a main process says while it collects, gathered into a [`Collection`] or into why there is none.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyorder_core::model::{Excerpt, Suite, SuiteError, TestId, TestInfo, TestIx};
use serde_json::Value;

use crate::protocol::{Collected, EnvironmentLine, Item, Marks, OffLine, OneOrMany};
use crate::{Collection, Declared, Environment, Origin, SandboxState, SwitchedOff};

/// What has been heard so far.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    environment: Option<Box<EnvironmentLine>>,
    off: Vec<SwitchedOff>,
    items: Vec<Item>,
}

/// Why there is no collection.
#[derive(Debug)]
pub(crate) enum Failure {
    CollectFailed(Vec<(String, Excerpt)>),
    NoTests,
    Broken { what: String, text: Excerpt },
    Died(String),
    TimedOut,
    Protocol(String),
}

impl Failure {
    /// In words, for the record of a run that never began.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::CollectFailed(errors) => format!("{} collection errors", errors.len()),
            Self::NoTests => "no tests were collected".to_owned(),
            Self::Broken { what, .. } => format!("pytest gave up before running anything: {what}"),
            Self::Died(how) => format!("the interpreter died while it collected: {how}"),
            Self::TimedOut => "collection took too long".to_owned(),
            Self::Protocol(what) => format!("the agent was not understood: {what}"),
        }
    }
}

impl Gathering {
    pub(crate) fn environment(&mut self, line: Box<EnvironmentLine>) {
        self.environment = Some(line);
    }

    pub(crate) fn off(&mut self, line: OffLine) {
        let OffLine { what, how, source } = line;
        self.off.push(SwitchedOff { what, how, source });
    }

    pub(crate) fn tests(&mut self, items: Vec<Item>) {
        self.items.extend(items);
    }

    /// The whole, once the process says that it has collected.
    pub(crate) fn finish(self, line: Collected) -> Result<Collection, Failure> {
        let environment =
            *self.environment.ok_or_else(|| Failure::Protocol("it described no environment".to_owned()))?;
        if line.tests != self.items.len() {
            let told = self.items.len();
            return Err(Failure::Protocol(format!("it named {told} of {} tests", line.tests)));
        }
        let mut fork_refused = if line.fork.safe { Vec::new() } else { line.fork.why };
        if !environment.capabilities.fork {
            fork_refused.push("this interpreter cannot fork".to_owned());
        } else if !line.fork.safe && fork_refused.is_empty() {
            fork_refused.push("the agent gave no reason".to_owned());
        }
        let (suite, declared) = suite_of(self.items).map_err(|e| Failure::Protocol(e.to_string()))?;
        let origin =
            |(module, file, place): (String, _, String)| Origin { module, file, in_tree: place == "tree" };
        Ok(Collection {
            suite,
            declared,
            switched_off: self.off,
            fork_refused,
            sandbox: SandboxState {
                mode: environment.sandbox.mode.clone(),
                why_not: environment.sandbox.why.clone(),
            },
            origins: line.origins.into_iter().map(origin).collect(),
            imports: line.imports,
            startup: Duration::from_micros(line.startup_us),
            collecting: Duration::from_micros(line.collect_us),
            environment: environment_of(environment),
        })
    }
}

fn environment_of(line: EnvironmentLine) -> Environment {
    let EnvironmentLine {
        python,
        implementation,
        executable,
        platform,
        pytest,
        plugins,
        distributions,
        locks,
        sandbox: _,
        capabilities: _,
    } = line;
    let locks = locks.into_iter().collect();
    Environment { python, implementation, executable, platform, pytest, plugins, distributions, locks }
}

fn suite_of(items: Vec<Item>) -> Result<(Suite, Vec<(TestIx, Declared)>), SuiteError> {
    let mut seen: HashMap<Arc<str>, u32> = HashMap::new();
    let mut files: HashMap<String, Arc<str>> = HashMap::new();
    let mut tests = Vec::with_capacity(items.len());
    let mut declared = Vec::new();
    for (ix, item) in (0u32..).zip(items) {
        let id: Arc<str> = item.id.into();
        let occurrence = seen.entry(Arc::clone(&id)).and_modify(|n| *n += 1).or_insert(1);
        let mut info = TestInfo::new(TestId::repeated(id, *occurrence));
        if let Some(file) = item.file {
            info.file = Arc::clone(files.entry(file).or_insert_with_key(|f| Arc::from(f.as_str())));
        }
        info.source = item.src.as_deref().and_then(fingerprint);
        if let Some(marks) = item.marks {
            let order = declared_by(marks);
            if order != Declared::default() {
                declared.push((TestIx(ix), order));
            }
        }
        tests.push(info);
    }
    Ok((Suite::new(tests)?, declared))
}

/// The first 64 bits of a digest in hexadecimal.
fn fingerprint(hex: &str) -> Option<u64> {
    u64::from_str_radix(hex.get(..16).unwrap_or(hex), 16).ok()
}

fn declared_by(marks: Marks) -> Declared {
    let mut declared = Declared { incremental: marks.incremental, ..Declared::default() };
    if let Some((arguments, keywords)) = marks.order {
        let index = arguments.first().or_else(|| keywords.get("index"));
        declared.ordinal = index.and_then(ordinal);
        declared.depends_on.extend(keywords.get("after").into_iter().flat_map(names));
        declared.before.extend(keywords.get("before").into_iter().flat_map(names));
    }
    if let Some(depends) = marks.depends {
        declared.provides.extend(depends.name);
        match depends.on {
            None => {}
            Some(OneOrMany::One(name)) => declared.depends_on.push(name),
            Some(OneOrMany::Many(names)) => declared.depends_on.extend(names),
        }
    }
    declared
}

fn names(value: &Value) -> Vec<String> {
    match value {
        Value::String(name) => vec![name.clone()],
        Value::Array(values) => values.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// pytest-order's numbers, and its words for the first and last eight.
fn ordinal(value: &Value) -> Option<i64> {
    const WORDS: [(&str, &str); 8] = [
        ("first", "last"),
        ("second", "second_to_last"),
        ("third", "third_to_last"),
        ("fourth", "fourth_to_last"),
        ("fifth", "fifth_to_last"),
        ("sixth", "sixth_to_last"),
        ("seventh", "seventh_to_last"),
        ("eighth", "eighth_to_last"),
    ];
    if let Some(number) = value.as_i64() {
        return Some(number);
    }
    let word = value.as_str()?;
    (0i64..).zip(WORDS).find_map(|(n, (from_start, from_end))| {
        if word == from_start { Some(n) } else { (word == from_end).then_some(-1 - n) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(arguments: &[Value], keywords: &[(&str, Value)]) -> Declared {
        let keywords = keywords.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
        declared_by(Marks { order: Some((arguments.to_vec(), keywords)), ..Marks::default() })
    }

    #[test]
    fn ordinals_are_read_as_pytest_order_reads_them() {
        assert_eq!(order(&["first".into()], &[]).ordinal, Some(0));
        assert_eq!(order(&["second_to_last".into()], &[]).ordinal, Some(-2));
        assert_eq!(order(&[7.into()], &[]).ordinal, Some(7));
        assert_eq!(order(&[], &[("index", (-1).into())]).ordinal, Some(-1));
        let after = order(&[], &[("after", "a".into()), ("before", vec!["b", "c"].into())]);
        assert_eq!(
            (after.ordinal, after.depends_on, after.before),
            (None, vec!["a".to_owned()], vec!["b".to_owned(), "c".to_owned()])
        );
    }

    #[test]
    fn repeated_ids_are_counted_and_sources_read() {
        let item = |src: &str| Item {
            id: "a.py::t".to_owned(),
            file: Some("other.py".to_owned()),
            src: Some(src.to_owned()),
            marks: None,
        };
        let (suite, declared) = suite_of(vec![item("00000000000000ffee"), item("x")]).unwrap();
        assert_eq!(suite.id(TestIx(1)).to_string(), "a.py::t (#2)");
        assert_eq!(suite.info(TestIx(0)).source, Some(255));
        assert_eq!(suite.info(TestIx(1)).source, None);
        assert_eq!(&*suite.info(TestIx(0)).file, "other.py");
        assert!(declared.is_empty());
    }
}
