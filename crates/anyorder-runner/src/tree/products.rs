//! Which untracked files are build products, caches, environments or local settings: things that a change to the
//! source does not bring along, and that every tree needs.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// An untracked file above this many bytes is data, not part of a patch.
pub(super) const HUGE: u64 = 64 << 20;

const EXTENSIONS: &[&str] = &[
    "so", "pyd", "dylib", "dll", "o", "obj", "a", "lib", "pyc", "pyo", "log", "db", "sqlite", "sqlite3",
    "egg", "whl", "pid", "sock", "lock", "swp", "orig", "rej",
];
const FOLDERS: &[&str] = &[
    "__pycache__",
    "build",
    "dist",
    "node_modules",
    ".anyorder",
    ".tox",
    ".nox",
    ".eggs",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".ipynb_checkpoints",
    ".idea",
    ".vscode",
    ".direnv",
    "htmlcov",
    "target",
    ".venv",
    ".git",
];
const PREFIXES: &[&str] = &[".env", ".coverage"];
const LOCKS_OF_PROJECTS: &[&str] = &["uv.lock", "poetry.lock", "pdm.lock", "pixi.lock"];
const ENVIRONMENTS: &[&str] = &["venv", "env", "virtualenv"];

/// Remembers which folders of a checkout are virtual environments.
#[derive(Debug)]
pub(super) struct Venvs {
    root: PathBuf,
    known: BTreeMap<PathBuf, bool>,
}

impl Venvs {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf(), known: BTreeMap::new() }
    }

    fn holds(&mut self, folder: &Path) -> bool {
        if let Some(known) = self.known.get(folder) {
            return *known;
        }
        let is = self.root.join(folder).join("pyvenv.cfg").is_file();
        self.known.insert(folder.to_path_buf(), is);
        is
    }
}

/// Whether an untracked file (relative to the top) belongs to no change.
pub(super) fn is_product(path: &Path, venvs: &mut Venvs) -> bool {
    let Some(name) = path.file_name() else { return false };
    if is_product_file(name) {
        return true;
    }
    let folders: Vec<&Path> =
        path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()).collect();
    folders.iter().any(|folder| folder.file_name().is_some_and(is_product_folder))
        || folders.iter().any(|folder| venvs.holds(folder))
}

fn is_product_file(name: &OsStr) -> bool {
    let text = name.to_string_lossy();
    if LOCKS_OF_PROJECTS.contains(&text.as_ref()) {
        return false;
    }
    PREFIXES.iter().any(|prefix| text.starts_with(prefix))
        || Path::new(name).extension().is_some_and(|found| EXTENSIONS.iter().any(|known| found == *known))
        || text == "pyvenv.cfg"
}

/// Whether a folder of this name holds products, wherever it is.
fn is_product_folder(name: &OsStr) -> bool {
    let text = name.to_string_lossy();
    FOLDERS.contains(&text.as_ref()) || text.ends_with(".egg-info") || text.ends_with(".dist-info")
}

/// Whether a folder is an environment or a cache that no suite imports from: not worth copying or reading.
pub(super) fn is_environment(folder: &Path) -> bool {
    let Some(name) = folder.file_name() else { return false };
    let text = name.to_string_lossy();
    let cache = matches!(
        text.as_ref(),
        ".tox"
            | ".nox"
            | "node_modules"
            | ".venv"
            | ".anyorder"
            | ".mypy_cache"
            | ".ruff_cache"
            | ".pytest_cache"
            | ".hypothesis"
    );
    cache
        || ENVIRONMENTS.contains(&text.as_ref()) && folder.join("pyvenv.cfg").is_file()
        || folder.join("pyvenv.cfg").is_file()
}

/// Whether this is compiled Python, which no tree needs from another.
pub(super) fn is_bytecode(name: &OsStr) -> bool {
    name == "__pycache__" || Path::new(name).extension().is_some_and(|found| found == "pyc" || found == "pyo")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, product: bool) {
        let mut venvs = Venvs::new(Path::new("/nonexistent"));
        assert_eq!(is_product(Path::new(path), &mut venvs), product, "{path}");
    }

    #[test]
    fn compiled_extensions_settings_and_caches_are_products() {
        for path in [
            "src/pkg/_speed.cpython-311-x86_64-linux-gnu.so",
            ".env",
            ".env.local",
            "a/.coverage.host.1",
            "x.db",
        ] {
            check(path, true);
        }
        for path in
            ["build/lib/pkg/mod.py", "src/pkg.egg-info/PKG-INFO", "a/__pycache__/b.pyc", ".tox/py/x.py"]
        {
            check(path, true);
        }
    }

    #[test]
    fn new_tests_sources_and_lock_files_are_part_of_the_patch() {
        for path in [
            "tests/test_new.py",
            "src/pkg/new.py",
            "tests/data/case.json",
            "uv.lock",
            "builder/x.py",
            "env/settings.py",
        ] {
            check(path, false);
        }
    }

    #[test]
    fn a_folder_is_an_environment_when_it_says_so() {
        let root = tempfile::tempdir().unwrap();
        fs_err::create_dir_all(root.path().join("mine/bin")).unwrap();
        fs_err::write(root.path().join("mine/pyvenv.cfg"), "home = /usr/bin\n").unwrap();
        let mut venvs = Venvs::new(root.path());
        assert!(is_product(Path::new("mine/lib/x.py"), &mut venvs));
        assert!(!is_product(Path::new("other/lib/x.py"), &mut venvs));
    }
}
