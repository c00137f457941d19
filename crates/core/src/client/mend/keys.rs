//! The keys that a mended execution starts with.
//!
//! When an execution ends, its changes are merged into the keys of the instance. Replay needs them
//! as they were before: the histories of earlier executions tell those that it changed.

use std::collections::BTreeMap;

use super::source::{Source, refused};
use crate::client::{Client, ClientError};
use crate::histories::LastExecution;
use crate::model::{ExecutionStatus, KvEntry};

/// The keys that an execution starts with.
#[derive(Debug, Clone, Default)]
pub(super) struct StartKeys {
    pub(super) kv: BTreeMap<String, KvEntry>,
    /// They are not those that are stored.
    pub(super) is_to_store: bool,
}

impl Client {
    /// The keys before an execution.
    pub(super) async fn start_keys(
        &self,
        source: &Source,
        is_fork: bool,
    ) -> Result<StartKeys, ClientError> {
        let has_changed = source.changes_keys();
        let is_to_store = is_fork || has_changed;
        let (instance, execution_id) = (source.instance.as_str(), source.execution_id);
        let state = self.provider().read_turn_state(instance, execution_id).await?;
        let stored = state.kv_snapshot.map(|snapshot| snapshot.into_iter().collect());
        let stored = match stored {
            // The store keeps the changes of a running execution apart.
            Some(kv) if !has_changed || source.status() == ExecutionStatus::Running => {
                return Ok(StartKeys { kv, is_to_store });
            }
            // An event that cannot be decoded may have changed any of them.
            stored => stored.filter(|_| source.undecodable.is_empty()),
        };
        let last = LastExecution { instance, execution_id, events: &source.events, stored };
        match last.keys_before(self.provider()).await? {
            Some(kv) => Ok(StartKeys { kv, is_to_store }),
            None if !is_to_store => Ok(StartKeys::default()),
            None => Err(refused(format!(
                "execution {execution_id} of instance {instance} changed keys, and what they were \
                 before is unknown: earlier executions were pruned"
            ))),
        }
    }
}
