//! Intervals, bounds and tests.
