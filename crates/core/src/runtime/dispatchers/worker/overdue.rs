//! Fails activities that no worker started in time.
//!
//! The rule: a lease is a start, unless the worker releases the activity without having called its
//! handler. Once started, an activity is never overdue again, however often it is redelivered. A
//! node that dies between the lease and the release counts as having started it.

use std::sync::Arc;

use tokio::time::Instant;
use tracing::warn;

use crate::limits::ITEMS_PER_FETCH_MAX;
use crate::providers::{FetchedWork, OverdueFetch, ProviderCapability, ProviderError};
use crate::runtime::activities::{Activities, claim, overdue_failure};
use crate::runtime::dispatchers::pacing::Pacing;
use crate::runtime::fast_path::FastPath;
use crate::runtime::node::Node;

/// What the sweeper needs.
#[derive(Clone)]
struct Sweeper {
    activities: Arc<Activities>,
    fast_path: Arc<FastPath>,
}

/// Sweeps until the node stops, unless the node does no work or the store keeps no limits.
pub(crate) fn start(activities: &Arc<Activities>, fast_path: &Arc<FastPath>) {
    let node = &activities.node;
    let options = &node.options;
    let works = options.worker_concurrency > 0 || options.orchestration_concurrency > 0;
    if works && node.provider.capabilities().has(ProviderCapability::StartLimits) {
        let (activities, fast_path) = (Arc::clone(activities), Arc::clone(fast_path));
        let sweeper = Sweeper { activities, fast_path };
        node.tasks.supervise("sweeper of start limits", move || sweeper.clone().sweep());
    }
}

impl Sweeper {
    async fn sweep(self) {
        let node = &self.activities.node;
        let mut pacing = Pacing::new("start limits", node.options.dispatcher_min_poll_interval);
        loop {
            let polled = Instant::now();
            let Some(fetched) = node.tasks.unless_stopped(fetch(node)).await else { return };
            match fetched {
                Ok(work) if work.is_empty() => {
                    pacing.succeeded();
                    pacing.idle(polled, None, &node.tasks).await;
                }
                Ok(work) => {
                    pacing.succeeded();
                    self.fail_all(work).await;
                }
                Err(error) => pacing.failed(&error, &node.tasks).await,
            }
        }
    }

    /// All at once, so that their failures can share a commit.
    async fn fail_all(&self, work: Vec<FetchedWork>) {
        let tasks = &self.activities.node.tasks;
        let failing: Vec<_> = work
            .into_iter()
            .map(|fetched| {
                let sweeper = self.clone();
                tasks.spawn(async move { sweeper.fail(fetched).await })
            })
            .collect();
        for task in failing {
            if let Err(error) = task.await {
                warn!(
                    target: "duroxide::runtime", %error,
                    "could not fail an overdue activity; a later sweep retries"
                );
            }
        }
    }

    async fn fail(&self, fetched: FetchedWork) {
        let limit = fetched.overdue.unwrap_or_default();
        let worker_id = self.activities.sweeper_id();
        let (leased, work) = match claim(&self.activities, worker_id, fetched) {
            Ok(claimed) => claimed,
            Err(foreign) => return foreign.remove(&self.activities.node).await,
        };
        let finished = overdue_failure(leased, work, limit);
        // The turn that receives the failure may have leased activities for slots of this node.
        if let Some(assignment) = self.fast_path.complete(finished, None).await {
            self.fast_path.start(assignment);
        }
    }
}

async fn fetch(node: &Node) -> Result<Vec<FetchedWork>, ProviderError> {
    let request = OverdueFetch::new(ITEMS_PER_FETCH_MAX, node.options.worker_lock_timeout)
        .with_poll_timeout(node.options.dispatcher_long_poll_timeout);
    node.provider.fetch_overdue_work(request).await
}
