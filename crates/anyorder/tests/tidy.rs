//! Holds the shape of the workspace: who imports whom, what each crate must not touch, file sizes, documents.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs_err::read_to_string(path).unwrap()
}

fn files(below: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![below.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs_err::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            let hidden = path.file_name().is_some_and(|n| n.to_string_lossy().starts_with('.'));
            if path.is_dir() && !hidden && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn crates() -> BTreeSet<String> {
    fs_err::read_dir(root().join("crates"))
        .unwrap()
        .map(|e| e.unwrap())
        .filter(|e| e.path().join("Cargo.toml").is_file())
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Production lines: what stands before the tests of a module.
fn production(text: &str) -> String {
    let mut kept = String::new();
    for line in text.lines() {
        if line.trim() == "#[cfg(test)]" {
            break;
        }
        if !line.trim_start().starts_with("//") {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

#[test]
fn crates_import_only_what_the_architecture_allows() {
    let allowed: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("anyorder-core", &[] as &[&str]),
        ("anyorder-runner", &["anyorder-core"]),
        ("anyorder-store", &["anyorder-core"]),
        ("anyorder-report", &["anyorder-core"]),
        ("anyorder-testkit", &["anyorder-core"]),
        ("anyorder", &["anyorder-core", "anyorder-runner", "anyorder-store", "anyorder-report"]),
    ]);
    assert_eq!(crates(), allowed.keys().map(ToString::to_string).collect());
    for (name, may) in allowed {
        let manifest: toml::Table =
            read(&root().join("crates").join(name).join("Cargo.toml")).parse().unwrap();
        let Some(dependencies) = manifest.get("dependencies").and_then(toml::Value::as_table) else {
            continue;
        };
        for dependency in dependencies.keys().filter(|d| d.starts_with("anyorder")) {
            assert!(may.contains(&dependency.as_str()), "{name} must not depend on {dependency}");
        }
    }
}

#[test]
fn the_core_knows_no_outside_world() {
    let banned =
        ["std::fs", "std::env", "std::process", "std::net", "SystemTime", "Instant::", "serde", "unsafe "];
    for file in files(&root().join("crates/anyorder-core/src"), "rs") {
        let text = production(&read(&file));
        for word in banned {
            assert!(!text.contains(word), "{} mentions `{word}`", file.display());
        }
    }
}

#[test]
fn the_core_imports_leftwards_only() {
    let allowed: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("model", &[] as &[&str]),
        ("order", &["model"]),
        ("stats", &["model"]),
        ("search", &["model", "order", "stats"]),
        ("verdict", &["model", "order", "stats", "search"]),
        ("ledger", &["model", "stats", "verdict"]),
        ("attribution", &["model", "order", "stats", "search", "verdict"]),
    ]);
    let base = root().join("crates/anyorder-core/src");
    let mut modules = BTreeSet::new();
    for file in files(&base, "rs") {
        let relative = file.strip_prefix(&base).unwrap().to_string_lossy().into_owned();
        let own = relative.split('/').next().unwrap().trim_end_matches(".rs").to_owned();
        if own == "lib" {
            continue;
        }
        let may = allowed.get(own.as_str()).unwrap_or_else(|| panic!("{relative} is in no known module"));
        for other in imported(&production(&read(&file))) {
            let known = allowed.contains_key(other.as_str());
            assert!(!known || other == own || may.contains(&other.as_str()), "{relative} imports {other}");
        }
        modules.insert(own);
    }
    assert_eq!(modules, allowed.keys().map(ToString::to_string).collect());
}

/// The names that follow `crate::`, those in braces included: `crate::{model::Order, stats}` has two.
fn imported(text: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
    };
    let mut found = Vec::new();
    for piece in text.split("crate::").skip(1) {
        let Some(group) = piece.strip_prefix('{') else {
            found.push(name(piece));
            continue;
        };
        let mut depth = 0_u32;
        let mut start = 0;
        for (at, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth > 0 => depth -= 1,
                ',' | '}' if depth == 0 => {
                    found.push(name(&group[start..at]));
                    start = at + 1;
                    if c == '}' {
                        break;
                    }
                }
                _ => {}
            }
        }
    }
    found
}

#[test]
fn names_in_braces_are_imports_too() {
    let text = "use crate::{model::{Order, Suite}, stats};\nuse crate::order;\nlet x = crate::verdict::X;";
    assert_eq!(imported(text), ["model", "stats", "order", "verdict"]);
}

#[test]
fn unsafe_code_lives_in_one_module() {
    for file in files(&root().join("crates"), "rs") {
        let in_sys = file.to_string_lossy().contains("anyorder-runner/src/sys");
        let text = production(&read(&file));
        for word in [concat!("unsafe", " {"), concat!("unsafe", " fn"), concat!("unsafe", " impl")] {
            assert!(in_sys || !text.contains(word), "{} has `{word}`", file.display());
        }
    }
}

#[test]
fn only_the_store_speaks_sql_and_only_the_report_and_binary_print() {
    for file in files(&root().join("crates"), "rs") {
        let path = file.to_string_lossy().into_owned();
        let text = production(&read(&file));
        if !path.contains("anyorder-store") && !path.contains("/tests/") {
            assert!(!text.contains("rusqlite"), "{path} uses the database");
        }
        for word in ["println!", "eprintln!", "dbg!(", "todo!(", "unimplemented!("] {
            assert!(!text.contains(word) || path.contains("/tests/"), "{path} contains `{word}`");
        }
    }
}

#[test]
fn the_architecture_page_names_each_crate_and_no_other() {
    let page = read(&root().join("ARCHITECTURE.md"));
    let named: BTreeSet<String> = page
        .lines()
        .filter_map(|l| l.strip_prefix("## "))
        .filter(|l| l.starts_with("anyorder"))
        .map(ToString::to_string)
        .collect();
    assert_eq!(named, crates());
    for module in ["model", "order", "stats", "search", "verdict", "attribution", "ledger"] {
        assert!(page.contains(&format!("`{module}`")), "ARCHITECTURE.md does not name {module}");
        assert!(root().join("crates/anyorder-core/src").join(module).is_dir());
    }
}

#[test]
fn no_file_grows_without_a_reason() {
    let reasons: BTreeMap<&str, &str> = BTreeMap::from([(
        "crates/anyorder-runner/python/anyorder_agent.py",
        "one self-contained file that is carried inside the binary",
    )]);
    let base = root().canonicalize().unwrap();
    for file in files(&base.join("crates"), "rs").into_iter().chain(files(&base.join("crates"), "py")) {
        let relative = file.strip_prefix(&base).unwrap().to_string_lossy().into_owned();
        if relative.contains("/tests/") || reasons.contains_key(relative.as_str()) {
            continue;
        }
        let lines = production(&read(&file)).lines().count();
        assert!(lines <= 500, "{relative} has {lines} production lines: split it, or give a reason here");
    }
}

#[test]
fn no_module_is_a_drawer() {
    for file in files(&root().join("crates"), "rs") {
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(
            !["utils", "util", "helpers", "misc", "common", "imp"].contains(&stem.as_str()),
            "{}",
            file.display()
        );
    }
}

#[test]
fn nothing_names_a_path_of_a_machine() {
    let base = root().canonicalize().unwrap();
    let banned = [concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/home/", "runner")];
    for extension in ["rs", "py", "md", "toml", "sh", "json", "yml"] {
        for file in files(&base, extension) {
            let text = read(&file);
            for word in banned {
                assert!(!text.contains(word), "{} names `{word}`", file.display());
            }
        }
    }
}
