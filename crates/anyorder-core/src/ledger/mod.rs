//! What is known and put up with for a while: frozen and quarantined tests.
//!
//! A *frozen* test is order-sensitive and known to be, until a date. A *quarantined* test is flaky and known to be, until
//! its source or its failure changes. Neither is ever evidence, and neither hides anything that its entry does not know
//! (DESIGN section 7). The rules here are pure: what day it is, is an argument; the file is the store's.
//!
//! Must not know: files, clocks, formats. The verdict does not know the ledger: its effect is laid on afterwards.

mod admit;
mod compare;
mod date;
mod effect;
mod entry;
mod standing;

pub use admit::{FreezeRefusal, QuarantineRefusal, may_freeze, may_quarantine};
pub use compare::{Change, Comparison};
pub use date::{Date, ParseDateError};
pub use effect::{Covered, Effect, Ledgers, Withheld, apply, found};
pub use entry::{
    Chance, Duplicate, Entry, EntryError, Frozen, Ledger, Quarantined, Recorded, Renewal, signatures,
};
pub use standing::{Lapse, Now, Observed, Standing, Uncovered, excuse, standing};
