//! Keeps what was measured: runs, sweeps and checks in SQLite, and the artefacts of failing runs beside it.
//!
//! Everything of a project stands in its `.anyorder/`: `anyorder.db`, `lock`, and `runs/r17/` for each failing run. A
//! run is durable before it is counted; a killed sweep goes on where it was. Write access is a type that one gets by
//! locking. All SQL of the embedded back end stands in `sqlite`, all that one can ask for is a method of [`Store`]
//! and [`LockedStore`]; other back ends (PostgreSQL, ClickHouse) are to come behind the same two types and are held to
//! the same answers by `tests/it/conformance.rs`.
//!
//! A run is one packed record (`packed`): a row an outcome would be twenty times slower to read. Failures stand in a
//! table of their own, so that SQL can ask what failed where. A view of test, run, index, suite size and status, a
//! row an outcome, needs a table-valued function over the packed records; it is to be added with the history.

#![forbid(unsafe_code)]

mod artefacts;
mod identity;
mod ledger;
mod lock;
mod open;
mod order_file;
mod packed;
mod sqlite;

pub use artefacts::Artefact;
pub use ledger::{LEDGER_FILE, LedgerError, LedgerFile};
pub use lock::{LockError, LockedStore};
pub use open::{OpenError, Store};
pub use order_file::{OrderFileError, order_file, read_order_file};
pub use packed::PackedError;
pub use sqlite::{
    CheckId, CheckRecord, RunId, RunSummary, Stats, StoreError, StoredCheck, Sweep, SweepId, SweepKey,
    SweepState,
};
