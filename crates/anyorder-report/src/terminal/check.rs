//! The report of a check: one base, one patch or several.

use std::collections::BTreeMap;
use std::io;

use super::block::Block;
use super::footer::{self, LABEL, Method};
use super::ledger::listed;
use super::sheet::{Sheet, Tone, pad, tie};
use super::witness;
use crate::escape;
use crate::view::{
    Action, CandidateView, Cause, CheckView, Finding, FindingView, SideView, TreeDescription, VerdictOutcome,
};
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
    if view.candidates.len() != 1 {
        sheet.gap()?;
        if let Some(bound) = &view.base.bound {
            footer::bound(sheet, "bound, base", bound)?;
        }
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

pub(super) fn verdict_tone(verdict: VerdictOutcome) -> Tone {
    match verdict {
        VerdictOutcome::Accept => Tone::Good,
        VerdictOutcome::Review => Tone::Warn,
        VerdictOutcome::Block => Tone::Bad,
    }
}

fn action_tone(action: Action) -> Tone {
    match action {
        Action::Block => Tone::Bad,
        Action::Review | Action::Quarantine | Action::Freeze => Tone::Warn,
        Action::Ignore => Tone::Dim,
        Action::Credit | Action::Evidence => Tone::Good,
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
            "  {} blocking, {} to review, {} repaired, {} as evidence",
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
    let cost = if view.candidates.len() > 1 { &candidate.cost } else { &view.cost };
    parts.push(wording::duration(cost.wall));
    if let Some(check) = &view.check {
        parts.push(format!("check {}", escape::text(check)));
    }
    parts.retain(|p| !p.is_empty());
    let text = parts.join(sheet.dot());
    sheet.paragraph(2, Tone::Dim, &tie(&text))?;
    footer::endings(sheet, &candidate.patched.orders)?;
    if let Some(incomplete) = &candidate.incomplete {
        footer::incomplete(sheet, incomplete, &["check"], &view.invocation)?;
    }
    causes(view, candidate, sheet)?;
    sheet.gap()?;
    evidence(candidate, sheet)?;
    if let Some(bound) = &candidate.patched.bound {
        let same = view.base.bound.as_ref() == Some(bound) && view.candidates.len() == 1;
        footer::bound(sheet, if same { "bound, both" } else { "bound, patch" }, bound)?;
    }
    if let (Some(bound), 1) = (&view.base.bound, view.candidates.len())
        && candidate.patched.bound.as_ref() != Some(bound)
    {
        footer::bound(sheet, "bound, base", bound)?;
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
    let of_action = |action: Action| {
        let mut kinds: Vec<Finding> = Vec::new();
        for finding in candidate.findings.iter().filter(|f| f.action == action) {
            if !kinds.contains(&finding.finding) {
                kinds.push(finding.finding);
            }
        }
        let clauses: Vec<String> = kinds
            .into_iter()
            .map(|kind| {
                let has_it = |f: &&FindingView| f.finding == kind && f.action == action;
                wording::finding_count(kind, candidate.findings.iter().filter(has_it).count())
            })
            .collect();
        clauses.join(", ")
    };
    let reason = match candidate.verdict {
        VerdictOutcome::Block => of_action(Action::Block),
        VerdictOutcome::Review => match of_action(Action::Review) {
            nothing if nothing.is_empty() => {
                "nothing speaks against the patch, but no test may be cited for it".to_owned()
            }
            findings => findings,
        },
        VerdictOutcome::Accept => match of_action(Action::Credit) {
            credit if credit.is_empty() => "no test got worse".to_owned(),
            credit => format!("no test got worse, {credit}"),
        },
    };
    let mut text = format!("{}: {}", candidate.verdict.word(), escape::id(&candidate.patched.name));
    if !reason.is_empty() {
        text = format!("{text}: {reason}");
    }
    match &candidate.incomplete {
        Some(incomplete) => format!("{text}; incomplete: {}", escape::text(&incomplete.why)),
        None => text,
    }
}

/// Whether a finding is told in full: what a reader must act on.
fn in_full(finding: &FindingView) -> bool {
    matches!(finding.action, Action::Block | Action::Review)
}

fn members<'a>(candidate: &'a CandidateView, cause: &Cause) -> Vec<&'a FindingView> {
    cause.members.iter().filter_map(|&at| candidate.findings.get(at)).collect()
}

fn causes(view: &CheckView, candidate: &CandidateView, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let told = |full: bool| {
        let all = candidate.causes.iter().map(|cause| (cause, members(candidate, cause)));
        all.filter(move |(_, members)| members.first().is_some_and(|f| in_full(f) == full))
    };
    for (cause, members) in told(true).take(CAUSES) {
        block(view, candidate, cause, &members, sheet)?;
    }
    let hidden = told(true).count().saturating_sub(CAUSES);
    if hidden > 0 {
        sheet.gap()?;
        let more = wording::count(hidden, "more cause");
        sheet.plain(Tone::Dim, format!("and {more}: `--format json` has them all"))?;
    }
    let others: Vec<_> = told(false).collect();
    if others.is_empty() {
        return Ok(());
    }
    sheet.gap()?;
    sheet.plain(Tone::Strong, "also seen")?;
    for (_, members) in others.iter().take(CAUSES) {
        short(members, sheet)?;
    }
    if others.len() > CAUSES {
        let more = wording::count(others.len() - CAUSES, "more cause");
        sheet.plain(Tone::Dim, format!("  and {more}: `--format json` has them all"))?;
    }
    Ok(())
}

/// A cause that asks for nothing: what, which tests, and why we believe it.
fn short(members: &[&FindingView], sheet: &mut Sheet<'_>) -> io::Result<()> {
    let Some(first) = members.first() else { return Ok(()) };
    let more = match members.len() - 1 {
        0 => String::new(),
        others => format!(" and {} more", wording::thousands(others as u64)),
    };
    let consequence = consequence(first.action);
    sheet.line(&[
        (action_tone(first.action), format!("  {}", first.finding.word())),
        (Tone::Plain, format!("  {}{more}", escape::id(&first.id.to_string()))),
    ])?;
    let why = witness::sentence(&first.witness);
    let text = if why.is_empty() { wording::finding(first.finding).to_owned() } else { why };
    let text = if consequence.is_empty() { text } else { format!("{text}; {consequence}") };
    sheet.paragraph(4, Tone::Dim, &tie(&text))?;
    for text in listed(members.iter().map(|f| f.listed.as_ref())) {
        sheet.paragraph(4, Tone::Dim, &tie(&escape::text(&text)))?;
    }
    Ok(())
}

fn consequence(action: Action) -> &'static str {
    match action {
        Action::Block => "blocks",
        Action::Review => "review",
        Action::Freeze => "not the patch's fault, kept out of the evidence",
        Action::Quarantine => "kept out of the evidence",
        Action::Ignore | Action::Credit | Action::Evidence => "",
    }
}

