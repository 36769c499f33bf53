//! Further members of a sequence of which some are known to be needed: conjunctions.

use crate::model::TestIx;

use super::steady::{dropped, last_flip};
use super::{Known, Walk, coarse};

/// A sequence that hits: members that are needed, perhaps needed tests between them, members that are needed.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) before: Vec<TestIx>,
    pub(super) body: Vec<TestIx>,
    pub(super) behind: Vec<TestIx>,
}

impl Shape {
    /// The sequence with these tests for its body.
    fn with(&self, body: &[TestIx]) -> Vec<TestIx> {
        [self.before.as_slice(), body, self.behind.as_slice()].concat()
    }

    /// All members that are known, then these.
    fn then(&self, tests: &[TestIx]) -> Vec<TestIx> {
        [self.before.as_slice(), self.behind.as_slice(), tests].concat()
    }

    fn known(&self) -> usize {
        self.before.len() + self.behind.len()
    }
}

/// The next member, in its place.
enum Next {
    /// These suffice.
    Enough(Vec<TestIx>),
    /// One member more, and what is left to search.
    More(Shape),
}

impl Walk<'_> {
    /// The minimal sequence inside one that hits.
    pub(super) fn members(&self, mut shape: Shape) -> Known<Vec<TestIx>> {
        loop {
            let fixed = shape.with(&[]);
            if shape.body.is_empty() || self.hits(&fixed)? {
                return self.pruned(fixed);
            }
            if self.input.options.forks {
                let most = self.input.options.pair_scan.max(shape.body.len() / 16);
                let few = self.ranked(&shape.body, most);
                let tries: Vec<Vec<TestIx>> = few.iter().map(|test| shape.with(&[*test])).collect();
                if let Some(n) = self.first_hit(&tries)? {
                    return self.pruned(tries[n].clone());
                }
            }
            let next = if self.input.options.forks && !self.noisy { self.known_first(&shape)? } else { None };
            shape = match next {
                Some(Next::Enough(sequence)) => return self.pruned(sequence),
                Some(Next::More(shape)) => shape,
                None => {
                    let halved = self.halved_body(shape)?;
                    if halved.body.len() < 2 {
                        return self.pruned(halved.with(&halved.body));
                    }
                    self.gallop(halved)?
                }
            };
        }
    }

    /// With the known members put first, one trace through the body shows where the next one stands. `None` where the
    /// sequence does not hit that way round: they must come later, or something in the body undoes them.
    fn known_first(&self, shape: &Shape) -> Known<Option<Next>> {
        let sequence = shape.then(&shape.body);
        let places: Vec<usize> =
            coarse(shape.body.len()).into_iter().map(|place| place + shape.known()).collect();
        let hits = self.trace(&sequence, &places)?;
        if hits.last() != Some(&Some(true)) {
            return Ok(None);
        }
        let (from, to) = last_flip(&places, &hits);
        let from = from.max(shape.known());
        let near = self.ranked(&sequence[from..to], usize::MAX);
        let tries: Vec<Vec<TestIx>> = near.iter().map(|test| shape.then(&[*test])).collect();
        if let Some(n) = self.first_hit(&tries)? {
            return Ok(Some(Next::Enough(tries[n].clone())));
        }
        let at = self.flip_between(&sequence, from, to)?;
        Ok(Some(Next::More(Shape {
            before: shape.then(&[]),
            body: sequence[shape.known()..at].to_vec(),
            behind: vec![sequence[at]],
        })))
    }

    /// Halves of the body as long as one by itself hits: cheap where a single member is missing.
    fn halved_body(&self, mut shape: Shape) -> Known<Shape> {
        while shape.body.len() > 1 {
            let (left, right) = shape.body.split_at(shape.body.len() / 2);
            let half = if self.hits(&shape.with(right))? {
                right.to_vec()
            } else if self.hits(&shape.with(left))? {
                left.to_vec()
            } else {
                break;
            };
            shape.body = half;
        }
        Ok(shape)
    }

    /// The latest start of the body that still hits, by doubling and then halving: the test there is needed. Makes no
    /// use of monotonicity: between a start that hits and one that misses there is one where it flips.
    fn gallop(&self, shape: Shape) -> Known<Shape> {
        let len = shape.body.len();
        let (mut misses, mut hits) = (0, len);
        let mut size = 1;
        while size < len {
            if self.hits(&shape.with(&shape.body[len - size..]))? {
                hits = size;
                break;
            }
            misses = size;
            size *= 2;
        }
        while hits - misses > 1 {
            let middle = usize::midpoint(misses, hits);
            if self.hits(&shape.with(&shape.body[len - middle..]))? {
                hits = middle;
            } else {
                misses = middle;
            }
        }
        let start = len - hits;
        let before = shape.then_before(start);
        Ok(Shape { before, body: shape.body[start + 1..].to_vec(), behind: shape.behind })
    }

    /// Without each member in turn, until none can be spared.
    fn pruned(&self, mut sequence: Vec<TestIx>) -> Known<Vec<TestIx>> {
        while sequence.len() > 1 {
            let shorter = dropped(&sequence);
            match self.first_hit(&shorter)? {
                Some(n) => sequence.clone_from(&shorter[n]),
                None => break,
            }
        }
        Ok(sequence)
    }
}

impl Shape {
    /// The members before the body, and the body's test at `start`.
    fn then_before(&self, start: usize) -> Vec<TestIx> {
        [self.before.as_slice(), &self.body[start..=start]].concat()
    }
}
