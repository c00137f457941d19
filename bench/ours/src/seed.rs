//! Creates a store with many instances or a backlog: `seed --kind finished --count N --folder F`,
//! on SQLite or, with `--store postgres`, a backlog on PostgreSQL.
//!
//! The engine runs one instance; SQL copies its rows under other ids.

use std::path::Path;
use std::time::Duration;

use bench_harness::Job;
use bench_harness::options::Options;
use rusqlite::Connection;

use crate::backlog::{self, Backlog};
use crate::template;

/// Tables with the rows of a completed or waiting instance.
const TABLES: &[&str] = &["instances", "executions", "history"];

/// Pause between attempts to lock the file while the provider closes it, and their number.
const CLOSING_PAUSE: Duration = Duration::from_millis(50);
const CLOSING_TRIES: usize = 200;

/// Creates the store.
pub(crate) fn main(arguments: Vec<String>) -> Result<String, String> {
    let mut options = Options::new(arguments);
    let kind = options.required("--kind")?;
    let count = options.number("--count")?.ok_or("--count is missing")?;
    let count = i64::try_from(count).map_err(|error| error.to_string())?;
    let folder = options.required("--folder")?;
    let store = options.value("--store")?;
    options.done()?;
    let backlog = Backlog::named(&kind);
    if store.as_deref() == Some("postgres") {
        let backlog = backlog.ok_or_else(|| format!("{kind} is no backlog"))?;
        let rows = backlog::postgres::make(backlog, count, Path::new(&folder))?;
        return Ok(format!("{rows} rows"));
    }
    let job = match kind.as_str() {
        "finished" => Job::Chain { steps: 1 },
        "waiting" => Job::ChainThenWait { steps: 0 },
        _ if backlog.is_some() => Job::ChainThenWait { steps: 0 },
        unknown => return Err(format!("unknown kind {unknown}")),
    };
    let path = template::run(Path::new(&folder), job)?;
    let copies = backlog.map_or(count, |backlog| backlog.copies(count));
    let mut rows = copy(&path, copies).map_err(|error| error.to_string())?;
    if let Some(backlog) = backlog {
        let conn = Connection::open(&path).map_err(|error| error.to_string())?;
        rows += backlog::sqlite::add(backlog, &conn, count).map_err(|error| error.to_string())?;
    }
    Ok(format!("{rows} rows"))
}

fn copy(path: &Path, count: i64) -> rusqlite::Result<usize> {
    let conn = Connection::open(path)?;
    disable_journal(&conn)?;
    // Speed matters here and durability does not: an incomplete store is created again.
    conn.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -262144; BEGIN;")?;
    let mut rows = 0;
    for table in TABLES {
        rows += conn.execute(&copy_sql(&conn, table)?, [count])?;
    }
    conn.execute_batch("COMMIT; PRAGMA journal_mode = WAL;")?;
    Ok(rows)
}

/// Switches the journal off. Retries because threads of the provider may still be closing the file.
pub(crate) fn disable_journal(conn: &Connection) -> rusqlite::Result<()> {
    for _ in 0..CLOSING_TRIES {
        let mode = conn.query_row("PRAGMA journal_mode = OFF", [], |row| row.get::<_, String>(0));
        if mode.is_ok_and(|mode| mode == "off") {
            return Ok(());
        }
        std::thread::sleep(CLOSING_PAUSE);
    }
    conn.execute_batch("PRAGMA journal_mode = OFF")
}

// Ids of equal length in ascending order append to the end of the index.
fn copy_sql(conn: &Connection, table: &str) -> rusqlite::Result<String> {
    let mut columns = conn.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let columns: Vec<String> =
        columns.query_map([table], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let id = "printf('seeded-%08d', n.i)";
    let values: Vec<String> = columns
        .iter()
        .map(|column| match column.as_str() {
            "instance_id" => id.to_owned(),
            "event_data" => format!("replace(t.event_data, '{}', {id})", template::ID),
            other => format!("t.{other}"),
        })
        .collect();
    Ok(format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
         INSERT INTO {table} ({}) SELECT {} FROM n CROSS JOIN {table} t
         WHERE t.instance_id = '{}'",
        columns.join(", "),
        values.join(", "),
        template::ID
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_copy_has_its_own_rows_and_id() {
        let folder = tempfile::tempdir().unwrap();
        let path = template::run(folder.path(), Job::Chain { steps: 1 }).unwrap();
        // One instance, one execution, four events; three times.
        assert_eq!(copy(&path, 3).unwrap(), 18);
        let conn = Connection::open(&path).unwrap();
        let text: String = conn
            .query_row(
                "SELECT event_data FROM history WHERE instance_id = 'seeded-00000002'
                 AND event_id = 1",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert!(text.contains("seeded-00000002") && !text.contains(template::ID), "{text}");
    }

    #[test]
    fn a_backlog_is_stored() {
        for kind in ["foreign-pins", "leased-instance", "foreign-session", "parked"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().to_str().unwrap();
            let arguments = ["--kind", kind, "--count", "3", "--folder", path];
            main(arguments.map(str::to_owned).to_vec()).unwrap();
            let conn = Connection::open(folder.path().join("bench.db")).unwrap();
            let count = |table: &str| -> i64 {
                let sql = format!("SELECT count(*) FROM {table}");
                conn.query_row(&sql, [], |row| row.get(0)).unwrap()
            };
            assert_eq!(count("orchestrator_queue") + count("worker_queue"), 3, "{kind}");
        }
    }
}
