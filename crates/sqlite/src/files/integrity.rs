//! Searches the file for damage.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::{SqliteError, limits};

/// What is wrong with the file; empty if nothing is.
pub(crate) fn of_file(path: &Path) -> Result<Vec<String>, SqliteError> {
    let named = |error| SqliteError::about(path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).map_err(named)?;
    of_connection(&conn).map_err(named)
}

/// The same on an open connection.
pub(crate) fn of_connection(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = format!("PRAGMA integrity_check({})", limits::DAMAGES_REPORTED_MAX);
    let mut statement = conn.prepare(&sql)?;
    let found = statement.query_map([], |row| row.get::<_, String>(0))?;
    let mut damages: Vec<String> = found.collect::<rusqlite::Result<_>>()?;
    damages.retain(|text| text != "ok");
    let mut statement = conn.prepare("PRAGMA foreign_key_check")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if damages.len() >= limits::DAMAGES_REPORTED_MAX {
            break;
        }
        let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
        damages.push(format!("a row of '{table}' refers to a missing row of '{parent}'"));
    }
    Ok(damages)
}
