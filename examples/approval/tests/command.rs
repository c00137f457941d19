//! The program as processes that share a file: one serves, others ask and decide.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// Far longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// The process that serves. It is killed when this is dropped.
struct Serving {
    process: Child,
    lines: Receiver<String>,
}

impl Serving {
    fn start(store: &Path) -> Self {
        let mut process = command(store, &["serve"]).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        // Ends with the process.
        std::thread::spawn(move || output.lines().try_for_each(|line| sender.send(line.unwrap())));
        let serving = Self { process, lines };
        serving.wait_for("serving");
        serving
    }

    /// Reads lines up to one that starts like this.
    fn wait_for(&self, start: &str) {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) if line.starts_with(start) => return,
                Ok(_other) => {}
                Err(ended) => panic!("no line starts with '{start}': {ended}"),
            }
        }
    }

    /// `kill -9`.
    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn command(store: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_example-approval"));
    command.arg("--store").arg(store).args(args);
    command
}

/// Runs a command to its end: what it prints, or its error.
fn run(store: &Path, args: &[&str]) -> Result<String, String> {
    let output = command(store, args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim().to_owned();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

fn store(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join("approvals.db")
}

#[test]
fn another_process_decides_a_request_also_after_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let serving = Serving::start(&store);
    let never = ["--remind-after-seconds", "3600", "--deadline-seconds", "86400"];
    for id in ["r-1", "r-2"] {
        let request = [&["request", id, "a laptop"], &never[..]].concat();
        assert_eq!(run(&store, &request), Ok(format!("{id}: requested")));
        serving.wait_for("to Ada: Emmy asks for a laptop");
    }
    let approved = run(&store, &["approve", "r-1", "Ada"]);
    assert_eq!(approved.as_deref(), Ok("r-1: approved by Ada"));
    serving.wait_for("to Emmy: a laptop: approved by Ada");
    serving.kill();

    let serving = Serving::start(&store);
    assert_eq!(run(&store, &["status", "r-2"]).as_deref(), Ok("r-2: waits for Ada"));
    let rejected = run(&store, &["reject", "r-2", "Grace", "too expensive"]);
    assert_eq!(rejected.as_deref(), Ok("r-2: rejected by Grace: too expensive"));
    serving.wait_for("to Emmy: a laptop: rejected by Grace");
}

#[test]
fn reminders_escalation_and_deadline_come_by_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let serving = Serving::start(&store);
    let quick = ["--remind-after-seconds", "0", "--reminders", "1", "--deadline-seconds", "1"];
    run(&store, &[&["request", "r-1", "a desk"], &quick[..]].concat()).unwrap();
    serving.wait_for("to Ada: Emmy asks for a desk");
    serving.wait_for("to Ada: reminder 1: Emmy asks for a desk");
    serving.wait_for("to Grace: Ada does not decide: Emmy asks for a desk");
    serving.wait_for("to Emmy: a desk: not decided within 1s");
}

#[test]
fn mistakes_of_the_caller_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let unknown = run(&store, &["approve", "r-1", "Ada"]).unwrap_err();
    assert!(unknown.contains("there is no request r-1"), "{unknown}");
    run(&store, &["request", "r-1", "a laptop"]).unwrap();
    let twice = run(&store, &["request", "r-1", "a laptop"]).unwrap_err();
    assert!(twice.contains("there is a request r-1 already"), "{twice}");
    // No process serves yet, so the request has not started.
    let queued = run(&store, &["approve", "r-1", "Ada"]).unwrap_err();
    assert!(queued.contains("'r-1' waits for a node"), "{queued}");

    let serving = Serving::start(&store);
    serving.wait_for("to Ada: Emmy asks for a laptop");
    run(&store, &["approve", "r-1", "Ada"]).unwrap();
    let late = run(&store, &["reject", "r-1", "Ada", "no"]).unwrap_err();
    assert!(late.contains("too late; r-1: approved by Ada"), "{late}");
}
