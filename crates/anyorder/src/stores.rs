//! The store's errors as errors of a command.

use std::path::Path;

use anyorder_store::{OpenError, Store, StoreError};

use crate::hint::Failed;

/// Opens the store of a project.
pub fn open(dir: &Path) -> Result<Store, Failed> {
    Store::open(dir).map_err(|e: OpenError| Failed::cannot_measure(format!("could not open the store: {e}")))
}

/// An operation of the store that did not work.
pub fn failed(error: &StoreError) -> Failed {
    Failed::cannot_measure(format!("the store failed: {error}")).hint("what was stored before is kept")
}
