//! Reports from sample views: read by eye as snapshots, and by programs.

mod build;
mod hostile;
mod json;
mod junit;
mod ledger;
mod progress;
mod samples;
mod stored;
mod terminal;
