//! Brings a database to the current tables. The numbered files are the only source of the schema.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::SqliteError;

struct Migration {
    name: &'static str,
    sql: &'static str,
}

macro_rules! migration {
    ($name:literal) => {
        Migration { name: $name, sql: include_str!(concat!("../../migrations/", $name, ".sql")) }
    };
}

/// Number n is the n-th file. A released file is never changed.
const MIGRATIONS: [Migration; 39] = [
    migration!("0001_initial_schema"),
    migration!("0002_add_attempt_count"),
    migration!("0003_add_worker_visible_at"),
    migration!("0004_add_worker_activity_identity"),
    migration!("0005_add_parent_instance_id"),
    migration!("0006_add_pinned_version"),
    migration!("0007_add_sessions"),
    migration!("0008_add_custom_status"),
    migration!("0009_add_activity_tags"),
    migration!("0010_add_kv_store"),
    migration!("0011_add_kv_last_updated"),
    migration!("0012_add_kv_delta"),
    migration!("0013_real_times_and_incarnations"),
    migration!("0014_exact_pins"),
    migration!("0015_flat_queues"),
    migration!("0016_progress_limits_and_workers"),
    migration!("0017_compact_tables"),
    migration!("0018_order_of_leases"),
    migration!("0019_refuse_predecessors"),
    migration!("0020_bounded_turns"),
    migration!("0021_vouched_leases"),
    migration!("0022_deletions_in_slices"),
    migration!("0023_routes_of_ready_messages"),
    migration!("0024_lanes_of_activities"),
    migration!("0025_running_executions"),
    migration!("0026_message_ids"),
    migration!("0027_holders_of_sessions"),
    migration!("0028_excused_attempts"),
    migration!("0029_commits_of_events"),
    migration!("0030_code_of_ready_messages"),
    migration!("0031_suspended_instances"),
    migration!("0032_announced_turns"),
    migration!("0033_code_of_activities"),
    migration!("0034_times_of_leases_and_delays"),
    migration!("0035_waiting_cancellations"),
    migration!("0036_listed_messages"),
    migration!("0037_queries_over_instances"),
    migration!("0038_leases_in_one_row"),
    migration!("0039_children_without_an_index"),
];

/// The steps that duroxide 0.1.x made and recorded in its own table, as day numbers of January.
const PREDECESSOR_STEPS: i64 = 12;
const PREDECESSOR_FIRST: i64 = 20_240_101_000_000;
const PREDECESSOR_STRIDE: i64 = 1_000_000;

/// A step that no release of the predecessor has.
const PREDECESSOR_REFUSED: i64 = 99_990_101_000_000;

/// The number of the newest step.
pub(crate) fn newest() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Applies what is missing, all or nothing. Several processes may do this at once.
pub(crate) fn run(connection: &mut Connection, path: &Path) -> Result<(), SqliteError> {
    let named = |error| SqliteError::about(path, error);
    if version(connection, path)? == newest() {
        return Ok(());
    }
    // While a table is rebuilt, references to it and views of other programs point nowhere. The
    // settings cannot be changed within a transaction.
    let rebuild = "PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON;";
    connection.execute_batch(rebuild).map_err(named)?;
    let outcome = run_missing(connection, path);
    let work = "PRAGMA foreign_keys = ON; PRAGMA legacy_alter_table = OFF;";
    connection.execute_batch(work).map_err(named)?;
    outcome
}

/// The number of the last step that the file records.
pub(crate) fn recorded(connection: &Connection) -> rusqlite::Result<i64> {
    max_of(connection, "SELECT max(version) FROM duroxide_migrations")
}

/// Refuses a database that is not at the current version, without changing it.
pub(crate) fn check(connection: &Connection, path: &Path) -> Result<(), SqliteError> {
    let found = version(connection, path)?;
    if found == newest() {
        return Ok(());
    }
    Err(SqliteError::OlderSchema { path: path.to_owned(), found, known: newest() })
}

fn run_missing(connection: &mut Connection, path: &Path) -> Result<(), SqliteError> {
    let named = |error| SqliteError::about(path, error);
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(named)?;
    // Again under the write lock: another process may have been faster.
    let done = version(&transaction, path)?;
    apply_after(&transaction, done).map_err(named)?;
    transaction.commit().map_err(named)
}

