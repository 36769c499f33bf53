//! Placeholder while the crates are laid out.
