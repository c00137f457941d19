//! What a turn needs besides its messages, if the fetch did not return it.

use std::collections::HashMap;

use super::{Provider, ProviderError, ProviderErrorKind};
use crate::model::{Event, KvEntry};

/// A history that a fetch left to the caller because it is long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeferredHistory {
    /// How many events it has.
    pub events: u64,
    /// About how many bytes they have together.
    pub bytes: u64,
}

impl DeferredHistory {
    /// A history of this size.
    pub const fn new(events: u64, bytes: u64) -> Self {
        Self { events, bytes }
    }
}

/// The stored state of an execution, from which its next turn continues.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct TurnState {
    /// The whole history, in order.
    pub history: Vec<Event>,
    /// Why the history cannot be read; `history` is then empty.
    pub history_error: Option<String>,
    /// Key-value state that finished executions left behind; `None` if the provider returns it with
    /// every turn.
    pub kv_snapshot: Option<HashMap<String, KvEntry>>,
}

impl TurnState {
    /// A history, or why it cannot be decoded.
    ///
    /// # Errors
    /// When it could not be read for another reason.
    pub fn of(history: Result<Vec<Event>, ProviderError>) -> Result<Self, ProviderError> {
        match history {
            Ok(history) => Ok(Self { history, ..Self::default() }),
            Err(error) if error.kind == ProviderErrorKind::Undecodable => {
                Ok(Self { history_error: Some(error.message), ..Self::default() })
            }
            Err(error) => Err(error),
        }
    }

    /// Key-value state that finished executions left behind.
    #[must_use]
    pub fn with_kv_snapshot(mut self, kv_snapshot: HashMap<String, KvEntry>) -> Self {
        self.kv_snapshot = Some(kv_snapshot);
        self
    }
}

/// The state as the calls of 0.1.x return it.
pub(super) async fn read<P: Provider + ?Sized>(
    provider: &P,
    instance: &str,
    execution_id: u64,
) -> Result<TurnState, ProviderError> {
    TurnState::of(provider.read_with_execution(instance, execution_id).await)
}
