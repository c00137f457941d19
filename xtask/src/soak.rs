//! `cargo xtask soak [--minutes N] [--store …]`: workflows under kills and pauses of their worker
//! processes.

use duroxide_pg_server::{Server, Setup};

use crate::step::{Step, announce};

const SOAK: &[&str] =
    &["run", "--package", "duroxide", "--features", "sqlite,postgres", "--example", "soak", "--"];

/// Minutes of the short form that is part of the tests.
const SHORT: &str = "0.3";

/// Stands for a throw-away PostgreSQL server as the store.
const POSTGRES: &str = "postgres";

/// Runs the soak with the arguments of the command line.
pub(crate) fn run() -> Result<(), String> {
    soak(std::env::args().skip(2).collect())
}

/// Soaks of less than half a minute, one on each store.
pub(crate) fn short() -> Result<(), String> {
    let short = ["--minutes", SHORT].map(str::to_owned).to_vec();
    soak(short.clone())?;
    soak([short, ["--store", POSTGRES].map(str::to_owned).to_vec()].concat())
}

fn soak(mut given: Vec<String>) -> Result<(), String> {
    // Lives until the soak is over.
    let mut _server = None;
    let store = given.iter().position(|arg| arg == "--store");
    if let Some(url) = store.and_then(|at| given.get_mut(at + 1)).filter(|url| *url == POSTGRES) {
        let server = Server::start(&Setup { durable: true, ..Setup::default() })?;
        announce(&format!("soak: a throw-away PostgreSQL server on port {}", server.port()));
        *url = server.url();
        _server = Some(server);
    }
    let args: Vec<&str> = SOAK.iter().copied().chain(given.iter().map(String::as_str)).collect();
    Step { name: "soak", cargo: &args, env: &[] }.run()
}
