//! What needs `unsafe`, and nothing else.
