//! The report of a check: one base, one patch or several.

use std::collections::BTreeMap;
use std::io;

use super::block::Block;
use super::footer::{self, LABEL, Method};
use super::sheet::{Sheet, Tone, pad, tie};
use crate::escape;
use crate::view::{Action, CandidateView, Cause, CheckView, FindingView, TreeDescription, Verdict};
use crate::wording;

/// Causes shown in full.
const CAUSES: usize = 20;

pub(super) fn write(view: &CheckView, sheet: &mut Sheet<'_>) -> io::Result<()> {
    if view.candidates.len() > 1 {
        ranking(view, sheet)?;
    }
    for (at, candidate) in view.candidates.iter().enumerate() {
        if at > 0 || view.candidates.len() > 1 {
            sheet.gap()?;
        }
        judged(view, candidate, sheet)?;
    }
    if view.candidates.is_empty() {
        sheet.headline(Tone::Warn, "there was no patch to judge")?;
    }
    sheet.gap()?;
    if let Some(bound) = &view.base.bound {
        footer::bound(sheet, "bound, base", bound)?;
    }
    footer::weaknesses(sheet, &view.weaknesses)?;
    footer::drift(sheet, &view.environment_drift)?;
    Method {
        environment: &view.environment,
        executor: &view.executor,
        sandbox: &view.sandbox,
        switched_off: &view.switched_off,
        constraints: view.constraints,
        resumed: view.resumed,
        cost: &view.cost,
    }
    .write(sheet)
}

pub(super) fn verdict_tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Accept => Tone::Good,
        Verdict::Review => Tone::Warn,
        Verdict::Block => Tone::Bad,
    }
}

fn action_tone(action: Action) -> Tone {
    match action {
        Action::Block => Tone::Bad,
        Action::Review | Action::Quarantine | Action::Freeze => Tone::Warn,
        Action::Report => Tone::Dim,
        Action::Credit => Tone::Good,
    }
}

/// One line a candidate, the best first.
fn ranking(view: &CheckView, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let title =
        format!("{} judged against one base, the best first", wording::count(view.candidates.len(), "patch"));
    sheet.plain(Tone::Strong, title.replace("patchs", "patches"))?;
    let name = |c: &CandidateView| escape::id(&c.patched.name);
    let width = view.candidates.iter().map(|c| unicode_width::UnicodeWidthStr::width(name(c).as_str())).max();
    for (at, candidate) in view.candidates.iter().enumerate() {
        let number = |action| candidate.findings.iter().filter(|f| f.action == action).count();
        let repaired = candidate.evidence.iter().filter(|e| e.repaired).count();
        let remark = format!(
            "  {} block, {} to review, {} repaired, {} evidence",
            number(Action::Block),
            number(Action::Review),
            repaired,
            wording::thousands(candidate.evidence.len() as u64)
        );
        sheet.line(&[
            (Tone::Plain, format!("  {}. {}  ", at + 1, pad(&name(candidate), width.unwrap_or(0)))),
            (verdict_tone(candidate.verdict), pad(candidate.verdict.word(), 6)),
            (Tone::Plain, remark),
        ])?;
    }
    Ok(())
}

fn judged(view: &CheckView, candidate: &CandidateView, sheet: &mut Sheet<'_>) -> io::Result<()> {
    sheet.headline(verdict_tone(candidate.verdict), &tie(&headline(candidate)))?;
    let mut parts = vec![escape::text(&view.project.name).into_owned()];
    parts.push(format!("{} against {}", tree(&candidate.patched), tree(&view.base)));
    parts.push(wording::duration(view.cost.wall));
    if let Some(check) = &view.check {
        parts.push(format!("check {}", escape::text(check)));
    }
    parts.retain(|p| !p.is_empty());
    let text = parts.join(sheet.dot());
    sheet.paragraph(2, Tone::Dim, &tie(&text))?;
    footer::endings(sheet, &candidate.patched.orders)?;
    if let Some(incomplete) = &candidate.incomplete {
        footer::incomplete(sheet, incomplete, "check", &view.invocation)?;
    }
    for cause in candidate.causes.iter().take(CAUSES) {
        block(view, candidate, cause, sheet)?;
    }
    if candidate.causes.len() > CAUSES {
        sheet.gap()?;
        let more = wording::count(candidate.causes.len() - CAUSES, "more cause");
        sheet.plain(Tone::Dim, format!("and {more}: `--format json` has them all"))?;
    }
    sheet.gap()?;
    evidence(candidate, sheet)?;
    if let Some(bound) = &candidate.patched.bound {
        footer::bound(sheet, "bound", bound)?;
    }
    footer::coverage(sheet, &candidate.patched.coverage)
}

