//! Short orders: a failing order is minimised on the tree where it fails, and the few tests that are left are replayed on
//! both trees instead of whole suites (METHODS B3.2). What they cannot decide goes to the full orders, as before.

use std::collections::BTreeMap;

use crate::model::{Executor, OrderLabel, Signature, TestId, TestIx};
use crate::search::{Conclusion, Minimiser, Options, Query, QueryId, Ranking, Reply, SeenRun};

use super::super::class::{Class, Kind, Observation};
use super::super::probe::{Answer, Probe, ProbeId, ProbePeek, Selection, Side, Why};
use super::super::star::{Pair, StarResult};
use super::LOST_REPLAYS;
use super::triage::{Candidate, Plan, Triage};
use super::view::View;

/// The tests of each short order, in sequence.
pub(super) type Sequences = BTreeMap<OrderLabel, Vec<TestId>>;

/// So many new tests with one failure in one order are judged by the first of them.
const MANY: usize = 5;
/// Failing orders that a search may start from, the shortest first.
const PREFIXES: usize = 4;

/// The short order of a pair that the star found.
pub(super) fn pair_label(at: usize) -> OrderLabel {
    OrderLabel::List(format!("pair:{}", at + 1))
}

/// The short order of a pair that showed both outcomes.
pub(super) fn chance_label(at: usize) -> OrderLabel {
    OrderLabel::List(format!("chance:{}", at + 1))
}

fn minimal_label(at: usize) -> OrderLabel {
    OrderLabel::List(format!("min:{}", at + 1))
}

/// The short orders that the star brings.
pub(super) fn of_star(star: &StarResult) -> Sequences {
    let pair = |p: &Pair| p.before.iter().chain([&p.then]).cloned().collect::<Vec<_>>();
    let pairs = star.pairs.iter().enumerate().map(|(at, p)| (pair_label(at), pair(p)));
    let chance = star.by_chance.iter().enumerate().map(|(at, p)| (chance_label(at), pair(p)));
    pairs.chain(chance).collect()
}

/// What the star saw of the second test of a pair.
pub(super) fn seen_by_star(star: &StarResult, label: &OrderLabel) -> Vec<Observation> {
    let labelled = |pair: &Pair| {
        let relabelled = |o: &Observation| Observation { label: label.clone(), ..o.clone() };
        pair.observations.iter().map(relabelled).collect()
    };
    let pairs = star.pairs.iter().enumerate().find(|(at, _)| pair_label(*at) == *label);
    let chance = star.by_chance.iter().enumerate().find(|(at, _)| chance_label(*at) == *label);
    pairs.or(chance).map_or_else(Vec::new, |(_, pair)| labelled(pair))
}

/// A search for the few tests of an order that matter to one test, on behalf of all that share its fate.
#[derive(Clone, Debug)]
pub(super) struct Hunt {
    at: usize,
    pub(super) side: Side,
    goal: TestId,
    /// What counts: as bad as this, or (for a state-setter) better.
    target: Kind,
    wants_pass: bool,
    /// The tests that are judged by the short order, the goal among them, in the sequence of the order.
    members: Vec<TestId>,
    search: Minimiser,
    executor: Executor,
    outstanding: BTreeMap<ProbeId, Query>,
    /// Answers in a row that said nothing.
    lost: usize,
}

impl Hunt {
    /// What to run next for the search.
    pub(super) fn next_probe(&mut self, id: ProbeId, view: View<'_>) -> Option<Probe> {
        let query = self.search.next_query()?;
        let named = |ix: &TestIx| view.suite().id(*ix).clone();
        let mut tests: Vec<TestId> = query.tests.iter().map(named).collect();
        let mut peeks = Vec::new();
        match self.executor {
            Executor::Fork => {
                let peek = |after: &usize| ProbePeek { after: *after, test: self.goal.clone() };
                peeks = query.places.iter().map(peek).collect();
            }
            Executor::Fresh => tests.push(self.goal.clone()),
        }
        let QueryId(number) = query.id;
        self.outstanding.insert(id, query);
        Some(Probe {
            id,
            side: self.side,
            label: OrderLabel::List(format!("search:{}", self.at + 1)),
            order_of: self.side,
            tests: Selection::Sequence(tests),
            may_stop: false,
            peeks,
            executor: self.executor,
            attempt: number + 1,
            watch: vec![self.goal.clone()],
            why: Why::Minimise,
        })
    }

