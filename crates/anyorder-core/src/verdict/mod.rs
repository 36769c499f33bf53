//! From two outcome matrices to a verdict.
