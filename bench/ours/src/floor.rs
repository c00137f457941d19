//! The floor: the rows of a workload written straight to the store, without an engine.
//!
//! The same tables and indexes, made by the provider; the same texts, taken from an instance that
//! was run for real; the same durability; as few transactions as the workload allows. What a queue
//! only needs to be taken from it, such as leases on instances, is left out.

use std::time::Instant;

use bench_harness::{Case, Job, Sample, Workload};
use rusqlite::{Connection, Transaction};

use crate::floor_rows::Rows;
use crate::template;

/// Name beside the engines.
pub(crate) const NAME: &str = "floor";

/// Workflows that share a transaction in `small-50`, which has this many at a time.
const AT_ONCE: u64 = 50;
/// Completions of a fan-out that share a transaction: the slots of a node with two cores.
const SLOTS: u64 = 64;
const STEPS: u64 = 5;

/// Writes the rows of a case.
pub(crate) fn sample(case: Case) -> Result<Sample, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = template::run(folder.path(), Job::Chain { steps: 1 })?;
    let mut conn = Connection::open(path).map_err(|error| error.to_string())?;
    let seconds = write(&mut conn, case).map_err(|error| error.to_string())?;
    Ok(Sample {
        engine: NAME.to_owned(),
        durability: "SQLite WAL, synchronous=FULL".to_owned(),
        workload: case.workload.name().to_owned(),
        size: case.size,
        unit: case.workload.unit().to_owned(),
        count: case.size,
        seconds,
        ..Sample::default()
    })
}

fn write(conn: &mut Connection, case: Case) -> rusqlite::Result<f64> {
    // What the provider sets on its writing connection.
    conn.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -64000;",
    )?;
    conn.set_prepared_statement_cache_capacity(64);
    let rows = Rows::read(conn)?;
    let begun = Instant::now();
    match case.workload {
        Workload::Small50 => small(conn, &rows, case.size)?,
        Workload::Chain => chain(conn, &rows, case.size)?,
        Workload::FanOut => fan_out(conn, &rows, case.size)?,
        other => return Err(unknown(other)),
    }
    let seconds = begun.elapsed().as_secs_f64();
    rows.check(conn)?;
    Ok(seconds)
}

fn unknown(workload: Workload) -> rusqlite::Error {
    rusqlite::Error::InvalidParameterName(format!("no floor for {}", workload.name()))
}

// Everything that 50 instances do at the same time shares a transaction.
fn small(conn: &mut Connection, rows: &Rows, count: u64) -> rusqlite::Result<()> {
    let numbers: Vec<u64> = (0..count).collect();
    for batch in numbers.chunks(usize::try_from(AT_ONCE).unwrap_or(usize::MAX)) {
        let ids: Vec<String> = batch.iter().map(|number| format!("w-{number}")).collect();
        all(conn, &ids, |tx, id| rows.start(tx, id))?;
        all(conn, &ids, |tx, id| rows.first_turn(tx, id, 1))?;
        for step in 1..STEPS {
            all(conn, &ids, |tx, id| rows.step(tx, id, step))?;
        }
        all(conn, &ids, |tx, id| rows.last_turn(tx, id, STEPS * 2, STEPS * 2 + 1))?;
    }
    Ok(())
}

fn chain(conn: &mut Connection, rows: &Rows, steps: u64) -> rusqlite::Result<()> {
    let ids = ["single".to_owned()];
    all(conn, &ids, |tx, id| rows.start(tx, id))?;
    all(conn, &ids, |tx, id| rows.first_turn(tx, id, 1))?;
    for step in 1..steps {
        all(conn, &ids, |tx, id| rows.step(tx, id, step))?;
    }
    all(conn, &ids, |tx, id| rows.last_turn(tx, id, steps * 2, steps * 2 + 1))
}

fn fan_out(conn: &mut Connection, rows: &Rows, width: u64) -> rusqlite::Result<()> {
    let ids = ["single".to_owned()];
    all(conn, &ids, |tx, id| rows.start(tx, id))?;
    all(conn, &ids, |tx, id| rows.first_turn(tx, id, width))?;
    let mut done = 0;
    while done + 1 < width {
        let until = (done + SLOTS).min(width - 1);
        all(conn, &ids, |tx, id| {
            rows.touch(tx, id)?;
            (done..until).try_for_each(|call| rows.completed(tx, id, call + 2, width + 2 + call))
        })?;
        done = until;
    }
    all(conn, &ids, |tx, id| rows.last_turn(tx, id, width + 1, width * 2 + 1))
}

fn all(
    conn: &mut Connection,
    ids: &[String],
    write: impl Fn(&Transaction<'_>, &str) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let tx = conn.transaction()?;
    for id in ids {
        write(&tx, id)?;
    }
    tx.commit()
}
