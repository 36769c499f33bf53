//! Trees against real git repositories: what appears at the project's path must be what git would check out there,
//! and the user's repository must stay as it is to the byte.

mod base;
mod editable;
mod interpreters;
mod overlay;
mod patches;
mod repo;
mod special;
mod worktree;
