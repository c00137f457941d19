//! `cargo xtask soak [--minutes N] [--store …]`: runs workflows while their worker processes are
//! killed and paused.

use crate::postgres::Server;
use crate::step::{Step, announce};

const SOAK: &[&str] = &["run", "--package", "duroxide-soak", "--bin", "soak", "--"];

/// Minutes of the short form that is part of the tests.
const SHORT: &str = "0.3";

/// Names a throw-away PostgreSQL server as the store.
const POSTGRES: &str = "postgres";

/// Runs the soak with the arguments of the command line.
pub(crate) fn run() -> Result<(), String> {
    soak(std::env::args().skip(2).collect())
}

/// A soak of less than half a minute on SQLite.
pub(crate) fn short_on_sqlite() -> Result<(), String> {
    soak(["--minutes", SHORT].map(str::to_owned).to_vec())
}

/// A soak of less than half a minute on PostgreSQL.
pub(crate) fn short_on_postgres() -> Result<(), String> {
    soak(["--minutes", SHORT, "--store", POSTGRES].map(str::to_owned).to_vec())
}

fn soak(mut given: Vec<String>) -> Result<(), String> {
    // Dropped, and thereby stopped, after the soak.
    let mut _server = None;
    let store = given.iter().position(|arg| arg == "--store");
    if let Some(url) = store.and_then(|at| given.get_mut(at + 1)).filter(|url| *url == POSTGRES) {
        let server = Server::start()?;
        announce(&format!("soak: a throw-away PostgreSQL server at {}", server.url()));
        server.url().clone_into(url);
        _server = Some(server);
    }
    let args: Vec<&str> = SOAK.iter().copied().chain(given.iter().map(String::as_str)).collect();
    Step { name: "soak", cargo: &args, env: &[] }.run()
}
