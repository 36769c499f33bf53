//! A project in a temporary folder under git, and the command run in it with an environment of its own.
//!
//! Each use of the command is held to three things beside what a test asks for: nothing on standard error but progress,
//! the project's files (git's own included) as they were, and no process left behind.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use fs_err as fs;
use tempfile::TempDir;

use crate::answer::Answer;
use crate::processes;

/// What makes `unshare` start a program as a container would.
const CONTAINER: [&str; 5] = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"];

static COUNT: AtomicU32 = AtomicU32::new(0);

/// The interpreter that the tests were told to use; it has pytest and the plugins of `tests/requirements.txt`.
pub(crate) fn python() -> PathBuf {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test is told by the environment which interpreter to use"
    )]
    let named = std::env::var_os("ANYORDER_TEST_PYTHON");
    named.expect("set ANYORDER_TEST_PYTHON to an interpreter that has pytest (`make test` does)").into()
}

/// Each path under a folder with its mode and content.
pub(crate) type Files = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// A project `shop` with room beside it.
pub(crate) struct Project {
    folder: TempDir,
    pub(crate) root: PathBuf,
    marker: String,
}

impl Project {
    /// A git repository with one commit that holds the named files, on branch `main`.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let project = Self::plain(files);
        project.git(&["init", "-q", "-b", "main"]);
        for (key, value) in [("core.autocrlf", "false"), ("commit.gpgsign", "false")] {
            project.git(&["config", key, value]);
        }
        project.commit("first");
        project
    }

    /// A folder that holds the named files and is no repository.
    pub(crate) fn plain(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(folder.path()).unwrap();
        let root = top.join("shop");
        for name in ["shop", "scratch", "home"] {
            fs::create_dir(top.join(name)).unwrap();
        }
        let number = COUNT.fetch_add(1, Ordering::SeqCst);
        let project = Self { folder, root, marker: format!("anyorder-it-{}-{number}", std::process::id()) };
        project.write_all(files);
        project
    }

    /// A project whose one file of tests is `test_it.py`.
    pub(crate) fn of_tests(text: &str) -> Self {
        Self::with(&[("test_it.py", text)])
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn write_all(&self, files: &[(&str, &str)]) {
        for (path, text) in files {
            self.write(path, text);
        }
    }

    /// A path beside the project.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap().join(name)
    }

    /// Commits everything.
    pub(crate) fn commit(&self, subject: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", subject]);
    }

    /// Runs git in the project; what it printed.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = self.program("git").args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// Writes the working tree's changes as a patch beside the project, and takes them back.
    pub(crate) fn take_patch(&self, name: &str) -> PathBuf {
        self.git(&["add", "-A"]);
        let path = self.beside(name);
        let output = self.program("git").args(["diff", "--cached", "--binary"]).output().unwrap();
        fs::write(&path, output.stdout).unwrap();
        self.git(&["reset", "-q", "--hard"]);
        path
    }

    /// A program that knows nothing of the machine's settings.
    pub(crate) fn program(&self, program: impl AsRef<OsStr>) -> Command {
        #[expect(clippy::disallowed_methods, reason = "these tests are about a program")]
        let mut command = Command::new(program);
        #[expect(
            clippy::disallowed_methods,
            reason = "programs are found where the tests' caller finds them"
        )]
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.current_dir(&self.root).stdin(Stdio::null()).env_clear();
        command.env("PATH", path).env("HOME", self.beside("home")).env("LANG", "C.UTF-8");
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("GIT_CEILING_DIRECTORIES", self.beside("."));
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "A U Thor");
            command.env(format!("GIT_{who}_EMAIL"), "a@example.com");
            command.env(format!("GIT_{who}_DATE"), "2024-01-02T03:04:05Z");
        }
        command
    }

    /// The command with these arguments, not started yet. Plugins of the interpreter's environment are not loaded.
    pub(crate) fn anyorder<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Call<'_> {
        let arguments: Vec<OsString> = arguments.into_iter().map(|a| a.as_ref().to_owned()).collect();
        Call {
            project: self,
            arguments,
            env: vec![("PYTEST_DISABLE_PLUGIN_AUTOLOAD".into(), "1".into())],
            python: Some(python()),
            status: 0,
            notes: false,
            contained: false,
            writes: None,
        }
    }

    #[expect(clippy::print_stderr, reason = "a test that cannot run here says so")]
    /// Whether this machine lets us make a container; a test that needs one says so where it does not.
    pub(crate) fn can_contain(&self) -> bool {
        let tried = self.program("unshare").args(CONTAINER).arg("true").output();
        let can = tried.is_ok_and(|output| output.status.success());
        if !can {
            eprintln!("not run: this machine allows no namespace of process ids");
        }
        can
    }

    /// All files of the project but the store.
    pub(crate) fn files(&self) -> Files {
        let mut found = Files::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let meta = fs::symlink_metadata(&path).unwrap();
                let relative = path.strip_prefix(&self.root).unwrap().to_path_buf();
                let mode = meta.permissions().mode();
                if relative == Path::new(".anyorder") {
                    continue;
                }
                let content = if meta.is_file() {
                    fs::read(&path).unwrap()
                } else if meta.is_symlink() {
                    fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
                } else {
                    Vec::new()
                };
                if meta.is_dir() {
                    folders.push(path);
                }
                found.insert(relative, (mode, content));
            }
        }
        found
    }

    /// Waits until nothing that was started for this project is alive.
    #[track_caller]
    pub(crate) fn assert_nothing_survives(&self) {
        processes::assert_none_with(&self.marker);
    }

    /// Nothing is left in the folder for scratch files.
    #[track_caller]
    fn assert_scratch_is_empty(&self) {
        let left: Vec<PathBuf> =
            fs::read_dir(self.beside("scratch")).unwrap().map(|e| e.unwrap().path()).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

/// The command with its arguments, and what is expected of it.
pub(crate) struct Call<'p> {
    project: &'p Project,
    arguments: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    python: Option<PathBuf>,
    status: i32,
    notes: bool,
    contained: bool,
    writes: Option<PathBuf>,
}

