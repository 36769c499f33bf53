//! A stored `anyorder/check/1` as a view again, so that its report can be shown once more.
//!
//! Keys that are not known are passed over, as anyone who reads our documents is told to do. What a document does not
//! hold, such as how the command was called, is not in the view either; commands to type are taken as they stand.

use std::time::Duration;

use anyorder_core::model::{Excerpt, Executor, OrderLabel, OutcomeVector, Phase, TestId, Tree};
use anyorder_core::stats;
use anyorder_core::verdict::{Action, Class, Finding, VerdictOutcome};
use serde::Deserialize;

use crate::view::{self, CandidateView, CheckView, FindingView, TreeDescription};

/// The view that a document was written from; `None` where it is no document of this kind and version.
pub(super) fn check(document: &str) -> Option<CheckView> {
    let document: Document = serde_json::from_str(document).ok()?;
    (document.schema == "anyorder/check/1").then_some(())?;
    document.view()
}

#[derive(Deserialize)]
struct Document {
    schema: String,
    exit_code: u8,
    project: Project,
    check: Option<String>,
    base: TreeDetail,
    #[serde(flatten)]
    first: Option<Candidate>,
    #[serde(default)]
    others: Vec<Candidate>,
    #[serde(default)]
    weaknesses: Vec<Weakness>,
    #[serde(default)]
    switched_off: Vec<SwitchedOff>,
    #[serde(default)]
    constraints_kept: usize,
    executor: String,
    executor_why: Option<String>,
    sandbox: Sandbox,
    environment: Environment,
    #[serde(default)]
    environment_drift: Vec<String>,
    #[serde(default)]
    resumed: usize,
    cost: Cost,
}

#[derive(Deserialize)]
struct Project {
    name: String,
    root: String,
}

#[derive(Deserialize)]
struct Sandbox {
    mode: String,
    why: Option<String>,
}

#[derive(Deserialize)]
struct Environment {
    interpreter: String,
    python: String,
    implementation: String,
    platform: String,
    pytest: String,
    plugins: Vec<Plugin>,
    fingerprint: String,
}

#[derive(Deserialize)]
struct Plugin {
    name: String,
    version: String,
}

#[derive(Deserialize)]
struct Weakness {
    text: String,
}

#[derive(Deserialize)]
struct SwitchedOff {
    what: String,
    how: String,
    whence: String,
}

#[derive(Deserialize)]
struct Cost {
    wall_s: f64,
    runs: u32,
    replays: u32,
    suite_equivalents: Option<f64>,
}

#[derive(Deserialize)]
struct TreeDetail {
    name: String,
    revision: Option<String>,
    tests: usize,
    cached: bool,
    order_details: Vec<OrderDetail>,
    bound: Option<Bound>,
    coverage: Coverage,
}

#[derive(Deserialize)]
struct OrderDetail {
    order: String,
    run: Option<String>,
    ending: String,
    culprit: Option<String>,
    how: Option<String>,
    position: Option<usize>,
    duration_s: Option<f64>,
    fixture_setups: Option<u32>,
    reused: bool,
}

#[derive(Deserialize)]
struct Bound {
    independent_seeds: u32,
    failing: u32,
}

#[derive(Deserialize)]
struct Coverage {
    ordered_pairs: Option<f64>,
    adjacent_pairs: Option<f64>,
    sampled: bool,
}

#[derive(Deserialize)]
struct Candidate {
    verdict: String,
    incomplete: Option<Incomplete>,
    patched: TreeDetail,
    findings: Vec<Found>,
    causes: Vec<Cause>,
    failures: Vec<Failure>,
    evidence: Vec<String>,
    repaired: Vec<String>,
    not_evidence: Vec<NotEvidence>,
    #[serde(rename = "candidate_cost")]
    cost: Cost,
}

#[derive(Deserialize)]
struct Incomplete {
    why: String,
    missing: u32,
    resumable: bool,
}

#[derive(Deserialize)]
struct Found {
    id: String,
    #[serde(rename = "finding")]
    what: String,
    action: String,
    base: Option<Side>,
    patched: Option<Side>,
    witness: Witness,
    cause: u32,
    failure: Option<usize>,
    notes: Vec<String>,
    ledger: Option<Listed>,
}

#[derive(Deserialize)]
struct Side {
    class: String,
    vector: String,
}

#[derive(Deserialize)]
struct Witness {
    seen: Vec<Seen>,
    #[serde(default)]
    minimal_order: Vec<String>,
}

