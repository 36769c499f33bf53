//! One test's way from what it gives alone to what hits it.

use std::collections::BTreeMap;

use crate::model::{Executor, TestIx};
use crate::search::{Conclusion, Minimiser, Options, Ranking};

use super::answers::{Ask, Setting, Trial};
use super::blame::Blame;
use super::finding::Role;
use super::goal::{Goal, Imported, Stage};
use super::known::Decided;
use super::query::{Collect, Why};

/// Runs that say nothing before a question is dropped.
const LOST: u32 = 3;
/// Fresh runs of a failing order that must hit where forked ones did not.
const AGAIN: u32 = 2;

impl Blame {
    /// Takes one test a step further; whether it moved.
    pub(super) fn step(&mut self, g: usize) -> bool {
        let next = match &self.goals[g].stage {
            Stage::Alone => self.after_alone(g),
            Stage::Ready => self.after_ready(g),
            Stage::Search(search, executor) if search.is_done() => {
                let (conclusion, executor) = (search.finish().conclusion, *executor);
                Some(self.after_search(g, conclusion, executor))
            }
            Stage::OtherExecutor => self.after_other_executor(g),
            Stage::OwnFile => self.after_own_file(g),
            Stage::Imports(search, _) if search.is_done() => {
                let conclusion = search.finish().conclusion;
                Some(self.after_imports(g, conclusion))
            }
            Stage::Search(..) | Stage::Imports(..) | Stage::Done => None,
        };
        let Some(stage) = next else { return false };
        self.goals[g].stage = stage;
        true
    }

    fn after_alone(&mut self, g: usize) -> Option<Stage> {
        let setting = Setting::plain(self.executor());
        let goal = &self.goals[g];
        let alone = goal.alone.or_else(|| {
            let trial = Trial::new(&setting, &[], goal.test);
            self.answers.outcomes(&trial).flatten().next()
        });
        if alone.is_none() {
            let lost = self.answers.outcomes(&Trial::new(&setting, &[], goal.test)).len();
            return (lost >= LOST as usize).then(|| self.ended(g, Role::Unreproduced));
        }
        self.goals[g].alone = alone;
        Some(Stage::Ready)
    }

    fn after_ready(&mut self, g: usize) -> Option<Stage> {
        if self.matrix.as_ref().is_some_and(|matrix| !matrix.is_done()) {
            return None;
        }
        let mut hits = Vec::new();
        for k in 0..self.sets.len() {
            match self.decided(k, g) {
                Decided::Hits => hits.push(k),
                Decided::Misses => {}
                Decided::Open => return None,
            }
            let hit = hits.last() == Some(&k);
            self.sets[k].told.insert(g, hit);
        }
        if !hits.is_empty() {
            for k in hits {
                self.settle(g, k);
            }
            return Some(self.after_found(g));
        }
        let goal = &self.goals[g];
        if !goal.was_hit() {
            // The same in every order that reached it. What others are searched for may hit it all the same; otherwise only
            // an import can make a difference.
            let hope = |other: &Goal| other.was_hit() && !matches!(other.stage, Stage::Done | Stage::OwnFile);
            if self.goals.iter().any(hope) {
                return None;
            }
            return Some(if goal.is_brittle() { Stage::OwnFile } else { self.ended(g, Role::Unreproduced) });
        }
        let searching: Vec<&Goal> =
            self.goals.iter().filter(|other| matches!(other.stage, Stage::Search(..))).collect();
        let pattern = goal.pattern();
        if searching.len() >= self.input.options.parallel.max(1)
            || searching.iter().any(|other| other.pattern() == pattern)
        {
            return None;
        }
        Some(Stage::Search(Box::new(self.begin(g, self.executor())), self.executor()))
    }

    /// A search for one test, told what is known already.
    fn begin(&self, g: usize, executor: Executor) -> Minimiser {
        let (goal, options) = (&self.goals[g], &self.input.options);
        let left = options.budget.saturating_sub(self.answers.spent().tests);
        let forks = executor == Executor::Fork && !self.answers.has_needs(goal.test);
        let budget = options.search.budget.min(left.max(1));
        let mut search = goal.search(&self.input, Options { forks, budget, ..options.search.clone() });
        let setting = Setting::plain(executor);
        if executor == self.executor() {
            search.know(&[], false);
            let singles = if self.matrix.is_some() {
                self.input.suite.indices().map(|ix| vec![ix]).collect()
            } else {
                Vec::new()
            };
            let known: Vec<Vec<TestIx>> =
                self.sets.iter().map(|set| set.tests.clone()).chain(singles).collect();
            for tests in known.iter().filter(|tests| !tests.contains(&goal.test)) {
                let tally = goal.tally(&self.answers, &setting, tests);
                if tally.misses > 0 && tally.hits == 0 {
                    search.know(tests, false);
                }
            }
        }
        search
    }

    fn after_search(&mut self, g: usize, conclusion: Conclusion, executor: Executor) -> Stage {
        if let Conclusion::Found { sequence, always } = conclusion {
            self.goals[g].fresh_only = executor != self.executor();
            let k = self.register(sequence, always, executor);
            self.settle(g, k);
            return self.after_found(g);
        }
        if conclusion == Conclusion::NotReproduced && executor == Executor::Fork {
            return Stage::OtherExecutor;
        }
        if conclusion == Conclusion::AloneHits && executor != self.executor() {
            // Alone it already gives in one executor what it does not in the other.
            return self.ended(g, Role::External);
        }
        match Goal::role_of(&conclusion) {
            Some(Role::Unreproduced) | None => self.unreproduced(g),
            Some(role) => self.ended(g, role),
        }
    }