fn apply_after(transaction: &Transaction<'_>, done: i64) -> rusqlite::Result<()> {
    transaction.execute_batch(
        "CREATE TABLE IF NOT EXISTS duroxide_migrations (
             version INTEGER PRIMARY KEY,
             name TEXT NOT NULL,
             applied_at INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER) * 1000)
         )",
    )?;
    for (number, migration) in (1..).zip(&MIGRATIONS) {
        if number > done {
            transaction.execute_batch(migration.sql)?;
        }
        transaction.execute(
            "INSERT INTO duroxide_migrations (version, name) VALUES (?1, ?2)
             ON CONFLICT (version) DO NOTHING",
            params![number, migration.name],
        )?;
    }
    refuse_predecessors(transaction)
}

/// The predecessor opens a file whose own record is complete without any further check. A step
/// that it does not know makes it create its tables instead, which fails: see step 19.
fn refuse_predecessors(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    if !has_table(transaction, "_sqlx_migrations")? {
        return Ok(());
    }
    // Only in its own record: the table belongs to a library that other programs use, too.
    transaction
        .execute(
            "INSERT INTO _sqlx_migrations
                 (version, description, success, checksum, execution_time)
             SELECT ?1, 'migrated by duroxide 0.2', 1, x'', 0
             WHERE EXISTS (SELECT 1 FROM _sqlx_migrations WHERE version = ?2)
             ON CONFLICT (version) DO NOTHING",
            params![PREDECESSOR_REFUSED, PREDECESSOR_FIRST],
        )
        .map(drop)
}

/// The number of steps that the database has behind it.
fn version(connection: &Connection, path: &Path) -> Result<i64, SqliteError> {
    let named = |error| SqliteError::about(path, error);
    let found = if has_table(connection, "duroxide_migrations").map_err(named)? {
        max_of(connection, "SELECT max(version) FROM duroxide_migrations").map_err(named)?
    } else if has_table(connection, "_sqlx_migrations").map_err(named)? {
        predecessor_version(connection, path)?
    } else if !has_table(connection, "instances").map_err(named)? {
        0
    } else if has_table(connection, "kv_delta").map_err(named)? {
        // The predecessor made its tables directly when its own migrations failed.
        PREDECESSOR_STEPS
    } else {
        return Err(SqliteError::UnknownSchema {
            path: path.to_owned(),
            reason: "there is a table 'instances' but no record of migrations".to_owned(),
        });
    };
    if found > newest() {
        return Err(SqliteError::NewerSchema { path: path.to_owned(), found, known: newest() });
    }
    Ok(found)
}

fn predecessor_version(connection: &Connection, path: &Path) -> Result<i64, SqliteError> {
    let newest_step =
        max_of(connection, "SELECT max(version) FROM _sqlx_migrations WHERE success = 1")
            .map_err(|error| SqliteError::about(path, error))?;
    if newest_step == 0 {
        return Ok(0);
    }
    let steps = (newest_step - PREDECESSOR_FIRST) / PREDECESSOR_STRIDE + 1;
    if steps > PREDECESSOR_STEPS {
        return Err(SqliteError::NewerSchema {
            path: path.to_owned(),
            found: newest_step,
            known: PREDECESSOR_FIRST + (PREDECESSOR_STEPS - 1) * PREDECESSOR_STRIDE,
        });
    }
    if steps < 1 {
        return Err(SqliteError::UnknownSchema {
            path: path.to_owned(),
            reason: format!("migration {newest_step} is not one of ours"),
        });
    }
    Ok(steps)
}

fn has_table(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    connection
        .query_row("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1", [name], |_| {
            Ok(())
        })
        .optional()
        .map(|found| found.is_some())
}