    /// Takes an answer, if it is one to this search.
    pub(super) fn observe(&mut self, id: ProbeId, answer: &Answer) -> bool {
        let Some(query) = self.outstanding.remove(&id) else { return false };
        let hit = |place: &usize| {
            let seen = match self.executor {
                Executor::Fork => answer.peek(*place, &self.goal),
                Executor::Fresh => answer.of(&self.goal),
            }?;
            seen.unreached_because_of.is_none().then(|| self.hits(Kind::of(seen.outcome)))
        };
        let reply = Reply { hits: query.places.iter().map(hit).collect() };
        self.lost = if reply.hits.iter().all(Option::is_none) { self.lost + 1 } else { 0 };
        self.search.observe(query.id, &reply);
        if self.lost >= LOST_REPLAYS {
            self.search.give_up();
        }
        true
    }

    fn hits(&self, kind: Kind) -> bool {
        (kind >= self.target) != self.wants_pass
    }

    /// Whether it waits for an answer.
    pub(super) fn is_waiting(&self) -> bool {
        !self.outstanding.is_empty()
    }

    /// Whether it neither waits nor will ask.
    pub(super) fn is_done(&self) -> bool {
        self.outstanding.is_empty() && self.search.is_done()
    }

    /// The tests that matter, once found.
    pub(super) fn behind(&self, view: View<'_>) -> Vec<TestId> {
        let conclusion = self.search.finish().conclusion;
        let sequence = conclusion.sequence().unwrap_or_default();
        sequence.iter().map(|ix| view.suite().id(*ix).clone()).collect()
    }

    /// The short order, once found: the tests that matter, then those that are judged by it.
    pub(super) fn found(&self, view: View<'_>) -> Option<(OrderLabel, Vec<TestId>)> {
        let Conclusion::Found { .. } = self.search.finish().conclusion else { return None };
        let mut tests = self.behind(view);
        let behind: Vec<TestId> = self.members.iter().filter(|m| !tests.contains(m)).cloned().collect();
        tests.extend(behind);
        Some((minimal_label(self.at), tests))
    }
}

/// What a candidate's order is shortened for.
struct Aim {
    side: Side,
    order: OrderLabel,
    target: Kind,
    wants_pass: bool,
}

/// What tests must have in common to be judged by one short order: the order that fails, file and failure.
type Group = (Side, OrderLabel, bool, String, Option<Signature>);

/// The searches that the candidates need, each candidate told which is its own.
pub(super) fn hunts(triage: &mut Triage, base: View<'_>, patched: View<'_>) -> Vec<Hunt> {
    let mut groups: BTreeMap<Group, Vec<(usize, usize, Aim)>> = BTreeMap::new();
    for (at, candidate) in triage.candidates.iter().enumerate() {
        let Some(aim) = aim(candidate, base, patched) else { continue };
        let view = if aim.side == Side::Base { base } else { patched };
        let Some(ix) = view.suite().find(&candidate.id) else { continue };
        let Some(column) = view.0.sweep.column(&aim.order) else { continue };
        let Some(place) = view.0.sweep.sequence(column).iter().position(|t| *t == ix) else { continue };
        let signature = view.0.sweep.observation(column, ix).and_then(|o| o.signature);
        let file = candidate.id.file().to_owned();
        let group = (aim.side, aim.order.clone(), aim.wants_pass, file, signature);
        groups.entry(group).or_default().push((place, at, aim));
    }
    let mut hunts = Vec::new();
    for mut members in groups.into_values() {
        members.sort_by_key(|(place, ..)| *place);
        follow(triage, &mut members);
        let Some((_, first, aim)) = members.first() else { continue };
        let view = if aim.side == Side::Base { base } else { patched };
        let goal = triage.candidates[*first].id.clone();
        let (Some(ix), Some(column)) = (view.suite().find(&goal), view.0.sweep.column(&aim.order)) else {
            continue;
        };
        let at = hunts.len();
        let named: Vec<TestId> = members.iter().map(|(_, m, _)| triage.candidates[*m].id.clone()).collect();
        hunts.push(Hunt {
            at,
            side: aim.side,
            goal,
            target: aim.target,
            wants_pass: aim.wants_pass,
            members: named,
            search: search(view, ix, aim),
            executor: view.0.sweep.executor(column),
            outstanding: BTreeMap::new(),
            lost: 0,
        });
        for (_, member, _) in &members {
            triage.candidates[*member].hunt = Some(at);
        }
    }
    hunts
}

