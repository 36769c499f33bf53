//! The view model: everything a report says, as plain owned values that any format can write.
//!
//! The binary fills it from core values, with the constructors of `build` where the core concluded something. Classes,
//! findings and actions are the core's own words. Indices into sibling lists are used where a text would otherwise be
//! repeated thousands of times (failures, causes); each field says into which list it points.

mod build;
mod check;
mod checks;
mod doctor;
mod explain;
mod facts;
mod group;
mod ledger;
mod plan;
mod run;

pub use anyorder_core::verdict::{Action, Class, Finding, VerdictOutcome};
pub use build::{Judged, RunOf};
pub use check::{
    CandidateView, CheckView, EvidenceView, FindingView, NotEvidenceView, SideView, TreeDescription,
};
pub use checks::{ChecksView, StoredCheckView};
pub use doctor::{DoctorRow, DoctorView, Health};
pub use explain::ExplainView;
pub use facts::{
    Bound, Cause, Cost, Coverage, EndingView, Environment, ExecutorView, FailureView, Incomplete, Invocation,
    OrderView, Project, SandboxView, Seen, SwitchedOff, Weakness, Witness,
};
pub use ledger::{Done, EntryView, LedgerCommand, LedgerView, ListedView, MeasurementView, RefusedView};
pub use plan::{PlanOption, PlanView};
pub use run::{FailureAt, RunView, TestView};