impl Call<'_> {
    /// More arguments.
    pub(crate) fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// The exit code that is expected instead of 0.
    pub(crate) fn status(mut self, status: i32) -> Self {
        self.status = status;
        self
    }

    /// Standard error may say more than progress.
    pub(crate) fn with_notes(mut self) -> Self {
        self.notes = true;
        self
    }

    /// This one file of the project may be written.
    pub(crate) fn writing(mut self, path: &str) -> Self {
        self.writes = Some(path.into());
        self
    }

    /// Another interpreter, or with `None` the one that the command finds.
    pub(crate) fn python(mut self, python: Option<&Path>) -> Self {
        self.python = python.map(Path::to_path_buf);
        self
    }

    /// A variable of the command's environment.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// The plugins of the interpreter's environment are loaded.
    pub(crate) fn with_plugins(mut self) -> Self {
        self.env.retain(|(name, _)| name != "PYTEST_DISABLE_PLUGIN_AUTOLOAD");
        self
    }

    /// The command is the first process of a namespace of its own, as a container's entry point is.
    pub(crate) fn in_a_container(mut self) -> Self {
        self.contained = true;
        self
    }

    fn command(&self) -> Command {
        let program = env!("CARGO_BIN_EXE_anyorder");
        let mut command = self.project.program(if self.contained { "unshare" } else { program });
        if self.contained {
            command.args(CONTAINER).arg(program);
        }
        let mut arguments = self.arguments.clone();
        let suite: [&[&str]; 8] = [
            &["run"],
            &["check"],
            &["replay"],
            &["doctor"],
            &["freeze"],
            &["quarantine"],
            &["ledger", "check"],
            &["ledger", "prune"],
        ];
        let words = suite.into_iter().find(|words| words.iter().zip(&arguments).all(|(w, a)| a == w));
        if let (Some(python), Some(words)) = (&self.python, words)
            && arguments.len() >= words.len()
        {
            arguments.splice(words.len()..words.len(), ["--python".into(), python.into()]);
        }
        command.args(arguments);
        command.env("ANYORDER_SCRATCH", self.project.beside("scratch"));
        command.env("ANYORDER_IT_MARKER", &self.project.marker);
        command.envs(self.env.iter().map(|(k, v)| (k, v)));
        command
    }

    /// Starts the command and leaves it running.
    pub(crate) fn start(self) -> Child {
        let mut command = self.command();
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs the command and holds it to what is expected.
    #[track_caller]
    pub(crate) fn answer(self) -> Answer {
        let mut before = self.project.files();
        let output = self.command().output().unwrap();
        let answer = Answer::new(output);
        assert_eq!(answer.status, Some(self.status), "{answer}");
        if self.status == 0 && !self.notes {
            answer.assert_only_progress();
        }
        self.project.assert_nothing_survives();
        self.project.assert_scratch_is_empty();
        let mut after = self.project.files();
        if let Some(path) = &self.writes {
            before.remove(path);
            after.remove(path);
        }
        assert_same_files(&before, &after);
        answer
    }
}

#[track_caller]
pub(crate) fn assert_same_files(before: &Files, after: &Files) {
    let mut changed: Vec<&PathBuf> = before.keys().filter(|p| before.get(*p) != after.get(*p)).collect();
    changed.extend(after.keys().filter(|p| !before.contains_key(*p)));
    assert!(changed.is_empty(), "the project was changed: {changed:?}");
}
