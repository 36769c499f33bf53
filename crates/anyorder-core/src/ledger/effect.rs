//! What the ledger does to a run and to a verdict.

use std::collections::BTreeMap;

use crate::model::{TestId, TestIx};
use crate::verdict::{Action, ArmRow, Class, Finding, Judgement, Note, TreeResult, Verdict, VerdictOutcome};

use super::date::Date;
use super::entry::{Entry, Ledger, sign};
use super::standing::{Observed, Uncovered, excuse};

/// A test that has an entry, and whether the entry covers what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Covered {
    /// The entry.
    pub entry: Entry,
    /// Why not, if not.
    pub covered: Result<(), Uncovered>,
}

/// The order-sensitive and flaky tests of a tree that have an entry.
pub fn found(ledger: &Ledger, today: Date, tree: &TreeResult) -> BTreeMap<TestIx, Covered> {
    let classes =
        tree.classes.iter().filter(|(_, c)| matches!(c.class, Class::OrderSensitive | Class::Flaky));
    let listed = classes.filter_map(|(ix, _)| {
        let entry = ledger.get(tree.sweep.suite().id(ix))?.clone();
        let covered = excuse(&entry, today, &Observed::of(tree, ix)?);
        Some((ix, Covered { entry, covered }))
    });
    listed.collect()
}

/// The ledgers that a verdict is held against.
#[derive(Clone, Copy, Debug)]
pub struct Ledgers<'a> {
    /// The one in force.
    pub now: &'a Ledger,
    /// The base's. What only stands here was taken out by the patch that is judged, and still counts.
    pub base: &'a Ledger,
}

/// A test that may not be cited because it has an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withheld {
    /// The test.
    pub test: TestId,
    /// Its entry.
    pub entry: Entry,
    /// Whether the patch takes the entry out.
    pub taken_out: bool,
}

/// What a ledger did to a verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// The tests with a finding and an entry.
    pub findings: BTreeMap<TestId, Covered>,
    /// Tests that would have been evidence and have an entry, in default order of the patched tree.
    pub withheld: Vec<Withheld>,
}

/// Lays a ledger over a verdict.
///
/// * A test with an entry is never evidence, also when it passes this time and whether or not the entry still protects:
///   the way back is to take the entry out, with another change than the one that is judged.
/// * `pre_existing` with a review asked for is let through as `freeze` where its entry covers it; so is `flaky` as
///   `quarantine`. No other finding, and no block, becomes milder.
pub fn apply(ledgers: Ledgers<'_>, today: Date, verdict: &mut Verdict, patched: &TreeResult) -> Effect {
    let mut effect = Effect::default();
    for judgement in &mut verdict.findings {
        let (entry, covered) = match (ledgers.now.get(&judgement.test), ledgers.base.get(&judgement.test)) {
            (Some(entry), _) => (entry, cover(entry, today, judgement, patched)),
            (None, Some(entry)) => (entry, Err(Uncovered::TakenOut)),
            (None, None) => continue,
        };
        let (about, instead) = match entry {
            Entry::Frozen(_) => (Finding::PreExisting, Action::Freeze),
            Entry::Quarantined(_) => (Finding::Flaky, Action::Quarantine),
        };
        let let_through = covered.is_ok() && judgement.finding == about && judgement.action == Action::Review;
        if let_through || judgement.action.is_evidence() {
            judgement.action = instead;
        }
        effect.findings.insert(judgement.test.clone(), Covered { entry: entry.clone(), covered });
    }
    for id in std::mem::take(&mut verdict.evidence) {
        let now = ledgers.now.get(&id);
        match now.or_else(|| ledgers.base.get(&id)).cloned() {
            Some(entry) => effect.withheld.push(Withheld { test: id, entry, taken_out: now.is_none() }),
            None => verdict.evidence.push(id),
        }
    }
    // Stable: within one cause the default order stays.
    verdict.findings.sort_by_key(|j| (std::cmp::Reverse(j.action), j.cause));
    verdict.outcome = VerdictOutcome::of(&verdict.findings, &verdict.evidence);
    effect
}

/// Whether an entry covers what a judgement found.
fn cover(entry: &Entry, today: Date, judgement: &Judgement, patched: &TreeResult) -> Result<(), Uncovered> {
    let found = match judgement.finding {
        Finding::PreExisting => Class::OrderSensitive,
        Finding::Flaky => Class::Flaky,
        // Something that no entry is about: the class on the patched tree says what.
        _ => judgement.patched.as_ref().map_or(Class::StableSkip, |side| side.class),
    };
    let mut observed =
        patched.sweep.suite().find(&judgement.test).and_then(|ix| Observed::of(patched, ix)).unwrap_or_else(
            || Observed {
                class: found,
                settled: true,
                signatures: Vec::new(),
                polluters: Vec::new(),
                source: None,
            },
        );
    observed.class = found;
    observed.settled &=
        !judgement.notes.iter().any(|note| matches!(note, Note::ClassUnsettled(_) | Note::BudgetSpent));
    let seen = judgement.witness.rows().flat_map(ArmRow::observations);
    observed.signatures.extend(seen.filter_map(sign));
    excuse(entry, today, &observed)?;
    if matches!(judgement.finding, Finding::PreExisting | Finding::Flaky) {
        Ok(())
    } else {
        Err(Uncovered::OtherFinding(judgement.finding))
    }
}
