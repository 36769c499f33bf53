//! The configuration file: `anyorder.toml`, or `[tool.anyorder]` in `pyproject.toml`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::args::{ExecutorChoice, SandboxChoice};
use crate::hint::Failed;

/// What a configuration file may say. Command-line options win over it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct ConfigFile {
    /// As `--python`.
    pub python: Option<String>,
    /// Arguments for pytest, used when none follow `--`.
    pub pytest_args: Vec<String>,
    /// As `--seeds`.
    pub seeds: Option<u32>,
    /// As `--bound`.
    pub bound: Option<String>,
    /// As `--shuffle`.
    pub shuffle: Option<String>,
    /// As `--executor`.
    pub executor: Option<ExecutorChoice>,
    /// As `--sandbox`.
    pub sandbox: Option<SandboxChoice>,
    /// As `--jobs`.
    pub jobs: Option<u16>,
    /// As `--test-timeout`.
    pub test_timeout: Option<u64>,
    /// As `--collect-timeout`.
    pub collect_timeout: Option<u64>,
    /// As `--reseed`.
    pub reseed: Option<u64>,
    /// As `--base`.
    pub base: Option<String>,
    /// Variables set for every run.
    pub env: BTreeMap<String, String>,
    /// Tests that stay together in their own order.
    pub sequential: Vec<Sequential>,
    /// What a finding leads to, instead of the default.
    pub verdict: BTreeMap<String, String>,
}

/// Tests that stay together in their own order.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Sequential {
    /// For the report.
    #[serde(default)]
    pub name: Option<String>,
    /// Test ids or patterns with `*`, in the order in which they must run.
    pub tests: Vec<String>,
}

const KEYS: &[&str] = &[
    "python",
    "pytest-args",
    "seeds",
    "bound",
    "shuffle",
    "executor",
    "sandbox",
    "jobs",
    "test-timeout",
    "collect-timeout",
    "reseed",
    "base",
    "env",
    "sequential",
    "verdict",
];
const SEQUENTIAL_KEYS: &[&str] = &["name", "tests"];

/// The configuration of a project, and the file it stands in. `anyorder.toml` wins over `pyproject.toml`; the
/// first folder from `cwd` up to `root` that has either counts.
pub fn load(cwd: &Path, root: &Path) -> Result<(ConfigFile, Option<PathBuf>), Failed> {
    for folder in cwd.ancestors() {
        let own = folder.join("anyorder.toml");
        if own.is_file() {
            return parse(&read(&own)?, &own, None).map(|config| (config, Some(own)));
        }
        let project = folder.join("pyproject.toml");
        if project.is_file() {
            let text = read(&project)?;
            if text.contains("tool.anyorder") {
                return parse(&text, &project, Some("tool.anyorder")).map(|config| (config, Some(project)));
            }
        }
        if folder == root {
            break;
        }
    }
    Ok((ConfigFile::default(), None))
}

fn read(path: &Path) -> Result<String, Failed> {
    fs_err::read_to_string(path).map_err(|e| Failed::usage(format!("could not read the configuration: {e}")))
}

fn parse(text: &str, path: &Path, table: Option<&str>) -> Result<ConfigFile, Failed> {
    let wrong = |what: &dyn std::fmt::Display| {
        let message = what.to_string();
        Failed::usage(format!("the configuration `{}` is wrong: {}", path.display(), message.trim_end()))
    };
    let whole: toml::Table = text.parse().map_err(|e: toml::de::Error| wrong(&e))?;
    let config = match table {
        None => whole,
        Some(_) => match whole.get("tool").and_then(|t| t.get("anyorder")) {
            Some(toml::Value::Table(table)) => table.clone(),
            Some(_) => return Err(wrong(&"`tool.anyorder` is not a table")),
            None => return Ok(ConfigFile::default()),
        },
    };
    check_keys(&config, KEYS, "").map_err(|e| wrong(&e))?;
    if let Some(toml::Value::Array(groups)) = config.get("sequential") {
        for group in groups.iter().filter_map(toml::Value::as_table) {
            check_keys(group, SEQUENTIAL_KEYS, "sequential.").map_err(|e| wrong(&e))?;
        }
    }
    toml::Value::Table(config).try_into().map_err(|e: toml::de::Error| wrong(&e))
}

fn check_keys(table: &toml::Table, known: &[&str], prefix: &str) -> Result<(), String> {
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => Err(match nearest(key, known.iter().copied()) {
            Some(near) => format!("unknown key `{prefix}{key}`; did you mean `{prefix}{near}`?"),
            None => format!("unknown key `{prefix}{key}`; known are {}", known.join(", ")),
        }),
    }
}

/// The word that somebody probably meant.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let spelt = word.replace('_', "-");
    known
        .map(|candidate| (strsim::jaro_winkler(&spelt, candidate), candidate))
        .filter(|(score, _)| *score > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<ConfigFile, String> {
        parse(text, Path::new("anyorder.toml"), None).map_err(|e| e.to_string())
    }

    #[test]
    fn every_known_key_is_read() {
        let text = r#"
            python = "3.11"
            pytest-args = ["tests", "-k", "not slow"]
            seeds = 30
            shuffle = "nested"
            executor = "fresh"
            sandbox = "tmp"
            jobs = 2
            test-timeout = 10
            collect-timeout = 20
            reseed = 7
            base = "origin/main"
            env = { A = "1" }
            verdict = { masked = "block" }
            [[sequential]]
            tests = ["tests/test_a.py::*"]
        "#;
        let config = parsed(text).unwrap();
        assert_eq!(config.pytest_args, ["tests", "-k", "not slow"]);
        assert_eq!(config.executor, Some(ExecutorChoice::Fresh));
        assert_eq!(config.sequential[0].tests, ["tests/test_a.py::*"]);
        assert_eq!(config.verdict["masked"], "block");
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_the_likely_one() {
        let error = parsed("seed = 3").unwrap_err();
        assert!(error.contains("unknown key `seed`; did you mean `seeds`?"), "{error}");
        let error = parsed("test_timeout = 3").unwrap_err();
        assert!(error.contains("did you mean `test-timeout`?"), "{error}");
        let error = parsed("[[sequential]]\ntest = []").unwrap_err();
        assert!(error.contains("did you mean `sequential.tests`?"), "{error}");
    }

    #[test]
    fn a_wrong_type_is_an_error_that_names_the_file() {
        let error = parsed("seeds = \"many\"").unwrap_err();
        assert!(error.contains("anyorder.toml") && error.contains("seeds"), "{error}");
    }

    #[test]
    fn a_project_file_without_our_table_says_nothing() {
        let config =
            parse("[project]\nname = 'x'", Path::new("pyproject.toml"), Some("tool.anyorder")).unwrap();
        assert_eq!(config.seeds, None);
    }
}
