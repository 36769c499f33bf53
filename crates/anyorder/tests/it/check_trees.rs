//! `anyorder check` and installed packages: the base must run the base's code.

use std::path::{Path, PathBuf};

use fs_err as fs;

use crate::fixture::{Project, python};

/// Where a package lies in its project.
#[derive(Clone, Copy, Debug)]
enum Layout {
    Src,
    Flat,
}

impl Layout {
    fn module(self) -> &'static str {
        match self {
            Self::Src => "src/shop/__init__.py",
            Self::Flat => "shop/__init__.py",
        }
    }
}

const PYPROJECT: &str = "[build-system]\nrequires = ['setuptools']\nbuild-backend = 'setuptools.build_meta'\n[project]\nname = 'shop'\nversion = '1'\n";
const TESTS: &str = "import shop\ndef test_price(): assert shop.price() == 1\n";

fn project(layout: Layout) -> Project {
    let project = Project::with(&[
        ("pyproject.toml", PYPROJECT),
        ("tests/test_price.py", TESTS),
        (".gitignore", "__pycache__/\n*.egg-info/\n"),
        (layout.module(), "def price(): return 1\n"),
    ]);
    project.write(layout.module(), "def price(): return 2\n");
    project
}

/// An environment beside the project that borrows pytest from the tests' own; the project is put into it by `pip
/// install -e` (the borrowed one) where that can be, by what it writes where it can't.
fn environment(project: &Project, layout: Layout) -> PathBuf {
    let venv = project.beside("venv");
    let run = |program: &Path, arguments: &[&str]| {
        let output = project.program(program).args(arguments).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    assert!(run(&python(), &["-m", "venv", "--without-pip", venv.to_str().unwrap()]).0);
    let own = venv.join("bin/python");
    let purelib = ["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"];
    let (theirs, packages) = (run(&python(), &purelib).1, PathBuf::from(run(&own, &purelib).1));
    fs::write(packages.join("borrowed.pth"), format!("{theirs}\n")).unwrap();
    let install =
        ["-m", "pip", "install", "--no-build-isolation", "--no-deps", "--no-index", "-q", "-e", "."];
    if !run(&own, &install).0 {
        let root = project.root.display();
        let (name, text) = match layout {
            Layout::Src => ("__editable__.shop-1.pth", format!("{root}/src\n")),
            Layout::Flat => {
                let finder = format!(
                    "import importlib.util, sys\nclass Finder:\n    @classmethod\n    def find_spec(cls, name, path=None, target=None):\n        if name == 'shop':\n            return importlib.util.spec_from_file_location(name, '{root}/shop/__init__.py', submodule_search_locations=['{root}/shop'])\ndef install(): sys.meta_path.append(Finder)\n"
                );
                fs::write(packages.join("__editable___shop_finder.py"), finder).unwrap();
                let line = "import __editable___shop_finder; __editable___shop_finder.install()\n";
                ("__editable__.shop-1.pth", line.to_owned())
            }
        };
        fs::write(packages.join(name), text).unwrap();
    }
    own
}

#[track_caller]
fn assert_base_is_base(layout: Layout, more: &[&str]) {
    let project = project(layout);
    let python = environment(&project, layout);
    let document = project
        .anyorder(["check", "--orders", "default", "--format", "json"])
        .args(more)
        .python(Some(&python))
        .status(1)
        .answer()
        .json();
    let findings = document.findings();
    assert_eq!(findings, [("tests/test_price.py::test_price", "regressed", "block")], "{layout:?} {more:?}");
}

#[test]
fn an_editable_install_does_not_show_the_base_patched_code() {
    assert_base_is_base(Layout::Src, &[]);
    assert_base_is_base(Layout::Flat, &["--executor", "fresh"]);
}

#[test]
fn an_editable_install_does_not_show_the_base_patched_code_without_overlays_either() {
    assert_base_is_base(Layout::Src, &["--sandbox", "tmp"]);
    assert_base_is_base(Layout::Flat, &["--sandbox", "none", "--executor", "fresh"]);
}

#[test]
fn a_project_module_from_a_copy_that_is_installed_elsewhere_is_refused() {
    let project = project(Layout::Src);
    let copy = project.beside("copy");
    fs::create_dir_all(copy.join("shop")).unwrap();
    fs::write(copy.join("shop/__init__.py"), "def price(): return 1\n").unwrap();
    let answer = project.anyorder(["check", "--quick"]).env("PYTHONPATH", &copy).status(6).answer();
    answer.refuses("`shop` was imported from").refuses("pip install -e");
}
