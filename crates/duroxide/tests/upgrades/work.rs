//! What a test asks of instances, and what must be true of them at the end.

use std::collections::BTreeMap;

use duroxide::OrchestrationStatus;

use crate::cluster::Cluster;
use crate::counted_fetches::BOUNCED;
use crate::journal::{POLL_INTERVAL, TIMEOUT};

impl Cluster {
    /// Waits until the custom status of an instance is set to something else than before.
    pub(crate) async fn next_status(&self, instance: &str, seen: u64) -> (String, u64) {
        let change = self.client.wait_for_status_change(instance, seen, POLL_INTERVAL, TIMEOUT);
        match change.await {
            Ok(OrchestrationStatus::Running {
                custom_status: Some(status),
                custom_status_version,
            }) => (status, custom_status_version),
            other => panic!("{instance}: {other:?}"),
        }
    }

    /// Waits until the custom status of an instance is `wanted`.
    pub(crate) async fn until_status(&self, instance: &str, wanted: &str) {
        let mut seen = 0;
        loop {
            let (status, version) = self.next_status(instance, seen).await;
            if status == wanted {
                return;
            }
            seen = version;
        }
    }

    /// How often each activity ran for each order.
    pub(crate) fn effects(&self) -> BTreeMap<(String, String), usize> {
        let mut effects = BTreeMap::new();
        for entry in self.journal.read() {
            if !["up", BOUNCED].contains(&entry.what.as_str()) {
                *effects.entry((entry.what, entry.instance)).or_default() += 1;
            }
        }
        effects
    }

    /// Nothing is queued, nothing runs, and no node ever got what it could not run.
    pub(crate) async fn assert_all_is_done(&self) {
        let mut bounced = self.journal.read();
        bounced.retain(|entry| entry.what == BOUNCED);
        assert!(bounced.is_empty(), "{bounced:?}");
        let running = self.client.list_instances_by_status("Running").await.unwrap();
        assert!(running.is_empty(), "{running:?}");
        let failed = self.client.list_instances_by_status("Failed").await.unwrap();
        assert!(failed.is_empty(), "{failed:?}");
        let depths = self.client.get_queue_depths().await.unwrap();
        assert_eq!((depths.orchestrator_queue, depths.worker_queue), (0, 0), "{depths:?}");
    }
}
