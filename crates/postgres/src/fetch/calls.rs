//! The contract's fetches of one turn or activity, and the leases of turns.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{OrchestrationItem, ProviderError, TurnFetch, WorkFetch, WorkItem};

use crate::error::{During, JobError};
use crate::fetch::lease_token::TurnToken;
use crate::fetch::turn_lock::{self, Extension, Release};
use crate::fetch::waiting;
use crate::schema::number::lease_length;
use crate::store::Store;
use crate::{PostgresProvider, suspension};

/// Leases one turn.
pub(crate) async fn fetch_turn(
    provider: &PostgresProvider,
    request: TurnFetch<'_>,
) -> Result<Option<(OrchestrationItem, String, u32)>, ProviderError> {
    let turns = waiting::fetch_turns(&provider.store, "fetch_orchestration_item", request).await?;
    let turn = turns.into_iter().next();
    Ok(turn.map(|turn| (turn.item, turn.lock_token, turn.attempt_count)))
}

/// Leases one activity.
pub(crate) async fn fetch_work_item(
    provider: &PostgresProvider,
    request: WorkFetch<'_>,
) -> Result<Option<(WorkItem, String, u32)>, ProviderError> {
    let work = waiting::fetch_work(&provider.store, "fetch_work_item", request).await?;
    let first = work.into_iter().next();
    Ok(first.map(|work| (work.item, work.lock_token, work.attempt_count)))
}

/// Releases a turn.
pub(crate) async fn abandon_turn(
    provider: &PostgresProvider,
    token: &str,
    release: Release,
) -> Result<(), ProviderError> {
    const OPERATION: &str = "abandon_orchestration_item";
    let (store, token) = (provider.store(), turn_token(token).during(OPERATION)?);
    let changes = turn_lock::abandon(store, &token, release).await.during(OPERATION)?;
    store.publish(changes);
    Ok(())
}

/// Suspends the instance of a turn.
pub(crate) async fn suspend_turn(
    provider: &PostgresProvider,
    token: &str,
    reason: &str,
) -> Result<(), ProviderError> {
    const OPERATION: &str = "suspend_turn";
    let (store, token) = (provider.store(), turn_token(token).during(OPERATION)?);
    suspension::suspend_turn(store, &token, reason).await.during(OPERATION)
}

/// Extends the lease of a turn.
pub(crate) async fn renew_turn(
    provider: &PostgresProvider,
    token: &str,
    extend_for: Duration,
) -> Result<(), ProviderError> {
    const OPERATION: &str = "renew_orchestration_item_lock";
    extend_turn(provider, token, extend_for, Extension::Live).await.during(OPERATION)
}

/// Extends the lease of a turn, also an expired one.
pub(crate) async fn reclaim_turn(
    provider: &PostgresProvider,
    token: &str,
    extend_for: Duration,
) -> Result<(), ProviderError> {
    const OPERATION: &str = "reclaim_orchestration_item_lock";
    extend_turn(provider, token, extend_for, Extension::Unclaimed).await.during(OPERATION)
}

async fn extend_turn(
    provider: &PostgresProvider,
    token: &str,
    extend_for: Duration,
    extension: Extension,
) -> Result<(), JobError> {
    let (token, length) = (turn_token(token)?, lease_length(extend_for));
    let renew = |store: Arc<Store>| async move {
        turn_lock::renew(&store, &token, length, extension).await
    };
    provider.store.on_own_thread(renew).await
}

/// Marks whether the code of a turn runs; returns how many of its attempts are excused.
pub(crate) async fn mark_turn_running(
    provider: &PostgresProvider,
    token: &str,
    running: bool,
) -> Result<u32, ProviderError> {
    const OPERATION: &str = "mark_turn_running";
    let token = turn_token(token).during(OPERATION)?;
    let mark =
        |store: Arc<Store>| async move { turn_lock::mark_running(&store, &token, running).await };
    provider.store.on_own_thread(mark).await.during(OPERATION)
}

fn turn_token(text: &str) -> Result<TurnToken, JobError> {
    TurnToken::parse(text).ok_or_else(turn_lock::unknown_token)
}
