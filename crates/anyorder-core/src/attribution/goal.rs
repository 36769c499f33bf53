//! One test that is to be explained: what counts as a hit, what was seen of it, and how far its search is.

use crate::model::{Executor, Outcome, TestIx};
use crate::search::{Conclusion, Minimiser, Options, Ranking, SeenRun, Tally};
use crate::verdict::Kind;

use super::answers::{Answers, Setting, Trial};
use super::finding::{Role, Timeline};
use super::input::{BlameInput, SeenOrder};

/// How far a test's search is.
#[derive(Clone, Debug)]
pub(super) enum Stage {
    /// What it gives alone is not known yet.
    Alone,
    /// Known sets are tried before a search begins.
    Ready,
    /// A search in forked interpreters, or in fresh ones.
    Search(Box<Minimiser>, Executor),
    /// Forked interpreters do not show what fresh ones did: does one still?
    OtherExecutor,
    /// Whether it passes when only its own file is collected.
    OwnFile,
    /// A search among modules, in the setting that collects this.
    Imports(Box<Minimiser>, Setting),
    /// Nothing is left to search.
    Done,
}

/// Modules whose import was found to fail a test.
#[derive(Clone, Debug)]
pub(super) struct Imported {
    pub(super) modules: Vec<String>,
    /// Where: with what is collected there.
    pub(super) base: Setting,
    /// Queries from this number on may prove it.
    pub(super) since: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Goal {
    pub(super) test: TestIx,
    pub(super) stage: Stage,
    /// The outcome alone, once known.
    pub(super) alone: Option<Outcome>,
    /// An outcome of this kind or worse is bad.
    threshold: Kind,
    /// The sets that hit it, by number; the first found first.
    pub(super) sets: Vec<usize>,
    /// Module sets found.
    pub(super) imports: Vec<Imported>,
    /// Found by a search in fresh interpreters although forks are allowed.
    pub(super) fresh_only: bool,
    /// How a search ended that found nothing.
    pub(super) ended: Option<Role>,
    pub(super) cleaners: Vec<TestIx>,
    /// What was seen: by order, how much stood before it and what became of it.
    seen: Vec<(usize, usize, Outcome)>,
}

impl Goal {
    pub(super) fn new(test: TestIx, input: &BlameInput) -> Self {
        let look =
            |(n, order): (usize, &SeenOrder)| order.at(test).map(|(place, outcome)| (n, place, outcome));
        let seen: Vec<(usize, usize, Outcome)> = input.seen.iter().enumerate().filter_map(look).collect();
        let alone = input.alone.get(test.get()).copied().flatten();
        let mut kinds: Vec<Kind> =
            seen.iter().map(|(_, _, outcome)| *outcome).chain(alone).map(Kind::of).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let mixed = if kinds.len() > 1 { Kind::threshold(kinds.iter().copied()) } else { None };
        Self {
            test,
            stage: Stage::Alone,
            alone,
            threshold: mixed.unwrap_or(Kind::Bad),
            sets: Vec::new(),
            imports: Vec::new(),
            fresh_only: false,
            ended: None,
            cleaners: Vec::new(),
            seen,
        }
    }

    pub(super) fn is_bad(&self, outcome: Outcome) -> bool {
        Kind::of(outcome) >= self.threshold
    }

    /// Whether it fails alone, so that a hit is a pass.
    pub(super) fn is_brittle(&self) -> bool {
        self.alone.is_some_and(|outcome| self.is_bad(outcome))
    }

    pub(super) fn is_hit(&self, outcome: Outcome) -> bool {
        self.is_bad(outcome) != self.is_brittle()
    }

    pub(super) fn tally(&self, answers: &Answers, setting: &Setting, tests: &[TestIx]) -> Tally {
        answers.tally(&Trial::new(setting, tests, self.test), |outcome| self.is_hit(outcome))
    }

    /// For modules a hit is a failure, whatever the test gives alone where all files are collected.
    pub(super) fn import_tally(&self, answers: &Answers, setting: &Setting, since: u32) -> Tally {
        answers.tally_since(&Trial::new(setting, &[], self.test), since, |outcome| self.is_bad(outcome))
    }

