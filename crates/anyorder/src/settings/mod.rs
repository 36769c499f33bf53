//! Options, resolved: the command line first, then the configuration file, then the defaults.

mod file;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyorder_core::order::{Amount, PlanRequest, Shuffle, parse_orders};

pub use file::{ConfigFile, Sequential, nearest};

use crate::args::{ExecutorChoice, PlanArgs, SandboxChoice, SuiteArgs};
use crate::hint::Failed;

/// How to reach and run the suite, with nothing left open.
#[derive(Clone, Debug)]
pub struct SuiteSettings {
    /// `--python`.
    pub python: Option<String>,
    /// Arguments for pytest.
    pub pytest_args: Vec<String>,
    /// Which executor.
    pub executor: ExecutorChoice,
    /// Which sandbox.
    pub sandbox: SandboxChoice,
    /// How many runs at once.
    pub jobs: usize,
    /// How long one test may take.
    pub test_timeout: Duration,
    /// How long start-up and collection may take.
    pub collect_timeout: Duration,
    /// Seed given to `random` before each test.
    pub reseed: Option<u64>,
    /// Variables for every run.
    pub env: Vec<(String, String)>,
    /// Declared sequences.
    pub sequential: Vec<Sequential>,
    /// Where the configuration stands.
    pub config_path: Option<PathBuf>,
}

/// Loads the configuration that counts for a folder.
pub fn load(cwd: &Path, root: &Path) -> Result<(ConfigFile, Option<PathBuf>), Failed> {
    file::load(cwd, root)
}

impl SuiteSettings {
    /// Resolves the options of the command line against a configuration.
    pub fn resolve(args: &SuiteArgs, config: &ConfigFile, config_path: Option<PathBuf>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let seconds = |flag: Option<u64>, file: Option<u64>, default| {
            Duration::from_secs(flag.or(file).unwrap_or(default).max(1))
        };
        let pytest_args =
            if args.pytest_args.is_empty() { config.pytest_args.clone() } else { args.pytest_args.clone() };
        Self {
            python: args.python.clone().or_else(|| config.python.clone()),
            pytest_args,
            executor: args.executor.or(config.executor).unwrap_or(ExecutorChoice::Auto),
            sandbox: args.sandbox.or(config.sandbox).unwrap_or(SandboxChoice::Auto),
            jobs: args.jobs.or(config.jobs).map_or(cores, usize::from).max(1),
            test_timeout: seconds(args.test_timeout, config.test_timeout, 300),
            collect_timeout: seconds(args.collect_timeout, config.collect_timeout, 600),
            reseed: args.reseed.or(config.reseed),
            env: config.env.iter().map(|(k, v)| (k.clone(), v.clone())).collect(),
            sequential: config.sequential.clone(),
            config_path,
        }
    }
}

/// What to run: the request for a plan, and how seeds make orders.
#[derive(Clone, Debug)]
pub struct PlanSettings {
    /// How much, or which orders.
    pub request: PlanRequest,
    /// How a seed makes an order.
    pub shuffle: Shuffle,
}

impl PlanSettings {
    /// Resolves the options of the command line against a configuration.
    pub fn resolve(args: &PlanArgs, config: &ConfigFile) -> Result<Self, Failed> {
        let explicit = args.orders.as_deref().map(parse_orders).transpose().map_err(Failed::usage)?;
        let on_line = args.seeds.is_some() || args.bound.is_some() || args.quick || args.deep || args.certify;
        let (seeds, bound) =
            if on_line { (args.seeds, args.bound.clone()) } else { (config.seeds, config.bound.clone()) };
        let amount = if args.quick {
            Amount::Quick
        } else if args.deep {
            Amount::Deep
        } else if args.certify {
            Amount::Certify
        } else if let Some(bound) = bound {
            Amount::Bound(parse_bound(&bound)?)
        } else {
            Amount::Seeds(seeds.unwrap_or(20).max(1))
        };
        let shuffle = parse_shuffle(args.shuffle.as_deref().or(config.shuffle.as_deref()))?;
        Ok(Self { request: PlanRequest { amount, explicit, isolation: true }, shuffle })
    }
}

/// The kind of shuffle that a word names; `mixed` where none is given.
pub fn parse_shuffle(word: Option<&str>) -> Result<Shuffle, Failed> {
    let word = word.unwrap_or("mixed");
    word.parse().map_err(|_| {
        let kinds = ["mixed", "nested", "flat", "files", "python"];
        let failed = Failed::usage(format!("`{word}` is no kind of shuffle: use {}", kinds.join(", ")));
        match nearest(word, kinds.into_iter()) {
            Some(near) => failed.hint(format!("did you mean `{near}`?")),
            None => failed,
        }
    })
}

/// A bound such as `5%` or `0.05`, as a share.
fn parse_bound(text: &str) -> Result<f64, Failed> {
    let (number, scale) = match text.trim().strip_suffix('%') {
        Some(number) => (number.trim(), 100.0),
        None => (text.trim(), 1.0),
    };
    match number.parse::<f64>() {
        Ok(value) if value / scale >= 0.0005 && value / scale < 1.0 => Ok(value / scale),
        _ => Err(Failed::usage(format!(
            "`{text}` is no bound: write a share from 0.05% to below 100%, such as 5%"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_a_percentage_or_a_share() {
        for (text, share) in [("5%", 0.05), ("0.05", 0.05), (" 13.9 %", 0.139)] {
            assert!((parse_bound(text).unwrap() - share).abs() < 1e-9, "{text}");
        }
        for text in ["", "5", "0", "-1%", "100%", "NaN", "lots"] {
            assert!(parse_bound(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_command_line_wins_over_the_file() {
        let config = ConfigFile { seeds: Some(7), bound: Some("5%".into()), ..ConfigFile::default() };
        let args = PlanArgs { seeds: Some(3), ..PlanArgs::default() };
        assert_eq!(PlanSettings::resolve(&args, &config).unwrap().request.amount, Amount::Seeds(3));
        let none = PlanSettings::resolve(&PlanArgs::default(), &config).unwrap();
        assert_eq!(none.request.amount, Amount::Bound(0.05));
    }
}
