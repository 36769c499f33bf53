//! Views from what the core concluded.
//!
//! The caller adds what the core does not know: which stored run shows an order, and the texts of failures.

use std::collections::{BTreeMap, HashSet};

use anyorder_core::model::{Excerpt, Executor, OrderLabel, Outcome, OutcomeVector, TestId, TestIx, Tree};
use anyorder_core::verdict::{
    Arm, ArmRow, ClassWitness, Finding, Judgement, Note, Observation, Role, Side, SideData, Sweep, TestClass,
    TreeResult, Verdict, Witness as CoreWitness,
};

use super::check::{CandidateView, EvidenceView, FindingView, NotEvidenceView, SideView, TreeDescription};
use super::facts::{Cost, FailureView, Incomplete, Seen, Witness};
use super::run::{FailureAt, TestView};
use crate::wording;

/// The store's id of a run of an order on a tree, where it holds one.
pub type RunOf<'a> = &'a dyn Fn(Side, &OrderLabel) -> Option<String>;

impl Seen {
    /// What one order showed. Runs in which another test ended the process first say nothing, and are left out.
    pub fn of<'a>(order: &OrderLabel, observations: impl IntoIterator<Item = &'a Observation>) -> Self {
        let telling: Vec<&Observation> = observations.into_iter().filter(|o| !o.disturbed).collect();
        let fresh = telling.iter().filter(|o| o.executor == Executor::Fresh).count();
        Self {
            order: order.clone(),
            tree: None,
            outcomes: OutcomeVector(telling.iter().map(|o| o.outcome).collect()),
            fresh: u32::try_from(fresh).unwrap_or(u32::MAX),
            common_only: false,
            run: None,
            tests: Vec::new(),
            flags: Vec::new(),
        }
    }

    fn of_row(row: &ArmRow, run_of: RunOf<'_>) -> Self {
        let (tree, side) = match row.arm().side() {
            Side::Base => (Tree::Base, Side::Base),
            Side::Patched => (Tree::Patched(None), Side::Patched),
        };
        let common_only = matches!(row.arm(), Arm::BaseCommon | Arm::PatchedCommon);
        // The stored run of the order is that of all tests; `alone` has one for each.
        let whole = !common_only && *row.label() != OrderLabel::Alone;
        let run = if whole { run_of(side, row.label()) } else { None };
        Self { tree: Some(tree), common_only, run, ..Self::of(row.label(), row.observations()) }
    }
}

impl Witness {
    /// Why a test has its class: the orders that show it, all their runs, and the test by itself.
    pub fn of_class(
        test: TestIx,
        class: &TestClass,
        sweep: &Sweep,
        run_of: &dyn Fn(&OrderLabel) -> Option<String>,
    ) -> Self {
        let mut orders: Vec<OrderLabel> = match &class.witness {
            Some(ClassWitness::Order { failing, passing }) => vec![failing.clone(), passing.clone()],
            Some(ClassWitness::Chance { order }) => vec![order.clone()],
            None if class.class.is_stable() => return Self::default(),
            None => differing(test, sweep),
        };
        if !orders.contains(&OrderLabel::Alone) {
            orders.push(OrderLabel::Alone);
        }
        let seen = orders.into_iter().filter_map(|order| {
            let column = sweep.column(&order);
            let first = column.and_then(|column| sweep.observation(column, test));
            let reruns = class.reruns.iter().filter(|o| o.label == order);
            let run = if order == OrderLabel::Alone { None } else { run_of(&order) };
            let seen = Seen { run, ..Seen::of(&order, first.iter().chain(reruns)) };
            (seen.runs() > 0).then_some(seen)
        });
        Self { seen: seen.collect(), minimal_order: Vec::new() }
    }

