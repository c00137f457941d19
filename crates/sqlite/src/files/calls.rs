//! Calls that concern the file as a whole.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::connect::connection;
use crate::connect::url::Location;
use crate::files::{backup, checkpoint, integrity};
use crate::threads::Thread;
use crate::{SqliteError, SqliteProvider, limits};

impl SqliteProvider {
    /// Copies the write-ahead log into the file and empties it: a copy of the file is then
    /// complete, as long as nothing is written. The shutdown of a runtime does this.
    ///
    /// # Errors
    /// When another process reads the log at this moment, or the disk fails.
    pub async fn checkpoint(&self) -> Result<(), SqliteError> {
        self.checkpoint_within(self.busy_timeout()).await
    }

    pub(crate) async fn checkpoint_within(&self, patience: Duration) -> Result<(), SqliteError> {
        let location = self.location().clone();
        self.writer().maintain(move |conn| checkpoint::run(conn, &location, patience)).await
    }

    /// Writes a complete copy of the database to a new file, while everything goes on.
    ///
    /// - The copy is one snapshot, compact, readable by its owner alone, and on disk when this
    ///   returns. It opens like any other database.
    /// - Nothing waits for it, except with a database in memory, which is written at once.
    ///
    /// # Errors
    /// When a file of that name exists, or the copy cannot be written; nothing is left behind.
    pub async fn backup(&self, target: impl AsRef<Path>) -> Result<(), SqliteError> {
        let target = target.as_ref().to_owned();
        let Location::File { path, mode } = self.location().clone() else {
            return self.writer().maintain(move |conn| backup::of_connection(conn, &target)).await;
        };
        let (busy_timeout, (reply, response)) = (self.busy_timeout(), oneshot::channel());
        let _detached = Thread::start("duroxide-backup", move || {
            drop(reply.send(backup::of_file(&path, mode, busy_timeout, &target)));
        })?;
        let written = response.await.map_err(|_| SqliteError::Closed)?;
        // The copy may contain what is not yet on disk here.
        self.writer().flushed().await;
        written
    }

    /// Rewrites the file without its free space, and makes it as small as its content.
    ///
    /// - Writes of all processes wait meanwhile, about a second for every 100 MB; reads go on.
    /// - It needs free disk space of twice the size of the content.
    ///
    /// # Errors
    /// When another process holds the file, the provider only reads, or the disk is full. The file
    /// is then as it was.
    pub async fn vacuum(&self) -> Result<(), SqliteError> {
        let location = self.location().clone();
        self.writer()
            .maintain(move |conn| {
                let path = connection::path_of(&location);
                conn.execute_batch("VACUUM").map_err(|error| SqliteError::about(path, error))
            })
            .await?;
        self.checkpoint().await
    }

    /// Searches the whole file for damage, on a connection of its own; everything goes on
    /// meanwhile. Returns what is wrong, at most 100 lines; empty if nothing is.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn check_integrity(&self) -> Result<Vec<String>, SqliteError> {
        let Location::File { path, .. } = self.location().clone() else {
            let check = |conn: &Connection| integrity::of_connection(conn);
            let named = |error| SqliteError::about(Path::new(":memory:"), error);
            return self.writer().maintain(move |conn| check(conn).map_err(named)).await;
        };
        let (reply, response) = oneshot::channel();
        let _detached = Thread::start("duroxide-check", move || {
            drop(reply.send(integrity::of_file(&path)));
        })?;
        response.await.map_err(|_| SqliteError::Closed)?
    }

    /// Completes what was requested, stops the threads and closes the file: it can then be moved,
    /// copied or deleted. Later calls fail. Stop the runtimes that use the provider first.
    ///
    /// - May be called again, and by several callers at once.
    /// - If another process uses the file too, its log stays beside it.
    ///
    /// # Errors
    /// When the log could not be copied into the file; the provider is closed nevertheless, and the
    /// log beside the file is complete.
    pub async fn close(&self) -> Result<(), SqliteError> {
        if let Some(readers) = self.readers() {
            readers.close().await;
        }
        // SQLite itself copies the log when the last connection is closed.
        let copied = match self.has_upkeep() {
            true => self.checkpoint_within(limits::CHECKPOINT_WAIT).await,
            false => Ok(()),
        };
        self.writer().close().await;
        match copied {
            Err(SqliteError::Closed | SqliteError::Locked { .. }) => Ok(()),
            other => other,
        }
    }
}
