//! Which interpreter is taken, in which order, and what is said when there is none. The interpreters here are scripts
//! that answer as Python would.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyorder_runner::interpreter::{Ask, InterpreterError, Rejected, Source, find};
use fs_err as fs;
use tempfile::TempDir;

/// A project with folders for programs beside it.
struct Scene {
    folder: TempDir,
}

impl Scene {
    fn new() -> Self {
        let scene = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(scene.path("project/sub/deep")).unwrap();
        fs::create_dir_all(scene.path("bin")).unwrap();
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Renamed into place: a file open for writing elsewhere cannot be started.
        let draft = self.path("draft");
        fs::write(&draft, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o755)).unwrap();
        fs::rename(draft, &path).unwrap();
        path
    }

    fn python(&self, name: &str, version: &str, pytest: Option<&str>) -> PathBuf {
        let pytest = pytest.map_or("null".to_owned(), |version| format!("\"{version}\""));
        let error = "ModuleNotFoundError: No module named 'pytest'";
        let answer = format!(
            r#"{{"version": "{version}", "implementation": "cpython", "prefix": "/p", "pytest": {pytest}, "error": "{error}"}}"#
        );
        self.script(
            name,
            &format!("echo noise from sitecustomize\ncat <<'END'\nanyorder-probe:{answer}\nEND"),
        )
    }

    fn ask(&self) -> Ask {
        Ask {
            path_var: Some(OsString::from(format!("relative:{}:/usr/bin:/bin", self.path("bin").display()))),
            cwd: self.path("project/sub/deep"),
            root: self.path("project"),
            patience: Duration::from_secs(20),
            ..Ask::default()
        }
    }
}

fn check(ask: &Ask, source: Source, path: &Path) {
    let found = find(ask).unwrap();
    assert_eq!((found.source, found.path.as_path()), (source, path), "{:?}", found.tried);
}

#[test]
fn the_nearest_rule_wins() {
    let scene = Scene::new();
    let mut ask = scene.ask();
    let plain = scene.python("bin/python", "3.12.1", Some("8.0"));
    fs::create_dir_all(scene.path("elsewhere")).unwrap();
    ask.path_var = Some(scene.path("bin").into_os_string());
    check(&ask, Source::Path, &plain);
    let three = scene.python("bin/python3", "3.12.1", Some("8.0"));
    check(&ask, Source::Path, &three);
    let conda = scene.python("conda/bin/python", "3.12.1", Some("8.0"));
    ask.conda_prefix = Some(scene.path("conda"));
    check(&ask, Source::Conda, &conda);
    // A `.venv` above the project's top is not the project's.
    scene.python(".venv/bin/python", "3.12.1", Some("8.0"));
    check(&ask, Source::Conda, &conda);
    let above = scene.python("project/.venv/bin/python", "3.12.1", Some("8.0"));
    check(&ask, Source::DotVenv, &above);
    let here = scene.python("project/sub/.venv/bin/python", "3.12.1", Some("8.0"));
    check(&ask, Source::DotVenv, &here);
    let uv = scene.python("project/of-uv/bin/python", "3.12.1", Some("8.0"));
    ask.uv_project_environment = Some("of-uv".into());
    check(&ask, Source::UvProject, &uv);
    let active = scene.python("active/bin/python", "3.12.1", Some("8.0"));
    ask.virtual_env = Some(scene.path("active"));
    check(&ask, Source::VirtualEnv, &active);
    ask.flag = Some("python".to_owned());
    check(&ask, Source::Flag, &plain);
    ask.flag = Some("../../../conda".to_owned());
    assert_eq!(find(&ask).unwrap().path, scene.path("project/sub/deep/../../../conda/bin/python"));
}

#[test]
fn an_interpreter_without_pytest_is_passed_over_and_reported() {
    let scene = Scene::new();
    let mut ask = scene.ask();
    let active = scene.python("active/bin/python", "3.12.1", None);
    ask.virtual_env = Some(scene.path("active"));
    scene.python("project/.venv/bin/python", "3.7.9", Some("7.0"));
    scene.script("conda/bin/python", "echo broken >&2; exit 1");
    ask.conda_prefix = Some(scene.path("conda"));
    let three = scene.python("bin/python3", "3.13.0", Some("9.0.1"));
    let found = find(&ask).unwrap();
    assert_eq!((found.path, found.version.as_str(), found.pytest.as_str()), (three, "3.13.0", "9.0.1"));
    let tried: Vec<(Source, String)> =
        found.tried.iter().map(|tried| (tried.source, tried.why.to_string())).collect();
    let missing = "Python 3.12.1 without pytest (ModuleNotFoundError: No module named 'pytest')";
    assert_eq!(
        tried,
        [
            (Source::VirtualEnv, missing.to_owned()),
            (Source::DotVenv, "Python 3.7.9 is older than 3.8".to_owned()),
            (Source::Conda, "it does not answer as Python does: broken".to_owned()),
        ]
    );
    assert_eq!(found.tried[0].what, active.display().to_string());
}

#[test]
fn a_named_interpreter_has_to_do() {
    let scene = Scene::new();
    scene.python("bin/python3", "3.12.1", Some("8.0"));
    let bare = scene.python("bare/bin/python", "3.11.2", None);
    for flag in [bare.display().to_string(), scene.path("bare").display().to_string()] {
        let error = find(&Ask { flag: Some(flag), ..scene.ask() }).unwrap_err();
        assert!(matches!(&error, InterpreterError::Named { tried, .. } if tried.len() == 1), "{error}");
        let fix = format!("to fix: {} -m pip install pytest", bare.display());
        assert!(error.to_string().contains(&fix), "{error}");
    }
    let error = find(&Ask { flag: Some("/no/such/python".to_owned()), ..scene.ask() }).unwrap_err();
    assert_eq!(error.tried()[0].why, Rejected::Unusable("there is no such file".to_owned()));
    let error = find(&Ask { flag: Some("python9".to_owned()), ..scene.ask() }).unwrap_err();
    assert!(error.to_string().contains("`python9` (--python): not on PATH"), "{error}");
}

