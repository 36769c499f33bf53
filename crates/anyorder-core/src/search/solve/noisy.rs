//! The search where one sequence gave two outcomes: the goal's test is hit only sometimes, or by chance in any order.

use crate::model::TestIx;
use crate::stats::fisher_one_sided;

use super::super::book::{Ask, Key, Tally};
use super::super::minimiser::Conclusion;
use super::members::Shape;
use super::steady::dropped;
use super::{Known, OFTEN, Walk, coarse, leaning, run};

/// Runs of the goal's test alone, none of which may hit: what hits alone hits in any order. Cheap, one test each.
const ALONE: u32 = 40;
/// How often the goal is supposed to be hit where little is at stake or much speaks for a candidate.
const RARELY: f64 = 0.3;
/// A found sequence must hit this much more often than without a member, by Fisher's exact test.
const SURE: f64 = 5e-4;
/// Runs of a found sequence after which it is given up.
const PATIENCE: u32 = 60;
/// Traces of a failing order from which the place of the polluter is read.
const TRACES: u32 = 12;

impl Walk<'_> {
    pub(super) fn noisy(&self) -> Known<Conclusion> {
        let alone = self.tally(&[]);
        if alone.hits > 0 {
            return Ok(if alone.misses == 0 { Conclusion::AloneHits } else { Conclusion::Unstable });
        }
        if alone.runs() < ALONE {
            return Err(vec![run(&[], ALONE)]);
        }
        let most = self.input.options.pair_scan;
        let best: Vec<TestIx> = self.input.ranking.best_first().iter().copied().take(most).collect();
        if let Some(test) = self.passes(&best, OFTEN)? {
            return self.shown(vec![test]);
        }
        let Some(prefix) = self.again()? else { return Ok(Conclusion::NotReproduced) };
        if self.input.options.forks
            && let Some(test) = self.passes(&self.suspects(prefix)?, RARELY)?
        {
            return self.shown(vec![test]);
        }
        let found = self.by_halves(prefix)?;
        self.shown(found)
    }

    /// One run of each candidate, then another, until the sequential test has spoken on each. The first in rank that
    /// hits wins.
    fn passes(&self, tests: &[TestIx], share: f64) -> Known<Option<TestIx>> {
        let mut open: Vec<(u32, Ask)> = Vec::new();
        for test in tests {
            let tally = self.tally(&[*test]);
            let said = if tally.seen() == 0 { self.said(tally) } else { leaning(tally, share) };
            match said {
                Some(true) => return Ok(Some(*test)),
                Some(false) => {}
                // What has hit is run on at once; the others take turns.
                None => {
                    let turn = if tally.hits > 0 { 0 } else { tally.runs() };
                    open.push((turn, run(&[*test], tally.runs() + 1)));
                }
            }
        }
        open.sort_by_key(|(turn, _)| *turn);
        if open.is_empty() { Ok(None) } else { Err(open.into_iter().map(|(_, ask)| ask).collect()) }
    }

    /// The shortest failing order that hits again, traced all along where that can be.
    fn again(&self) -> Known<Option<&[TestIx]>> {
        for prefix in self.input.prefixes.iter().filter(|p| !p.is_empty()).take(2) {
            let tally = self.tally(prefix);
            let said = if tally.seen() == 0 { self.said(tally) } else { leaning(tally, RARELY) };
            match said {
                Some(true) => return Ok(Some(prefix)),
                Some(false) => {}
                None => return Err(vec![self.traced(prefix, Key::of(prefix), tally.runs() + 1)]),
            }
        }
        Ok(None)
    }

    fn traced(&self, prefix: &[TestIx], need: Key, runs: u32) -> Ask {
        let places = if self.input.options.forks { coarse(prefix.len()) } else { vec![prefix.len()] };
        Ask { tests: prefix.to_vec(), places, need, runs }
    }

    /// The tests among which the polluter stands, by rank: those before the first hit of the last stretch of hits, back
    /// to where so many misses follow each other that chance does not explain them.
    fn suspects(&self, prefix: &[TestIx]) -> Known<Vec<TestIx>> {
        let places = coarse(prefix.len());
        let keys = Key::at(prefix, &places);
        let tallies: Vec<Tally> = keys.iter().map(|key| self.book.tally(*key)).collect();
        // Some places were run on their own as well: the one that was run least counts.
        let least = (0..keys.len()).min_by_key(|n| tallies[*n].runs());
        if let Some(n) = least.filter(|n| tallies[*n].runs() < TRACES) {
            return Err(vec![self.traced(prefix, keys[n], TRACES)]);
        }
        let (mut hits, mut seen, mut quiet) = (0, 0, 0);
        let mut first = places.len().saturating_sub(1);
        let mut clear = 0;
        for (n, tally) in tallies.iter().enumerate().rev() {
            if tally.hits > 0 {
                hits += tally.hits;
                seen += tally.seen() + quiet;
                quiet = 0;
                first = n;
                continue;
            }
            quiet += tally.seen();
            let rate = f64::from(hits) / f64::from(seen.max(1));
            if hits > 0 && (1.0 - rate).powf(f64::from(quiet)) < 1e-3 {
                clear = n;
                break;
            }
        }
        let from = if clear == 0 { 0 } else { places[clear - 1] };
        Ok(self.ranked(&prefix[from..places[first]], usize::MAX))
    }

    /// The steady way, each question repeated: dear, but it knows conjunctions.
    fn by_halves(&self, prefix: &[TestIx]) -> Known<Vec<TestIx>> {
        let (mut misses, mut hits) = (0, prefix.len());
        while hits - misses > 1 {
            let middle = usize::midpoint(misses, hits);
            if self.hits(&prefix[..middle])? {
                hits = middle;
            } else {
                misses = middle;
            }
        }
        let shape =
            Shape { before: Vec::new(), body: prefix[..hits - 1].to_vec(), behind: vec![prefix[hits - 1]] };
        self.members(shape)
    }

    /// Found when it hits far more often than without any one member.
    fn shown(&self, mut sequence: Vec<TestIx>) -> Known<Conclusion> {
        loop {
            let with = self.tally(&sequence);
            let without = dropped(&sequence);
            let tallies: Vec<Tally> = without.iter().map(|tests| self.tally(tests)).collect();
            // A member that is not needed after all.
            let spared =
                tallies.iter().position(|t| t.hits > 0 && t.hits * with.seen() * 3 > with.hits * t.seen());
            if let Some(n) = spared {
                if without[n].is_empty() {
                    return Ok(Conclusion::Unstable);
                }
                sequence.clone_from(&without[n]);
                continue;
            }
            let sure = |t: &Tally| fisher_one_sided([[with.hits, with.misses], [t.hits, t.misses]]) <= SURE;
            if tallies.iter().all(sure) {
                // It was chosen for having hit: what would have hit alone is given a second chance to show it.
                if self.tally(&[]).runs() < 2 * ALONE {
                    return Err(vec![run(&[], 2 * ALONE)]);
                }
                let always = with.misses == 0;
                return Ok(Conclusion::Found { sequence, always });
            }
            if with.runs() >= PATIENCE {
                return Ok(Conclusion::Unstable);
            }
            let mut asks = vec![run(&sequence, with.runs() + 1)];
            let behind = without.iter().zip(&tallies).filter(|(_, t)| t.runs() <= with.runs());
            asks.extend(behind.map(|(tests, t)| run(tests, t.runs() + 1)));
            return Err(asks);
        }
    }
}