    fn after_other_executor(&mut self, g: usize) -> Option<Stage> {
        let Some(prefix) = self.goals[g].shortest(&self.input.seen) else {
            return Some(self.unreproduced(g));
        };
        let tally = self.goals[g].tally(&self.answers, &Setting::plain(Executor::Fresh), &prefix);
        if tally.misses > 0 || tally.lost >= LOST {
            return Some(self.unreproduced(g));
        }
        (tally.hits >= AGAIN)
            .then(|| Stage::Search(Box::new(self.begin(g, Executor::Fresh)), Executor::Fresh))
    }

    /// A brittle test, which fails alone, may also be the victim of an import; one test of a cause is asked.
    fn after_found(&mut self, g: usize) -> Stage {
        let goal = &self.goals[g];
        let first = goal.sets.first().is_some_and(|k| self.sets[*k].members.first() == Some(&g));
        let ask = goal.is_brittle() && first && !self.input.options.modules.is_empty();
        if ask { Stage::OwnFile } else { Stage::Done }
    }

    /// No sequence of tests makes the difference; perhaps an import does.
    fn unreproduced(&mut self, g: usize) -> Stage {
        self.goals[g].ended = Some(Role::Unreproduced);
        if self.goals[g].is_brittle() {
            return Stage::OwnFile;
        }
        self.search_imports(g, Collect::All)
    }

    fn after_own_file(&mut self, g: usize) -> Option<Stage> {
        let collect = Collect::FileOf(self.goals[g].test);
        let tally = self.goals[g].import_tally(&self.answers, &own_file(collect), 0);
        if tally.hits > 0 || tally.lost >= LOST {
            let failing = !self.goals[g].was_hit();
            return Some(self.ended(g, if failing { Role::Failing } else { Role::Unreproduced }));
        }
        (tally.misses > 0).then(|| self.search_imports(g, collect))
    }

    fn search_imports(&mut self, g: usize, collect: Collect) -> Stage {
        let modules = &self.input.options.modules;
        let all: Vec<TestIx> = (0u32..).map(TestIx).take(modules.len()).collect();
        if all.is_empty() {
            return self.ended(g, Role::Unreproduced);
        }
        // One run a question: the certificate repeats it.
        let budget = self.input.options.search.budget;
        let options = Options { forks: false, pair_scan: 0, confirm: 1, budget };
        let mut search = Minimiser::new(TestIx(u32::MAX), vec![all], Ranking::default(), options);
        search.know(&[], false);
        Stage::Imports(Box::new(search), own_file(collect))
    }

    fn after_imports(&mut self, g: usize, conclusion: Conclusion) -> Stage {
        if let (Conclusion::Found { sequence, .. }, Stage::Imports(_, base)) =
            (conclusion, &self.goals[g].stage)
        {
            let name = |ix: &TestIx| self.input.options.modules.get(ix.get()).cloned();
            let modules = sequence.iter().filter_map(name).collect();
            let found = Imported { modules, base: base.clone(), since: self.answers.issued() };
            self.goals[g].imports.push(found);
        }
        let role = self.goals[g].ended.clone().unwrap_or(Role::Unreproduced);
        self.ended(g, role)
    }

    /// Nothing more will be searched; what was found counts for more than how a search ended.
    fn ended(&mut self, g: usize, role: Role) -> Stage {
        self.goals[g].ended = Some(role);
        Stage::Done
    }

    /// What the stages wait for that is no search of their own.
    pub(super) fn asks_of_stages(&self) -> Vec<Ask> {
        let setting = Setting::plain(self.executor());
        let mut alone = Vec::new();
        let mut asks = Vec::new();
        for goal in &self.goals {
            match goal.stage {
                Stage::Alone => alone.push(goal.test),
                Stage::OtherExecutor => asks.extend(self.other_executor(goal)),
                Stage::OwnFile => {
                    let own = own_file(Collect::FileOf(goal.test));
                    let runs = goal.import_tally(&self.answers, &own, 0).runs() + 1;
                    asks.push(Ask::single(own, &[], goal.test, runs, Why::Import));
                }
                Stage::Ready | Stage::Search(..) | Stage::Imports(..) | Stage::Done => {}
            }
        }
        let mut rows: BTreeMap<u32, Vec<TestIx>> = BTreeMap::new();
        for test in alone {
            let runs = self.answers.outcomes(&Trial::new(&setting, &[], test)).len();
            rows.entry(u32::try_from(runs).unwrap_or(u32::MAX).saturating_add(1)).or_default().push(test);
        }
        for (runs, tests) in rows {
            if self.input.options.forks {
                asks.push(Ask::row(setting.clone(), &[], tests, runs, Why::Alone));
            } else {
                let single = |test: TestIx| Ask::single(setting.clone(), &[], test, runs, Why::Alone);
                asks.extend(tests.into_iter().map(single));
            }
        }
        asks
    }

    fn other_executor(&self, goal: &Goal) -> Option<Ask> {
        let prefix = goal.shortest(&self.input.seen)?;
        let setting = Setting::plain(Executor::Fresh);
        let runs = goal.tally(&self.answers, &setting, &prefix).runs() + 1;
        Some(Ask::single(setting, &prefix, goal.test, runs, Why::OtherExecutor))
    }
}

/// A fresh interpreter that collects this.
fn own_file(collect: Collect) -> Setting {
    Setting { collect, ..Setting::plain(Executor::Fresh) }
}
