//! The histories of one instance.

use super::export::{Earlier, read_execution};
use super::format::HistoriesError;
use super::writer::HistoryWriter;
use crate::providers::Provider;

/// Executions of one instance as JSON lines, ascending.
pub(crate) async fn instance_lines(
    store: &dyn Provider,
    instance: &str,
    executions: &[u64],
) -> Result<Vec<u8>, HistoriesError> {
    let mut writer = HistoryWriter::new(instance, Vec::new())?;
    let mut earlier = Earlier::default();
    for execution_id in executions {
        match read_execution(store, instance, *execution_id, &mut earlier).await? {
            Ok(history) => writer.write(&history)?,
            Err(history) if history.events.is_empty() => return Err(history.into_error()),
            Err(history) => writer.write_undecodable(&history)?,
        }
    }
    writer.finish()
}
