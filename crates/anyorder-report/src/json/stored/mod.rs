//! A stored `anyorder/check/1` as a view again, so that its report can be shown once more.
//!
//! Keys that are not known are passed over, as anyone who reads our documents is told to do. What a document does not
//! hold, such as how the command was called, is not in the view either; commands to type are taken as they stand.

mod finding;
mod tree;

use std::collections::BTreeSet;
use std::time::Duration;

use anyorder_core::model::{Excerpt, Executor, OrderLabel, Phase, TestId};
use anyorder_core::verdict::VerdictOutcome;
use serde::Deserialize;

use self::finding::Found;
use self::tree::TreeDetail;
use crate::view::{self, CandidateView, CheckView, FindingView};

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
    #[serde(default)]
    star: Star,
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

#[derive(Default, Deserialize)]
struct Star {
    covered: Vec<String>,
    left_out: Vec<String>,
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
        let repaired: BTreeSet<String> = self.repaired.into_iter().collect();
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
            starred: self.star.covered.iter().map(|t| id(t)).collect(),
            not_starred: self.star.left_out.iter().map(|t| id(t)).collect(),
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
