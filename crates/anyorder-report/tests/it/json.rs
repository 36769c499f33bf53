//! Documents against their published schemas.

use std::collections::BTreeMap;

use anyorder_report::json;
use anyorder_report::view::{Action, Class, Finding, VerdictOutcome};
use jsonschema::Validator;
use serde_json::Value;

use crate::samples;

pub(crate) fn schema(name: &str) -> Value {
    let text = match name {
        "run" => include_str!("../../../../docs/schema/run-1.json"),
        "check" => include_str!("../../../../docs/schema/check-1.json"),
        "doctor" => include_str!("../../../../docs/schema/doctor-1.json"),
        "ledger" => include_str!("../../../../docs/schema/ledger-1.json"),
        "checks" => include_str!("../../../../docs/schema/checks-1.json"),
        "explain" => include_str!("../../../../docs/schema/explain-1.json"),
        other => panic!("no schema named {other}"),
    };
    serde_json::from_str(text).unwrap()
}

fn validator(name: &str) -> Validator {
    jsonschema::draft202012::new(&schema(name)).unwrap()
}

pub(crate) fn document(write: impl Fn(&mut dyn std::io::Write) -> std::io::Result<()>) -> Value {
    let (mut once, mut again) = (Vec::new(), Vec::new());
    write(&mut once).unwrap();
    write(&mut again).unwrap();
    assert_eq!(once, again);
    assert_eq!(once.iter().position(|&b| b == b'\n'), Some(once.len() - 1));
    serde_json::from_slice(&once).unwrap()
}

pub(crate) fn run(view: &anyorder_report::view::RunView) -> Value {
    document(|out| json::run(view, out))
}

pub(crate) fn check(view: &anyorder_report::view::CheckView) -> Value {
    document(|out| json::check(view, out))
}

#[track_caller]
pub(crate) fn assert_valid(name: &str, document: &Value) {
    let errors: Vec<String> =
        validator(name).iter_errors(document).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn every_sample_follows_its_schema() {
    for view in [samples::clean(), samples::troubled(), samples::crashed(), samples::interrupted()] {
        assert_valid("run", &run(&view));
    }
    for view in [samples::accepted(), samples::blocked(), samples::undecided(), samples::several()] {
        assert_valid("check", &check(&view));
    }
    let doctor = samples::doctor();
    assert_valid("doctor", &document(|out| json::doctor(&doctor, out)));
}

#[test]
fn a_run_tells_tests_orders_and_bound() {
    let document = run(&samples::troubled());
    assert_eq!(document["schema"], "anyorder/run/1");
    assert_eq!(document["orders"][4], "seed:1:reverse");
    assert_eq!(document["tests"][400]["class"], "order_sensitive");
    assert_eq!(document["tests"][400]["vector"], "PPFPFFPPFPPP");
    assert_eq!(document["tests"][400]["cause"], 1);
    assert_eq!(document["tests"][400]["failures"][1]["order"], "seed:1:reverse");
    assert_eq!(document["causes"][0]["tests"].as_array().unwrap().len(), 500);
    assert_eq!(document["classes"]["order_sensitive"], 501);
    assert_eq!(document["bound"]["failing"], 5);
    assert_eq!(document["executor"], "fork");
    assert_eq!(document["complete"], true);
    assert_eq!(run(&samples::interrupted())["complete"], false);
}

#[test]
fn the_keys_at_the_top_of_a_check_are_the_best_candidates() {
    let document = check(&samples::several());
    assert_eq!(document["candidate"], "good.diff");
    assert_eq!(document["verdict"], "accept");
    assert_eq!(document["evidence"].as_array().unwrap().len(), 905);
    let ranking: Vec<&Value> =
        document["ranking"].as_array().unwrap().iter().map(|r| &r["verdict"]).collect();
    assert_eq!(ranking, ["accept", "review", "block"]);
    assert_eq!(document["others"][1]["findings"][0]["finding"], "new_test_coupled");
    assert_eq!(document["complete"], false);
}

#[test]
fn what_is_no_number_is_null() {
    let mut view = samples::clean();
    view.coverage.ordered_pairs = f64::NAN;
    view.bound.upper95 = f64::INFINITY;
    let document = run(&view);
    assert!(document["coverage"]["ordered_pairs"].is_null());
    assert!(document["bound"]["upper95"].is_null());
    assert_valid("run", &document);
}

/// A change to a valid document that must make it invalid.
fn assert_broken(name: &str, document: &Value, change: impl FnOnce(&mut Value)) {
    let mut broken = document.clone();
    change(&mut broken);
    assert_ne!(&broken, document);
    assert!(!validator(name).is_valid(&broken));
}

#[test]
fn the_schemas_refuse_broken_documents() {
    let good = run(&samples::troubled());
    let checked = check(&samples::blocked());
    assert_broken("run", &good, |d| d["schema"] = "anyorder/run/2".into());
    assert_broken("run", &good, |d| d["surprise"] = 1.into());
    assert_broken("run", &good, |d| d["tests"][0]["class"] = "wobbly".into());
    assert_broken("run", &good, |d| d["tests"][0]["vector"] = "PPQ".into());
    assert_broken("run", &good, |d| d["orders"][0] = "shuffled".into());
    assert_broken("run", &good, |d| d["bound"]["upper95"] = 13.9.into());
    assert_broken("run", &good, |d| d["exit_code"] = (-1).into());
    assert_broken("check", &checked, |d| d["verdict"] = "maybe".into());
    assert_broken("check", &checked, |d| d["findings"][0]["finding"] = "broken".into());
    assert_broken("check", &checked, |d| d["findings"][0]["witness"]["seen"][0]["tree"] = "head".into());
    // Every key that we write is required.
    for (name, document) in [("run", &good), ("check", &checked)] {
        for key in document.as_object().unwrap().keys() {
            assert_broken(name, document, |d| {
                d.as_object_mut().unwrap().remove(key);
            });
        }
    }
}

#[test]
fn the_words_of_the_schemas_are_the_words_of_the_views() {
    let schema = schema("check");
    let words = |name: &str| schema["$defs"][name]["enum"].as_array().unwrap().clone();
    let classes =
        [Class::StablePass, Class::StableFail, Class::StableSkip, Class::OrderSensitive, Class::Flaky];
    let verdicts = [VerdictOutcome::Accept, VerdictOutcome::Review, VerdictOutcome::Block];
    let of = |all: Vec<&'static str>| all.into_iter().map(Value::from).collect::<Vec<_>>();
    assert_eq!(words("class"), of(classes.map(Class::word).into()));
    assert_eq!(words("finding"), of(Finding::ALL.iter().map(|w| w.word()).collect()));
    assert_eq!(words("action"), of(Action::ALL.iter().map(|w| w.word()).collect()));
    assert_eq!(words("verdict"), of(verdicts.map(VerdictOutcome::word).into()));
}

#[test]
fn what_schemas_share_is_the_same_in_each() {
    let mut known: BTreeMap<String, Value> = BTreeMap::new();
    for name in ["run", "check", "doctor"] {
        for (key, definition) in schema(name)["$defs"].as_object().unwrap() {
            let first = known.entry(key.clone()).or_insert_with(|| definition.clone());
            assert_eq!(first, definition, "`{key}` in the schema of `{name}`");
        }
    }
}
