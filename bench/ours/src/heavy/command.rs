//! `heavy --case messages --size N --store sqlite`: one case, printed as a row of a table.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use bench_harness::options::Options;
use bench_harness::{postgres, usage};
use duroxide_pg_server::{Server, Setup};
use tokio::runtime::Runtime;

use super::beside::Beside;
use super::cases::Case;
use super::store::Store;

/// Runs a case. Its preparation runs in a process of its own, so that its memory does not count.
pub(crate) fn main(arguments: Vec<String>) -> Result<String, String> {
    let mut options = Options::new(arguments.clone());
    let case = Case::named(&options.required("--case")?)?;
    let size = options.number("--size")?.ok_or("--size is missing")?;
    let store = Store::named(options.value("--store")?.as_deref().unwrap_or("sqlite"))?;
    let prepared = options.value("--prepare")?;
    options.done()?;
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    if let Some(folder) = prepared {
        runtime.block_on(case.prepare(store, Path::new(&folder), size))?;
        return Ok("prepared".to_owned());
    }
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let server = server_for(store)?;
    let url = server.as_ref().map(Server::url);
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.arg("heavy").args(&arguments).arg("--prepare").arg(folder.path());
    command.envs(url.as_ref().map(|url| (postgres::URL_VARIABLE, url)));
    let status = command.status().map_err(|error| error.to_string())?;
    if !status.success() {
        return Err(format!("the preparation failed ({status})"));
    }
    let measured = runtime.block_on(async {
        let node = store.node(folder.path(), url.as_deref()).await?;
        let started = Instant::now();
        let beside = Beside::start(node.client());
        let done = case.run(&node, size).await;
        let seconds = started.elapsed().as_secs_f64();
        let waits = beside.stop().await?;
        node.stop().await;
        done.map(|()| (seconds, waits))
    });
    let (seconds, waits) = measured?;
    let peak = usage::peak_resident_bytes() / 1_000_000;
    Ok(format!(
        "| {} | {} | {size} | {seconds:.1} s | {peak} MB | {waits} |",
        case.name(),
        store.name()
    ))
}

/// The server that a store needs, if the environment names none.
pub(crate) fn server_for(store: Store) -> Result<Option<Server>, String> {
    if store == Store::Sqlite || postgres::url().is_ok() {
        return Ok(None);
    }
    Server::start(&Setup { durable: true, ..Setup::default() }).map(Some)
}