fn max_of(connection: &Connection, sql: &str) -> rusqlite::Result<i64> {
    connection.query_row(sql, [], |row| row.get::<_, Option<i64>>(0)).map(|max| max.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_database_gets_every_step_once() {
        let mut connection = Connection::open_in_memory().unwrap();
        run(&mut connection, Path::new("new")).unwrap();
        run(&mut connection, Path::new("new")).unwrap();
        assert_eq!(version(&connection, Path::new("new")).unwrap(), newest());
        let rows: i64 = connection
            .query_row("SELECT count(*) FROM duroxide_migrations", [], |row| row.get(0))
            .unwrap();
        assert_eq!(rows, newest());
    }

    #[test]
    fn a_file_of_any_older_release_is_brought_up() {
        for steps in 1..=PREDECESSOR_STEPS {
            let mut connection = Connection::open_in_memory().unwrap();
            connection
                .execute_batch(
                    "CREATE TABLE _sqlx_migrations (
                         version BIGINT PRIMARY KEY, description TEXT NOT NULL,
                         installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
                         success BOOLEAN NOT NULL, checksum BLOB NOT NULL,
                         execution_time BIGINT NOT NULL)",
                )
                .unwrap();
            for (number, migration) in (1..=steps).zip(&MIGRATIONS) {
                connection.execute_batch(migration.sql).unwrap();
                connection
                    .execute(
                        "INSERT INTO _sqlx_migrations (version, description, success, checksum,
                             execution_time) VALUES (?1, '', 1, x'', 0)",
                        [PREDECESSOR_FIRST + (number - 1) * PREDECESSOR_STRIDE],
                    )
                    .unwrap();
            }
            // Another program has a view of our tables.
            connection
                .execute_batch("CREATE VIEW theirs AS SELECT instance_id, status FROM executions")
                .unwrap();
            run(&mut connection, Path::new("old")).unwrap();
            assert_eq!(version(&connection, Path::new("old")).unwrap(), newest());
            connection.execute_batch("SELECT * FROM theirs").unwrap();
            // It knows no such step, creates its tables instead, and fails.
            let unknown: i64 = connection
                .query_row(
                    "SELECT count(*) FROM _sqlx_migrations WHERE version > 20240112000000",
                    [],
                    |row| row.get(0),
                )
                .unwrap();
            assert_eq!(unknown, 1);
            assert_refused(&connection);
        }
    }

    /// A statement with which 0.1.32 opens every file.
    fn assert_refused(connection: &Connection) {
        let index = "CREATE INDEX IF NOT EXISTS idx_orch_lock ON orchestrator_queue(lock_token)";
        let error = connection.execute_batch(index).unwrap_err().to_string();
        assert!(error.contains("there is already a table named idx_orch_lock"), "{error}");
    }

    #[test]
    fn the_predecessor_refuses_a_new_file_too() {
        let mut connection = Connection::open_in_memory().unwrap();
        run(&mut connection, Path::new("new")).unwrap();
        assert!(!has_table(&connection, "_sqlx_migrations").unwrap());
        assert_refused(&connection);
    }

    #[test]
    fn the_migrations_of_another_program_are_left_alone() {
        let mut connection = Connection::open_in_memory().unwrap();
        run(&mut connection, Path::new("shared")).unwrap();
        connection
            .execute_batch(
                "CREATE TABLE _sqlx_migrations (
                     version BIGINT PRIMARY KEY, description TEXT NOT NULL,
                     success BOOLEAN NOT NULL, checksum BLOB NOT NULL,
                     execution_time BIGINT NOT NULL);
                 INSERT INTO _sqlx_migrations VALUES (1, 'theirs', 1, x'', 0);",
            )
            .unwrap();
        let transaction = connection.transaction().unwrap();
        refuse_predecessors(&transaction).unwrap();
        let rows: i64 = transaction
            .query_row("SELECT count(*) FROM _sqlx_migrations", [], |row| row.get(0))
            .unwrap();
        assert_eq!(rows, 1);
    }

    #[test]
    fn a_newer_database_is_refused() {
        let mut connection = Connection::open_in_memory().unwrap();
        run(&mut connection, Path::new("new")).unwrap();
        connection
            .execute("INSERT INTO duroxide_migrations (version, name) VALUES (999, 'later')", [])
            .unwrap();
        let error = run(&mut connection, Path::new("new")).unwrap_err();
        assert!(matches!(error, SqliteError::NewerSchema { found: 999, .. }), "{error}");
        assert!(error.to_string().contains("upgrade this program"));
    }

    #[test]
    fn a_check_changes_nothing() {
        let mut connection = Connection::open_in_memory().unwrap();
        let error = check(&connection, Path::new("empty")).unwrap_err();
        assert!(matches!(error, SqliteError::OlderSchema { found: 0, .. }), "{error}");
        assert!(!has_table(&connection, "duroxide_migrations").unwrap());
        run(&mut connection, Path::new("new")).unwrap();
        check(&connection, Path::new("new")).unwrap();
        connection.execute("DELETE FROM duroxide_migrations WHERE version > 7", []).unwrap();
        let error = check(&connection, Path::new("old")).unwrap_err();
        assert!(matches!(error, SqliteError::OlderSchema { found: 7, .. }), "{error}");
    }

    #[test]
    fn foreign_tables_are_left_alone() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE instances (id INTEGER)").unwrap();
        let error = run(&mut connection, Path::new("foreign")).unwrap_err();
        assert!(matches!(error, SqliteError::UnknownSchema { .. }), "{error}");
    }
}
