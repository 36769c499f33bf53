//! Reports shown again from stored documents.

use anyorder_core::stats;
use anyorder_report::view::{Bound, CheckView, ListedView};
use anyorder_report::{Style, json};

use crate::{samples, terminal};

fn again(view: &CheckView) -> Option<CheckView> {
    let mut document = Vec::new();
    json::check(view, &mut document).unwrap();
    json::stored_check(std::str::from_utf8(&document).unwrap())
}

/// The samples, with bounds as they are computed.
fn views() -> Vec<CheckView> {
    let mut views =
        vec![samples::accepted(), samples::blocked(), samples::undecided(), samples::several(), listed()];
    let computed = |bound: &mut Option<Bound>| {
        *bound =
            bound.as_ref().map(|b| Bound::of(&stats::Bound::new(b.independent_seeds, b.failing, true), true));
    };
    for view in &mut views {
        computed(&mut view.base.bound);
        view.candidates.iter_mut().for_each(|c| computed(&mut c.patched.bound));
    }
    views
}

/// A sample in which a listed test is blamed.
fn listed() -> CheckView {
    let mut view = samples::blocked();
    view.candidates[0].findings[0].listed = Some(ListedView {
        kind: "frozen",
        covered: false,
        until: Some("2027-01-05".parse().unwrap()),
        issue: "SHOP-7".into(),
        text: "frozen until 2027-01-05 (SHOP-7), which does not cover this: expired".into(),
    });
    view
}

#[test]
fn a_report_from_a_stored_document_reads_as_the_first_one_did() {
    for view in views() {
        let shown = again(&view).unwrap();
        let (first, second) = (terminal::check(&view, Style::PLAIN), terminal::check(&shown, Style::PLAIN));
        let differing: Vec<_> = first.lines().zip(second.lines()).filter(|(a, b)| a != b).collect();
        assert!(first == second, "{differing:#?}");
    }
}

#[test]
fn a_document_read_and_written_again_is_the_same() {
    for view in views() {
        let document = |view: &CheckView| {
            let mut out = Vec::new();
            json::check(view, &mut out).unwrap();
            serde_json::from_slice::<serde_json::Value>(&out).unwrap()
        };
        let (mut first, mut second) = (document(&view), document(&again(&view).unwrap()));
        // Which kind of weakness it was is not needed to say it again.
        for document in [&mut first, &mut second] {
            document["weaknesses"].as_array_mut().unwrap().iter_mut().for_each(|w| w["kind"] = "".into());
        }
        assert!(first == second, "the documents differ: {first:#}\n{second:#}");
    }
}

#[test]
fn a_document_of_another_kind_or_version_is_not_guessed_at() {
    let mut document = Vec::new();
    json::check(&samples::blocked(), &mut document).unwrap();
    let document = String::from_utf8(document).unwrap();
    for (from, to) in [
        ("anyorder/check/1", "anyorder/check/2"),
        ("\"finding\":\"", "\"finding\":\"un"),
        ("\"vector\":\"", "\"vector\":\"?"),
        ("\"executor\":\"", "\"executor\":\"un"),
        ("\"wall_s\":", "\"wall_s\":-"),
    ] {
        assert!(document.contains(from), "{from}");
        assert!(json::stored_check(&document.replacen(from, to, 1)).is_none(), "{to}");
    }
    for text in ["", "{}", "null", "[1]", &document[..document.len() / 2]] {
        assert_eq!(json::stored_check(text), None, "{text}");
    }
}

#[test]
fn keys_of_a_later_version_are_passed_over() {
    let mut document = Vec::new();
    json::check(&samples::blocked(), &mut document).unwrap();
    let document = String::from_utf8(document).unwrap();
    let later = document.replace("\"complete\":", "\"news\":{\"a\":[1]},\"complete\":");
    assert_eq!(json::stored_check(&later), json::stored_check(&document));
}
