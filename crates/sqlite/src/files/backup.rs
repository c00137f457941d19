//! Copies a database while it is in use.
//!
//! The copy is one snapshot. Writers go on meanwhile; only the write-ahead log cannot be reused, so
//! that it grows by what they write. The copy gets its name when it is complete and on disk: a
//! backup that was interrupted never looks like one.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use uuid::Uuid;

use crate::SqliteError;
use crate::connect::url::OpenMode;
use crate::files::private;

/// Copies the database of a file with a connection of its own.
pub(crate) fn of_file(
    source: &Path,
    mode: OpenMode,
    busy_timeout: Duration,
    target: &Path,
) -> Result<(), SqliteError> {
    let flags = match mode {
        OpenMode::ReadOnly => OpenFlags::SQLITE_OPEN_READ_ONLY,
        OpenMode::ReadWrite | OpenMode::Create => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    let named = |error| SqliteError::about(source, error);
    let conn = Connection::open_with_flags(source, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(named)?;
    conn.busy_timeout(busy_timeout).map_err(named)?;
    of_connection(&conn, target)
}

/// Copies the database of a connection that is not within a transaction.
pub(crate) fn of_connection(conn: &Connection, target: &Path) -> Result<(), SqliteError> {
    if target.exists() {
        let reason = "a file of that name exists; choose another name or remove it first";
        return Err(SqliteError::Backup {
            path: target.to_owned(),
            reason: reason.to_owned(),
            source: None,
        });
    }
    let partial = Partial::create(target).map_err(|error| failed(target, error))?;
    conn.execute("VACUUM INTO ?1", [partial.path.to_string_lossy()])
        .map_err(|error| SqliteError::about(&partial.path, error))?;
    partial.publish(target).map_err(|error| failed(target, error))
}

fn failed(target: &Path, error: io::Error) -> SqliteError {
    SqliteError::Backup {
        path: target.to_owned(),
        reason: error.to_string(),
        source: Some(Box::new(error)),
    }
}

/// A copy that is not complete yet, and is removed if it does not become so.
struct Partial {
    path: PathBuf,
}

impl Partial {
    /// An empty file beside the target.
    fn create(target: &Path) -> io::Result<Self> {
        if target.to_str().is_none() {
            let text = "the name of a backup must be valid UTF-8";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let mut path: OsString = target.into();
        path.push(format!(".{}.partial", Uuid::new_v4().simple()));
        let path = PathBuf::from(path);
        private::create(&path)?;
        Ok(Self { path })
    }

    fn publish(&self, target: &Path) -> io::Result<()> {
        File::open(&self.path)?.sync_all()?;
        fs::rename(&self.path, target)?;
        // The new name must be on disk, too. Only Unix can open a folder for that.
        #[cfg(unix)]
        if let Some(folder) = target.parent() {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // After `publish` the name is gone already.
        drop(fs::remove_file(&self.path));
    }
}
