//! The contract's calls that change the queues, as jobs of the writer thread.

use std::collections::BTreeSet;
use std::time::Duration;

use duroxide_core::providers::{ProviderError, WorkItem, WorkerAnnouncement};

use crate::SqliteProvider;
use crate::error::During;
use crate::fetch::turn_lock::Release;
use crate::queues::orchestrator_queue::{self, NewMessage};
use crate::queues::worker_queue::{self, NewWork};
use crate::queues::workers::{self, NewWorker};
use crate::queues::{progress, sessions, work_lock};
use crate::schema::number::millis_to_db;

/// Adds a message, visible after `delay`.
pub(crate) async fn enqueue_message(
    provider: &SqliteProvider,
    item: &WorkItem,
    delay: Option<Duration>,
) -> Result<(), ProviderError> {
    const OPERATION: &str = "enqueue_for_orchestrator";
    let message = NewMessage::encode_message(item).during(OPERATION)?;
    let delay = delay.map_or(0, millis_to_db);
    provider
        .writer()
        .run(OPERATION, move |tx| {
            orchestrator_queue::insert(tx, &message, tx.now.saturating_add(delay))
        })
        .await
}

/// Adds an activity, visible at once.
pub(crate) async fn enqueue_work(
    provider: &SqliteProvider,
    item: &WorkItem,
) -> Result<(), ProviderError> {
    const OPERATION: &str = "enqueue_for_worker";
    let work = NewWork::encode(item).during(OPERATION)?;
    provider.writer().run(OPERATION, move |tx| worker_queue::insert(tx, &work)).await
}

/// Completes an activity under a live lease.
pub(crate) async fn complete_work(
    provider: &SqliteProvider,
    token: &str,
    completion: Option<&WorkItem>,
) -> Result<(), ProviderError> {
    const OPERATION: &str = "ack_work_item";
    let completion = completion.map(NewMessage::encode_completion).transpose().during(OPERATION)?;
    let token = token.to_owned();
    provider
        .writer()
        .run(OPERATION, move |tx| work_lock::complete(tx, &token, completion.as_ref()))
        .await
}

/// Extends the lease of an activity.
pub(crate) async fn renew_work(
    provider: &SqliteProvider,
    token: &str,
    extend_for: Duration,
) -> Result<(), ProviderError> {
    let token = token.to_owned();
    let extend_for = millis_to_db(extend_for);
    provider
        .writer()
        .keep("renew_work_item_lock", move |tx| work_lock::renew(tx, &token, extend_for))
        .await
}

/// Adds to the leases whose holder vouches for the activity.
pub(crate) async fn vouch_for_work(
    provider: &SqliteProvider,
    token: &str,
    leases: u32,
) -> Result<u32, ProviderError> {
    let token = token.to_owned();
    provider
        .writer()
        .keep("vouch_for_work_item", move |tx| work_lock::vouch(tx, &token, leases))
        .await
}

/// Extends the lease of an activity, also an expired one.
pub(crate) async fn reclaim_work(
    provider: &SqliteProvider,
    token: &str,
    extend_for: Duration,
) -> Result<(), ProviderError> {
    let token = token.to_owned();
    let extend_for = millis_to_db(extend_for);
    provider
        .writer()
        .keep("reclaim_work_item_lock", move |tx| work_lock::reclaim(tx, &token, extend_for))
        .await
}

/// Releases an activity, so that it can be fetched again.
pub(crate) async fn abandon_work(
    provider: &SqliteProvider,
    token: &str,
    release: Release,
) -> Result<(), ProviderError> {
    let token = token.to_owned();
    provider
        .writer()
        .run("abandon_work_item", move |tx| work_lock::abandon(tx, &token, release))
        .await
}

/// Releases an activity whose handler was not called.
pub(crate) async fn release_unstarted(
    provider: &SqliteProvider,
    token: &str,
    release: Release,
) -> Result<(), ProviderError> {
    let token = token.to_owned();
    provider
        .writer()
        .run("return_unstarted_work_item", move |tx| {
            work_lock::release_unstarted(tx, &token, release)
        })
        .await
}

/// Extends the live sessions of these owners that were used within `idle_timeout`.
pub(crate) async fn renew_sessions(
    provider: &SqliteProvider,
    owner_ids: &[&str],
    extend_for: Duration,
    idle_timeout: Duration,
) -> Result<usize, ProviderError> {
    // Each owner once: a session that is named twice is still one session.
    let owners: BTreeSet<String> = owner_ids.iter().map(|owner| (*owner).to_owned()).collect();
    let (extend_for, idle) = (millis_to_db(extend_for), millis_to_db(idle_timeout));
    provider
        .writer()
        .keep("renew_session_lock", move |tx| sessions::renew(tx, &owners, extend_for, idle))
        .await
}

/// Records the progress of an activity under a live lease.
pub(crate) async fn record_progress(
    provider: &SqliteProvider,
    token: &str,
    progress: &str,
) -> Result<(), ProviderError> {
    let (token, progress) = (token.to_owned(), progress.to_owned());
    provider
        .writer()
        .run("record_activity_progress", move |tx| progress::record(tx, &token, &progress))
        .await
}

/// Records that a node runs activities.
pub(crate) async fn announce_worker(
    provider: &SqliteProvider,
    announcement: &WorkerAnnouncement,
) -> Result<(), ProviderError> {
    const OPERATION: &str = "announce_worker";
    let worker = NewWorker::encode(announcement).during(OPERATION)?;
    provider.writer().run(OPERATION, move |tx| workers::announce(tx, &worker)).await
}

/// Removes a node that runs no more activities.
pub(crate) async fn withdraw_worker(
    provider: &SqliteProvider,
    node_id: &str,
) -> Result<(), ProviderError> {
    let node_id = node_id.to_owned();
    provider.writer().run("withdraw_worker", move |tx| workers::withdraw(tx, &node_id)).await
}