    /// What stood before it in each order that was run, and whether it was hit.
    pub(super) fn runs<'a>(
        &'a self,
        seen: &'a [SeenOrder],
    ) -> impl Iterator<Item = (Vec<TestIx>, bool)> + 'a {
        self.seen.iter().filter_map(|&(n, place, outcome)| {
            let before = seen.get(n)?.tests.get(..place)?.iter().map(|(ix, _)| *ix).collect();
            Some((before, self.is_hit(outcome)))
        })
    }

    /// In which orders it was hit: tests that agree here may have one cause.
    pub(super) fn pattern(&self) -> Vec<usize> {
        self.seen.iter().filter(|(_, _, outcome)| self.is_hit(*outcome)).map(|(n, ..)| *n).collect()
    }

    pub(super) fn was_hit(&self) -> bool {
        self.seen.iter().any(|(_, _, outcome)| self.is_hit(*outcome))
    }

    /// The shortest sequence that stood before it where it was hit.
    pub(super) fn shortest(&self, seen: &[SeenOrder]) -> Option<Vec<TestIx>> {
        self.runs(seen).filter(|(_, hit)| *hit).map(|(before, _)| before).min_by_key(Vec::len)
    }

    /// A search for what hits it.
    pub(super) fn search(&self, input: &BlameInput, options: Options) -> Minimiser {
        let runs: Vec<(Vec<TestIx>, bool)> = self.runs(&input.seen).collect();
        let seen: Vec<SeenRun<'_>> = runs.iter().map(|(before, hit)| SeenRun { before, hit: *hit }).collect();
        let file = |ix: TestIx| input.suite.tests().get(ix.get()).map(|t| &t.file);
        let own = file(self.test);
        let ranking = Ranking::new(self.test, input.suite.len(), &seen, |other| file(other) == own);
        let prefixes = runs.iter().filter(|(_, hit)| *hit).map(|(before, _)| before.clone()).collect();
        Minimiser::new(self.test, prefixes, ranking, options)
    }

    /// Candidates for undoing a set, the likeliest first: those that stood between it and the test where it passed, and not
    /// where it failed.
    pub(super) fn cleaner_candidates(&self, input: &BlameInput, set: &[TestIx]) -> Vec<TestIx> {
        let mut score = vec![0.0; input.suite.len()];
        for (before, hit) in self.runs(&input.seen) {
            let member = before.iter().rposition(|ix| set.contains(ix));
            let all = set.iter().all(|ix| before.contains(ix));
            let Some(from) = member.filter(|_| all) else { continue };
            let between = &before[from + 1..];
            // In a passing order one of them did it; in a failing one none did.
            let weight = if hit { -1.0 } else { 1.0 / between.len().max(1) as f64 };
            for ix in between {
                if let Some(score) = score.get_mut(ix.get()) {
                    *score += weight;
                }
            }
        }
        let mut best: Vec<TestIx> =
            input.suite.indices().filter(|ix| *ix != self.test && !set.contains(ix)).collect();
        best.sort_by(|a, b| score[b.get()].total_cmp(&score[a.get()]).then(a.cmp(b)));
        best
    }

    /// What a search that ended says; `None` when it found something.
    pub(super) fn role_of(conclusion: &Conclusion) -> Option<Role> {
        match conclusion {
            Conclusion::Found { .. } => None,
            Conclusion::AloneHits | Conclusion::Unstable => Some(Role::Flaky),
            Conclusion::NotReproduced => Some(Role::Unreproduced),
            Conclusion::BudgetSpent { best } => Some(Role::Undecided { best: best.clone() }),
        }
    }

    /// Its outcomes along a sequence, from what was answered.
    pub(super) fn timeline(&self, answers: &Answers, setting: &Setting, tests: Vec<TestIx>) -> Timeline {
        let at = |place: usize| {
            let trial = Trial::new(setting, &tests[..place], self.test);
            answers.outcomes(&trial).last().flatten()
        };
        let outcomes = (0..=tests.len()).map(at).collect();
        Timeline { tests, outcomes }
    }
}
