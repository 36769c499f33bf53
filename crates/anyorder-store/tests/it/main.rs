//! The store against what can happen to it. `conformance` is what every back end must pass.

mod conformance;
mod faults;
mod killed;
mod sample;