/// Of many new tests that fail in one way, the first speaks for the others: each of them alone, in an interpreter of its
/// own, again and again, would cost more than all the rest.
fn follow(triage: &mut Triage, members: &mut Vec<(usize, usize, Aim)>) {
    let is_new = |at: usize| matches!(triage.candidates[at].plan, Plan::NewCoupled { .. });
    if members.len() < MANY || !members.iter().all(|(_, at, _)| is_new(*at)) {
        return;
    }
    let leader = triage.candidates[members[0].1].id.clone();
    for (_, at, _) in members.drain(1..) {
        triage.candidates[at].leader = Some(leader.clone());
    }
}

fn aim(candidate: &Candidate, base: View<'_>, patched: View<'_>) -> Option<Aim> {
    let class = |view: View<'_>, ix: Option<TestIx>| view.class(ix?).map(|c| c.class);
    let (before, after) = (class(base, candidate.base), class(patched, candidate.patched));
    // What hurts by chance only looks flaky; that several orders show it, and none of base, is worth a search.
    let unstable = |target: Kind| match after {
        Some(Class::OrderSensitive) => true,
        Some(Class::Flaky) => candidate.patched.is_some_and(|p| patched.failing(p, target).len() >= 2),
        _ => false,
    };
    let shortens = |order: &OrderLabel| !matches!(order, OrderLabel::Alone | OrderLabel::List(_));
    let (side, order, target, wants_pass) = match &candidate.plan {
        Plan::PatchedFails(failing) if before.is_some_and(Class::is_stable) && unstable(failing.target) => {
            (Side::Patched, &failing.order, failing.target, false)
        }
        Plan::BaseFails(failing) if before == Some(Class::OrderSensitive) => {
            (Side::Base, &failing.order, failing.target, false)
        }
        Plan::PreExisting { order, target, pair: None } => (Side::Patched, order, *target, false),
        Plan::NewCoupled { failing, target, .. } if shortens(failing) => {
            (Side::Patched, failing, *target, false)
        }
        Plan::NewCoupled { passing, target, .. } => (Side::Patched, passing, *target, true),
        _ => return None,
    };
    shortens(order).then(|| Aim { side, order: order.clone(), target, wants_pass })
}

/// A search that starts from the orders of the sweep and knows what the sweep has shown.
fn search(view: View<'_>, goal: TestIx, aim: &Aim) -> Minimiser {
    let sweep = &view.0.sweep;
    let hits = |kind: Kind| (kind >= aim.target) != aim.wants_pass;
    let mut runs: Vec<(&[TestIx], bool)> = Vec::new();
    for column in 0..view.labels().len() {
        let sequence = sweep.sequence(column);
        let Some(place) = sequence.iter().position(|t| *t == goal) else { continue };
        let Some(kind) = view.kind(column, goal) else { continue };
        runs.push((&sequence[..place], hits(kind)));
    }
    let seen: Vec<SeenRun<'_>> = runs.iter().map(|(before, hit)| SeenRun { before, hit: *hit }).collect();
    let file = &view.suite().info(goal).file;
    let ranking = Ranking::new(goal, view.suite().len(), &seen, |t| view.suite().info(t).file == *file);
    let mut failing: Vec<&[TestIx]> =
        runs.iter().filter(|(_, hit)| *hit).map(|(before, _)| *before).collect();
    failing.sort_by_key(|before| before.len());
    failing.truncate(PREFIXES);
    let column = sweep.column(&aim.order);
    let forks = column.is_some_and(|c| sweep.executor(c) == Executor::Fork);
    let options = Options { forks, confirm: 2, ..Options::default() };
    let prefixes: Vec<Vec<TestIx>> = failing.iter().map(|before| before.to_vec()).collect();
    let mut search = Minimiser::new(goal, prefixes, ranking, options);
    for before in failing {
        search.know(before, true);
    }
    if let Some(kind) = view.kind_in(&OrderLabel::Alone, goal) {
        search.know(&[], hits(kind));
    }
    search
}
