//! The search where a sequence gives one outcome: each question is put once.

use std::collections::BTreeSet;

use crate::model::TestIx;

use super::super::minimiser::Conclusion;
use super::members::Shape;
use super::{Known, REPRODUCE, Walk, coarse, run};

impl Walk<'_> {
    /// Alone; the ranked predecessors; the shortest failing order, its end first.
    pub(super) fn steady(&self) -> Known<Conclusion> {
        if self.hits(&[])? {
            return Ok(Conclusion::AloneHits);
        }
        if let Some(found) = self.scan()? {
            return self.confirmed(found);
        }
        match self.reproduced()? {
            Some(sequence) => {
                let found = self.shortened(&sequence)?;
                self.confirmed(found)
            }
            None => self.not_reproduced(),
        }
    }

    fn scan(&self) -> Known<Option<Vec<TestIx>>> {
        if self.input.options.forks { self.scan_chain() } else { self.scan_group() }
    }

    /// The best-ranked predecessors one behind the other, the goal's test after each, in growing blocks: a polluter is
    /// found where it stands, and so is a conjunction whose members are all among them.
    fn scan_chain(&self) -> Known<Option<Vec<TestIx>>> {
        let best = self.input.ranking.best_first();
        let most = self.input.options.pair_scan.max(best.len() / 16).min(best.len());
        let (mut done, mut block) = (0, 4);
        while done < most {
            let chain = &best[..block.min(most)];
            let places: Vec<usize> = (done + 1..=chain.len()).collect();
            let hits = self.trace(chain, &places)?;
            if let Some(n) = hits.iter().position(|hit| *hit == Some(true)) {
                let (body, last) = (&chain[..places[n] - 1], chain[places[n] - 1]);
                let shape = Shape { before: Vec::new(), body: body.to_vec(), behind: vec![last] };
                return self.members(shape).map(Some);
            }
            done = chain.len();
            block = done * 4;
        }
        Ok(None)
    }

    /// Without peeks an interpreter is started for each question: the very best singly, the others as one group, in the
    /// sequence in which they stood in the shortest failing order.
    fn scan_group(&self) -> Known<Option<Vec<TestIx>>> {
        let best = self.input.ranking.best_first();
        let singles: Vec<[TestIx; 1]> = best.iter().take(3).map(|test| [*test]).collect();
        if let Some(n) = self.first_hit(&singles)? {
            return Ok(Some(singles[n].to_vec()));
        }
        let Some(prefix) = self.input.prefixes.first() else { return Ok(None) };
        let few: BTreeSet<TestIx> = best.iter().copied().take(self.input.options.pair_scan).collect();
        let group: Vec<TestIx> = prefix.iter().copied().filter(|test| few.contains(test)).collect();
        if group.is_empty() || !self.hits(&group)? {
            return Ok(None);
        }
        self.shortened(&group).map(Some)
    }

    /// A failing order that fails again, as short an end of it as does: a sixty-fourth, a sixteenth, a quarter, all.
    fn reproduced(&self) -> Known<Option<Vec<TestIx>>> {
        for prefix in self.input.prefixes.iter().take(3) {
            for part in [64, 16, 4, 1] {
                let len = prefix.len() / part;
                let enough = if self.input.options.forks { 8 } else { 32 };
                if part > 1 && len < enough || len == 0 {
                    continue;
                }
                let end = &prefix[prefix.len() - len..];
                let hit = if self.input.options.forks {
                    self.trace(end, &coarse(len))?.pop().flatten() == Some(true)
                } else {
                    self.hits(end)?
                };
                if hit {
                    return Ok(Some(end.to_vec()));
                }
            }
        }
        Ok(None)
    }

    /// Nothing failed again: the shortest order is run some more times before that is said. A hit then is a second
    /// outcome of one sequence, and the other walk takes over.
    fn not_reproduced(&self) -> Known<Conclusion> {
        let Some(prefix) = self.input.prefixes.first().filter(|p| !p.is_empty()) else {
            return Ok(Conclusion::NotReproduced);
        };
        if self.tally(prefix).runs() >= REPRODUCE {
            return Ok(Conclusion::NotReproduced);
        }
        Err(vec![run(prefix, REPRODUCE)])
    }

    /// The minimal part of a sequence that hits.
    fn shortened(&self, sequence: &[TestIx]) -> Known<Vec<TestIx>> {
        if !self.input.options.forks {
            let halved = self.halved(sequence)?;
            return if halved.len() == 1 { Ok(halved) } else { self.flip_by_halves(&halved) };
        }
        let places = coarse(sequence.len());
        let hits = self.trace(sequence, &places)?;
        let (from, to) = last_flip(&places, &hits);
        let near = self.ranked(&sequence[from..to], usize::MAX);
        let singles: Vec<[TestIx; 1]> = near.into_iter().map(|test| [test]).collect();
        if let Some(n) = self.first_hit(&singles)? {
            return Ok(singles[n].to_vec());
        }
        let at = self.flip_between(sequence, from, to)?;
        self.members(Shape { before: Vec::new(), body: sequence[..at].to_vec(), behind: vec![sequence[at]] })
    }

    /// The index of a test that turns miss into hit, between a place that misses and one that hits.
    pub(super) fn flip_between(&self, sequence: &[TestIx], from: usize, to: usize) -> Known<usize> {
        let places: Vec<usize> = (from + 1..=to).collect();
        let hits = self.trace(&sequence[..to], &places)?;
        Ok(last_flip(&places, &hits).1 - 1)
    }

    /// Halves as long as one half by itself hits.
    fn halved(&self, sequence: &[TestIx]) -> Known<Vec<TestIx>> {
        let mut rest = sequence;
        while rest.len() > 1 {
            let (left, right) = rest.split_at(rest.len() / 2);
            // The later half first: a cleaner between polluter and goal is less likely to stand there.
            if self.hits(right)? {
                rest = right;
            } else if self.hits(left)? {
                rest = left;
            } else {
                break;
            }
        }
        Ok(rest.to_vec())
    }

    fn flip_by_halves(&self, sequence: &[TestIx]) -> Known<Vec<TestIx>> {
        let (mut misses, mut hits) = (0, sequence.len());
        while hits - misses > 1 {
            let middle = usize::midpoint(misses, hits);
            if self.hits(&sequence[..middle])? {
                hits = middle;
            } else {
                misses = middle;
            }
        }
        self.members(Shape {
            before: Vec::new(),
            body: sequence[..hits - 1].to_vec(),
            behind: vec![sequence[hits - 1]],
        })
    }

    /// The sequence hits each time, and not without a member.
    fn confirmed(&self, sequence: Vec<TestIx>) -> Known<Conclusion> {
        let wanted = self.input.options.confirm.max(1);
        let mut asks = Vec::new();
        if self.tally(&sequence).runs() < wanted {
            asks.push(run(&sequence, wanted));
        }
        let without = dropped(&sequence);
        // As many in all, each at least once.
        let each = wanted.div_ceil(u32::try_from(without.len()).unwrap_or(1).max(1));
        let open = without.iter().filter(|tests| self.tally(tests).runs() < each);
        asks.extend(open.map(|tests| run(tests, each)));
        // Alone it costs one test only, and a test that fails by chance is likely to show it.
        if self.tally(&[]).runs() < 2 * wanted {
            asks.push(run(&[], 2 * wanted));
        }
        if asks.is_empty() { Ok(Conclusion::Found { sequence, always: true }) } else { Err(asks) }
    }
}

