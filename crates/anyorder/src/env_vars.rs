//! The environment variables that anyorder reads; nothing else reads the environment.
#![expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// Where scratch folders go, instead of the system's temporary folder.
pub const SCRATCH: &str = "ANYORDER_SCRATCH";

/// The active virtual environment, set by its `activate` script.
pub fn virtual_env() -> Option<PathBuf> {
    path("VIRTUAL_ENV")
}

/// Where uv keeps the project's environment, if not in `.venv`.
pub fn uv_project_environment() -> Option<PathBuf> {
    path("UV_PROJECT_ENVIRONMENT")
}

/// The active conda environment.
pub fn conda_prefix() -> Option<PathBuf> {
    path("CONDA_PREFIX")
}

/// Where programs are looked up.
pub fn search_path() -> Option<OsString> {
    env::var_os("PATH")
}

/// Folder for scratch files, where the user names one.
pub fn scratch() -> Option<PathBuf> {
    path(SCRATCH)
}

/// Whether this runs on a continuous integration machine, where nobody watches a progress bar.
pub fn on_ci() -> bool {
    env::var_os("CI").is_some_and(|v| !v.is_empty() && v != "false" && v != "0")
}

/// Whether the locale lets glyphs outside ASCII through.
pub fn speaks_utf8() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(env::var_os).find(|v| !v.is_empty());
    locale.is_some_and(|v| v.to_string_lossy().to_ascii_lowercase().replace('-', "").contains("utf8"))
}

/// The whole environment, handed on to the interpreters that run tests.
pub fn all() -> Vec<(OsString, OsString)> {
    env::vars_os().collect()
}

fn path(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from)
}