    /// Why a finding is believed: first what fails, then what passes.
    /// `sequences` holds the tests of short orders.
    pub fn of_finding(
        test: &TestId,
        witness: &CoreWitness,
        sequences: &BTreeMap<OrderLabel, Vec<TestId>>,
        run_of: RunOf<'_>,
    ) -> Self {
        // What ran behind the test is no part of what shows the finding.
        let tests = |label: &OrderLabel| -> Vec<TestId> {
            let sequence = sequences.get(label).map_or(&[][..], Vec::as_slice);
            let end = sequence.iter().position(|id| id == test).map_or(sequence.len(), |at| at + 1);
            sequence[..end].to_vec()
        };
        let mut seen: Vec<Seen> =
            witness.rows().map(|row| Seen::of_row(row, run_of)).filter(|seen| seen.runs() > 0).collect();
        for seen in &mut seen {
            seen.tests = tests(&seen.order);
        }
        let of_witness = |seen: &Seen| Some(&seen.order) == witness.failing();
        seen.sort_by_key(|seen| (seen.not_passed().is_none(), !of_witness(seen), seen.common_only));
        let shown = [witness.failing(), witness.passing()].into_iter().flatten();
        let minimal_order = shown.map(tests).find(|tests| !tests.is_empty()).unwrap_or_default();
        Self { seen, minimal_order }
    }
}

/// The first order that did not pass, and the first that did.
fn differing(test: TestIx, sweep: &Sweep) -> Vec<OrderLabel> {
    let all: Vec<Observation> = (0..sweep.labels().len())
        .filter_map(|column| sweep.observation(column, test))
        .filter(|o| !o.disturbed)
        .collect();
    let first = |passed: bool| all.iter().find(|o| o.outcome.passed() == passed).map(|o| o.label.clone());
    [first(false), first(true)].into_iter().flatten().collect()
}

impl TestView {
    /// A row of a tree's result; `None` for a test outside it. `failures` say how it failed in which order.
    pub fn of(
        tree: &TreeResult,
        test: TestIx,
        failures: Vec<FailureAt>,
        run_of: &dyn Fn(&OrderLabel) -> Option<String>,
    ) -> Option<Self> {
        let class = tree.classes.get(test)?;
        let mut notes = Vec::new();
        if !class.settled {
            notes.push("not settled: the reruns that tell order from chance ended early".to_owned());
        }
        if class.executors_disagree {
            notes.push(wording::EXECUTORS_DISAGREE.to_owned());
        }
        if !class.unreached.is_empty() {
            let orders: Vec<String> = class.unreached.iter().map(ToString::to_string).collect();
            notes.push(format!(
                "never reached in {}: another test ended the process",
                wording::listed(&orders)
            ));
        }
        Some(Self {
            id: tree.sweep.suite().id(test).clone(),
            class: class.class,
            vector: tree.sweep.matrix().vector(test),
            failures,
            witness: Witness::of_class(test, class, &tree.sweep, run_of),
            notes,
            listed: None,
        })
    }
}

impl FindingView {
    /// A finding of a verdict; `failure` points into the candidate's failures.
    pub fn of(
        judgement: &Judgement,
        failure: Option<usize>,
        sequences: &BTreeMap<OrderLabel, Vec<TestId>>,
        run_of: RunOf<'_>,
    ) -> Self {
        let side = |side: &SideData| SideView { class: side.class, vector: side.vector.clone() };
        let mut notes: Vec<String> = Vec::new();
        notes.extend(judgement.role.map(|role| {
            match role {
                Role::Victim => "a victim: it passes alone, an earlier test breaks it",
                Role::Brittle => "brittle: it fails alone, it needs an earlier test",
            }
            .to_owned()
        }));
        notes.extend(judgement.notes.iter().map(note));
        Self {
            id: judgement.test.clone(),
            finding: judgement.finding,
            action: judgement.action,
            base: judgement.base.as_ref().map(side),
            patched: judgement.patched.as_ref().map(side),
            witness: Witness::of_finding(&judgement.test, &judgement.witness, sequences, run_of),
            cause: judgement.cause,
            failure,
            notes,
            listed: None,
            next: None,
        }
    }
}

