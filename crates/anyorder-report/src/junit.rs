//! JUnit XML of one run, in the shape of pytest's `xunit2` family.
//!
//! Test cases stand in executed order. What XML 1.0 cannot hold is written as pytest writes it, `#x1B`; the exact id
//! is then the property `anyorder.id`, with Rust's escapes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use anyorder_core::model::{Ending, Failure, Outcome, RunRecord, Suite, TestId, TestResult};
use quick_xml::Writer;
use quick_xml::escape::escape;
use quick_xml::events::attributes::Attribute;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};
use quick_xml::name::QName;

/// Writes one run of `suite` as JUnit XML: a test case a planned test.
pub fn run(record: &RunRecord, suite: &Suite, out: &mut dyn Write) -> io::Result<()> {
    let mut xml = Writer::new_with_indent(out, b' ', 1);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("utf-8"), None)))?;
    let name = [("name", Cow::Borrowed("anyorder"))];
    open(&mut xml, "testsuites", &name)?;
    let count =
        |wanted: Kind| record.results.iter().filter(|r| kind(r.outcome) == wanted).count().to_string();
    let time: f64 = record.wall.as_secs_f64();
    open(
        &mut xml,
        "testsuite",
        &[
            ("name", format!("anyorder {}", record.order.label()).into()),
            ("errors", count(Kind::Error).into()),
            ("failures", count(Kind::Failure).into()),
            ("skipped", count(Kind::Skipped).into()),
            ("tests", record.results.len().to_string().into()),
            ("time", format!("{time:.6}").into()),
        ],
    )?;
    properties(
        &mut xml,
        &[
            ("anyorder.order", record.order.label().to_string()),
            ("anyorder.attempt", record.attempt.to_string()),
            ("anyorder.executor", record.executor.word().to_owned()),
            ("anyorder.ending", ending(&record.ending, suite)),
        ],
    )?;
    for result in &record.results {
        case(&mut xml, result, suite)?;
    }
    close(&mut xml, "testsuite")?;
    close(&mut xml, "testsuites")?;
    xml.into_inner().write_all(b"\n")
}

/// What a test case holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Passed,
    Failure,
    Error,
    Skipped,
}

fn kind(outcome: Outcome) -> Kind {
    match outcome {
        Outcome::Passed | Outcome::Xpassed => Kind::Passed,
        Outcome::Failed => Kind::Failure,
        Outcome::Error | Outcome::Timeout | Outcome::Crashed | Outcome::Absent => Kind::Error,
        Outcome::Skipped | Outcome::Xfailed => Kind::Skipped,
    }
}

type Xml<'a> = Writer<&'a mut dyn Write>;

fn case(xml: &mut Xml<'_>, result: &TestResult, suite: &Suite) -> io::Result<()> {
    let Some(info) = suite.tests().get(result.test.get()) else { return Ok(()) };
    let (class, name) = address(&info.id);
    let exact = info.id.to_string();
    let attributes = [
        ("classname", Cow::Borrowed(class.as_str())),
        ("name", Cow::Borrowed(name.as_str())),
        ("time", format!("{:.6}", result.duration.as_secs_f64()).into()),
    ];
    let kept = allowed(&exact) == exact;
    let kind = kind(result.outcome);
    if kind == Kind::Passed && kept {
        let mut start = BytesStart::new("testcase");
        for (key, value) in &attributes {
            push(&mut start, key, value);
        }
        return xml.write_event(Event::Empty(start));
    }
    open(xml, "testcase", &attributes)?;
    if !kept {
        properties(xml, &[("anyorder.id", exact.escape_default().to_string())])?;
    }
    let element = match kind {
        Kind::Passed => return close(xml, "testcase"),
        Kind::Failure => "failure",
        Kind::Error => "error",
        Kind::Skipped => "skipped",
    };
    detail(xml, element, result)?;
    close(xml, "testcase")
}

/// The element that says what went wrong.
fn detail(xml: &mut Xml<'_>, element: &str, result: &TestResult) -> io::Result<()> {
    let message: Cow<'_, str> = match (&result.failure, result.outcome) {
        (_, Outcome::Absent) => "never ran".into(),
        (Some(failure), outcome) => said(failure, outcome).into(),
        (None, Outcome::Crashed) => "the process died while it ran".into(),
        (None, Outcome::Timeout) => "ran longer than allowed".into(),
        (None, outcome) => outcome.word().into(),
    };
    let mut attributes = vec![("message", message)];
    match result.outcome {
        Outcome::Skipped => attributes.push(("type", "pytest.skip".into())),
        Outcome::Xfailed => attributes.push(("type", "pytest.xfail".into())),
        other => attributes.push(("type", other.word().into())),
    }
    let body = result.failure.as_ref().map(text).unwrap_or_default();
    if body.is_empty() {
        let mut start = BytesStart::new(element);
        for (key, value) in &attributes {
            push(&mut start, key, value);
        }
        return xml.write_event(Event::Empty(start));
    }
    open(xml, element, &attributes)?;
    let escaped = escape(allowed(&body)).into_owned();
    xml.write_event(Event::Text(BytesText::from_escaped(escaped)))?;
    close(xml, element)
}

