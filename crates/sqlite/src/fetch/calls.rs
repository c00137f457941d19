//! The contract's calls that fetch, renew and release turns.

use std::time::Duration;

use duroxide_core::providers::{
    FetchedWork, OrchestrationItem, ProviderError, TurnFetch, WorkFetch, WorkItem,
};

use crate::fetch::attempts;
use crate::fetch::turn_lock::{self, Release};
use crate::fetch::waiting;
use crate::schema::number::millis_to_db;
use crate::write::writer::Tx;
use crate::{SqliteProvider, suspension};

/// Fetches one turn, in the form of the call that returns at most one.
pub(crate) async fn fetch_turn(
    provider: &SqliteProvider,
    request: TurnFetch<'_>,
) -> Result<Option<(OrchestrationItem, String, u32)>, ProviderError> {
    let turns = waiting::fetch_turns(provider, "fetch_orchestration_item", request).await?;
    let first = turns.into_iter().next();
    Ok(first.map(|turn| (turn.item, turn.lock_token, turn.attempt_count)))
}

/// Fetches one activity, in the form of the call that returns at most one.
pub(crate) async fn fetch_work_item(
    provider: &SqliteProvider,
    request: WorkFetch<'_>,
) -> Result<Option<(WorkItem, String, u32)>, ProviderError> {
    let work = waiting::fetch_work(provider, "fetch_work_item", request).await?;
    let first: Option<FetchedWork> = work.into_iter().next();
    Ok(first.map(|work| (work.item, work.lock_token, work.attempt_count)))
}

/// Releases a turn, so that it can be fetched again.
pub(crate) async fn abandon_turn(
    provider: &SqliteProvider,
    token: &str,
    release: Release,
) -> Result<(), ProviderError> {
    let token = token.to_owned();
    provider
        .writer()
        .run("abandon_orchestration_item", move |tx| turn_lock::abandon(tx, &token, release))
        .await
}

/// Suspends the instance of a turn.
pub(crate) async fn suspend_turn(
    provider: &SqliteProvider,
    token: &str,
    reason: &str,
) -> Result<(), ProviderError> {
    let (token, reason) = (token.to_owned(), reason.to_owned());
    let suspend = move |tx: &mut Tx<'_>| suspension::suspend_turn(tx, &token, &reason);
    provider.writer().run("suspend_turn", suspend).await
}

/// Extends the lease of a turn.
pub(crate) async fn renew_turn(
    provider: &SqliteProvider,
    token: &str,
    extend_for: Duration,
) -> Result<(), ProviderError> {
    let token = token.to_owned();
    let extend_for = millis_to_db(extend_for);
    provider
        .writer()
        .keep("renew_orchestration_item_lock", move |tx| turn_lock::renew(tx, &token, extend_for))
        .await
}

/// Extends the lease of a turn, also an expired one.
pub(crate) async fn reclaim_turn(
    provider: &SqliteProvider,
    token: &str,
    extend_for: Duration,
) -> Result<(), ProviderError> {
    const OPERATION: &str = "reclaim_orchestration_item_lock";
    let token = token.to_owned();
    let extend_for = millis_to_db(extend_for);
    let reclaim = move |tx: &mut Tx<'_>| turn_lock::reclaim(tx, &token, extend_for);
    provider.writer().keep(OPERATION, reclaim).await
}

/// Marks whether the code of a turn runs; returns how many of its attempts are excused.
pub(crate) async fn mark_turn_running(
    provider: &SqliteProvider,
    token: &str,
    running: bool,
) -> Result<u32, ProviderError> {
    let token = token.to_owned();
    provider
        .writer()
        .keep("mark_turn_running", move |tx| attempts::mark_running(tx, &token, running))
        .await
}
