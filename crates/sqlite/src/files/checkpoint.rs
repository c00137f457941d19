//! Copies the write-ahead log into the file, so that the file alone is complete.

use std::time::Duration;

use rusqlite::Connection;

use crate::SqliteError;
use crate::connect::busy_retry;
use crate::connect::connection;
use crate::connect::url::{Location, OpenMode};

/// Copies and empties the log. Waits at most `patience` for other connections.
pub(crate) fn run(
    conn: &Connection,
    location: &Location,
    patience: Duration,
) -> Result<(), SqliteError> {
    match location {
        Location::Memory | Location::File { mode: OpenMode::ReadOnly, .. } => return Ok(()),
        Location::File { mode: OpenMode::ReadWrite | OpenMode::Create, .. } => {}
    }
    let path = connection::path_of(location);
    let copy = || conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    let blocked = busy_retry::with_patience(patience, copy)
        .map_err(|error| SqliteError::about(path, error))?;
    if blocked == 0 {
        return Ok(());
    }
    Err(SqliteError::Locked { path: path.to_owned(), source: None })
}
