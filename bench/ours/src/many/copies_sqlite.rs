//! Copies in a file of SQLite.

use std::path::Path;

use rusqlite::{Connection, params};

use super::copies::{Column, Copies, EVENT_TIME};
use super::population::prefix;
use crate::seed::disable_journal;

/// A number that is never used again, as the provider chooses it.
const RANDOM: &str = "(random() & 0x7fffffffffffffff) | 1";

/// Makes the copies.
pub(super) fn make(copies: &Copies, folder: &Path) -> rusqlite::Result<()> {
    let conn = Connection::open(folder.join("bench.db"))?;
    disable_journal(&conn)?;
    // Speed matters here and durability does not: an incomplete store is made again.
    conn.execute_batch(
        "PRAGMA synchronous = OFF; PRAGMA cache_size = -1048576; PRAGMA temp_store = MEMORY;
         CREATE TEMP TABLE copied_units (prefix TEXT, earlier INTEGER); BEGIN;",
    )?;
    for (prefix, earlier) in copies.listed() {
        let sql = "INSERT INTO copied_units VALUES (?1, ?2)";
        conn.prepare_cached(sql)?.execute(params![prefix, earlier])?;
    }
    for table in tables(&conn)? {
        copy(copies, &conn, &table)?;
    }
    conn.execute_batch("COMMIT; PRAGMA journal_mode = WAL;")
}

fn tables(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT m.name FROM main.sqlite_master m
         WHERE m.type = 'table' AND EXISTS (
             SELECT 1 FROM pragma_table_info(m.name) c WHERE c.name = 'instance_id')";
    conn.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

fn copy(copies: &Copies, conn: &Connection, table: &str) -> rusqlite::Result<()> {
    let mark = prefix(copies.of);
    let event = match table {
        "history" => format!(
            ", substr(event_data, 1, instr(event_data, '{EVENT_TIME}') + {length} - 1) AS head,
             CAST(substr(event_data, instr(event_data, '{EVENT_TIME}') + {length}) AS INTEGER)
                 AS event_at,
             ltrim(substr(event_data, instr(event_data, '{EVENT_TIME}') + {length}), '0123456789')
                 AS tail",
            length = EVENT_TIME.len()
        ),
        _other => String::new(),
    };
    conn.execute(
        &format!(
            "CREATE TEMP TABLE unit_{table} AS SELECT *{event} FROM main.{table}
             WHERE substr(instance_id, 1, {}) = ?1",
            mark.len()
        ),
        [&mark],
    )?;
    let (names, values) = copies.columns(&columns(conn, table, &mark)?, RANDOM);
    conn.execute(
        &format!(
            "INSERT INTO main.{table} ({names}) SELECT {values}
             FROM temp.copied_units u CROSS JOIN temp.unit_{table} t"
        ),
        [],
    )?;
    Ok(())
}

fn columns(conn: &Connection, table: &str, mark: &str) -> rusqlite::Result<Vec<Column>> {
    let mut columns: Vec<Column> = conn
        .prepare("SELECT name, type, pk FROM pragma_table_info(?1)")?
        .query_map([table], |row| {
            let (name, kind): (String, String) = (row.get(0)?, row.get(1)?);
            let is_numbered = name == "id" && kind == "INTEGER" && row.get::<_, i64>(2)? == 1;
            Ok(Column { name, has_ids: false, is_numbered })
        })?
        .collect::<rusqlite::Result<_>>()?;
    for column in &mut columns {
        let sql =
            format!("SELECT 1 FROM temp.unit_{table} WHERE instr({}, ?1) LIMIT 1", column.name);
        column.has_ids = conn.prepare(&sql)?.exists([mark])?;
    }
    Ok(columns)
}
