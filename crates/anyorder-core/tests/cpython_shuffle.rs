//! `--shuffle python` against CPython: a golden file everywhere, real interpreters where there are any.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyorder_core::model::{OrderLabel, Seed, Suite};
use anyorder_core::order::{Constraints, Shuffle, make};

const GOLDEN: &str = include_str!("golden/cpython_shuffle.txt");
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cpython_shuffle.py");

/// What `cpython_shuffle.py` prints for one case.
fn ours(suites: &mut BTreeMap<usize, Suite>, seed: i128, size: usize) -> String {
    let suite = suites
        .entry(size)
        .or_insert_with(|| Suite::from_raw_ids((0..size).map(|n| format!("t.py::test_{n}"))));
    let order = make(&OrderLabel::Seed(Seed(seed)), suite, Shuffle::Python, &Constraints::none())
        .expect("a seed has an order");
    let fnv = |state: u64, item: u64| (state ^ item).wrapping_mul(0x0100_0000_01b3);
    let digest = order.tests().iter().fold(0xcbf2_9ce4_8422_2325, |state, ix| fnv(state, ix.0.into()));
    let mut line = format!("{seed} {size} {digest:016x}");
    if size <= 33 {
        for ix in order.tests() {
            write!(line, " {}", ix.0).expect("a string takes text");
        }
    }
    line
}

/// Our answers to cases, one a line: the lines of the script, or just a seed and a size each.
fn answers(cases: &str) -> Vec<String> {
    let mut suites = BTreeMap::new();
    cases
        .lines()
        .map(|case| {
            let mut words = case.split(' ');
            let mut word = || words.next().expect("a line has a seed and a size");
            let seed = word().parse().expect("a seed is a whole number");
            let size = word().parse().expect("a size is a count");
            ours(&mut suites, seed, size)
        })
        .collect()
}

fn check(who: &str, theirs: &str, ours: &[String]) {
    for (theirs, ours) in theirs.lines().zip(ours) {
        assert_eq!(theirs, ours, "{who} shuffles otherwise");
    }
    assert_eq!(theirs.lines().count(), ours.len(), "{who} answered another number of cases");
}

#[test]
fn python_orders_are_those_of_the_golden_file_made_by_cpython() {
    check("the golden file", GOLDEN, &answers(GOLDEN));
    assert_eq!(GOLDEN.lines().count(), 17 * 10);
    for case in ["-1 5 ", "1180591620717411303424 5000 ", "-1180591620717411303424 1000 ", "0 0 "] {
        assert!(GOLDEN.lines().any(|line| line.starts_with(case)), "{case}");
    }
}

#[test]
fn python_orders_are_those_of_every_interpreter_found() {
    let mut seeds = vec![0, 1, -1, 2, 20, -20, 12_345, 1 << 31, (1 << 32) - 1, 1 << 32, -(1 << 33)];
    seeds.extend([1 << 64, (1 << 64) - 1, 1 << 70, -(1 << 70), (1 << 96) + 1, i128::MAX, i128::MIN]);
    let edges = (5..=12).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 1]);
    let sizes: Vec<usize> = (0..=24).chain(edges).chain([100, 777, 1000, 3000, 4999, 5000]).collect();
    let cases: String =
        seeds.iter().flat_map(|seed| sizes.iter().map(move |size| format!("{seed} {size}\n"))).collect();
    let ours = answers(&cases);
    let interpreters = interpreters();
    let mut compared = Vec::new();
    for interpreter in &interpreters {
        if let Some(theirs) = ask(interpreter, &cases) {
            let who = interpreter.display().to_string();
            check(&who, &theirs, &ours);
            compared.push(who);
        }
    }
    #[expect(clippy::print_stderr, reason = "who was asked is part of what the test shows")]
    {
        eprintln!("compared with {} of {} interpreters: {compared:?}", compared.len(), interpreters.len());
    }
}

/// Interpreters named `python3.N` on the path, and those that `ANYORDER_TEST_PYTHONS` names with colons between them:
/// an interpreter, or a folder of installations such as pyenv's `versions`.
fn interpreters() -> Vec<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "a test has no `env_vars`")]
    let variable = |name: &str| std::env::var_os(name).unwrap_or_default();
    let mut found: Vec<PathBuf> = std::env::split_paths(&variable("PATH"))
        .flat_map(|folder| (8..=14).map(move |minor| folder.join(format!("python3.{minor}"))))
        .filter(|path| path.is_file())
        .collect();
    for entry in std::env::split_paths(&variable("ANYORDER_TEST_PYTHONS")) {
        if entry.is_file() {
            found.push(entry);
        } else if let Ok(installations) = std::fs::read_dir(&entry) {
            let binaries =
                installations.flatten().map(|installation| installation.path().join("bin/python3"));
            found.extend(binaries.filter(|path| path.is_file()));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The script's answers; `None` where the interpreter does not start, as a version manager's stand-in may.
fn ask(interpreter: &Path, cases: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "core starts no process; its tests ask CPython")]
    let mut command = std::process::Command::new(interpreter);
    let mut child = command
        .args(["-I", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take()?;
    let cases = cases.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(cases.as_bytes()));
    let output = child.wait_with_output().ok()?;
    let written = writer.join().ok()?.is_ok();
    (written && output.status.success()).then(|| String::from_utf8(output.stdout).expect("digits"))
}
