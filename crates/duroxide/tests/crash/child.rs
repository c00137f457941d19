//! Runs the quickstart in a process of its own.

use std::ffi::OsStr;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::quickstart;

/// If this variable is set, the test executable runs as the quickstart; one argument per line.
const ARGS: &str = "DUROXIDE_QUICKSTART_ARGS";

const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Not a test but the entry point of the child: without its variable it does nothing.
#[test]
fn run_as_quickstart() {
    let Ok(args) = std::env::var(ARGS) else { return };
    let code = quickstart::main(args.lines().map(str::to_owned));
    // The test harness would replace the exit code.
    std::process::exit(if code == std::process::ExitCode::SUCCESS {
        0
    } else if code == std::process::ExitCode::from(2) {
        2
    } else {
        1
    });
}

/// How the process of the quickstart exited.
#[derive(Debug)]
pub(crate) enum Exit {
    Killed,
    OnItsOwn(ExitStatus),
}

/// Starts the quickstart.
pub(crate) fn spawn(args: &[&str], output: Stdio) -> Child {
    let this = std::env::current_exe().unwrap();
    Command::new(this)
        .args(["--exact", "child::run_as_quickstart", "--nocapture"])
        .env(OsStr::new(ARGS), args.join("\n"))
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Lets the child run for `span` and kills it, unless it exits first.
pub(crate) fn kill_after(mut child: Child, span: Duration) -> Exit {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Exit::OnItsOwn(status);
        }
        if start.elapsed() >= span {
            break;
        }
        std::thread::sleep(POLL_INTERVAL.min(span));
    }
    // SIGKILL, to this child only.
    child.kill().unwrap();
    match child.wait().unwrap() {
        status if status.code().is_none() => Exit::Killed,
        status => Exit::OnItsOwn(status),
    }
}