#[derive(Deserialize)]
struct Seen {
    order: String,
    tree: Option<String>,
    outcomes: String,
    fresh: u32,
    common_only: bool,
    run: Option<String>,
}

#[derive(Deserialize)]
struct Listed {
    kind: String,
    covered: bool,
    until: Option<String>,
    issue: String,
    text: String,
}

#[derive(Deserialize)]
struct Cause {
    number: u32,
    because: Option<String>,
    #[serde(default)]
    next: Vec<String>,
}

#[derive(Deserialize)]
struct Failure {
    phase: Option<String>,
    signature: String,
    excerpt: Text,
}

#[derive(Deserialize)]
struct Text {
    head: String,
    tail: String,
    total_bytes: u64,
}

#[derive(Deserialize)]
struct NotEvidence {
    id: String,
    why: String,
}

impl Document {
    fn view(self) -> Option<CheckView> {
        let executor = [Executor::Fresh, Executor::Fork].into_iter().find(|e| e.word() == self.executor)?;
        let candidates = self.first.into_iter().chain(self.others).map(Candidate::view);
        let environment = self.environment;
        Some(CheckView {
            project: view::Project { name: self.project.name, root: self.project.root },
            environment: view::Environment {
                interpreter: environment.interpreter,
                python: environment.python,
                implementation: environment.implementation,
                platform: environment.platform,
                pytest: environment.pytest,
                plugins: environment.plugins.into_iter().map(|p| (p.name, p.version)).collect(),
                fingerprint: environment.fingerprint,
            },
            environment_drift: self.environment_drift,
            executor: view::ExecutorView { executor, why: self.executor_why },
            sandbox: view::SandboxView { mode: self.sandbox.mode, why: self.sandbox.why },
            switched_off: self
                .switched_off
                .into_iter()
                .map(|o| view::SwitchedOff { what: o.what, how: o.how, whence: o.whence })
                .collect(),
            constraints: self.constraints_kept,
            base: self.base.view()?,
            candidates: candidates.collect::<Option<_>>()?,
            weaknesses: self.weaknesses.into_iter().map(|w| view::Weakness::Other(w.text)).collect(),
            resumed: self.resumed,
            check: self.check,
            cost: self.cost.view()?,
            exit_code: self.exit_code,
            invocation: view::Invocation::default(),
        })
    }
}

impl Cost {
    fn view(&self) -> Option<view::Cost> {
        Some(view::Cost {
            wall: time(self.wall_s)?,
            runs: self.runs,
            replays: self.replays,
            suite_equivalents: self.suite_equivalents,
        })
    }
}

