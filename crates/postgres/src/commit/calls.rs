//! The contract's commits.

use duroxide_core::Event;
use duroxide_core::providers::kit::EncodedEvent;
use duroxide_core::providers::{CommittedTurn, DirectTurn, ProviderError, TurnCommit};

use crate::PostgresProvider;
use crate::commit::encoded::EncodedCommit;
use crate::error::During;
use crate::notify::change::Changes;
use crate::read::history;
use crate::write::group::Work;

/// Commits a fetched turn under its lease.
pub(crate) async fn commit_turn(
    provider: &PostgresProvider,
    operation: &'static str,
    turn: &TurnCommit,
) -> Result<CommittedTurn, ProviderError> {
    let store = provider.store();
    let mut encoded = EncodedCommit::encode(turn, &store.notifier.hub).during(operation)?;
    // On the fast path, the commit of a first turn also stores its instance.
    let start = store.fast_path.pending_start(&encoded).await;
    encoded.is_first = start.is_some();
    let committed = provider.writer.run(Work::Commit(Box::new(encoded))).await;
    if let (Ok(_), Some(start)) = (&committed, start) {
        start.committed();
    }
    Ok(committed.during(operation)?.unwrap_or_default())
}

/// Commits a turn that was not fetched; `None` if it does not follow what is stored.
pub(crate) async fn commit_direct_turn(
    provider: &PostgresProvider,
    turn: &DirectTurn,
) -> Result<Option<CommittedTurn>, ProviderError> {
    const OPERATION: &str = "commit_direct_turn";
    let hub = &provider.store().notifier.hub;
    let encoded = EncodedCommit::encode_direct(turn, hub).during(OPERATION)?;
    provider.writer.run(Work::Commit(Box::new(encoded))).await.during(OPERATION)
}

/// Appends events outside of a turn.
pub(crate) async fn append_events(
    provider: &PostgresProvider,
    instance: &str,
    execution_id: u64,
    new_events: &[Event],
) -> Result<(), ProviderError> {
    const OPERATION: &str = "append_with_execution";
    let events = EncodedEvent::encode_all(new_events).during(OPERATION)?;
    let store = provider.store();
    history::append(store, instance, execution_id, &events).await.during(OPERATION)?;
    let mut changes = Changes::default();
    changes.orchestrator_queue();
    changes.instance(instance);
    store.publish(changes);
    Ok(())
}
