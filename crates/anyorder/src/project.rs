//! The project a command works on: folder, configuration, interpreter, scratch, how to talk to the user.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::Context;
use anyorder_report::Style;
use anyorder_report::view::{Invocation, Project as ProjectView};
use anyorder_runner::interpreter::{self, Interpreter};
use anyorder_runner::tree::{Checkout, TreeError};
use anyorder_runner::{Limits, SandboxAsk, SandboxMode, SessionConfig};

use crate::args::{ExecutorChoice, Format, GlobalArgs, SandboxChoice, SuiteArgs};
use crate::env_vars;
use crate::hint::Failed;
use crate::progress::{Progress, Show};
use crate::settings::{self, ConfigFile, SuiteSettings};
use crate::signals::Watch;

/// The project a command works on.
#[derive(Debug)]
pub struct Project {
    /// Where the user stands; pytest is started here.
    pub cwd: PathBuf,
    /// The source.
    pub checkout: Checkout,
    /// Why it is no git checkout, if it is none.
    pub no_git: Option<TreeError>,
    /// What the configuration file says.
    pub config: ConfigFile,
    /// How to reach and run the suite.
    pub settings: SuiteSettings,
    /// Folder for everything that goes away with this process.
    pub scratch: tempfile::TempDir,
    /// Whether somebody pressed Ctrl-C.
    pub watch: Watch,
    /// What the answer looks like.
    pub format: Format,
    quiet: bool,
}

/// Where the project must be a git repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// It must.
    Git,
    /// Any folder will do.
    Folder,
}

impl Project {
    /// Finds the project that a command line means.
    pub fn open(global: &GlobalArgs, suite: &SuiteArgs, needs: Needs) -> anyhow::Result<Self> {
        let here = std::env::current_dir().context("could not tell the current folder")?;
        let asked = global.directory.clone().map_or(here.clone(), |d| here.join(d));
        let cwd = fs_err::canonicalize(&asked)
            .map_err(|e| Failed::usage(format!("could not enter the folder: {e}")))?;
        let (checkout, no_git) = match (Checkout::discover(&cwd), needs) {
            (Ok(checkout), _) => (checkout, None),
            (Err(error), Needs::Git) => return Err(Failed::cannot_measure(error).into()),
            (Err(error), Needs::Folder) => {
                (Checkout::plain(&cwd).map_err(Failed::cannot_measure)?, Some(error))
            }
        };
        let (config, path) = settings::load(&cwd, checkout.root())?;
        let settings = SuiteSettings::resolve(suite, &config, path);
        let base = env_vars::scratch().unwrap_or_else(std::env::temp_dir);
        let scratch =
            tempfile::Builder::new().prefix("ao-").rand_bytes(5).tempdir_in(&base).map_err(|e| {
                Failed::cannot_measure(format!(
                    "could not make a scratch folder in `{}`: {e}",
                    base.display()
                ))
                .hint(format!("name another place with {}", env_vars::SCRATCH))
            })?;
        let watch = Watch::start().context("could not watch for signals")?;
        Ok(Self {
            cwd,
            checkout,
            no_git,
            config,
            settings,
            scratch,
            watch,
            format: global.format,
            quiet: global.quiet,
        })
    }

    /// The interpreter that runs the suite.
    pub fn interpreter(&self) -> Result<Interpreter, Failed> {
        let ask = interpreter::Ask {
            flag: self.settings.python.clone(),
            virtual_env: env_vars::virtual_env(),
            uv_project_environment: env_vars::uv_project_environment(),
            conda_prefix: env_vars::conda_prefix(),
            path_var: env_vars::search_path(),
            cwd: self.cwd.clone(),
            root: self.checkout.root().to_path_buf(),
            patience: std::time::Duration::from_secs(20),
        };
        interpreter::find(&ask).map_err(Failed::cannot_measure)
    }

    /// Where results are kept.
    pub fn store_dir(&self) -> PathBuf {
        self.checkout.root().join(".anyorder")
    }

    /// How to start a session of this project; the caller sets the tree.
    pub fn session_config(&self, python: &Path) -> SessionConfig {
        let mut config = SessionConfig::new(python, self.checkout.root(), self.scratch.path());
        config.cwd.clone_from(&self.cwd);
        config.pytest_args.clone_from(&self.settings.pytest_args);
        config.sandbox = SandboxAsk { mode: self.sandbox_mode(), lower: Vec::new() };
        config.env.clone_from(&self.settings.env);
        config.base_env = env_vars::all();
        config.jobs = self.settings.jobs;
        config.limits = Limits {
            collect: Some(self.settings.collect_timeout),
            test: Some(self.settings.test_timeout),
            ..Limits::default()
        };
        config.reseed = self.settings.reseed;
        config
    }

    /// The sandbox asked for.
    pub fn sandbox_mode(&self) -> SandboxMode {
        match self.settings.sandbox {
            SandboxChoice::Auto => SandboxMode::Auto,
            SandboxChoice::Overlay => SandboxMode::Overlay,
            SandboxChoice::Tmp => SandboxMode::Tmp,
            SandboxChoice::None => SandboxMode::None,
        }
    }

    /// Whether fresh interpreters were asked for.
    pub fn executor(&self) -> ExecutorChoice {
        self.settings.executor
    }

    /// A display for progress, on standard error.
    pub fn progress(&self) -> Progress {
        let show = if self.quiet {
            Show::Nothing
        } else if std::io::stderr().is_terminal() && !env_vars::on_ci() {
            Show::Live
        } else {
            Show::Plain
        };
        Progress::new(show, style_of_progress())
    }

    /// The project as reports name it.
    pub fn view(&self) -> ProjectView {
        let root = self.checkout.root();
        let name = root.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        ProjectView { name, root: root.display().to_string() }
    }

    /// How the user called us.
    pub fn invocation(&self) -> Invocation {
        let mut flags = Vec::new();
        if let Some(python) = &self.settings.python {
            flags.extend(["--python".to_owned(), python.clone()]);
        }
        Invocation { flags, pytest_args: self.settings.pytest_args.clone(), ..Invocation::default() }
    }
}

/// How lines among progress, on standard error, may look.
pub fn style_of_progress() -> Style {
    style_for(&std::io::stderr())
}

/// How the report, on standard output, may look.
pub fn style_of_report() -> Style {
    style_for(&std::io::stdout())
}

fn style_for(stream: &(impl anstream::stream::RawStream + IsTerminal)) -> Style {
    let color = anstream::AutoStream::choice(stream) != anstream::ColorChoice::Never;
    let width = if IsTerminal::is_terminal(stream) { terminal_width() } else { 100 };
    Style { color, unicode: env_vars::speaks_utf8(), width }
}

fn terminal_width() -> usize {
    usize::from(console::Term::stderr().size().1)
}
