//! Opening connections.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::connect::busy_retry;
use crate::connect::options::{Migrations, Settings};
use crate::connect::statement_count;
use crate::connect::url::{Location, OpenMode};
use crate::files::private;
use crate::schema::migrations;
use crate::{SqliteError, limits};

/// Pause between two tries to switch the journal while another process opens the same new file.
const JOURNAL_RETRY_PAUSE: Duration = Duration::from_millis(5);

/// Opens the connection that writes, and creates or migrates the tables. Call it on the thread
/// that uses the connection.
pub(crate) fn open_writer(
    location: &Location,
    settings: &Settings,
) -> Result<Connection, SqliteError> {
    let mut connection = match location {
        Location::Memory => open_memory()?,
        Location::File { path, mode } => open_file(path, *mode, settings)?,
    };
    let path = path_of(location);
    match (location, settings.migrations) {
        // Checked while the file was opened.
        (Location::File { mode: OpenMode::ReadOnly, .. }, _)
        | (Location::File { .. }, Migrations::Verify) => {}
        _ => migrations::run(&mut connection, path)?,
    }
    limit_pages(&connection, settings)
        .and_then(|()| busy_retry::install(&mut connection, settings.busy_timeout))
        .and_then(|()| statement_count::count(&mut connection, settings))
        .map_err(|error| SqliteError::about(path, error))?;
    Ok(connection)
}

/// Opens a connection that only reads.
pub(crate) fn open_reader(
    path: &Path,
    mode: OpenMode,
    settings: &Settings,
) -> rusqlite::Result<Connection> {
    // A reader of a write-ahead log must be able to write the index beside the file.
    let flags = match mode {
        OpenMode::ReadOnly => OpenFlags::SQLITE_OPEN_READ_ONLY,
        OpenMode::ReadWrite | OpenMode::Create => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    let mut connection =
        Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    prepare(&connection, settings.busy_timeout)?;
    connection.execute_batch(&format!(
        "PRAGMA query_only = ON; PRAGMA cache_size = -{};",
        limits::READER_CACHE_KIB
    ))?;
    statement_count::count(&mut connection, settings)?;
    Ok(connection)
}

/// The path for error texts.
pub(crate) fn path_of(location: &Location) -> &Path {
    match location {
        Location::Memory => Path::new(":memory:"),
        Location::File { path, .. } => path,
    }
}

fn open_memory() -> Result<Connection, SqliteError> {
    let open = || {
        let connection = Connection::open_in_memory()?;
        prepare(&connection, Duration::ZERO)?;
        connection.execute_batch("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;")?;
        Ok(connection)
    };
    open().map_err(|error| SqliteError::about(path_of(&Location::Memory), error))
}

fn open_file(path: &Path, mode: OpenMode, settings: &Settings) -> Result<Connection, SqliteError> {
    refuse_impossible(path, mode)?;
    let named = |error| SqliteError::about(path, error);
    if mode == OpenMode::Create
        && let Err(error) = private::create_if_missing(path)
    {
        let hint = format!("the file cannot be created ({error})");
        return Err(SqliteError::CannotOpen { path: path.to_owned(), hint, source: None });
    }
    let flags = match mode {
        OpenMode::ReadOnly => OpenFlags::SQLITE_OPEN_READ_ONLY,
        OpenMode::ReadWrite => OpenFlags::SQLITE_OPEN_READ_WRITE,
        OpenMode::Create => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
    };
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(named)?;
    if mode != OpenMode::ReadOnly {
        refuse_read_only(&connection).map_err(named)?;
    }
    prepare(&connection, settings.busy_timeout).map_err(named)?;
    if mode == OpenMode::ReadOnly || settings.migrations == Migrations::Verify {
        // Before anything is written: the file may belong to another program.
        migrations::check(&connection, path)?;
    }
    if mode == OpenMode::ReadOnly {
        return Ok(connection);
    }
    use_write_ahead_log(&connection, settings.busy_timeout).map_err(named)?;
    connection
        .execute_batch(&format!(
            // The flusher flushes the log: see `write::flush`.
            "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = {}; \
             PRAGMA journal_size_limit = {}; PRAGMA cache_size = -{};",
            limits::WAL_AUTOCHECKPOINT_PAGES,
            limits::WAL_SIZE_LIMIT_BYTES,
            limits::WRITER_CACHE_KIB
        ))
        .map_err(named)?;
    Ok(connection)
}

/// SQLite falls back to reading silently when it may not write.
fn refuse_read_only(connection: &Connection) -> rusqlite::Result<()> {
    // A lock of another process does not matter here.
    connection.busy_timeout(Duration::ZERO)?;
    // The transaction alone would be a reading one; the write is not kept.
    match connection.execute_batch("BEGIN IMMEDIATE; PRAGMA user_version = 1; ROLLBACK") {
        Err(error) if is_busy(&error) => Ok(()),
        other => other,
    }
}

/// SQLite only says "unable to open"; the reason can be seen beforehand.
fn refuse_impossible(path: &Path, mode: OpenMode) -> Result<(), SqliteError> {
    let refuse =
        |hint: String| Err(SqliteError::CannotOpen { path: path.to_owned(), hint, source: None });
    if path.is_dir() {
        return refuse("it is a folder; name a file in it".to_owned());
    }
    match path.try_exists() {
        Ok(true) => return Ok(()),
        Ok(false) => {}
        Err(error) => return refuse(format!("it cannot be reached: {error}")),
    }
    match (mode, path.parent()) {
        (OpenMode::ReadOnly | OpenMode::ReadWrite, _) => refuse(
            "the file does not exist; leave out ?mode= or use ?mode=rwc to create it".to_owned(),
        ),
        (OpenMode::Create, Some(folder)) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            refuse(format!("the folder '{}' does not exist; create it first", folder.display()))
        }
        (OpenMode::Create, _) => Ok(()),
    }
}

fn prepare(connection: &Connection, busy_timeout: Duration) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(limits::STATEMENTS_CACHED_MAX);
    connection.busy_timeout(busy_timeout.min(limits::POLL_TIMEOUT_MAX))?;
    // Otherwise SQLite plans a statement again whenever a bound value changes, which costs ten
    // times as much as running it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.execute_batch("PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;")
}

fn use_write_ahead_log(connection: &Connection, timeout: Duration) -> rusqlite::Result<()> {
    let started = Instant::now();
    loop {
        let switched = connection
            .query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0))
            .map(drop);
        // SQLite does not call its busy handler here: two processes that open one new file at the
        // same time would otherwise fail by chance.
        match switched {
            Err(error) if is_busy(&error) && started.elapsed() < timeout => {
                std::thread::sleep(JOURNAL_RETRY_PAUSE);
            }
            other => return other,
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
    matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked))
}

fn limit_pages(connection: &Connection, settings: &Settings) -> rusqlite::Result<()> {
    match settings.pages_max {
        Some(pages) => {
            connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))
        }
        None => Ok(()),
    }
}
