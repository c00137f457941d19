//! Activities that nobody started in time.
//!
//! The rule: a lease is a start, unless the worker gives the activity back without having called
//! its handler. Once started, an activity is never overdue again, however often it is redelivered.
//! A node that dies between taking an activity and giving it back counts as having started it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tracing::warn;

use super::fetch::begin;
use super::finished::Finished;
use super::process::{self, InHand, Work};
use super::report;
use crate::limits::ITEMS_PER_FETCH_MAX;
use crate::providers::{FetchedWork, OverdueFetch, ProviderError};
use crate::runtime::dispatchers::pacing::Pacing;
use crate::runtime::node::Node;

/// Looks for overdue activities, unless the node does no work or the store keeps no limits.
pub(crate) fn start(node: &Arc<Node>) {
    let options = &node.options;
    let works = options.worker_concurrency > 0 || options.orchestration_concurrency > 0;
    if works && node.provider.keeps_start_limits() {
        let sweeping = Arc::clone(node);
        node.tasks.supervise("sweeper of start limits", move || sweep(Arc::clone(&sweeping)));
    }
}

async fn sweep(node: Arc<Node>) {
    let mut pacing = Pacing::new("start limits", node.options.dispatcher_min_poll_interval);
    loop {
        let asked = Instant::now();
        let Some(fetched) = node.tasks.unless_stopped(fetch(&node)).await else { return };
        match fetched {
            Ok(work) if work.is_empty() => {
                pacing.succeeded();
                pacing.idle(asked, None, &node.tasks).await;
            }
            Ok(work) => {
                pacing.succeeded();
                fail_all(&node, work).await;
            }
            Err(error) => pacing.failed(&error, &node.tasks).await,
        }
    }
}

async fn fetch(node: &Node) -> Result<Vec<FetchedWork>, ProviderError> {
    let request = OverdueFetch {
        work_max: ITEMS_PER_FETCH_MAX,
        lock_timeout: node.options.worker_lock_timeout,
        poll_timeout: node.options.dispatcher_long_poll_timeout,
    };
    node.provider.fetch_overdue_work(request).await
}

/// All at once, so that their failures can share a commit.
async fn fail_all(node: &Arc<Node>, work: Vec<FetchedWork>) {
    let failing: Vec<_> = work
        .into_iter()
        .map(|fetched| {
            let node = Arc::clone(node);
            let tasks = node.tasks.clone();
            tasks.spawn(async move { fail(&node, fetched).await })
        })
        .collect();
    for task in failing {
        if let Err(error) = task.await {
            warn!(target: "duroxide::runtime", %error, "an overdue activity will be met again");
        }
    }
}

async fn fail(node: &Arc<Node>, fetched: FetchedWork) {
    let limit = fetched.overdue.unwrap_or_default();
    let Some((in_hand, work)) = process::take(node, node.sweeper_id(), fetched).await else {
        return;
    };
    let finished = judge(in_hand, work, limit);
    // The turn that hears of it may have started activities in slots of this node.
    if let Some(assignment) = process::finish(node, finished, None).await {
        begin(node, assignment);
    }
}

/// What the orchestration of an overdue activity is to be told. It can catch that.
pub(super) fn judge(in_hand: InHand, work: Work, limit: Duration) -> Finished {
    let message = not_started(&work, limit);
    warn!(
        target: "duroxide::runtime",
        instance_id = %work.id.instance,
        execution_id = work.id.execution_id,
        activity_id = work.id.activity_id,
        "{message}"
    );
    let completion = report::app_error(&work, message);
    Finished { in_hand, work, completion, outcome: "app_error", took: Duration::ZERO }
}

fn not_started(work: &Work, limit: Duration) -> String {
    let tag = work.tag.as_ref().map(|tag| format!("serves tag `{tag}`"));
    let session = work.session_id.as_ref().map(|session| format!("may run session `{session}`"));
    let wanted: Vec<String> = tag.into_iter().chain(session).collect();
    let who = if wanted.is_empty() {
        "no worker".to_owned()
    } else {
        format!("no worker that {}", wanted.join(" and "))
    };
    format!(
        "activity `{}` was not started within {limit:?} of being scheduled: {who} took it",
        work.name
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::ScheduledActivityIdentifier;

    fn text(tag: Option<&str>, session: Option<&str>) -> String {
        let instance = "order".to_owned();
        let work = Work {
            id: ScheduledActivityIdentifier { instance, execution_id: 1, activity_id: 2 },
            name: "resize".to_owned(),
            input: String::new(),
            session_id: session.map(str::to_owned),
            tag: tag.map(str::to_owned),
        };
        not_started(&work, Duration::from_secs(30))
    }

    #[test]
    fn the_error_names_activity_limit_and_who_was_missing() {
        let begin = "activity `resize` was not started within 30s of being scheduled: no worker";
        assert_eq!(text(None, None), format!("{begin} took it"));
        assert_eq!(text(Some("gpu"), None), format!("{begin} that serves tag `gpu` took it"));
        assert_eq!(text(None, Some("s")), format!("{begin} that may run session `s` took it"));
        let both = format!("{begin} that serves tag `gpu` and may run session `s` took it");
        assert_eq!(text(Some("gpu"), Some("s")), both);
    }
}
