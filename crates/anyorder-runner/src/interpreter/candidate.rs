//! Where interpreters may be, in order.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use super::{Ask, Rejected, in_environment, probe};

/// Which rule led to an interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// `--python`.
    Flag,
    /// `VIRTUAL_ENV`.
    VirtualEnv,
    /// A `.venv` here or above.
    DotVenv,
    /// `UV_PROJECT_ENVIRONMENT`.
    UvProject,
    /// The environment that poetry keeps for this project.
    Poetry,
    /// The environment that pdm keeps for this project.
    Pdm,
    /// The environment that hatch keeps for this project.
    Hatch,
    /// The environment that pipenv keeps for this project.
    Pipenv,
    /// `CONDA_PREFIX`.
    Conda,
    /// On `PATH`.
    Path,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flag => "--python",
            Self::VirtualEnv => "VIRTUAL_ENV",
            Self::DotVenv => ".venv",
            Self::UvProject => "UV_PROJECT_ENVIRONMENT",
            Self::Poetry => "poetry",
            Self::Pdm => "pdm",
            Self::Hatch => "hatch",
            Self::Pipenv => "pipenv",
            Self::Conda => "CONDA_PREFIX",
            Self::Path => "PATH",
        })
    }
}

/// A place to look at.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) source: Source,
    at: At,
    wanted: Option<String>,
}

#[derive(Debug)]
enum At {
    /// An interpreter; worth a word when it is not there.
    File(PathBuf),
    /// A name that is not on PATH.
    Nowhere(String),
    /// What a tool answers: a folder with an environment, or an interpreter.
    Tool(PathBuf, &'static [&'static str]),
}

/// An interpreter to be probed.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    /// The version it has to be.
    pub(super) wanted: Option<String>,
}

/// Everything worth a look, best first.
pub(super) fn places(ask: &Ask) -> Vec<Place> {
    if let Some(flag) = &ask.flag {
        return named(ask, flag);
    }
    let place = |source, at| Place { source, at, wanted: None };
    let mut places = Vec::new();
    if let Some(folder) = given(ask.virtual_env.as_deref()) {
        places.push(place(Source::VirtualEnv, At::File(in_environment(folder))));
    }
    if let Some(folder) = given(ask.uv_project_environment.as_deref()) {
        places.push(place(Source::UvProject, At::File(in_environment(&ask.root.join(folder)))));
    }
    for folder in folders(ask) {
        let folder = folder.join(".venv");
        if folder.is_dir() {
            places.push(place(Source::DotVenv, At::File(in_environment(&folder))));
        }
    }
    places.extend(tools(ask));
    if let Some(folder) = given(ask.conda_prefix.as_deref()) {
        places.push(place(Source::Conda, At::File(in_environment(folder))));
    }
    for name in ["python3", "python"] {
        match on_path(ask, name).into_iter().next() {
            Some(path) => places.push(place(Source::Path, At::File(path))),
            None => places.push(place(Source::Path, At::Nowhere(name.to_owned()))),
        }
    }
    places
}

/// A variable that is set to nothing is not set.
fn given(folder: Option<&Path>) -> Option<&Path> {
    folder.filter(|folder| !folder.as_os_str().is_empty())
}

/// Here, and above up to the project's top.
fn folders(ask: &Ask) -> Vec<&Path> {
    let inside = ask.cwd.starts_with(&ask.root);
    let mut folders: Vec<&Path> =
        ask.cwd.ancestors().take_while(|folder| inside && folder.starts_with(&ask.root)).collect();
    if !inside {
        folders.extend([ask.cwd.as_path(), ask.root.as_path()]);
    }
    folders
}

