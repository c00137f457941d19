//! The floor on PostgreSQL. Each transaction is one prepared statement, so it costs one round trip.

use std::path::Path;
use std::time::Instant;

use bench_harness::postgres::{DURABILITY, schema, url};
use bench_harness::{Case, Engine, Job, Opener, Sample, Workload};
use tokio::runtime::Builder;
use tokio_postgres::{Client, Error, NoTls};

use super::batches::{self, AT_ONCE, COMPLETIONS, STEPS};
use super::postgres_rows::Rows;
use crate::postgres::OursPostgres;
use crate::template;

/// Name in the list of engines.
pub(crate) const NAME: &str = "floor-pg";

/// Writes the rows of a case.
pub(super) fn sample(case: Case) -> Result<Sample, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let runtime = Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let seconds = runtime.block_on(measured(folder.path(), case))?;
    Ok(batches::sample(NAME, DURABILITY, case, seconds))
}

async fn measured(folder: &Path, case: Case) -> Result<f64, String> {
    let engine: Box<dyn Engine> = OursPostgres { name: NAME, nodes: 1 }.open(folder).await?;
    engine.start(template::ID, &Job::Chain { steps: 1 }).await?;
    engine.finish(template::ID).await?;
    engine.stop().await?;
    let client = connect(&schema(folder)).await.map_err(text)?;
    let rows = Rows::read(client).await.map_err(text)?;
    let size = i64::try_from(case.size).map_err(|error| error.to_string())?;
    let started = Instant::now();
    let written = match case.workload {
        Workload::Small50 => small(&rows, case.size).await,
        Workload::Chain => chain(&rows, &batches::single(), size).await,
        Workload::FanOut => fan_out(&rows, size).await,
        other => return Err(format!("no floor for {}", other.name())),
    };
    written.map_err(text)?;
    let seconds = started.elapsed().as_secs_f64();
    match rows.left().await.map_err(text)? {
        0 => Ok(seconds),
        left => Err(format!("the floor left {left} rows behind")),
    }
}

/// A connection to the tables of a schema.
pub(crate) async fn connect(schema: &str) -> Result<Client, String> {
    connect_to(&url()?, schema).await
}

/// A connection to the tables of a schema on this server.
pub(crate) async fn connect_to(server: &str, schema: &str) -> Result<Client, String> {
    let (client, connection) = tokio_postgres::connect(server, NoTls).await.map_err(text)?;
    tokio::spawn(connection);
    let path = format!("SET search_path = {schema}");
    client.batch_execute(&path).await.map_err(text)?;
    Ok(client)
}

// All writes that 50 instances make at the same time share a transaction.
async fn small(rows: &Rows, count: u64) -> Result<(), Error> {
    for ids in batches::ids(count).chunks(AT_ONCE) {
        chain(rows, ids, STEPS.into()).await?;
    }
    Ok(())
}

async fn chain(rows: &Rows, ids: &[String], steps: i64) -> Result<(), Error> {
    let mut work = rows.first_turn(ids, 1).await?;
    for step in 1..steps {
        work = rows.step(ids, &work, step).await?;
    }
    rows.last_turn(ids, &work, steps * 2 + 1).await
}

async fn fan_out(rows: &Rows, width: i64) -> Result<(), Error> {
    let ids = batches::single();
    let work = rows.first_turn(&ids, width).await?;
    let Some((last, others)) = work.split_last() else { return Ok(()) };
    let mut event = width + 2;
    for batch in others.chunks(COMPLETIONS) {
        event = rows.completed(&ids[0], batch, event).await?;
    }
    rows.last_turn(&ids, &[*last], event).await
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
