//! What `anyorder show` lists.

use super::facts::Project;

/// A check that is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCheckView {
    /// Its number, such as `c5`.
    pub id: String,
    /// When, in milliseconds since the beginning of 1970.
    pub created_ms: i64,
    /// `accept`, `review` or `block`.
    pub verdict: String,
    /// The base, as a commit.
    pub base: String,
    /// The patches, by name.
    pub patches: Vec<String>,
}

/// The checks of a project, the newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChecksView {
    /// Whose.
    pub project: Project,
    /// The checks.
    pub checks: Vec<StoredCheckView>,
    /// The exit code that the process will end with.
    pub exit_code: u8,
}
