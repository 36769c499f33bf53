//! The objects: what a process says about itself, its collection, and the children it forked.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyorder_core::model::Excerpt;
use serde::Deserialize;
use serde_json::Value;

/// What an object says.
#[derive(Debug, PartialEq)]
pub(crate) enum Message {
    Hello(Hello),
    Environment(Box<EnvironmentLine>),
    Off(OffLine),
    Tests(Vec<Item>),
    Collected(Collected),
    CollectFailed(Vec<(String, Excerpt)>),
    NoTests,
    Broken { what: String, text: Excerpt },
    Forked { run: u64, pid: i32 },
    NotForked { run: u64, why: String },
    Exit { run: u64, exit: Exit },
    Internal(Excerpt),
    ImportFailed { module: String, text: Excerpt },
}

/// The first line of a connection.
#[derive(Debug, PartialEq, Deserialize)]
pub(crate) struct Hello {
    pub(crate) token: String,
    #[serde(default)]
    pub(crate) protocol: u32,
    pub(crate) role: Role,
    #[serde(default)]
    pub(crate) run: Option<u64>,
    #[serde(default)]
    pub(crate) peek: Option<usize>,
    pub(crate) pid: i32,
    /// Whether this process had a connection before and lost it.
    #[serde(default)]
    pub(crate) again: bool,
    #[serde(default)]
    pub(crate) sandbox: Option<Sandbox>,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    Main,
    Run,
    Peek,
}

/// What keeps a run apart.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(crate) struct Sandbox {
    pub(crate) mode: String,
    #[serde(default)]
    pub(crate) why: Option<String>,
}

#[derive(Debug, PartialEq, Deserialize)]
pub(crate) struct EnvironmentLine {
    pub(crate) python: String,
    pub(crate) implementation: String,
    pub(crate) executable: PathBuf,
    pub(crate) platform: String,
    pub(crate) pytest: String,
    #[serde(default)]
    pub(crate) plugins: Vec<(String, String)>,
    pub(crate) distributions: String,
    #[serde(default)]
    pub(crate) locks: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) sandbox: Sandbox,
    #[serde(default)]
    pub(crate) capabilities: Capabilities,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
pub(crate) struct Capabilities {
    #[serde(default)]
    pub(crate) fork: bool,
}

#[derive(Debug, PartialEq, Deserialize)]
pub(crate) struct OffLine {
    pub(crate) what: String,
    pub(crate) how: String,
    #[serde(rename = "where", default)]
    pub(crate) source: String,
}

/// A collected test.
#[derive(Debug, PartialEq, Deserialize)]
pub(crate) struct Item {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) file: Option<String>,
    #[serde(default)]
    pub(crate) src: Option<String>,
    #[serde(default)]
    pub(crate) marks: Option<Marks>,
}

/// Order that the test itself declares, as its marks spell it.
#[derive(Debug, Default, PartialEq, Deserialize)]
pub(crate) struct Marks {
    #[serde(default)]
    pub(crate) order: Option<(Vec<Value>, BTreeMap<String, Value>)>,
    #[serde(default)]
    pub(crate) depends: Option<Depends>,
    #[serde(default)]
    pub(crate) incremental: Option<String>,
}

/// pytest-dependency's mark.
#[derive(Debug, Default, PartialEq, Deserialize)]
pub(crate) struct Depends {
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) on: Option<OneOrMany>,
}

/// A name, or several.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

#[derive(Debug, PartialEq, Deserialize)]
pub(crate) struct Collected {
    pub(crate) tests: usize,
    #[serde(default)]
    pub(crate) startup_us: u64,
    #[serde(default)]
    pub(crate) collect_us: u64,
    pub(crate) fork: ForkSafety,
    #[serde(default)]
    pub(crate) origins: Vec<(String, PathBuf, String)>,
    #[serde(default)]
    pub(crate) imports: Vec<(String, Vec<String>)>,
}

#[derive(Debug, PartialEq, Deserialize)]
pub(crate) struct ForkSafety {
    pub(crate) safe: bool,
    #[serde(default)]
    pub(crate) why: Vec<String>,
}

/// An excerpt as the agent writes it.
#[derive(Debug, Default, PartialEq, Deserialize)]
pub(crate) struct Excerpted {
    head: String,
    #[serde(default)]
    tail: String,
    bytes: u64,
}

impl From<Excerpted> for Excerpt {
    fn from(wire: Excerpted) -> Self {
        let Excerpted { head, tail, bytes } = wire;
        Self { head, tail, total_bytes: bytes }
    }
}

/// How a child of a main process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Code(i32),
    Signal(i32),
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exited {code} before the end"),
            Self::Signal(signal) => write!(f, "killed by signal {signal}"),
        }
    }
}

#[derive(Deserialize)]
struct Head<'a> {
    n: u64,
    t: &'a str,
}