/// The sequence without each one of its members.
pub(super) fn dropped(sequence: &[TestIx]) -> Vec<Vec<TestIx>> {
    let without = |n| sequence[..n].iter().chain(&sequence[n + 1..]).copied().collect();
    (0..sequence.len()).map(without).collect()
}

/// The last place that misses (0 where none does: alone it is not hit) and the first of those behind it.
pub(super) fn last_flip(places: &[usize], hits: &[Option<bool>]) -> (usize, usize) {
    let miss = hits.iter().rposition(|hit| *hit == Some(false));
    let behind = miss.map_or(0, |n| n + 1);
    // Places that said nothing are passed over: what hits is further on.
    let hit = (behind..hits.len()).find(|n| hits[*n] == Some(true)).unwrap_or(hits.len().saturating_sub(1));
    (miss.map_or(0, |n| places[n]), places.get(hit).copied().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flip_that_counts_is_the_last_before_the_end() {
        let hits = [Some(true), Some(false), Some(false), None, Some(true), Some(true)];
        assert_eq!(last_flip(&[1, 2, 3, 4, 5, 6], &hits), (3, 5));
        assert_eq!(last_flip(&[2, 4], &[Some(true), Some(true)]), (0, 2));
        assert_eq!(last_flip(&[1], &[Some(true)]), (0, 1));
    }

    #[test]
    fn coarse_places_end_at_the_end() {
        assert_eq!(coarse(10), [3, 6, 9, 10]);
        assert_eq!(coarse(1), [1]);
        assert_eq!(coarse(4), [2, 4]);
    }

    #[test]
    fn a_pair_without_a_member_is_the_other() {
        let tests = [TestIx(4), TestIx(7)];
        assert_eq!(dropped(&tests), [vec![TestIx(7)], vec![TestIx(4)]]);
    }
}
