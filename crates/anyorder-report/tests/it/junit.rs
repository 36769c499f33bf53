//! JUnit XML, read back.

use std::time::Duration;

use anyorder_core::model::{
    Ending, Excerpt, Executor, Failure, Order, OrderLabel, Outcome, Phase, RunRecord, Signature, Suite,
    TestIx, TestResult,
};
use anyorder_report::junit;
use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::events::Event;

/// A test case as read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) class: String,
    pub(crate) name: String,
    pub(crate) exact: Option<String>,
    /// Element, message, text.
    pub(crate) detail: Option<(String, String, String)>,
}

pub(crate) fn write(record: &RunRecord, suite: &Suite) -> String {
    let mut out = Vec::new();
    junit::run(record, suite, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Reads what was written: the attributes of the suite, and its cases.
pub(crate) fn read(xml: &str) -> (Vec<(String, String)>, Vec<Case>) {
    let mut reader = Reader::from_str(xml);
    let (mut suite, mut cases): (Vec<(String, String)>, Vec<Case>) = (Vec::new(), Vec::new());
    let mut text: Option<String> = None;
    loop {
        let event = reader.read_event().unwrap();
        let (start, empty) = match event {
            Event::Start(start) => (start, false),
            Event::Empty(start) => (start, true),
            Event::Text(part) => {
                if let Some(text) = &mut text {
                    text.push_str(&part);
                }
                continue;
            }
            Event::GeneralRef(entity) => {
                if let Some(text) = &mut text {
                    let entity = format!("&{};", &*entity);
                    text.push_str(&quick_xml::escape::unescape(&entity).unwrap());
                }
                continue;
            }
            Event::End(_) => {
                if let (Some(text), Some(detail)) =
                    (text.take(), cases.last_mut().and_then(|c| c.detail.as_mut()))
                {
                    detail.2 = text;
                }
                continue;
            }
            Event::Eof => return (suite, cases),
            _ => continue,
        };
        let attributes: Vec<(String, String)> = start
            .attributes()
            .map(|a| {
                let a = a.unwrap();
                (a.key.as_ref().to_owned(), a.normalized_value(XmlVersion::Implicit1_0).unwrap().into_owned())
            })
            .collect();
        let get =
            |key: &str| attributes.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone()).unwrap_or_default();
        match start.name().as_ref() {
            "testsuite" => suite = attributes,
            "testcase" => {
                cases.push(Case { class: get("classname"), name: get("name"), ..Case::default() });
            }
            "property" if get("name") == "anyorder.id" => {
                cases.last_mut().unwrap().exact = Some(get("value"));
            }
            element @ ("failure" | "error" | "skipped") => {
                cases.last_mut().unwrap().detail = Some((element.to_owned(), get("message"), String::new()));
                text = (!empty).then(String::new);
            }
            _ => {}
        }
    }
}

fn failure(phase: Phase, signature: &str, text: &str) -> Failure {
    let text = Excerpt { head: text.into(), tail: String::new(), total_bytes: text.len() as u64 };
    Failure { phase, signature: Signature(signature.into()), text }
}

#[test]
fn every_outcome_has_its_element() {
    let suite =
        Suite::from_raw_ids(Outcome::ALL.map(|o| format!("a/test_b.py::TestC::test_{}[x/y::z]", o.word())));
    let results = suite.indices().zip(Outcome::ALL).map(|(test, outcome)| TestResult {
        test,
        outcome,
        duration: Duration::from_micros(1500),
        failure: match outcome {
            Outcome::Failed => {
                Some(failure(Phase::Call, "AssertionError @ a.py: x < 1", "E <x> & ]]>\r\n\u{1b}[1m"))
            }
            Outcome::Error => Some(failure(Phase::Teardown, "OSError @ a.py: close()", "")),
            _ => None,
        },
    });
    let record = RunRecord {
        order: Order::full(OrderLabel::Reverse, suite.indices().collect(), suite.len()).unwrap(),
        attempt: 0,
        executor: Executor::Fork,
        results: results.collect(),
        ending: Ending::Crashed { culprit: Some(TestIx(7)), how: "killed by signal 11".into() },
        wall: Duration::from_millis(2500),
        fixture_setups: None,
        peeks: Vec::new(),
    };
    let (attributes, cases) = read(&write(&record, &suite));
    let attribute = |key: &str| attributes.iter().find(|(k, _)| k == key).unwrap().1.as_str();
    assert_eq!(
        ["tests", "failures", "errors", "skipped", "time"].map(attribute),
        ["9", "1", "4", "2", "2.500000"]
    );
    assert_eq!((cases[0].class.as_str(), cases[0].name.as_str()), ("a.test_b.TestC", "test_passed[x/y::z]"));
    let details: Vec<_> = cases
        .iter()
        .map(|c| c.detail.as_ref().map_or(("", "", ""), |(e, m, t)| (e.as_str(), m.as_str(), t.as_str())))
        .collect();
    assert_eq!(
        details,
        [
            ("", "", ""),
            ("failure", "AssertionError @ a.py: x < 1", "E <x> & ]]>\r\n#x1B[1m"),
            ("error", "failed on teardown: OSError @ a.py: close()", ""),
            ("skipped", "skipped", ""),
            ("skipped", "xfailed", ""),
            ("", "", ""),
            ("error", "ran longer than allowed", ""),
            ("error", "the process died while it ran", ""),
            ("error", "never ran", ""),
        ]
    );
}
