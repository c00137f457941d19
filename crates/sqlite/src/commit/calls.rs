//! The contract's commits, encoded by the caller and run by the writer thread.

use std::sync::Arc;

use duroxide_core::Event;
use duroxide_core::providers::kit::EncodedEvent;
use duroxide_core::providers::{CommittedTurn, DirectTurn, ProviderError, TurnCommit};

use crate::SqliteProvider;
use crate::commit::direct_turn::{self, EncodedDirectTurn};
use crate::commit::events::{self, NewEvents};
use crate::commit::turn_commit::{self, EncodedCommit};
use crate::error::During;
use crate::queues::{orchestrator_queue, ready_messages};
use crate::write::writer::Tx;

/// Commits a turn under the lease of its instance.
pub(crate) async fn commit_turn(
    provider: &SqliteProvider,
    operation: &'static str,
    turn: &TurnCommit,
) -> Result<CommittedTurn, ProviderError> {
    let encoded = EncodedCommit::encode(turn, provider.hub()).during(operation)?;
    provider.writer().run(operation, move |tx| turn_commit::commit_turn(tx, &encoded)).await
}

/// Commits a turn that was not fetched; `None` if it does not follow the stored history.
pub(crate) async fn commit_direct_turn(
    provider: &SqliteProvider,
    turn: Arc<DirectTurn>,
) -> Result<Option<CommittedTurn>, ProviderError> {
    const OPERATION: &str = "commit_direct_turn";
    let encoded = EncodedDirectTurn::encode(&turn, provider.hub()).during(OPERATION)?;
    drop(turn);
    provider.writer().run(OPERATION, move |tx| direct_turn::commit_direct_turn(tx, &encoded)).await
}

/// Appends events outside of a turn.
pub(crate) async fn append_events(
    provider: &SqliteProvider,
    instance: &str,
    execution_id: u64,
    new_events: &[Event],
) -> Result<(), ProviderError> {
    const OPERATION: &str = "append_with_execution";
    let new_events = EncodedEvent::encode_all(new_events).during(OPERATION)?;
    let instance = instance.to_owned();
    let append = move |tx: &mut Tx<'_>| {
        let (events, commit_id) = (new_events.as_slice(), None);
        events::append(tx, &NewEvents { instance: &instance, execution_id, events, commit_id })?;
        if orchestrator_queue::unpark(tx.conn, &instance)? {
            ready_messages::list_first(tx, &instance)?;
        }
        tx.changes.orchestrator_queue();
        tx.changes.instance(instance.clone());
        Ok(())
    };
    provider.writer().run(OPERATION, append).await
}