#[derive(Deserialize)]
struct TestsLine {
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct ErrorsLine {
    errors: Vec<ErrorItem>,
}

#[derive(Deserialize)]
struct ErrorItem {
    id: String,
    text: Excerpted,
}

#[derive(Deserialize)]
struct BrokenLine {
    what: String,
    #[serde(default)]
    text: Excerpted,
}

#[derive(Deserialize)]
struct ImportLine {
    module: String,
    #[serde(default)]
    text: Excerpted,
}

#[derive(Deserialize)]
struct ChildLine {
    run: u64,
    #[serde(default)]
    pid: Option<i32>,
    #[serde(default)]
    code: Option<i32>,
    #[serde(default)]
    signal: Option<i32>,
    #[serde(default)]
    why: Option<String>,
}

#[derive(Deserialize)]
struct TextLine {
    text: Excerpted,
}

fn wrong(what: &'static str) -> serde_json::Error {
    <serde_json::Error as serde::de::Error>::custom(what)
}

pub(super) fn decode(bytes: &[u8]) -> Result<(u64, Message), serde_json::Error> {
    let head: Head<'_> = serde_json::from_slice(bytes)?;
    let message = match head.t {
        "hello" => Message::Hello(serde_json::from_slice(bytes)?),
        "environment" => Message::Environment(serde_json::from_slice(bytes)?),
        "off" => Message::Off(serde_json::from_slice(bytes)?),
        "tests" => Message::Tests(serde_json::from_slice::<TestsLine>(bytes)?.items),
        "collected" => Message::Collected(serde_json::from_slice(bytes)?),
        "collect_failed" => {
            let errors = serde_json::from_slice::<ErrorsLine>(bytes)?.errors;
            Message::CollectFailed(errors.into_iter().map(|e| (e.id, e.text.into())).collect())
        }
        "no_tests" => Message::NoTests,
        "broken" => {
            let BrokenLine { what, text } = serde_json::from_slice(bytes)?;
            Message::Broken { what, text: text.into() }
        }
        "import_failed" => {
            let ImportLine { module, text } = serde_json::from_slice(bytes)?;
            Message::ImportFailed { module, text: text.into() }
        }
        "internal" => Message::Internal(serde_json::from_slice::<TextLine>(bytes)?.text.into()),
        "forked" | "exit" => child(head.t, serde_json::from_slice(bytes)?)?,
        _ => return Err(wrong("a message of no known kind")),
    };
    Ok((head.n, message))
}

fn child(kind: &str, line: ChildLine) -> Result<Message, serde_json::Error> {
    let ChildLine { run, pid, code, signal, why } = line;
    match (kind, pid, code, signal) {
        ("forked", Some(pid), _, _) => Ok(Message::Forked { run, pid }),
        // An exit with a reason is the template's: there never was a child.
        ("exit", _, Some(_), None) if why.is_some() => {
            Ok(Message::NotForked { run, why: why.unwrap_or_default() })
        }
        ("exit", _, _, Some(signal)) => Ok(Message::Exit { run, exit: Exit::Signal(signal) }),
        ("exit", _, Some(code), None) => Ok(Message::Exit { run, exit: Exit::Code(code) }),
        _ => Err(wrong("a message about a child that lacks something")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_by_its_kind() {
        let (n, hello) =
            decode(br#"{"n":0,"t":"hello","token":"x","protocol":1,"role":"run","run":3,"pid":9}"#).unwrap();
        assert_eq!(n, 0);
        let Message::Hello(hello) = hello else { panic!("no hello") };
        assert_eq!((hello.role, hello.run, hello.pid, hello.again), (Role::Run, Some(3), 9, false));
        let (_, exit) = decode(br#"{"n":4,"t":"exit","run":3,"signal":9}"#).unwrap();
        assert_eq!(exit, Message::Exit { run: 3, exit: Exit::Signal(9) });
        let (_, failed) = decode(br#"{"n":4,"t":"exit","run":3,"code":71,"why":"EAGAIN"}"#).unwrap();
        assert!(matches!(failed, Message::NotForked { run: 3, .. }));
        let (_, none) = decode(br#"{"n":4,"t":"no_tests"}"#).unwrap();
        assert_eq!(none, Message::NoTests);
    }

    #[test]
    fn marks_keep_what_the_test_wrote() {
        let line = br#"{"n":1,"t":"tests","items":[{"id":"a::b","file":"a","src":null,
            "marks":{"order":[["first"],{"after":"c"}],"depends":{"name":"d","on":["e"],"scope":"module"}}}]}"#;
        let (_, Message::Tests(items)) = decode(line).unwrap() else { panic!("no tests") };
        let marks = items[0].marks.as_ref().unwrap();
        assert_eq!(marks.order.as_ref().unwrap().0, [Value::from("first")]);
        assert_eq!(marks.depends.as_ref().unwrap().on, Some(OneOrMany::Many(vec!["e".to_owned()])));
    }

    #[test]
    fn an_object_that_lacks_its_number_or_more_is_no_record() {
        for text in [
            r#"{"t":"no_tests"}"#,
            r#"{"n":1}"#,
            r#"{"n":1,"t":"forked","run":1}"#,
            r#"{"n":1,"t":"exit","run":1}"#,
            r#"{"n":1,"t":"unheard"}"#,
            r#"{"n":-1,"t":"no_tests"}"#,
            "null",
            "",
        ] {
            assert!(decode(text.as_bytes()).is_err(), "{text}");
        }
    }
}
