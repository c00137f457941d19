//! The contract's reads, each from one snapshot.

use duroxide_core::Event;
use duroxide_core::providers::ProviderError;
use duroxide_core::providers::kit::decode_history;
use rusqlite::Connection;

use crate::SqliteProvider;
use crate::error::{During, JobError};
use crate::read::history;

impl SqliteProvider {
    /// Reads from one snapshot, all of which is durable when this returns.
    pub(crate) async fn read_with<T: Send + 'static>(
        &self,
        operation: &'static str,
        mut read: impl FnMut(&Connection) -> Result<T, JobError> + Send + 'static,
    ) -> Result<T, ProviderError> {
        let Some(readers) = self.readers() else {
            return self.writer().run(operation, move |tx| read(tx.conn)).await;
        };
        let found = readers.run(operation, read).await;
        self.writer().flushed().await;
        found
    }

    /// Reads something about one instance.
    pub(crate) async fn read_instance<T: Send + 'static>(
        &self,
        operation: &'static str,
        instance: &str,
        read: fn(&Connection, &str) -> Result<T, JobError>,
    ) -> Result<T, ProviderError> {
        let instance = instance.to_owned();
        self.read_with(operation, move |conn| read(conn, &instance)).await
    }

    /// Reads the events of one execution, or of the latest.
    pub(crate) async fn read_events(
        &self,
        operation: &'static str,
        instance: &str,
        execution_id: Option<u64>,
    ) -> Result<Vec<Event>, ProviderError> {
        let instance = instance.to_owned();
        let read = move |conn: &Connection| {
            let execution_id = match execution_id {
                Some(execution_id) => execution_id,
                None => history::current_execution(conn, &instance)?,
            };
            history::texts_after(conn, &instance, execution_id, 0)
        };
        decode_history(&self.read_with(operation, read).await?).during(operation)
    }
}
