//! The contract's reads, each from one snapshot.

use duroxide_core::Event;
use duroxide_core::providers::kit::decode_history;
use duroxide_core::providers::{ProviderError, TurnState};
use rusqlite::Connection;

use crate::error::{During, JobError};
use crate::read::history::{self, HistoryPart, PartSize};
use crate::read::kv;
use crate::schema::number::to_db;
use crate::{SqliteProvider, deletion_slices};

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

    /// Reads the events of one execution, or of the latest. A long history is read in parts, so
    /// that other reads run in between: events are only added, so the parts fit together.
    pub(crate) async fn read_events(
        &self,
        operation: &'static str,
        instance: &str,
        execution_id: Option<u64>,
    ) -> Result<Vec<Event>, ProviderError> {
        let mut events = Vec::new();
        let (mut execution_id, mut after) = (execution_id, 0);
        loop {
            let instance = instance.to_owned();
            let read = move |conn: &Connection| {
                let execution_id = match execution_id {
                    Some(execution_id) => execution_id,
                    None => history::current_execution(conn, &instance)?,
                };
                if deletion_slices::hides(conn, &instance, Some(to_db(execution_id)))? {
                    return Ok((execution_id, HistoryPart::default()));
                }
                let size = PartSize::OF_A_READ;
                let part = history::part_after(conn, &instance, execution_id, after, size)?;
                Ok((execution_id, part))
            };
            let (current, part) = self.read_with(operation, read).await?;
            events.extend(decode_history(&part.texts).during(operation)?);
            if !part.more {
                return Ok(events);
            }
            (execution_id, after) = (Some(current), part.last);
        }
    }

    /// Reads what a turn continues from.
    pub(crate) async fn read_state(
        &self,
        operation: &'static str,
        instance: &str,
        execution_id: u64,
    ) -> Result<TurnState, ProviderError> {
        let history = self.read_events(operation, instance, Some(execution_id)).await;
        let kv_snapshot = self.read_instance(operation, instance, kv::snapshot).await;
        match kv_snapshot {
            Ok(kv_snapshot) => Ok(TurnState::of(history)?.with_kv_snapshot(kv_snapshot)),
            // A value that cannot be read is damage of the instance, like an event.
            Err(error) => TurnState::of(Err(error)),
        }
    }
}
