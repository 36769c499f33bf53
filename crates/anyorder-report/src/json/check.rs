//! `anyorder/check/1`.

use serde::Serialize;

use super::ledger::Listed;
use super::parts::{
    Bound, Cost, Coverage, Environment, Failure, Id, Incomplete, Label, OrderDetail, Project, Sandbox,
    SwitchedOff, Weakness, Witness, failures, labels, order_details, switched_off, weaknesses,
};
use crate::view::{CandidateView, CheckView, FindingView, SideView, TreeDescription};

#[derive(Serialize)]
pub(super) struct Document<'a> {
    schema: &'static str,
    complete: bool,
    exit_code: u8,
    project: Project<'a>,
    check: Option<&'a str>,
    base: TreeDetail<'a>,
    #[serde(flatten)]
    first: Option<Candidate<'a>>,
    ranking: Vec<Rank<'a>>,
    others: Vec<Candidate<'a>>,
    weaknesses: Vec<Weakness>,
    switched_off: Vec<SwitchedOff<'a>>,
    constraints_kept: usize,
    executor: &'static str,
    executor_why: Option<&'a str>,
    sandbox: Sandbox<'a>,
    environment: Environment<'a>,
    environment_drift: &'a [String],
    resumed: usize,
    cost: Cost,
}

#[derive(Serialize)]
struct Candidate<'a> {
    #[serde(rename = "candidate")]
    name: &'a str,
    verdict: &'static str,
    incomplete: Option<Incomplete<'a>>,
    patched: TreeDetail<'a>,
    findings: Vec<Finding<'a>>,
    causes: Vec<Cause<'a>>,
    failures: Vec<Failure<'a>>,
    evidence: Vec<Id<'a>>,
    repaired: Vec<Id<'a>>,
    not_evidence: Vec<NotEvidence<'a>>,
    star: Star<'a>,
    bound: Option<Bound>,
    coverage: Coverage,
    #[serde(rename = "candidate_cost")]
    cost: Cost,
}

#[derive(Serialize)]
struct Star<'a> {
    covered: Vec<Id<'a>>,
    left_out: Vec<Id<'a>>,
}

#[derive(Serialize)]
struct Rank<'a> {
    #[serde(rename = "candidate")]
    name: &'a str,
    verdict: &'static str,
    findings: usize,
    evidence: usize,
    repaired: usize,
}

#[derive(Serialize)]
struct TreeDetail<'a> {
    name: &'a str,
    revision: Option<&'a str>,
    tests: usize,
    cached: bool,
    orders: Vec<Label<'a>>,
    order_details: Vec<OrderDetail<'a>>,
    bound: Option<Bound>,
    coverage: Coverage,
}

#[derive(Serialize)]
struct Finding<'a> {
    id: Id<'a>,
    #[serde(rename = "finding")]
    what: &'static str,
    action: &'static str,
    base: Option<Side>,
    patched: Option<Side>,
    witness: Witness<'a>,
    cause: u32,
    failure: Option<usize>,
    notes: &'a [String],
    ledger: Option<Listed<'a>>,
}

#[derive(Serialize)]
struct Side {
    class: &'static str,
    vector: String,
}

#[derive(Serialize)]
struct Cause<'a> {
    number: u32,
    tests: Vec<Id<'a>>,
    because: Option<&'a str>,
    next: Vec<String>,
}

#[derive(Serialize)]
struct NotEvidence<'a> {
    id: Id<'a>,
    why: &'a str,
}

impl<'a> Document<'a> {
    pub(super) fn of(view: &'a CheckView) -> Self {
        let mut candidates = view.candidates.iter().map(|c| candidate(view, c));
        let first = candidates.next();
        Self {
            schema: "anyorder/check/1",
            complete: view.candidates.iter().all(|c| c.incomplete.is_none()),
            exit_code: view.exit_code,
            project: Project::of(&view.project),
            check: view.check.as_deref(),
            base: tree(&view.base),
            first,
            ranking: view.candidates.iter().map(rank).collect(),
            others: candidates.collect(),
            weaknesses: weaknesses(&view.weaknesses),
            switched_off: switched_off(&view.switched_off),
            constraints_kept: view.constraints,
            executor: view.executor.executor.word(),
            executor_why: view.executor.why.as_deref(),
            sandbox: Sandbox::of(&view.sandbox),
            environment: Environment::of(&view.environment),
            environment_drift: &view.environment_drift,
            resumed: view.resumed,
            cost: Cost::of(&view.cost),
        }
    }
}

fn tree(view: &TreeDescription) -> TreeDetail<'_> {
    TreeDetail {
        name: &view.name,
        revision: view.revision.as_deref(),
        tests: view.tests,
        cached: view.cached,
        orders: labels(&view.orders),
        order_details: order_details(&view.orders),
        bound: view.bound.as_ref().map(Bound::of),
        coverage: Coverage::of(&view.coverage),
    }
}

fn rank(view: &CandidateView) -> Rank<'_> {
    Rank {
        name: &view.patched.name,
        verdict: view.verdict.word(),
        findings: view.findings.len(),
        evidence: view.evidence.len(),
        repaired: view.evidence.iter().filter(|e| e.repaired).count(),
    }
}

fn candidate<'a>(check: &'a CheckView, view: &'a CandidateView) -> Candidate<'a> {
    Candidate {
        name: &view.patched.name,
        verdict: view.verdict.word(),
        incomplete: view.incomplete.as_ref().map(Incomplete::of),
        patched: tree(&view.patched),
        findings: view.findings.iter().map(|f| finding(f, view.failures.len())).collect(),
        causes: view.causes.iter().map(|c| cause(check, view, c)).collect(),
        failures: failures(&view.failures),
        evidence: view.evidence.iter().map(|e| Id(&e.id)).collect(),
        repaired: view.evidence.iter().filter(|e| e.repaired).map(|e| Id(&e.id)).collect(),
        not_evidence: view.not_evidence.iter().map(|n| NotEvidence { id: Id(&n.id), why: &n.why }).collect(),
        star: Star {
            covered: view.starred.iter().map(Id).collect(),
            left_out: view.not_starred.iter().map(Id).collect(),
        },
        bound: view.patched.bound.as_ref().map(Bound::of),
        coverage: Coverage::of(&view.patched.coverage),
        cost: Cost::of(&view.cost),
    }
}

fn finding(view: &FindingView, failures: usize) -> Finding<'_> {
    let side = |side: &SideView| Side { class: side.class.word(), vector: side.vector.to_string() };
    Finding {
        id: Id(&view.id),
        what: view.finding.word(),
        action: view.action.word(),
        base: view.base.as_ref().map(side),
        patched: view.patched.as_ref().map(side),
        witness: Witness::of(&view.witness),
        cause: view.cause,
        failure: view.failure.filter(|&at| at < failures),
        notes: &view.notes,
        ledger: view.listed.as_ref().map(Listed::of),
    }
}

fn cause<'a>(check: &CheckView, view: &'a CandidateView, cause: &'a crate::view::Cause) -> Cause<'a> {
    let members: Vec<&FindingView> = cause.members.iter().filter_map(|&at| view.findings.get(at)).collect();
    Cause {
        number: cause.number,
        tests: members.iter().map(|f| Id(&f.id)).collect(),
        because: cause.because.as_deref(),
        next: members.first().map_or_else(Vec::new, |f| check.next(f)),
    }
}