fn time(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

/// An id as it stands in documents. The second test with an id carries ` (#2)`.
fn id(text: &str) -> TestId {
    let repeated = text.strip_suffix(')').and_then(|t| t.rsplit_once(" (#"));
    match repeated.and_then(|(raw, n)| Some((raw, n.parse::<u32>().ok()?))) {
        Some((raw, n)) if n > 1 => TestId::repeated(raw, n),
        _ => TestId::new(text),
    }
}

fn label(text: &str) -> Option<OrderLabel> {
    text.parse().ok()
}

impl TreeDetail {
    fn view(self) -> Option<TreeDescription> {
        let alone = |o: &OrderDetail| o.order == OrderLabel::Alone.to_string() && o.ending != "not_run";
        let isolated = self.order_details.iter().any(alone);
        let bound = self
            .bound
            .map(|b| view::Bound::of(&stats::Bound::new(b.independent_seeds, b.failing, isolated), isolated));
        Some(TreeDescription {
            name: self.name,
            revision: self.revision,
            tests: self.tests,
            orders: self.order_details.into_iter().map(OrderDetail::view).collect::<Option<_>>()?,
            bound,
            coverage: view::Coverage {
                ordered_pairs: self.coverage.ordered_pairs.unwrap_or(f64::NAN),
                adjacent_pairs: self.coverage.adjacent_pairs.unwrap_or(f64::NAN),
                sampled: self.coverage.sampled,
            },
            cached: self.cached,
        })
    }
}

impl OrderDetail {
    fn view(self) -> Option<view::OrderView> {
        let culprit = self.culprit.as_deref().map(id);
        Some(view::OrderView {
            label: label(&self.order)?,
            duration: match self.duration_s {
                Some(seconds) => Some(time(seconds)?),
                None => None,
            },
            fixture_setups: self.fixture_setups,
            ending: match self.ending.as_str() {
                "completed" => view::EndingView::Completed,
                "crashed" => view::EndingView::Crashed { culprit, how: self.how? },
                "timed_out" => view::EndingView::TimedOut { culprit },
                "out_of_order" => view::EndingView::OutOfOrder { position: self.position? },
                "interrupted" => view::EndingView::Interrupted,
                "not_run" => view::EndingView::NotRun,
                _ => return None,
            },
            run: self.run,
            reused: self.reused,
        })
    }
}

impl Candidate {
    fn view(self) -> Option<CandidateView> {
        let outcomes = [VerdictOutcome::Accept, VerdictOutcome::Review, VerdictOutcome::Block];
        let causes = self.causes;
        let next = |cause: u32| causes.iter().find(|c| c.number == cause).map(|c| c.next.clone());
        let findings: Vec<FindingView> = self
            .findings
            .into_iter()
            .map(|found| {
                let next = next(found.cause);
                found.view(next)
            })
            .collect::<Option<_>>()?;
        let failure = |f: Failure| view::FailureView {
            phase: f.phase.as_deref().and_then(Phase::from_word),
            signature: f.signature,
            text: Excerpt { head: f.excerpt.head, tail: f.excerpt.tail, total_bytes: f.excerpt.total_bytes },
        };
        let repaired: std::collections::BTreeSet<String> = self.repaired.into_iter().collect();
        let mut view = CandidateView {
            patched: self.patched.view()?,
            verdict: outcomes.into_iter().find(|o| o.word() == self.verdict)?,
            findings,
            failures: self.failures.into_iter().map(failure).collect(),
            causes: Vec::new(),
            evidence: self
                .evidence
                .iter()
                .map(|e| view::EvidenceView { id: id(e), repaired: repaired.contains(e) })
                .collect(),
            not_evidence: self
                .not_evidence
                .into_iter()
                .map(|n| view::NotEvidenceView { id: id(&n.id), why: n.why })
                .collect(),
            incomplete: self.incomplete.map(|i| view::Incomplete {
                why: i.why,
                missing: i.missing,
                resumable: i.resumable,
            }),
            cost: self.cost.view()?,
        };
        view.causes = view.group();
        for cause in &mut view.causes {
            let told = causes.iter().find(|c| c.number == cause.number);
            cause.because = told.and_then(|c| c.because.clone());
        }
        Some(view)
    }
}

impl Found {
    fn view(self, next: Option<Vec<String>>) -> Option<FindingView> {
        let listed = match self.ledger {
            None => None,
            Some(listed) => Some(view::ListedView {
                kind: ["frozen", "quarantined"].into_iter().find(|k| *k == listed.kind)?,
                covered: listed.covered,
                until: listed.until.as_deref().and_then(|d| d.parse().ok()),
                issue: listed.issue,
                text: listed.text,
            }),
        };
        let side = |side: Option<Side>| match side {
            None => Some(None),
            Some(side) => side.view().map(Some),
        };
        Some(FindingView {
            id: id(&self.id),
            finding: Finding::from_word(&self.what)?,
            action: Action::from_word(&self.action)?,
            base: side(self.base)?,
            patched: side(self.patched)?,
            witness: view::Witness {
                seen: self.witness.seen.into_iter().map(Seen::view).collect::<Option<_>>()?,
                minimal_order: self.witness.minimal_order.iter().map(|t| id(t)).collect(),
            },
            cause: self.cause,
            failure: self.failure,
            notes: self.notes,
            listed,
            next,
        })
    }
}

impl Side {
    fn view(&self) -> Option<view::SideView> {
        let classes =
            [Class::StablePass, Class::StableFail, Class::StableSkip, Class::OrderSensitive, Class::Flaky];
        Some(view::SideView {
            class: classes.into_iter().find(|c| c.word() == self.class)?,
            vector: OutcomeVector::from_letters(&self.vector)?,
        })
    }
}

impl Seen {
    fn view(self) -> Option<view::Seen> {
        Some(view::Seen {
            order: label(&self.order)?,
            tree: match self.tree.as_deref() {
                Some("base") => Some(Tree::Base),
                Some("patched") => Some(Tree::Patched(None)),
                Some(_) => return None,
                None => None,
            },
            outcomes: OutcomeVector::from_letters(&self.outcomes)?,
            fresh: self.fresh,
            common_only: self.common_only,
            run: self.run,
            flags: Vec::new(),
        })
    }
}
