//! What the command answered, and how tests read it.

use std::collections::BTreeMap;
use std::fmt;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Output;

use serde_json::Value;

/// What the command answered.
pub(crate) struct Answer {
    /// The exit code; `None` when a signal ended it.
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit code {:?}\n--- stdout\n{}\n--- stderr\n{}", self.status, self.out, self.err)
    }
}

impl Answer {
    pub(crate) fn new(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
        let status = output.status.code();
        assert!(
            output.status.signal().is_none_or(|s| s == 9),
            "ended by a signal: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Self { status, out: text(output.stdout), err: text(output.stderr) }
    }

    /// Standard error holds lines of progress and nothing else.
    #[track_caller]
    pub(crate) fn assert_only_progress(&self) {
        let odd: Vec<&str> = self.err.lines().filter(|l| !is_progress(l)).collect();
        assert!(odd.is_empty(), "unexpected on standard error: {odd:#?}");
    }

    /// Standard error holds exactly one error, and this text is in it.
    #[track_caller]
    pub(crate) fn refuses(&self, text: &str) -> &Self {
        let errors = self.err.lines().filter(|l| l.starts_with("error: ")).count();
        assert_eq!(errors, 1, "not one error: {self}");
        assert!(unwrapped(&self.err).contains(text), "nothing of `{text}`: {self}");
        assert!(!self.err.contains("panicked"), "{self}");
        assert_eq!(self.out, "", "a refusal leaves standard output alone");
        self
    }

    /// Standard output holds this text, however its lines are broken.
    #[track_caller]
    pub(crate) fn shows(&self, text: &str) -> &Self {
        assert!(unwrapped(&self.out).contains(text), "nothing of `{text}`: {self}");
        self
    }

    /// Standard error holds this text.
    #[track_caller]
    pub(crate) fn tells(&self, text: &str) -> &Self {
        assert!(unwrapped(&self.err).contains(text), "nothing of `{text}`: {self}");
        self
    }

    #[track_caller]
    pub(crate) fn shows_not(&self, text: &str) -> &Self {
        assert!(!unwrapped(&self.out).contains(text), "`{text}` should not be there: {self}");
        self
    }

    /// The JSON document, after it was held against its schema.
    #[track_caller]
    pub(crate) fn json(&self) -> Document {
        let value: Value = serde_json::from_str(&self.out)
            .unwrap_or_else(|e| panic!("standard output is not one JSON document: {e}: {self}"));
        let schema = match value["schema"].as_str() {
            Some("anyorder/run/1") => include_str!("../../../../docs/schema/run-1.json"),
            Some("anyorder/check/1") => include_str!("../../../../docs/schema/check-1.json"),
            Some("anyorder/doctor/1") => include_str!("../../../../docs/schema/doctor-1.json"),
            Some("anyorder/ledger/1") => include_str!("../../../../docs/schema/ledger-1.json"),
            Some("anyorder/checks/1") => include_str!("../../../../docs/schema/checks-1.json"),
            Some("anyorder/explain/1") => include_str!("../../../../docs/schema/explain-1.json"),
            other => panic!("no schema is named {other:?}: {self}"),
        };
        let validator = jsonschema::draft202012::new(&serde_json::from_str(schema).unwrap()).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{errors:#?}");
        assert_eq!(value["exit_code"].as_i64(), self.status.map(i64::from), "{self}");
        Document(value)
    }
}

/// A JSON document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Document(pub(crate) Value);

impl std::ops::Index<&str> for Document {
    type Output = Value;

    fn index(&self, key: &str) -> &Value {
        &self.0[key]
    }
}

impl Document {
    /// Each test of a run with its class.
    pub(crate) fn classes(&self) -> BTreeMap<&str, &str> {
        self.rows("tests").iter().map(|t| (word(&t["id"]), word(&t["class"]))).collect()
    }

    /// Each test of a run with its vector.
    pub(crate) fn vectors(&self) -> BTreeMap<&str, &str> {
        self.rows("tests").iter().map(|t| (word(&t["id"]), word(&t["vector"]))).collect()
    }

    /// Each finding of a check: test, finding, action.
    pub(crate) fn findings(&self) -> Vec<(&str, &str, &str)> {
        let rows = self.rows("findings").iter();
        rows.map(|f| (word(&f["id"]), word(&f["finding"]), word(&f["action"]))).collect()
    }

    /// The orders of a run.
    pub(crate) fn orders(&self) -> Vec<&str> {
        self.words("orders")
    }

    pub(crate) fn words(&self, key: &str) -> Vec<&str> {
        self.rows(key).iter().map(word).collect()
    }

    pub(crate) fn rows(&self, key: &str) -> &Vec<Value> {
        self.0[key].as_array().unwrap_or_else(|| panic!("`{key}` is no list: {}", self.0))
    }

    /// The document without what differs between two equal runs: times, costs, ids of stored runs.
    pub(crate) fn without_times(&self) -> Value {
        let mut value = self.0.clone();
        strip(&mut value);
        value
    }
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for key in [
                "cost",
                "candidate_cost",
                "duration_s",
                "run",
                "sweep",
                "check",
                "resumed",
                "reused",
                "cached",
            ] {
                map.remove(key);
            }
            map.values_mut().for_each(strip);
        }
        Value::Array(list) => list.iter_mut().for_each(strip),
        _ => {}
    }
}

pub(crate) fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

/// A text with its white space made single blanks.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_progress(line: &str) -> bool {
    let begins = ["collecting", "running ", "replaying ", "shortening ", "base is "]
        .iter()
        .any(|word| line.starts_with(word));
    let counts = line.contains(" of ") && line.contains(')') && line.contains("  ");
    // What a sweep will cost, said before one that is long; a slow machine makes short ones long.
    let cost = line.starts_with(' ') || line.contains(" orders: about ");
    begins || counts || cost
}