fn block(
    view: &CheckView,
    candidate: &CandidateView,
    cause: &Cause,
    members: &[&FindingView],
    sheet: &mut Sheet<'_>,
) -> io::Result<()> {
    let Some(first) = members.first() else { return Ok(()) };
    let mut rows = Vec::new();
    let sides = [
        ("base", view.base.orders.as_slice(), &first.base),
        ("patched", candidate.patched.orders.as_slice(), &first.patched),
    ];
    // Two rows of one letter each would say what the title says.
    let varies = |side: &SideView| side.vector.0.windows(2).any(|pair| pair[0] != pair[1]);
    if sides.iter().any(|(.., side)| side.as_ref().is_some_and(varies)) {
        rows.extend(
            sides.iter().filter_map(|&(name, orders, side)| Some((name, orders, &side.as_ref()?.vector))),
        );
    }
    let remark = format!("{}: {}", wording::count(members.len(), "test"), wording::finding(first.finding));
    let listed = listed(members.iter().map(|f| f.listed.as_ref()));
    let listed = listed.iter().map(String::as_str);
    Block {
        tone: action_tone(first.action),
        title: format!("{} ({})", first.finding.word(), consequence(first.action)),
        remark,
        ids: members.iter().map(|f| &f.id).collect(),
        rows,
        witness: &first.witness,
        notes: first.notes.iter().map(String::as_str).chain(cause.because.as_deref()).chain(listed).collect(),
        failure: first.failure.and_then(|at| candidate.failures.get(at)),
        next: view.next(first),
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
    star(candidate, sheet)
}

/// Around which tests the star was made.
fn star(candidate: &CandidateView, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let (covered, left_out) = (candidate.starred.len(), candidate.not_starred.len());
    if covered + left_out == 0 {
        return Ok(());
    }
    let mut text = match covered {
        0 => String::new(),
        1 => "1 new or changed test was also run before and behind each other test".to_owned(),
        n => format!(
            "{} new or changed tests were also run before and behind each other test",
            wording::thousands(n as u64)
        ),
    };
    if left_out > 0 {
        let others = if covered > 0 { "; " } else { "" };
        let what = wording::count(left_out, if covered > 0 { "other" } else { "new or changed test" });
        let were = if left_out == 1 { "was" } else { "were" };
        text = format!("{text}{others}{what} {were} not (cost, declared order, or --no-star)");
    }
    sheet.entry(0, "star", LABEL, &text)
}