fn said(failure: &Failure, outcome: Outcome) -> String {
    match outcome {
        Outcome::Error => format!("failed on {}: {}", failure.phase.word(), failure.signature.0),
        _ => failure.signature.0.to_string(),
    }
}

fn text(failure: &Failure) -> String {
    let excerpt = &failure.text;
    let kept = (excerpt.head.len() + excerpt.tail.len()) as u64;
    if excerpt.total_bytes > kept {
        let left_out = excerpt.total_bytes - kept;
        return format!("{}\n[{left_out} bytes left out]\n{}", excerpt.head, excerpt.tail);
    }
    format!("{}{}", excerpt.head, excerpt.tail)
}

fn ending(ending: &Ending, suite: &Suite) -> String {
    let culprit = |ix: &Option<_>| {
        let id = ix.and_then(|ix: anyorder_core::model::TestIx| suite.tests().get(ix.get()));
        id.map(|info| format!(" in {}", info.id)).unwrap_or_default()
    };
    match ending {
        Ending::Completed => "completed".to_owned(),
        Ending::Crashed { culprit: ix, how } => format!("crashed{}: {how}", culprit(ix)),
        Ending::TimedOut { culprit: ix } => format!("timed out{}", culprit(ix)),
        Ending::OutOfOrder { position } => format!("out of order from position {}", position + 1),
        Ending::Interrupted => "interrupted".to_owned(),
    }
}

/// Class name and name, as pytest makes them: `a/b.py::C::t[x/y]` is `a.b.C` and `t[x/y]`.
fn address(id: &TestId) -> (String, String) {
    let shown = id.to_string();
    let (path, parameters) = match shown.find('[') {
        Some(at) => shown.split_at(at),
        None => (shown.as_str(), ""),
    };
    let mut names: Vec<&str> = path.split("::").collect();
    let last = names.pop().unwrap_or_default();
    let mut class = String::new();
    for (at, name) in names.iter().enumerate() {
        if at == 0 {
            class.push_str(&name.strip_suffix(".py").unwrap_or(name).replace('/', "."));
        } else {
            class.push('.');
            class.push_str(name);
        }
    }
    (class, format!("{last}{parameters}"))
}

/// Whether XML 1.0 can hold a character.
fn is_char(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{fffd}' | '\u{10000}'..)
}

/// The text with what XML can't hold written as `#x1B`.
fn allowed(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_char) {
        return Cow::Borrowed(text);
    }
    let shown =
        text.chars().map(|c| if is_char(c) { c.to_string() } else { format!("#x{:02X}", u32::from(c)) });
    Cow::Owned(shown.collect())
}

/// Adds an attribute; line ends and tabs as references, or reading would turn them into spaces.
fn push(start: &mut BytesStart<'_>, key: &str, value: &str) {
    let held = allowed(value);
    let escaped = escape(held.as_ref()).replace('\n', "&#10;").replace('\t', "&#9;");
    start.push_attribute(Attribute { key: QName(key), value: Cow::Owned(escaped) });
}

fn open(xml: &mut Xml<'_>, name: &str, attributes: &[(&str, Cow<'_, str>)]) -> io::Result<()> {
    let mut start = BytesStart::new(name);
    for (key, value) in attributes {
        push(&mut start, key, value);
    }
    xml.write_event(Event::Start(start))
}

fn close(xml: &mut Xml<'_>, name: &str) -> io::Result<()> {
    xml.write_event(Event::End(BytesEnd::new(name)))
}

fn properties(xml: &mut Xml<'_>, properties: &[(&str, String)]) -> io::Result<()> {
    let properties: BTreeMap<&str, &String> = properties.iter().map(|(key, value)| (*key, value)).collect();
    open(xml, "properties", &[])?;
    for (key, value) in properties {
        let mut start = BytesStart::new("property");
        push(&mut start, "name", key);
        push(&mut start, "value", value);
        xml.write_event(Event::Empty(start))?;
    }
    close(xml, "properties")
}