#[test]
fn a_version_is_looked_for_by_name_and_checked() {
    let scene = Scene::new();
    scene.python("bin/python3", "3.13.0", Some("8.0"));
    let eleven = scene.python("bin/python3.11", "3.11.4", Some("8.0"));
    let mut ask = scene.ask();
    ask.path_var = Some(scene.path("bin").into_os_string());
    ask.flag = Some("3.11".to_owned());
    check(&ask, Source::Flag, &eleven);
    ask.flag = Some("3.11.4".to_owned());
    check(&ask, Source::Flag, &eleven);
    ask.flag = Some("3".to_owned());
    check(&ask, Source::Flag, &scene.path("bin/python3"));
    ask.flag = Some("3.1".to_owned());
    let error = find(&ask).unwrap_err();
    assert_eq!(error.tried()[0].why, Rejected::WrongVersion { version: "3.13.0".to_owned() });
    let environment = scene.python("project/.venv/bin/python", "3.11.9", Some("8.0"));
    ask.flag = Some("3.11".to_owned());
    check(&ask, Source::Flag, &environment);
}

#[test]
fn project_tools_are_asked_only_where_the_project_uses_them() {
    let scene = Scene::new();
    let kept = scene.python("kept/bin/python", "3.12.1", Some("8.0"));
    let three = scene.python("bin/python3", "3.12.1", Some("8.0"));
    scene.script("bin/poetry", &format!("echo 'a warning' >&2; echo {}", scene.path("kept").display()));
    scene.script("bin/pdm", &format!("echo {}", kept.display()));
    check(&scene.ask(), Source::Path, &three);
    fs::write(scene.path("project/poetry.lock"), "").unwrap();
    check(&scene.ask(), Source::Poetry, &kept);
    fs::remove_file(scene.path("project/poetry.lock")).unwrap();
    fs::write(scene.path("project/pyproject.toml"), "[tool.poetry]\nname = 'x'\n").unwrap();
    check(&scene.ask(), Source::Poetry, &kept);
    fs::remove_file(scene.path("project/pyproject.toml")).unwrap();
    fs::write(scene.path("project/pdm.lock"), "").unwrap();
    check(&scene.ask(), Source::Pdm, &kept);
    fs::write(scene.path("project/Pipfile"), "").unwrap();
    scene.script("bin/pipenv", &format!("[ \"$1\" = --venv ] && echo {}", scene.path("kept").display()));
    scene.script("bin/pdm", "exit 1");
    check(&scene.ask(), Source::Pipenv, &kept);
    scene.script("bin/pipenv", "exit 1");
    let found = find(&scene.ask()).unwrap();
    assert_eq!((found.source, found.tried.len()), (Source::Path, 2));
}

#[test]
fn one_that_hangs_is_ended_with_what_it_started() {
    let scene = Scene::new();
    let pids = scene.path("pids");
    scene.script("active/bin/python", &format!("sleep 300 & echo $$ $! > {}; sleep 300", pids.display()));
    let three = scene.python("bin/python3", "3.12.1", Some("8.0"));
    let ask =
        Ask { virtual_env: Some(scene.path("active")), patience: Duration::from_secs(3), ..scene.ask() };
    let found = find(&ask).unwrap();
    assert_eq!((found.path, &found.tried[0].why), (three, &Rejected::TimedOut));
    let pids = fs::read_to_string(pids).unwrap();
    let lives = |pid: &str| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
    };
    let ended = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        !pids.split_whitespace().any(lives)
    });
    assert!(ended, "{pids}");
}

#[test]
fn without_any_interpreter_everything_that_was_tried_is_named() {
    let scene = Scene::new();
    let mut ask = scene.ask();
    ask.path_var = Some(scene.path("bin").into_os_string());
    ask.virtual_env = Some(scene.path("gone"));
    fs::create_dir_all(scene.path("project/.venv/bin")).unwrap();
    let error = find(&ask).unwrap_err();
    let said = error.to_string();
    for part in [
        "gone/bin/python` (VIRTUAL_ENV): there is no such file",
        ".venv/bin/python` (.venv)",
        "`python3` (PATH): not on PATH",
        "--python PATH",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(error.tried().len(), 4);
    let nowhere = find(&Ask { cwd: "/".into(), root: "/".into(), ..Ask::default() }).unwrap_err();
    assert_eq!(nowhere.tried().len(), 2);
}

#[test]
fn a_real_interpreter_answers() {
    let path = OsString::from("/usr/local/bin:/usr/bin:/bin");
    let ask = Ask { path_var: Some(path), cwd: "/".into(), root: "/".into(), ..Ask::default() };
    let (version, error) = match find(&ask) {
        Ok(found) => (found.version, String::new()),
        Err(error) => match &error.tried()[0].why {
            Rejected::NoPytest { version, .. } => (version.clone(), error.to_string()),
            other => (String::new(), other.to_string()),
        },
    };
    // Machines without Python have nothing to say here.
    assert!(version.starts_with("3.") || error.contains("not on PATH"), "{version} {error}");
}
