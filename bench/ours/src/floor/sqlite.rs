//! The floor on SQLite.

use std::time::Instant;

use bench_harness::{Case, Job, Sample, Workload};
use rusqlite::{Connection, Transaction};

use super::batches::{self, AT_ONCE, COMPLETIONS, STEPS};
use super::sqlite_rows::{Ended, Rows};
use crate::template;

/// Name in the list of engines.
pub(crate) const NAME: &str = "floor";

/// Writes the rows of a case.
pub(super) fn sample(case: Case) -> Result<Sample, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = template::run(folder.path(), Job::Chain { steps: 1 })?;
    let mut conn = Connection::open(path).map_err(|error| error.to_string())?;
    let seconds = write(&mut conn, case).map_err(|error| error.to_string())?;
    Ok(batches::sample(NAME, "SQLite WAL, synchronous=FULL", case, seconds))
}

fn write(conn: &mut Connection, case: Case) -> rusqlite::Result<f64> {
    // The settings of the provider's writing connection.
    conn.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -64000;",
    )?;
    conn.set_prepared_statement_cache_capacity(64);
    let rows = Rows::read(conn)?;
    let started = Instant::now();
    match case.workload {
        Workload::Small50 => small(conn, &rows, case.size)?,
        Workload::Chain => chain(conn, &rows, &batches::single(), case.size)?,
        Workload::FanOut => fan_out(conn, &rows, case.size)?,
        other => return Err(unknown(other)),
    }
    let seconds = started.elapsed().as_secs_f64();
    rows.check(conn)?;
    Ok(seconds)
}

fn unknown(workload: Workload) -> rusqlite::Error {
    rusqlite::Error::InvalidParameterName(format!("no floor for {}", workload.name()))
}

// All writes that 50 instances make at the same time share a transaction.
fn small(conn: &mut Connection, rows: &Rows, count: u64) -> rusqlite::Result<()> {
    batches::ids(count).chunks(AT_ONCE).try_for_each(|ids| chain(conn, rows, ids, STEPS.into()))
}

fn chain(conn: &mut Connection, rows: &Rows, ids: &[String], steps: u64) -> rusqlite::Result<()> {
    all(conn, ids, |tx, id| rows.start(tx, id))?;
    all(conn, ids, |tx, id| rows.first_turn(tx, id, 1))?;
    for step in 1..steps {
        all(conn, ids, |tx, id| rows.step(tx, id, step))?;
    }
    let last = Ended { call: steps * 2, event: steps * 2 + 1 };
    all(conn, ids, |tx, id| rows.last_turn(tx, id, last))
}

fn fan_out(conn: &mut Connection, rows: &Rows, width: u64) -> rusqlite::Result<()> {
    let ids = batches::single();
    all(conn, &ids, |tx, id| rows.start(tx, id))?;
    all(conn, &ids, |tx, id| rows.first_turn(tx, id, width))?;
    let ended = |call| Ended { call: call + 2, event: width + 2 + call };
    let others: Vec<u64> = (0..width.saturating_sub(1)).collect();
    for batch in others.chunks(COMPLETIONS) {
        all(conn, &ids, |tx, id| {
            rows.touch(tx, id)?;
            batch.iter().try_for_each(|call| rows.completed(tx, id, ended(*call)))
        })?;
    }
    let last = Ended { call: width + 1, event: width * 2 + 1 };
    all(conn, &ids, |tx, id| rows.last_turn(tx, id, last))
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

#[cfg(test)]
mod tests {
    use super::*;

    type Events = Vec<(i64, String)>;

    fn events(conn: &Connection, id: &str) -> Events {
        let sql = "SELECT event_id, event_type FROM history WHERE instance_id = ?1 ORDER BY 1";
        let mut rows = conn.prepare(sql).unwrap();
        let rows = rows.query_map([id], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(Result::unwrap).collect()
    }

    // History of an instance that the engine ran, and of one that the floor wrote.
    fn both(job: Job, write: impl Fn(&mut Connection, &Rows), id: &str) -> (Events, Events) {
        let folder = tempfile::tempdir().unwrap();
        let mut conn = Connection::open(template::run(folder.path(), job).unwrap()).unwrap();
        let rows = Rows::read(&conn).unwrap();
        write(&mut conn, &rows);
        rows.check(&conn).unwrap();
        (events(&conn, template::ID), events(&conn, id))
    }

    #[test]
    fn every_workflow_of_a_batch_has_the_history_of_a_real_one() {
        let job = Job::Chain { steps: STEPS.into() };
        // More than a batch, and not a whole number of them.
        for id in ["w-0", "w-49", "w-50", "w-119"] {
            let (real, floor) = both(job, |conn, rows| small(conn, rows, 120).unwrap(), id);
            assert_eq!(floor, real, "{id}");
        }
    }

    #[test]
    fn a_fan_out_has_the_history_of_a_real_one() {
        for width in [1, 2, 65, 130] {
            let write = |conn: &mut Connection, rows: &Rows| fan_out(conn, rows, width).unwrap();
            let (real, floor) = both(Job::FanOut { width }, write, "single");
            assert_eq!(floor, real, "{width}");
        }
    }
}
