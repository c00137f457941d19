//! The worker processes.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::store::Store;

/// What all worker processes share.
#[derive(Debug, Clone)]
pub(crate) struct WorkerSetup {
    pub(crate) store: Store,
    pub(crate) effects: PathBuf,
    pub(crate) folder: PathBuf,
}

/// A running worker process. Dropping it kills it.
pub(crate) struct Worker {
    child: Child,
}

/// Longest time that a process may take to exit.
const EXIT_MAX: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

impl Worker {
    /// Starts a process. Its log is appended to the file of its predecessors.
    pub(crate) fn spawn(setup: &WorkerSetup, name: usize) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let child = Command::new(program)
            .arg("node")
            .args(setup.store.args())
            .args(["--name", &name.to_string()])
            .arg("--effects")
            .arg(&setup.effects)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::from(log(&setup.folder, name)?))
            .spawn()
            .map_err(|error| format!("a worker cannot be started: {error}"))?;
        Ok(Self { child })
    }

    /// An error if the process has exited by itself.
    pub(crate) fn check(&mut self) -> Result<(), String> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(format!("a worker exited by itself ({status})")),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Kills the process at once, as a crash would.
    pub(crate) fn kill(mut self) -> Result<(), String> {
        self.check()?;
        self.child.kill().map_err(|error| error.to_string())?;
        self.child.wait().map(drop).map_err(|error| error.to_string())
    }

    /// Suspends the process.
    pub(crate) fn pause(&self) -> Result<(), String> {
        self.signal(Signal::STOP)
    }

    /// Resumes the process.
    pub(crate) fn resume(&self) -> Result<(), String> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<(), String> {
        kill_process(Pid::from_child(&self.child), signal).map_err(|error| error.to_string())
    }

    /// Asks it to exit and waits for it.
    pub(crate) fn stop(mut self) -> Result<(), String> {
        self.check()?;
        drop(self.child.stdin.take());
        let started_at = Instant::now();
        while started_at.elapsed() < EXIT_MAX {
            match self.child.try_wait().map_err(|error| error.to_string())? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("a worker failed ({status})")),
                None => std::thread::sleep(POLL_INTERVAL),
            }
        }
        Err("a worker does not exit".to_owned())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It has already exited unless the soak failed; this also kills a paused process.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn log(folder: &Path, name: usize) -> Result<File, String> {
    let path = folder.join(format!("node-{name}.log"));
    let opened = File::options().create(true).append(true).open(&path);
    opened.map_err(|error| format!("{}: {error}", path.display()))
}