/// What `--python` may mean: a path, an environment, a name, a version.
fn named(ask: &Ask, flag: &str) -> Vec<Place> {
    let place = |at| Place { source: Source::Flag, at, wanted: None };
    if flag.contains('/') || ask.cwd.join(flag).is_dir() {
        let path = ask.cwd.join(flag);
        return vec![place(At::File(if path.is_dir() { in_environment(&path) } else { path }))];
    }
    if is_version_number(flag) {
        let mut names = vec![format!("python{flag}")];
        let mut parts = flag.split('.');
        if let (Some(major), Some(minor), Some(_)) = (parts.next(), parts.next(), parts.next()) {
            names.push(format!("python{major}.{minor}"));
        }
        names.extend(["python3".to_owned(), "python".to_owned()]);
        let mut found: Vec<PathBuf> = Vec::new();
        for folder in folders(ask) {
            found.extend(Some(in_environment(&folder.join(".venv"))).filter(|path| path.exists()));
        }
        for name in &names {
            for path in on_path(ask, name) {
                if !found.contains(&path) {
                    found.push(path);
                }
            }
        }
        let wanted = || Some(flag.to_owned());
        if found.is_empty() {
            return vec![Place { wanted: wanted(), ..place(At::Nowhere(format!("python{flag}"))) }];
        }
        return found.into_iter().map(|path| Place { wanted: wanted(), ..place(At::File(path)) }).collect();
    }
    match on_path(ask, flag).into_iter().next() {
        Some(path) => vec![place(At::File(path))],
        None => vec![place(At::Nowhere(flag.to_owned()))],
    }
}

/// Environments that project tools keep elsewhere; asked only where the project uses the tool and the tool is there.
fn tools(ask: &Ask) -> Vec<Place> {
    let has = |name: &str| folders(ask).iter().any(|folder| folder.join(name).is_file());
    let configured = |table: &str| {
        folders(ask).iter().any(|folder| {
            fs_err::read_to_string(folder.join("pyproject.toml"))
                .is_ok_and(|text| text.lines().any(|line| line.trim_start().starts_with(table)))
        })
    };
    let known: [(Source, &str, bool, &'static [&'static str]); 4] = [
        (
            Source::Poetry,
            "poetry",
            has("poetry.lock") || configured("[tool.poetry"),
            &["env", "info", "--path", "--no-ansi"],
        ),
        (Source::Pdm, "pdm", has("pdm.lock") || has(".pdm-python"), &["info", "--python"]),
        (
            Source::Hatch,
            "hatch",
            has("hatch.toml") || configured("[tool.hatch.envs"),
            &["env", "find", "hatch-test"],
        ),
        (Source::Pipenv, "pipenv", has("Pipfile"), &["--venv"]),
    ];
    let mut places = Vec::new();
    for (source, name, used, arguments) in known {
        if let Some(tool) = on_path(ask, name).into_iter().next().filter(|_| used) {
            places.push(Place { source, at: At::Tool(tool, arguments), wanted: None });
        }
    }
    places
}

/// Each program of this name on `PATH`; folders that are not absolute are passed over.
pub(super) fn on_path(ask: &Ask, name: impl AsRef<OsStr>) -> Vec<PathBuf> {
    let Some(path) = &ask.path_var else { return Vec::new() };
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name.as_ref())).filter(|file| is_program(file)).collect()
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

impl Place {
    /// The interpreter there; `None` when nothing is, and that is nothing to speak of.
    pub(super) fn candidate(self, ask: &Ask) -> Result<Option<Candidate>, (String, Rejected)> {
        let wanted = self.wanted;
        let unusable = |what: String, why: &str| Err((what, Rejected::Unusable(why.to_owned())));
        match self.at {
            At::File(path) if path.exists() => Ok(Some(Candidate { path, wanted })),
            At::File(path) => unusable(path.display().to_string(), "there is no such file"),
            At::Nowhere(name) => unusable(name, "not on PATH"),
            At::Tool(tool, arguments) => {
                let what = format!("{} {}", self.source, arguments.join(" "));
                let said = probe::tool(ask, &tool, arguments).map_err(|why| (what.clone(), why))?;
                let path = Path::new(&said);
                let path = if path.is_dir() { in_environment(path) } else { path.to_path_buf() };
                if path.is_absolute() && path.exists() {
                    return Ok(Some(Candidate { path, wanted }));
                }
                unusable(what, "it has no environment for this project")
            }
        }
    }
}

fn is_version_number(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split('.').count() <= 3 && text.split('.').all(digits)
}

/// Whether `version` is `wanted` or a more precise form of it.
pub(super) fn is_version(version: &str, wanted: &str) -> bool {
    let numbers = |text: &str| text.split('.').map(str::to_owned).collect::<Vec<_>>();
    numbers(version).starts_with(&numbers(wanted))
}

/// Whether the agent does not run there.
pub(super) fn older_than_supported(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let (major, minor) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    (major, minor) < (3, 8)
}