fn note(note: &Note) -> String {
    match note {
        Note::BudgetSpent => "the replays ended before a decision".to_owned(),
        Note::ExecutorsDisagree => wording::EXECUTORS_DISAGREE.to_owned(),
        Note::Unreached { culprit } => {
            format!("never reached in some orders, as {culprit} ended the process")
        }
        Note::EndsTheProcess => "the process ended while this test ran".to_owned(),
        Note::MovedTo(id) => format!("it may have become {id}"),
        Note::PartlyRepaired => {
            "it failed on base in every order, and passes on patched in some orders only".to_owned()
        }
        Note::SameAs(id) => format!("judged by {id}, which fails in the same way in the same order"),
        Note::SkippedOnPatched => "it is skipped on patched".to_owned(),
        Note::GoneOnPatched => "it is not collected on patched".to_owned(),
        Note::ClassUnsettled(side) => {
            format!("not settled on {}: the reruns that tell order from chance ended early", side.word())
        }
    }
}

/// What a candidate is judged by, beside the verdict.
#[derive(Clone, Debug, Default)]
pub struct Judged {
    /// The patched tree.
    pub patched: TreeDescription,
    /// Failures with their texts, as far as they were kept; found by their signatures.
    pub failures: Vec<FailureView>,
    /// Set when not all that was planned was run.
    pub incomplete: Option<Incomplete>,
    /// What it cost.
    pub cost: Cost,
}

impl CandidateView {
    /// A patch with its verdict.
    pub fn of(verdict: &Verdict, judged: Judged, run_of: RunOf<'_>) -> Self {
        let mut failures = judged.failures;
        let findings: Vec<FindingView> = verdict
            .findings
            .iter()
            .map(|judgement| {
                let failure = judgement.witness.signatures().first().map(|signature| {
                    let known = failures.iter().position(|f| *f.signature == *signature.0);
                    known.unwrap_or_else(|| {
                        failures.push(FailureView {
                            phase: None,
                            signature: signature.0.to_string(),
                            text: Excerpt::default(),
                        });
                        failures.len() - 1
                    })
                });
                FindingView::of(judgement, failure, &verdict.sequences, run_of)
            })
            .collect();
        let repaired: HashSet<&TestId> =
            verdict.findings.iter().filter(|j| j.finding == Finding::Repaired).map(|j| &j.test).collect();
        let evidence: Vec<EvidenceView> = verdict
            .evidence
            .iter()
            .map(|id| EvidenceView { id: id.clone(), repaired: repaired.contains(id) })
            .collect();
        let mut view = Self {
            patched: judged.patched,
            verdict: verdict.outcome,
            not_evidence: not_evidence(verdict),
            findings,
            failures,
            causes: Vec::new(),
            evidence,
            starred: verdict.star.covered.clone(),
            not_starred: verdict.star.left_out.clone(),
            incomplete: judged.incomplete,
            cost: judged.cost,
        };
        view.causes = view.group();
        view
    }
}

fn not_evidence(verdict: &Verdict) -> Vec<NotEvidenceView> {
    let evidence: HashSet<&TestId> = verdict.evidence.iter().collect();
    let found = verdict.findings.iter().filter(|j| !evidence.contains(&j.test)).map(|j| {
        let skipped = j.patched.as_ref().is_some_and(|side| {
            !side.vector.0.is_empty() && side.vector.0.iter().all(|o| *o == Outcome::Skipped)
        });
        let why = if skipped { "skipped on patched" } else { wording::why_not(j.finding) };
        NotEvidenceView { id: j.test.clone(), why: why.to_owned() }
    });
    let silent = verdict.silent.iter().map(|id| NotEvidenceView {
        id: id.clone(),
        why: "says nothing: skipped in every order, or not there any more".to_owned(),
    });
    found.chain(silent).collect()
}
