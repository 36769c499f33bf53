//! Who changes the outcome of which test: polluters, state-setters, cleaners, import polluters (METHODS C).
//!
//! One state machine for one tree, [`Blame`]: `next_query` says what to run, `observe` takes what came of it, `finish`
//! concludes. It never runs anything. A first test is searched for; what is found is tried on all the others at once
//! before the next search begins, so that many victims of one polluter cost one search. What a search found counts as a
//! polluter only with a certificate from fresh interpreters; until then it is a suspect.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use anyorder_core::attribution::{Answer, Blame, BlameInput, BlameOptions, Role, SeenOrder};
//! use anyorder_core::model::{Outcome, Suite, TestIx};
//!
//! // `c` failed behind `b` and `a`, and passes alone.
//! let suite = Suite::from_raw_ids(["t.py::a", "t.py::b", "t.py::c"]);
//! let [a, b, c] = [0, 1, 2].map(TestIx);
//! let passed = Some(Outcome::Passed);
//! let failing = SeenOrder { tests: vec![(b, passed), (a, passed), (c, Some(Outcome::Failed))] };
//! let mut blame = Blame::new(BlameInput {
//!     suite,
//!     seen: vec![failing],
//!     alone: vec![passed; 3],
//!     tests: vec![c],
//!     needs: BTreeMap::new(),
//!     options: BlameOptions::default(),
//! });
//! while let Some(query) = blame.next_query() {
//!     // Run `query.sequence()` with `query.peeks`, `query.imports` and `query.executor`, and take
//!     // `Answer::from_run(&query, &record)`. Here `a` pollutes.
//!     let told = |before: &[TestIx]| {
//!         Some(if before.contains(&a) { Outcome::Failed } else { Outcome::Passed })
//!     };
//!     let sequence = query.sequence();
//!     let peeks = query.peeks.iter().map(|peek| told(&sequence[..peek.after]));
//!     let tail = query.tail.iter().map(|_| told(&query.tests));
//!     let answer = Answer { outcomes: peeks.chain(tail).collect() };
//!     blame.observe(query.id, &answer);
//! }
//! let blamed = blame.finish();
//! assert_eq!(blamed.tests[0].role, Role::Victim);
//! assert_eq!(blamed.tests[0].sets[0].tests, [a]);
//! assert!(blamed.tests[0].is_certified());
//! ```
//!
//! With several jobs, ask for further queries while some are out. To resume, keep each answer under its query's `key` and
//! `attempt`, and give it again when that query is asked. When time is up: `give_up`, then `finish`.
//!
//! Must not know: files, processes, clocks, what a leak is, how anything is reported.

mod answers;
mod blame;
mod certify;
mod cleaners;
mod conclude;
mod finding;
mod goal;
mod input;
mod known;
mod matrix;
mod query;
mod stages;

pub use blame::Blame;
pub use finding::{BlameSpent, Blamed, Count, HittingSet, ImportPolluter, Proof, Role, TestBlame, Timeline};
pub use input::{BlameInput, BlameOptions, SeenOrder};
pub use query::{Answer, Collect, Query, QueryId, Why};
