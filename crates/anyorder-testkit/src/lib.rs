//! Planted suites with declared truth, and a simulated runner.
//!
//! A [`World`] is one tree's suite in the last-writer model (METHODS A4): tests write states, other tests depend on
//! them. [`Check`] sweeps two of them, drives the core's classifier and judge to the end and gives the verdict. All
//! chance comes from a seeded [`Rng`]; there is no clock and no process, so thousands of patches are judged in
//! seconds.

#![forbid(unsafe_code)]

mod drive;
mod hunt;
mod inquiry;
mod orders;
mod patches;
mod planted;
mod rng;
mod world;

pub use drive::{Check, Checked, answer, classify, sweep};
pub use hunt::{Sightings, Truth, is_planted, is_right, minimise, reply};
pub use inquiry::{Inquired, Inquiry, answer as answer_query, is_explained};
pub use orders::{Plan, resolve};
pub use patches::{Patch, Scenario};
pub use planted::{Goal, Import, Planted, Walk};
pub use rng::Rng;
pub use world::{Coupling, Runner, World};
