//! Keeps what was measured: runs, sweeps and checks in SQLite, and the artefacts of failing runs beside it.
//!
//! Everything of a project stands in its `.anyorder/`. A run is durable before it is counted; a killed sweep goes on
//! where it was. Write access is a type that one gets by locking. Other back ends (PostgreSQL, ClickHouse) are to
//! come behind the same face and the same conformance suite.

#![forbid(unsafe_code)]

mod artefacts;
mod lock;
mod open;
mod order_file;
mod packed;
mod sqlite;

pub use artefacts::Artefact;
pub use lock::{LockError, LockedStore};
pub use open::{OpenError, Store};
pub use order_file::{OrderFileError, order_file, read_order_file};
pub use packed::PackedError;
pub use sqlite::{
    CheckId, CheckRecord, RunId, RunSummary, StoreError, StoredCheck, Sweep, SweepId, SweepKey, SweepState,
};