/// `main (3f2a1c9), 909 tests in 23 orders`.
fn tree(tree: &TreeDescription) -> String {
    let revision = tree.revision.as_deref().map(|r| format!(" ({})", escape::text(r))).unwrap_or_default();
    let cached = if tree.cached { ", measured before" } else { "" };
    format!(
        "{}{revision}, {} in {}{cached}",
        escape::id(&tree.name),
        wording::count(tree.tests, "test"),
        wording::count(tree.orders.len(), "order")
    )
}

fn headline(candidate: &CandidateView) -> String {
    let number = |action| {
        let mut causes: Vec<u32> =
            candidate.findings.iter().filter(|f| f.action == action).map(|f| f.cause).collect();
        let tests = causes.len();
        causes.sort_unstable();
        causes.dedup();
        (tests, causes.len())
    };
    let through = |(tests, causes): (usize, usize)| match (tests, causes) {
        (0, _) => String::new(),
        (1, _) => "1 test".to_owned(),
        (tests, 1) => format!("{} with one cause", wording::count(tests, "test")),
        (tests, causes) => format!("{} with {causes} causes", wording::count(tests, "test")),
    };
    let (blocking, review) = (number(Action::Block), number(Action::Review));
    let name = escape::id(&candidate.patched.name);
    let incomplete = match &candidate.incomplete {
        Some(incomplete) => format!("; incomplete: {}", escape::text(&incomplete.why)),
        None => String::new(),
    };
    let reason = match candidate.verdict {
        Verdict::Block if blocking.0 > 0 => format!("{} against it", through(blocking)),
        Verdict::Review if review.0 > 0 => format!("{} to look at", through(review)),
        Verdict::Accept => {
            let repaired = candidate.evidence.iter().filter(|e| e.repaired).count();
            let credit = if repaired > 0 {
                format!(", {} of them repaired by it", wording::thousands(repaired as u64))
            } else {
                String::new()
            };
            format!("{} speak for it{credit}", wording::count(candidate.evidence.len(), "test"))
                .replace("1 test speak ", "1 test speaks ")
        }
        _ => "not decided by a single test".to_owned(),
    };
    format!("{}: {name}: {reason}{incomplete}", candidate.verdict.word())
}

fn block(
    view: &CheckView,
    candidate: &CandidateView,
    cause: &Cause,
    sheet: &mut Sheet<'_>,
) -> io::Result<()> {
    let members: Vec<&FindingView> =
        cause.members.iter().filter_map(|&at| candidate.findings.get(at)).collect();
    let Some(first) = members.first() else { return Ok(()) };
    let mut rows = Vec::new();
    if let Some(side) = &first.base {
        rows.push(("base", view.base.orders.as_slice(), &side.vector));
    }
    if let Some(side) = &first.patched {
        rows.push(("patched", candidate.patched.orders.as_slice(), &side.vector));
    }
    let consequence = match first.action {
        Action::Block => "blocks",
        Action::Review => "review",
        Action::Freeze => "not the patch's fault, kept out of the evidence",
        Action::Quarantine => "kept out of the evidence",
        Action::Report => "for information",
        Action::Credit => "speaks for the patch",
    };
    let remark = format!("{}{}{consequence}", wording::count(members.len(), "test"), sheet.dot());
    let says = format!("{}.", wording::finding(first.finding));
    let mut notes: Vec<&str> = vec![&says];
    notes.extend(first.note.as_deref());
    notes.extend(cause.because.as_deref());
    Block {
        tone: action_tone(first.action),
        title: first.finding.word().to_owned(),
        remark,
        ids: members.iter().map(|f| &f.id).collect(),
        rows,
        witness: &first.witness,
        notes,
        failure: first.failure.and_then(|at| candidate.failures.get(at)),
        invocation: &view.invocation,
    }
    .write(sheet)
}

/// How many tests may be cited, and why the others may not.
fn evidence(candidate: &CandidateView, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let total = candidate.evidence.len() + candidate.not_evidence.len();
    let repaired = candidate.evidence.iter().filter(|e| e.repaired).count();
    let mut text = format!(
        "{} of {} may be cited for the patch",
        wording::thousands(candidate.evidence.len() as u64),
        wording::count(total, "test")
    );
    if repaired > 0 {
        text = format!("{text}, {} of them failed before it", wording::thousands(repaired as u64));
    }
    sheet.entry(0, "evidence", LABEL, &text)?;
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for item in &candidate.not_evidence {
        *reasons.entry(&item.why).or_default() += 1;
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|&(why, number)| (std::cmp::Reverse(number), why));
    for (at, (why, number)) in reasons.into_iter().enumerate() {
        let label = if at == 0 { "not" } else { "" };
        sheet.entry(
            0,
            label,
            LABEL,
            &format!("{}: {}", wording::thousands(number as u64), escape::text(why)),
        )?;
    }
    Ok(())
}
