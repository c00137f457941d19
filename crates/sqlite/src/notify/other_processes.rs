//! Other connections that commit to the same file.
//!
//! SQLite has a number that changes with the commits of other connections; reading it costs a
//! statement. While this process writes nothing, the time stamp of the write-ahead log shows the
//! same and costs next to nothing.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::Connection;

use crate::connect::url::Location;
use crate::limits;

/// Detects commits of other processes.
#[derive(Debug)]
pub(crate) struct OtherProcesses {
    /// `None` in memory, where there are none.
    log: Option<PathBuf>,
    /// Changes when another connection commits, but not when this one does.
    data_version: i64,
    /// Time stamp and size of the log at the last check.
    stamp: Option<(SystemTime, u64)>,
    /// Checks that may still rely on the time stamp alone.
    stamp_checks_left: u32,
}

impl OtherProcesses {
    pub(crate) fn new(location: &Location, conn: &Connection) -> Self {
        let log = match location {
            Location::Memory => None,
            Location::File { path, .. } => {
                let mut log = path.as_os_str().to_owned();
                log.push("-wal");
                Some(PathBuf::from(log))
            }
        };
        Self {
            log,
            data_version: data_version(conn).unwrap_or(0),
            stamp: None,
            stamp_checks_left: 0,
        }
    }

    /// Whether other processes can reach the database.
    pub(crate) fn are_possible(&self) -> bool {
        self.log.is_some()
    }

    /// Whether another process may have committed since the last check, for use while no job waits.
    pub(crate) fn may_have_committed(&mut self, conn: &Connection) -> bool {
        let stamp = self.log.as_deref().and_then(stamp);
        let changed = std::mem::replace(&mut self.stamp, stamp) != stamp;
        // Two commits within one tick of the file system's clock have the same stamp, so the check
        // after a change asks SQLite. The bound is for file systems whose stamps mean little.
        if stamp.is_some() && !changed && self.stamp_checks_left > 0 {
            self.stamp_checks_left -= 1;
            return false;
        }
        self.stamp_checks_left = if changed { 0 } else { limits::STAMP_CHECKS_MAX };
        self.have_committed(conn)
    }

    /// Whether another process has committed since the last check.
    pub(crate) fn have_committed(&mut self, conn: &Connection) -> bool {
        if self.log.is_none() {
            return false;
        }
        match data_version(conn) {
            Ok(version) => std::mem::replace(&mut self.data_version, version) != version,
            // Waiters poll again, and their own statement reports the error.
            Err(_) => true,
        }
    }
}

fn stamp(log: &Path) -> Option<(SystemTime, u64)> {
    let facts = std::fs::metadata(log).ok()?;
    Some((facts.modified().ok()?, facts.len()))
}

fn data_version(conn: &Connection) -> rusqlite::Result<i64> {
    conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}
