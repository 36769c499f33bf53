//! Which untracked files are build products, caches, environments or local settings: things that a change to the
//! source does not bring along, and that every tree needs.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// An untracked file above this many bytes is data, not part of a patch.
pub(super) const HUGE: u64 = 64 << 20;

const EXTENSIONS: &[&str] = &[
    "so", "pyd", "dylib", "dll", "o", "a", "pyc", "pyo", "log", "db", "sqlite", "sqlite3", "egg", "whl",
    "swp", "orig", "rej",
];
const FOLDERS: &[&str] = &[
    "__pycache__",
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
    ".venv",
    ".git",
];
/// Made by builds, where they stand beside a file that says how to build; elsewhere they may be packages.
const BUILT: &[&str] = &["build", "dist", "target"];
const BUILD_FILES: &[&str] = &["pyproject.toml", "setup.py", "setup.cfg", "Cargo.toml"];
const PREFIXES: &[&str] = &[".env", ".coverage"];
const CACHES: &[&str] = &[
    ".tox",
    ".nox",
    "node_modules",
    ".venv",
    ".anyorder",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    ".hypothesis",
];

/// Remembers which folders of a checkout hold environments or the output of builds.
#[derive(Debug)]
pub(super) struct Folders {
    root: PathBuf,
    known: BTreeMap<PathBuf, bool>,
}

impl Folders {
    pub(super) fn of(root: &Path) -> Self {
        Self { root: root.to_path_buf(), known: BTreeMap::new() }
    }

    fn are_products(&mut self, folder: &Path) -> bool {
        if let Some(known) = self.known.get(folder) {
            return *known;
        }
        let name = folder.file_name().unwrap_or_default();
        let is = is_product_folder(name)
            || self.root.join(folder).join("pyvenv.cfg").is_file()
            || BUILT.iter().any(|built| name == *built) && self.is_built(folder);
        self.known.insert(folder.to_path_buf(), is);
        is
    }

    fn is_built(&self, folder: &Path) -> bool {
        let above = self.root.join(folder.parent().unwrap_or(folder));
        above == self.root || BUILD_FILES.iter().any(|name| above.join(name).is_file())
    }
}

/// Whether an untracked file (relative to the top) belongs to no change.
pub(super) fn is_product(path: &Path, folders: &mut Folders) -> bool {
    path.file_name().is_some_and(is_product_file)
        || path.ancestors().skip(1).any(|above| !above.as_os_str().is_empty() && folders.are_products(above))
}

fn is_product_file(name: &OsStr) -> bool {
    let text = name.to_string_lossy();
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
    let name = folder.file_name().unwrap_or_default();
    CACHES.iter().any(|cache| name == *cache) || folder.join("pyvenv.cfg").is_file()
}

/// Whether a file is run or read by a suite without being source: a compiled extension, or local settings.
pub(super) fn is_input(name: &OsStr) -> bool {
    let compiled = |found: &OsStr| found == "so" || found == "pyd" || found == "dylib";
    name.to_string_lossy().starts_with(".env") || Path::new(name).extension().is_some_and(compiled)
}

/// Whether this is compiled Python, which no tree needs from another.
pub(super) fn is_bytecode(name: &OsStr) -> bool {
    name == "__pycache__" || Path::new(name).extension().is_some_and(|found| found == "pyc" || found == "pyo")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, product: bool) {
        let mut folders = Folders::of(Path::new("/nonexistent"));
        assert_eq!(is_product(Path::new(path), &mut folders), product, "{path}");
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
        let mut folders = Folders::of(root.path());
        assert!(is_product(Path::new("mine/lib/x.py"), &mut folders));
        assert!(!is_product(Path::new("other/lib/x.py"), &mut folders));
    }
}
