//! Results as comparable text: without tokens, and with errors reduced to their class.

use std::collections::BTreeMap;
use std::fmt::Debug;

use duroxide_core::providers::{FetchedTurn, FetchedWork, OrchestrationItem, ProviderError};

/// Phrases of error texts that callers of 0.1.32 rely on.
const PHRASES: [&str; 10] = [
    "Invalid lock token",
    "Instance lock expired",
    "Failed to append history",
    "Invalid work item type",
    "still running",
    "has child",
    "Cannot delete sub-orchestration",
    "history deserialization failed",
    "Execution",
    "not found",
];

/// Any result.
pub(crate) fn text<T: Debug>(result: Result<T, ProviderError>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => {
            let class = if error.is_retryable() { "retryable" } else { "permanent" };
            let phrase = PHRASES.iter().find(|phrase| error.message.contains(**phrase));
            format!("{class} in {}: {}", error.operation, phrase.unwrap_or(&"something else"))
        }
    }
}

/// A turn without its token.
pub(crate) fn turn(turn: &FetchedTurn) -> String {
    let item = item(&turn.item);
    format!("attempt {}, after event {}: {item}", turn.attempt_count, turn.history_after)
}

/// A turn as it was fetched.
pub(crate) fn item(item: &OrchestrationItem) -> String {
    let values: BTreeMap<_, _> = item.kv_snapshot.iter().collect();
    let history = match &item.history_error {
        Some(_) => format!("unreadable with {} events", item.history.len()),
        None => format!("{:?}", item.history),
    };
    format!(
        "{} {} {} execution {}, messages {:?}, values {values:?}, history {history}",
        item.instance, item.orchestration_name, item.version, item.execution_id, item.messages
    )
}

/// An activity without its token.
pub(crate) fn work(work: &FetchedWork) -> String {
    format!("slot {}, attempt {}: {:?}", work.slot, work.attempt_count, work.item)
}
