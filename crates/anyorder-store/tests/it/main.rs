//! The store as its callers see it.

mod child;
mod conformance;
mod killed;
mod ledger;
mod locking;
mod opening;
mod samples;
mod size;
mod statements;
