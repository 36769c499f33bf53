//! Starting main processes.

use std::io;
use std::path::Path;
use std::time::Instant;

use serde_json::json;

use super::folder::random_hex;
use super::gather::Gathering;
use super::host::{Dropped, Host, HostId, State};
use super::{Engine, StartError};
use crate::process::{Marker, Process, environment};
use crate::{SandboxMode, protocol};

/// Bytes of a process's output that are kept at each end.
const OUTPUT_LIMIT: usize = 16 << 10;

impl Engine {
    /// Starts the interpreter that forks.
    pub(super) fn launch_template(&mut self) -> Result<(), StartError> {
        let id = self.launch(None, 0, None)?;
        self.template = Some(id);
        Ok(())
    }

    /// Starts an interpreter, for a run of its own or as the template.
    pub(super) fn launch(
        &mut self,
        run: Option<u64>,
        slot: usize,
        folder: Option<&Path>,
    ) -> Result<HostId, StartError> {
        let id = HostId(self.next_host);
        self.next_host += 1;
        let io = |doing: &str| {
            let doing = doing.to_owned();
            move |source| StartError::Io { doing, source }
        };
        let token = random_hex(16).map_err(io("read random bytes"))?;
        let scratch =
            self.folder.subfolder(&format!("main-{}", id.0)).map_err(io("make a private folder"))?;
        let config =
            self.agent_config(&token, &scratch, folder).map_err(io("describe the session to the agent"))?;
        let config = self
            .folder
            .write(&format!("main-{}.json", id.0), &config)
            .map_err(io("write the agent's settings"))?;
        let agent = config.with_file_name("anyorder_agent.py");
        let marker = match run {
            Some(run) => format!("{}-{run}", self.name),
            None => self.name.clone(),
        };
        let marker = Marker { run: marker, slot, tree: &self.config.tree };
        let mut environment =
            environment(&self.config.base_env, &self.config.env, self.config.hash_seed, &marker);
        if let Some(folder) = folder {
            environment.retain(|(name, _)| name != "TMPDIR");
            environment.push(("TMPDIR".into(), folder.join("start").into()));
        }
        let python = &self.config.python;
        let process = Process::spawn(python, &[&agent, &config], &self.config.cwd, environment, OUTPUT_LIMIT);
        let process =
            process.map_err(|source| StartError::NoInterpreter { python: python.clone(), source })?;
        let host = Host {
            process,
            token,
            conn: None,
            commands: Vec::new(),
            expected: 0,
            state: State::Collecting(Gathering::default()),
            started: Instant::now(),
            run,
            kill_at: None,
            dropped: Dropped::default(),
        };
        self.hosts.insert(id, host);
        Ok(id)
    }

    fn agent_config(&self, token: &str, scratch: &Path, folder: Option<&Path>) -> io::Result<Vec<u8>> {
        let config = &self.config;
        let (mode, required) = match config.sandbox.mode {
            SandboxMode::Auto => ("overlay", false),
            SandboxMode::Overlay => ("overlay", true),
            SandboxMode::Tmp => ("tmp", false),
            SandboxMode::None => ("none", false),
        };
        let lower = config.sandbox.lower.iter().map(|p| text(p)).collect::<io::Result<Vec<_>>>()?;
        let remap = match &config.remap {
            None => serde_json::Value::Null,
            Some(remap) => json!({ "from": text(&remap.from)?, "to": text(&remap.to)? }),
        };
        let short = self.folder.temporary().map(text).transpose()?;
        let tmp = folder.map(|f| f.join("tmp"));
        let tmp = tmp.as_deref().map(text).transpose()?;
        let env: serde_json::Map<_, _> =
            config.env.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
        let value = json!({
            "protocol": protocol::VERSION,
            "socket": text(&self.folder.socket())?,
            "token": token,
            "root": text(&config.root)?,
            "cwd": text(&config.cwd)?,
            "pytest_args": config.pytest_args,
            "only": config.only,
            "sandbox": { "mode": mode, "required": required, "lower": lower, "scratch": text(scratch)?, "short": short, "tmp": tmp },
            "remap": remap,
            "text_limit": config.text_limit,
            "env": env,
            "sequential": [],
            "reseed": config.reseed,
        });
        Ok(serde_json::to_vec(&value)?)
    }
}

fn text(path: &Path) -> io::Result<&str> {
    path.to_str().ok_or_else(|| {
        let message = format!("`{}` is no valid UTF-8", path.display());
        io::Error::new(io::ErrorKind::InvalidInput, message)
    })
}
