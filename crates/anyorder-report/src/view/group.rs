//! Tests with the same story told once.

use std::collections::HashMap;

use anyorder_core::verdict::Class;

use super::check::CandidateView;
use super::facts::Cause;
use super::run::RunView;

impl RunView {
    /// Groups the tests that are not clean: one class, one vector and one first signature are one cause, in order of
    /// first appearance.
    pub fn group(&self) -> Vec<Cause> {
        let mut causes: Vec<Cause> = Vec::new();
        let mut known = HashMap::new();
        for (at, test) in self.tests.iter().enumerate() {
            if matches!(test.class, Class::StablePass | Class::StableSkip) {
                continue;
            }
            let signature =
                test.failures.first().and_then(|f| self.failures.get(f.failure)).map(|f| &f.signature);
            let cause = *known.entry((test.class, &test.vector, signature)).or_insert_with(|| {
                causes.push(Cause { number: number(causes.len()), ..Cause::default() });
                causes.len() - 1
            });
            causes[cause].members.push(at);
        }
        causes
    }
}

impl CandidateView {
    /// Groups the findings by the numbers of their causes, in the order of the findings.
    pub fn group(&self) -> Vec<Cause> {
        let mut causes: Vec<Cause> = Vec::new();
        let mut known = HashMap::new();
        for (at, finding) in self.findings.iter().enumerate() {
            let cause = *known.entry(finding.cause).or_insert_with(|| {
                causes.push(Cause { number: finding.cause, ..Cause::default() });
                causes.len() - 1
            });
            causes[cause].members.push(at);
        }
        causes
    }
}

fn number(already: usize) -> u32 {
    u32::try_from(already + 1).unwrap_or(u32::MAX)
}
