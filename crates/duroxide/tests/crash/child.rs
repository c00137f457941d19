//! The quickstart in a process of its own.

use std::ffi::OsStr;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::quickstart;

/// Makes the test executable be the quickstart; one argument per line.
const ARGS: &str = "DUROXIDE_QUICKSTART_ARGS";

const LOOK: Duration = Duration::from_millis(2);

/// Not a fact but the child: without its variable it has nothing to do.
#[test]
fn the_quickstart_as_a_child() {
    let Ok(args) = std::env::var(ARGS) else { return };
    let code = quickstart::main(args.lines().map(str::to_owned));
    // The harness would make something else of it.
    std::process::exit(if code == std::process::ExitCode::SUCCESS {
        0
    } else if code == std::process::ExitCode::from(2) {
        2
    } else {
        1
    });
}

/// How a run of the quickstart ended.
#[derive(Debug)]
pub(crate) enum Ended {
    Killed,
    ByItself(ExitStatus),
}

/// Starts the quickstart.
pub(crate) fn spawn(args: &[&str], output: Stdio) -> Child {
    let this = std::env::current_exe().unwrap();
    Command::new(this)
        .args(["--exact", "child::the_quickstart_as_a_child", "--nocapture"])
        .env(OsStr::new(ARGS), args.join("\n"))
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Lets the child run for `span` and kills it, unless it ends before.
pub(crate) fn kill_after(mut child: Child, span: Duration) -> Ended {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Ended::ByItself(status);
        }
        if began.elapsed() >= span {
            break;
        }
        std::thread::sleep(LOOK.min(span));
    }
    // SIGKILL, to this child only.
    child.kill().unwrap();
    match child.wait().unwrap() {
        status if status.code().is_none() => Ended::Killed,
        status => Ended::ByItself(status),
    }
}
