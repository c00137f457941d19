//! `cargo xtask fuzz --seconds N [--first-seed S]`: reads changed inputs, and works beside changed
//! rows of both stores.

use crate::postgres::{self, Server};
use crate::step::{Step, announce};

const FUZZ: &[&str] = &["run", "--release", "--package", "duroxide-fuzz", "--bin", "fuzz", "--"];

/// Runs with the arguments of the command line, on a throw-away PostgreSQL server if its programs
/// can be had.
pub(crate) fn run() -> Result<(), String> {
    let mut given: Vec<String> = std::env::args().skip(2).collect();
    // Dropped, and thereby stopped, after the run.
    let mut _server = None;
    if !given.iter().any(|arg| arg == "--postgres") {
        match postgres::install().and_then(|_folder| Server::start()) {
            Ok(server) => {
                given.extend(["--postgres".to_owned(), server.url().to_owned()]);
                _server = Some(server);
            }
            Err(reason) => announce(&format!("fuzz: without PostgreSQL; {reason}")),
        }
    }
    let args: Vec<&str> = FUZZ.iter().copied().chain(given.iter().map(String::as_str)).collect();
    Step { name: "fuzz", cargo: &args, env: &[] }.run()
}
