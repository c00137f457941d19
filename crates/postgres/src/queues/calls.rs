//! The contract's calls that change the queues.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{ProviderError, WorkItem, WorkerAnnouncement};

use crate::PostgresProvider;
use crate::error::{During, JobError};
use crate::fast_path::switch::Offered;
use crate::fetch::lease_token::WorkToken;
use crate::fetch::turn_lock::{Extension, Release};
use crate::queues::orchestrator_queue::{DelayedMessage, NewMessage};
use crate::queues::worker_queue::{self, Finished, NewWork};
use crate::queues::{progress, sessions, workers};
use crate::schema::number::lease_length;
use crate::schema::stored_text::stored;
use crate::store::Store;
use crate::write::group::Work;

/// Adds a message, visible after `delay`.
pub(crate) async fn enqueue_message(
    provider: &PostgresProvider,
    item: &WorkItem,
    delay: Option<Duration>,
) -> Result<(), ProviderError> {
    const OPERATION: &str = "enqueue_for_orchestrator";
    let message = NewMessage::encode_message(item).during(OPERATION)?;
    let delay = delay.map_or(0, lease_length);
    // On the fast path, the commit of its first turn stores a start.
    let lease = match provider.store().fast_path.offer(item, &message, delay).await {
        Offered::Committed => return Ok(()),
        Offered::ToStore(lease) => lease,
    };
    let message = Work::Message(DelayedMessage { message, delay, lease });
    provider.writer.run(message).await.during(OPERATION).map(drop)
}

/// Adds an activity, visible at once.
pub(crate) async fn enqueue_work(
    provider: &PostgresProvider,
    item: &WorkItem,
) -> Result<(), ProviderError> {
    const OPERATION: &str = "enqueue_for_worker";
    let work = NewWork::encode(item).during(OPERATION)?;
    provider.writer.run(Work::Activity(work)).await.during(OPERATION).map(drop)
}

/// Completes an activity under a live lease.
pub(crate) async fn complete_work(
    provider: &PostgresProvider,
    token: &str,
    completion: Option<&WorkItem>,
) -> Result<(), ProviderError> {
    const OPERATION: &str = "ack_work_item";
    let completion = completion.map(NewMessage::encode_completion).transpose().during(OPERATION)?;
    let token = work_token(token).during(OPERATION)?;
    let finished = Finished { token, completion, again: false };
    provider.writer.run(Work::Finish(finished)).await.during(OPERATION).map(drop)
}

/// Extends the lease of an activity.
pub(crate) async fn renew_work(
    provider: &PostgresProvider,
    token: &str,
    extend_for: Duration,
) -> Result<(), ProviderError> {
    const OPERATION: &str = "renew_work_item_lock";
    extend_work(provider, token, extend_for, Extension::Live).await.during(OPERATION)
}

/// Adds to the leases whose holder vouches for the activity.
pub(crate) async fn vouch_for_work(
    provider: &PostgresProvider,
    token: &str,
    leases: u32,
) -> Result<u32, ProviderError> {
    const OPERATION: &str = "vouch_for_work_item";
    let token = work_token(token).during(OPERATION)?;
    let vouch = |store: Arc<Store>| async move { worker_queue::vouch(&store, token, leases).await };
    provider.store.on_own_thread(vouch).await.during(OPERATION)
}

/// Extends the lease of an activity, also an expired one.
pub(crate) async fn reclaim_work(
    provider: &PostgresProvider,
    token: &str,
    extend_for: Duration,
) -> Result<(), ProviderError> {
    const OPERATION: &str = "reclaim_work_item_lock";
    extend_work(provider, token, extend_for, Extension::Unclaimed).await.during(OPERATION)
}

/// Extends the sessions of these owners.
pub(crate) async fn renew_sessions(
    provider: &PostgresProvider,
    owner_ids: &[&str],
    extend_for: Duration,
    idle_timeout: Duration,
) -> Result<usize, ProviderError> {
    // Each owner once: a session counts once even if its owner is named twice.
    let owners: BTreeSet<String> = owner_ids.iter().map(|owner| stored(owner)).collect();
    let (extend_for, idle) = (lease_length(extend_for), lease_length(idle_timeout));
    let renew =
        |store: Arc<Store>| async move { sessions::renew(&store, &owners, extend_for, idle).await };
    let renewed = provider.store.on_own_thread(renew).await;
    renewed.during("renew_session_lock")
}

/// Removes expired sessions that have no queued work.
pub(crate) async fn remove_orphaned_sessions(
    provider: &PostgresProvider,
) -> Result<usize, ProviderError> {
    let remove = |store: Arc<Store>| async move { sessions::cleanup(&store).await };
    provider.store.on_own_thread(remove).await.during("cleanup_orphaned_sessions")
}

/// Records that a node runs activities.
pub(crate) async fn announce_worker(
    provider: &PostgresProvider,
    announcement: WorkerAnnouncement,
) -> Result<(), ProviderError> {
    let announce =
        |store: Arc<Store>| async move { workers::announce(&store, &announcement).await };
    provider.store.on_own_thread(announce).await.during("announce_worker")
}

/// Records that a node no longer runs activities.
pub(crate) async fn withdraw_worker(
    provider: &PostgresProvider,
    node_id: String,
) -> Result<(), ProviderError> {
    let withdraw = |store: Arc<Store>| async move { workers::withdraw(&store, &node_id).await };
    provider.store.on_own_thread(withdraw).await.during("withdraw_worker")
}

/// Releases an activity.
pub(crate) async fn abandon_work(
    provider: &PostgresProvider,
    token: &str,
    release: Release,
) -> Result<(), ProviderError> {
    const OPERATION: &str = "abandon_work_item";
    let (store, token) = (provider.store(), work_token(token).during(OPERATION)?);
    let changes = worker_queue::abandon(store, token, release).await.during(OPERATION)?;
    store.publish(changes);
    Ok(())
}

/// Releases an activity whose handler was not called.
pub(crate) async fn release_unstarted(
    provider: &PostgresProvider,
    token: &str,
    release: Release,
) -> Result<(), ProviderError> {
    const OPERATION: &str = "return_unstarted_work_item";
    let (store, token) = (provider.store(), work_token(token).during(OPERATION)?);
    let changes = worker_queue::release_unstarted(store, token, release).await.during(OPERATION)?;
    store.publish(changes);
    Ok(())
}

/// Stores the progress of a running activity.
pub(crate) async fn record_progress(
    provider: &PostgresProvider,
    token: &str,
    reported: &str,
) -> Result<(), ProviderError> {
    const OPERATION: &str = "record_activity_progress";
    let (store, token) = (provider.store(), work_token(token).during(OPERATION)?);
    let changes = progress::record(store, token, reported).await.during(OPERATION)?;
    store.publish(changes);
    Ok(())
}

async fn extend_work(
    provider: &PostgresProvider,
    token: &str,
    extend_for: Duration,
    extension: Extension,
) -> Result<(), JobError> {
    let (token, length) = (work_token(token)?, lease_length(extend_for));
    let renew = |store: Arc<Store>| async move {
        worker_queue::renew(&store, token, length, extension).await
    };
    provider.store.on_own_thread(renew).await
}

fn work_token(text: &str) -> Result<WorkToken, JobError> {
    WorkToken::parse(text).ok_or_else(worker_queue::lost_lease)
}
