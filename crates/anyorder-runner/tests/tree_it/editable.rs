//! Two trees at one path, with the package installed editable: the base must import its own code.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyorder_core::model::{Executor, Order, OrderLabel, Outcome, TestIx};
use anyorder_runner::tree::{PreparedTree, TreeKind};
use anyorder_runner::{
    Cancel, Event, Flow, Listener, Remap, RunRequest, SandboxMode, Session, SessionConfig,
};
use fs_err as fs;

use crate::repo::{Repo, command, has_overlays};

/// Where a package lies in its project, and how an editable install leads there.
#[derive(Clone, Copy, Debug)]
enum Layout {
    /// `src/pkg`, by a folder in a `.pth` file.
    Src,
    /// `pkg`, by an import hook that maps the name to the folder, as setuptools installs it.
    Flat,
}

impl Layout {
    fn package(self) -> &'static str {
        match self {
            Self::Src => "src/pkg",
            Self::Flat => "pkg",
        }
    }
}

fn write_version(repo: &Repo, layout: Layout, version: &str) {
    repo.write(format!("{}/__init__.py", layout.package()), format!("V = '{version}'\n"));
    repo.write(format!("{}/only_{version}.py", layout.package()), "");
    let test = format!(
        "import pkg\ndef test_{version}(): assert pkg.V == '{version}'\ndef test_files():\n    import pkg.only_{version}\n"
    );
    repo.write("tests/test_version.py", test);
}

fn project(layout: Layout) -> Repo {
    let repo =
        Repo::with(&[(".gitignore", "__pycache__/\n"), ("pyproject.toml", "[project]\nname = 'pkg'\n")]);
    write_version(&repo, layout, "base");
    repo.commit("base");
    repo.remove(&format!("{}/only_base.py", layout.package()));
    // Not committed: new files, a deleted one and a changed one of the same size.
    write_version(&repo, layout, "late");
    repo
}

/// An environment beside the project that has pytest, and the project installed editable.
fn environment(repo: &Repo, layout: Layout) -> PathBuf {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test is told by the environment which interpreter to use"
    )]
    let python = std::env::var_os("ANYORDER_TEST_PYTHON");
    let python =
        python.expect("set ANYORDER_TEST_PYTHON to an interpreter that has pytest (`make test` does)");
    let venv = repo.beside("venv");
    let status = command(&python).args(["-m", "venv", "--without-pip"]).arg(&venv).status().unwrap();
    assert!(status.success());
    let of = |python: &Path| {
        let script = "import sysconfig; print(sysconfig.get_path('purelib'))";
        let output = command(python).args(["-c", script]).output().unwrap();
        PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
    };
    let own = venv.join("bin/python");
    let (theirs, packages) = (of(Path::new(&python)), of(&own));
    fs::write(packages.join("borrowed.pth"), format!("{}\n", theirs.display())).unwrap();
    match layout {
        Layout::Src => {
            fs::write(packages.join("__editable__.pkg-1.pth"), format!("{}/src\n", repo.root.display()))
                .unwrap();
        }
        Layout::Flat => {
            let finder = format!(
                "import importlib.util, sys\nclass Finder:\n    @classmethod\n    def find_spec(cls, name, path=None, target=None):\n        if name == 'pkg':\n            return importlib.util.spec_from_file_location(name, '{0}/pkg/__init__.py', submodule_search_locations=['{0}/pkg'])\ndef install(): sys.meta_path.append(Finder)\n",
                repo.root.display()
            );
            fs::write(packages.join("__editable___pkg_finder.py"), finder).unwrap();
            let line = "import __editable___pkg_finder; __editable___pkg_finder.install()\n";
            fs::write(packages.join("__editable__.pkg-1.pth"), line).unwrap();
        }
    }
    own
}

/// Keeps what each run said of each test.
#[derive(Default)]
struct Heard(BTreeMap<u64, Vec<Outcome>>);

impl Listener for Heard {
    fn event(&mut self, event: Event<'_>) -> Flow {
        if let Event::RunFinished { run, record } = event {
            self.0.insert(run, record.results.iter().map(|result| result.outcome).collect());
        }
        Flow::Continue
    }
}

/// Runs the suite in a tree, in both executors; every test passes, and every module is the tree's own.
fn assert_runs_its_own_code(
    repo: &Repo,
    python: &Path,
    tree: &PreparedTree,
    version: &str,
    mode: SandboxMode,
) {
    let mut config = SessionConfig::new(python, tree.place(&repo.root), repo.scratch());
    config.sandbox.mode = mode;
    config.sandbox.lower = tree.lower();
    config.remap = tree.remap().map(|(from, to)| Remap { from, to });
    config.base_env = vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
    let (mut heard, cancel) = (Heard::default(), Cancel::new().unwrap());
    let mut session = Session::start(config, &mut heard, &cancel).unwrap();
    let origins = &session.collection().origins;
    assert!(origins.iter().any(|origin| origin.module == "pkg"), "{origins:?}");
    let own = tree.place(&repo.root);
    assert!(origins.iter().all(|origin| origin.in_tree && origin.file.starts_with(&own)), "{origins:?}");
    let id = session.collection().suite.id(TestIx(0)).raw();
    assert_eq!(id, format!("tests/test_version.py::test_{version}"));
    let executors = [(1, Executor::Fork), (2, Executor::Fresh)];
    let mut requests = executors.into_iter().map(|(run, executor)| {
        let order = Order::full(OrderLabel::Default, vec![TestIx(0), TestIx(1)], 2).unwrap();
        RunRequest { run, order, attempt: 0, executor, peeks: Vec::new(), imports: Vec::new() }
    });
    session.execute(&mut requests, &mut heard, &cancel).unwrap();
    for (run, executor) in executors {
        assert_eq!(heard.0[&run], [Outcome::Passed; 2], "{executor:?} in {:?}", tree.kind);
    }
}

fn check(layout: Layout) {
    let repo = project(layout);
    let python = environment(&repo, layout);
    // As the user has just done: compiled code of the patched modules lies in the checkout.
    let mut compiling = command(&python);
    compiling.args(["-c", "import pkg; assert pkg.V == 'late'"]).current_dir(&repo.root);
    assert!(compiling.status().unwrap().success());
    let (checkout, head) = (repo.checkout(), repo.rev("HEAD"));
    let base = repo.at("HEAD");
    let patched = checkout.patched_working(&head, &repo.scratch()).unwrap();
    assert!(matches!(base.kind, TreeKind::Overlay { .. }));
    if has_overlays() {
        assert_runs_its_own_code(&repo, &python, &base, "base", SandboxMode::Overlay);
        assert_runs_its_own_code(&repo, &python, &patched, "late", SandboxMode::Overlay);
    }
    let folder = checkout.as_worktree(&base, &repo.scratch()).unwrap();
    assert_runs_its_own_code(&repo, &python, &folder, "base", SandboxMode::Tmp);
    assert_runs_its_own_code(&repo, &python, &patched, "late", SandboxMode::Tmp);
}

#[test]
fn an_editable_src_layout_does_not_show_the_base_patched_code() {
    check(Layout::Src);
}

#[test]
fn an_editable_flat_layout_does_not_show_the_base_patched_code() {
    check(Layout::Flat);
}
