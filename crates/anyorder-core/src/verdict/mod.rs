//! From two outcome matrices to a verdict.
//!
//! Two state machines that never run anything: a [`Classifier`] for one tree, a [`Judge`] for two. Each says what
//! to run next (`next_probe`), takes what came of it (`observe`, in any order, several at a time) and concludes
//! (`finish`). Both are pure: the same answers lead to the same conclusion, whichever came first, and a caller that
//! kept the answers of an earlier process can give them again and go on where that one stopped.
//!
//! ```
//! use anyorder_core::model::{Executor, Matrix, Order, OrderLabel, Outcome, RunRecord, Suite, TestIx};
//! use anyorder_core::verdict::{
//!     Answer, ClassRules, Classifier, Judge, JudgeInput, JudgeRules, Probe, Rules, Side, StarResult, Sweep,
//!     TouchedTests,
//! };
//!
//! # let suite = Suite::from_raw_ids(["t.py::a", "t.py::b"]);
//! # let mut matrix = Matrix::new(suite.clone());
//! # let column = matrix.add_order(OrderLabel::Default);
//! # for ix in suite.indices() { matrix.set(column, ix, Outcome::Passed); }
//! # let run = |_: &Probe| -> Answer { unreachable!("nothing is mixed here") };
//! // One tree. A sweep is filled run by run: `sweep.record(&run_record)`; or taken from a matrix.
//! let sweep = Sweep::from_matrix(matrix, Executor::Fork);
//! let mut classifier = Classifier::new(Side::Base, sweep, ClassRules::default());
//! while let Some(probe) = classifier.next_probe() {
//!     // Run `probe.label` on `probe.side` with `probe.executor`, and make an answer of the run records with
//!     // `answer.add_run(suite, &run_record, &probe.watch)`. When `probe.label` is `alone`, `probe.tests` names
//!     // the tests; each gets a run of its own, all added to one answer.
//!     let answer = run(&probe);
//!     classifier.observe(probe.id, &answer);
//! }
//! let base = classifier.finish();
//! let patched = base.clone();
//!
//! // Two trees. `judge.selected(&probe)` gives the tests of a probe, in default order of its tree.
//! let mut judge = Judge::new(JudgeInput {
//!     base,
//!     patched,
//!     touched: TouchedTests::default(),
//!     star: StarResult::default(),
//!     rules: Rules::default(),
//!     judge: JudgeRules::default(),
//! });
//! while let Some(probe) = judge.next_probe() {
//!     let answer = run(&probe);
//!     judge.observe(probe.id, &answer);
//! }
//! let verdict = judge.finish();
//! assert_eq!(verdict.outcome.word(), "accept");
//! assert_eq!(verdict.evidence.len(), 2);
//! ```
//!
//! With several jobs, ask for further probes while some are out: `None` then means "nothing until one of those is
//! answered", and `is_done` tells whether anything is out. A probe that could not be run is answered by
//! [`Answer::default`]. When time is up: `give_up`, then `finish`; what is undecided becomes `inconclusive`.
//!
//! Must not know: files, processes, clocks, reports, the ledger's file.

mod class;
mod classifier;
mod finding;
mod judge;
mod probe;
mod star;
mod sweep;
mod witness;

pub use class::{Class, ClassWitness, Classes, Kind, Observation, TestClass, TreeResult};
pub use classifier::{ClassRules, Classifier};
pub use finding::{Action, Finding, RuleError, Rules};
pub use judge::{Judge, JudgeInput, JudgeRules, TouchedTests};
pub use probe::{Answer, Probe, ProbeId, ProbePeek, Seen, Selection, Side, Why};
pub use star::{Pair, Star, StarResult, StarRules};
pub use sweep::{Cell, Sweep};
pub use witness::{
    Arm, ArmRow, Judgement, Note, Replays, Role, SideData, StarCover, Verdict, VerdictOutcome, Witness,
};
