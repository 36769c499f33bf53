//! The witness as a sentence.

use anyorder_core::model::{OrderLabel, Tree};

use crate::escape;
use crate::view::{Seen, Witness};
use crate::wording;

/// `fails in seed:3 (4 of 4 runs) and seed:7, passes in default and alone`; empty without a witness.
pub(super) fn sentence(witness: &Witness) -> String {
    let is_fresh = |seen: &Seen| seen.fresh as usize >= seen.runs();
    let all_fresh = witness.seen.iter().all(is_fresh);
    let mut clauses: Vec<(String, Vec<String>)> = Vec::new();
    for seen in witness.seen.iter().filter(|s| s.runs() > 0) {
        let (head, place) = clause(seen, !all_fresh);
        match clauses.last_mut() {
            Some((last, places)) if *last == head => places.push(place),
            _ => clauses.push((head, vec![place])),
        }
    }
    let parts: Vec<String> =
        clauses.into_iter().map(|(head, places)| format!("{head} {}", wording::listed(&places))).collect();
    let text = parts.join(", ");
    // One remark at the end instead of one in every place.
    let fresh = " in fresh interpreters";
    if !text.is_empty() && all_fresh { format!("{text};{fresh}") } else { text }
}

/// Verb (with the tree), and place (with the count).
fn clause(seen: &Seen, tell_fresh: bool) -> (String, String) {
    let place = match &seen.order {
        OrderLabel::Alone => "alone".to_owned(),
        OrderLabel::List(_) if seen.tests.len() == 2 => {
            format!("behind {}", escape::id(&seen.tests[0].to_string()))
        }
        OrderLabel::List(_) if !seen.tests.is_empty() => {
            format!("behind {} others", seen.tests.len() - 1)
        }
        OrderLabel::List(name) => format!("in list:{}", escape::id(name)),
        other => format!("in {other}"),
    };
    let place = if seen.common_only { format!("{place} without new tests") } else { place };
    let runs = seen.runs();
    let tree = match &seen.tree {
        None => String::new(),
        Some(Tree::Base) => " on base".to_owned(),
        Some(Tree::Patched(_)) => " on patched".to_owned(),
    };
    let passed = seen.passed();
    let fresh = if tell_fresh { seen.fresh as usize } else { 0 };
    match seen.not_passed() {
        None => (format!("passes{tree}"), counted(place, runs, runs, fresh)),
        Some(bad) if passed == 0 => {
            (format!("{}{tree}", wording::verb(bad)), counted(place, runs, runs, fresh))
        }
        Some(bad) => (format!("{}{tree}", wording::verb(bad)), counted(place, runs - passed, runs, fresh)),
    }
}

/// `in seed:3 (3 of 4 runs, 3 of them fresh)`.
fn counted(place: String, times: usize, runs: usize, fresh: usize) -> String {
    match (runs, fresh) {
        (1, _) => place,
        (_, 0) => format!("{place} ({times} of {runs} runs)"),
        (_, fresh) if fresh == runs => format!("{place} ({times} of {runs} runs, all fresh)"),
        (_, fresh) => format!("{place} ({times} of {runs} runs, {fresh} of them fresh)"),
    }
}
