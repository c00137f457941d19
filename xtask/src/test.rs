//! `cargo xtask test`: all set-up that the tests need, then all tests and a short soak.

use crate::soak;
use crate::step::{Step, announce};

/// Sets up and runs every test of the workspace, doc tests included, and a short soak.
pub(crate) fn run() -> Result<(), String> {
    set_up_postgres()?;
    let tests = Step { name: "tests", cargo: &["test", "--workspace", "--all-features"], env: &[] };
    tests.run()?;
    // Needs signals to pause processes.
    if cfg!(unix) { soak::short() } else { Ok(()) }
}

/// The tests start servers of their own on the programs that are found or installed here. A URL in
/// the environment names an existing server instead.
fn set_up_postgres() -> Result<(), String> {
    if std::env::var(duroxide_pg_server::URL_VARIABLE).is_ok() {
        announce("set-up: the PostgreSQL server is given");
    }
    if duroxide_pg_server::find().is_none() {
        announce("set-up: no PostgreSQL server programs; installing the package 'postgresql'");
    }
    let folder = duroxide_pg_server::install()?;
    announce(&format!("set-up: PostgreSQL server programs in {}", folder.display()));
    Ok(())
}
