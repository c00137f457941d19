//! Fails activities that no live node could run for too long.
//!
//! As with turns, they are leased by a fetch that asks for exactly what they need, and the live
//! nodes are read again under the lease.

use std::sync::Arc;
use std::time::Duration;

use tracing::warn;

use crate::client::{LiveNodes, StrandedItem, StrandedReason, StrandedWork};
use crate::limits::STRANDED_SESSION_LOCK;
use crate::providers::{
    FetchFilter, FetchedWork, ListCursor, ProviderError, RegisteredActivities,
    ScheduledActivityIdentifier, SessionFetchConfig, TagFilter, WaitingWork, WorkFetch, WorkSlot,
};
use crate::runtime::activities::{Activities, claim};
use crate::runtime::live_nodes;

/// Activities that all need the same, and that no live node could run for too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DueActivities {
    pub(crate) name: String,
    pub(crate) tag: Option<String>,
    pub(crate) activities: Vec<ScheduledActivityIdentifier>,
}

impl DueActivities {
    /// What a node that could run exactly these activities would fetch.
    fn filter(&self) -> FetchFilter {
        let tags = match &self.tag {
            Some(tag) => TagFilter::tags([tag.as_str()]),
            None => TagFilter::DefaultOnly,
        };
        let registered = RegisteredActivities::new([&self.name]);
        FetchFilter::everything().with_tags(tags).with_activities(registered)
    }

    fn waiting(&self, activity: ScheduledActivityIdentifier) -> WaitingWork {
        WaitingWork::new(ListCursor::new(""), activity, self.name.clone())
            .with_tag(self.tag.clone())
    }

    fn why(&self, nodes: &LiveNodes) -> Option<StrandedReason> {
        let any = self.activities.first()?.clone();
        nodes.serving(self.tag.as_deref()).why(&self.waiting(any))
    }
}

/// Fails these activities as far as they still wait and no live node can run them.
pub(crate) async fn fail_stranded(
    activities: &Arc<Activities>,
    due: &DueActivities,
    limit: Duration,
) -> Result<(), ProviderError> {
    let node = &activities.node;
    // The session of an activity is claimed for a moment: others of it may have nodes.
    let owner_id = format!("{}-{}", activities.sweeper_id(), node.unique_id);
    let session = SessionFetchConfig { owner_id, lock_timeout: STRANDED_SESSION_LOCK };
    let slots = vec![WorkSlot::new(Some(session)); due.activities.len()];
    let filter = due.filter();
    let request = WorkFetch::new(&slots, node.options.worker_lock_timeout).with_filter(&filter);
    let fetched = node.provider.fetch_work_items(request).await?;
    if fetched.is_empty() {
        return Ok(());
    }
    let claimed: Vec<_> = fetched
        .into_iter()
        .map(|work: FetchedWork| claim(activities, activities.sweeper_id(), work))
        .collect();
    let reason = live_nodes::read(node).await.map(|nodes| due.why(&nodes?));
    let reason = reason.unwrap_or_else(|error| {
        warn!(
            target: "duroxide::runtime", %error,
            "could not check which nodes are live; stranded activities wait"
        );
        None
    });
    for claimed in claimed {
        let (leased, work) = match claimed {
            Ok(claimed) => claimed,
            Err(foreign) => {
                foreign.remove(node).await;
                continue;
            }
        };
        let is_due = due.activities.contains(work.id());
        match reason.clone().filter(|reason| is_due && reason.is_mistake()) {
            Some(reason) => {
                let item = StrandedItem::Activity(due.waiting(work.id().clone()));
                let details = StrandedWork::new(item, reason).failure(limit);
                leased.fail_stranded(&work, details).await;
            }
            None => leased.return_at_once().await,
        }
    }
    Ok(())
}
