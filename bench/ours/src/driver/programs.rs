//! Finds the program of an engine and runs it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use bench_harness::{Case, Sample, postgres};
use duroxide_pg_server::{Server, Setup};

use super::arguments::Arguments;
use super::stores::Store;
use crate::{engines, floor};

/// A run that takes longer is killed and counts as failed.
const RUN_MAX: Duration = Duration::from_secs(240);
const RUN_MAX_QUICK: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const PRIORITY: &str = "-5";

/// The programs of all engines.
#[derive(Debug)]
pub(crate) struct Programs {
    ours: PathBuf,
    peers: Option<PathBuf>,
    /// Whether runs get a higher priority than other processes of the machine.
    raises_priority: bool,
    /// Longest duration of a run.
    run_max: Duration,
    /// The PostgreSQL server, which stops when this is dropped.
    server: Option<Server>,
}

/// Settings of one run besides the case.
#[derive(Debug, Default, Clone)]
pub(crate) struct RunOptions {
    /// Folder of an existing store; `None` creates a new store.
    pub(crate) folder: Option<PathBuf>,
    /// Prefix of all instance ids, so that several runs can share a store.
    pub(crate) prefix: Option<String>,
}

impl Programs {
    /// Finds the programs; builds the peers if an engine needs them.
    pub(crate) fn find(arguments: &Arguments, stores: &[Store]) -> Result<Self, String> {
        let ours = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut engines = stores.iter().flat_map(|store| arguments.engines_on(*store));
        let needs_peers = engines.any(|engine| !is_ours(&engine));
        let peers = if needs_peers { Some(build_peers(&ours)?) } else { None };
        let run_max = if arguments.quick { RUN_MAX_QUICK } else { RUN_MAX };
        Ok(Self { ours, peers, raises_priority: can_raise_priority(), run_max, server: None })
    }

    /// Starts the PostgreSQL server. Commits wait for the disk: `fsync` and `synchronous_commit`
    /// are on, as they are by default.
    pub(crate) fn start_server(&mut self) -> Result<(), String> {
        let settings = ["fsync=on", "synchronous_commit=on"].map(str::to_owned).to_vec();
        self.server = Some(Server::start(&Setup { durable: true, settings, ..Setup::default() })?);
        Ok(())
    }

    /// Runs one case once in a process of its own.
    pub(crate) fn run(
        &self,
        engine: &str,
        case: Case,
        options: &RunOptions,
    ) -> Result<Sample, String> {
        let program = if is_ours(engine) { Some(&self.ours) } else { self.peers.as_ref() };
        let program = program.ok_or_else(|| format!("no program for {engine}"))?;
        let mut command = self.command(program);
        command.args(["run", "--engine", engine, "--workload", case.workload.name()]);
        command.args(["--size", &case.size.to_string()]);
        if let Some(folder) = &options.folder {
            command.arg("--folder").arg(folder);
        }
        if let Some(prefix) = &options.prefix {
            command.args(["--prefix", prefix]);
        }
        let line = output(command, self.run_max)?;
        serde_json::from_str(&line).map_err(|error| format!("{engine}: {error}: {line}"))
    }

    /// Runs another command of this program and returns what it prints.
    pub(crate) fn run_command(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = self.command(&self.ours);
        command.args(arguments);
        output(command, RUN_MAX)
    }

    fn command(&self, program: &Path) -> Command {
        let mut command =
            Command::new(if self.raises_priority { Path::new("nice") } else { program });
        if self.raises_priority {
            command.args(["-n", PRIORITY]).arg(program);
        }
        if let Some(server) = &self.server {
            command.env(postgres::URL_VARIABLE, server.url());
        }
        command
    }
}

/// The folder of the results: `bench` in the target folder of the project.
pub(crate) fn target_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/bench")
}

fn is_ours(engine: &str) -> bool {
    floor::ALL.iter().any(|floor| floor.name == engine)
        || engines::ALL.iter().any(|opener| opener.name() == engine)
}

// Builds into the folder of this program.
fn build_peers(ours: &Path) -> Result<PathBuf, String> {
    let release = ours.parent().ok_or("this program is in no folder")?;
    let target = release.parent().ok_or("this program is in no target folder")?;
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../peers/Cargo.toml");
    eprintln!("bench: building the peers");
    let cargo = std::env::var("CARGO").unwrap_or_else(|_unset| "cargo".to_owned());
    let mut command = Command::new(cargo);
    // Without them, build scripts that read these variables would run at every build.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("CARGO_MANIFEST_") || name.starts_with("CARGO_PKG_") {
            command.env_remove(name);
        }
    }
    let status = command
        .args(["build", "--quiet", "--release", "--locked", "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(target)
        .status()
        .map_err(|error| format!("cargo cannot be started: {error}"))?;
    if !status.success() {
        return Err(format!("the peers cannot be built ({status})"));
    }
    Ok(release.join("bench-peers"))
}

fn can_raise_priority() -> bool {
    let probe = Command::new("nice").args(["-n", PRIORITY, "true"]).stderr(Stdio::piped()).output();
    probe.is_ok_and(|output| output.status.success() && output.stderr.is_empty())
}

// Both streams go to files: a full pipe would block a program that prints much.
fn output(mut command: Command, run_max: Duration) -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (stdout, stderr) = (folder.path().join("stdout"), folder.path().join("stderr"));
    let file = |path: &Path| std::fs::File::create(path).map_err(|error| error.to_string());
    let mut child = command
        .stdin(Stdio::null())
        .stdout(file(&stdout)?)
        .stderr(file(&stderr)?)
        .spawn()
        .map_err(|error| error.to_string())?;
    let status = wait(&mut child, run_max)?;
    let path = if status.success() { stdout } else { stderr };
    let text = std::fs::read(path).map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&text);
    let last = text.lines().next_back().unwrap_or("exited without output").to_owned();
    if status.success() { Ok(last) } else { Err(last) }
}

fn wait(child: &mut Child, run_max: Duration) -> Result<ExitStatus, String> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok(status);
        }
        if started.elapsed() > run_max {
            child.kill().map_err(|error| error.to_string())?;
            child.wait().map_err(|error| error.to_string())?;
            return Err(format!("killed after {run_max:?}"));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}
