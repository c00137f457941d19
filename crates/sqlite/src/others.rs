//! Noticing commits of other connections and processes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::Connection;

use crate::limits;

/// What was last seen of the others.
#[derive(Debug)]
pub(crate) struct Others {
    /// Changes when another connection commits, but not when this one does.
    data_version: i64,
    log: PathBuf,
    log_stamp: Option<LogStamp>,
    glances: u32,
}

/// Every commit writes to the log, whoever makes it.
#[derive(Debug, PartialEq, Eq)]
struct LogStamp {
    modified: Option<SystemTime>,
    length: u64,
}

impl Others {
    /// Begins to look, from now on.
    pub(crate) fn of(conn: &Connection, database: &Path) -> Self {
        let mut log = OsString::from(database);
        log.push("-wal");
        Self {
            data_version: data_version(conn).unwrap_or(0),
            log: log.into(),
            log_stamp: None,
            glances: 0,
        }
    }

    /// Whether others have committed since the last look.
    pub(crate) fn look(&mut self, conn: &Connection) -> bool {
        match data_version(conn) {
            Ok(version) => std::mem::replace(&mut self.data_version, version) != version,
            // Waiters look again; the error will meet them there, with a name.
            Err(_) => true,
        }
    }

    /// Like [`look`](Self::look) at a tenth of its price, for someone who asks again and again: as
    /// long as the log file stays as it is, only some of the glances are looks.
    pub(crate) fn glance(&mut self, conn: &Connection) -> bool {
        let stamp = std::fs::metadata(&self.log)
            .ok()
            .map(|log| LogStamp { modified: log.modified().ok(), length: log.len() });
        self.glances += 1;
        let unchanged = stamp.is_some() && stamp == self.log_stamp;
        if unchanged && self.glances < limits::GLANCES_PER_LOOK {
            return false;
        }
        self.glances = 0;
        self.log_stamp = stamp;
        self.look(conn)
    }
}

fn data_version(conn: &Connection) -> rusqlite::Result<i64> {
    conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}
