//! Reading and appending events.

use duroxide_core::providers::{InstanceOutcome, ProviderErrorKind};
use duroxide_core::{Event, EventKind};

use super::refusal::Refusal;
use super::store::{Store, StoredEvent};

/// Events in their stored form, with their ids.
///
/// The runtime numbers events from 1. Zero marks an event without a number.
pub(crate) fn encode(events: &[Event]) -> Result<Vec<(u64, StoredEvent)>, Refusal> {
    events
        .iter()
        .map(|event| {
            if event.event_id == 0 {
                return Err(Refusal::new(
                    ProviderErrorKind::Other,
                    "Failed to append history: event_id 0 is no position",
                ));
            }
            let text = to_json(event)?;
            Ok((event.event_id, StoredEvent { event_type: event.kind.type_tag(), text }))
        })
        .collect()
}

/// The stored form of an event or a message.
pub(crate) fn to_json(value: &impl serde::Serialize) -> Result<String, Refusal> {
    serde_json::to_string(value).map_err(|error| {
        Refusal::new(ProviderErrorKind::Undecodable, format!("Serialization error: {error}"))
    })
}

/// Refuses events if one is already stored or given twice. History is append-only: a stored event
/// is neither replaced nor silently kept.
pub(crate) fn check_new(
    store: &Store,
    instance: &str,
    execution_id: u64,
    events: &[(u64, StoredEvent)],
) -> Result<(), Refusal> {
    let stored = store.records.get(instance).and_then(|it| it.history.get(&execution_id));
    for (index, (id, _)) in events.iter().enumerate() {
        let is_stored = stored.is_some_and(|stored| stored.contains_key(id));
        if is_stored || events[..index].iter().any(|(earlier, _)| earlier == id) {
            return Err(Refusal::new(
                ProviderErrorKind::Conflict,
                format!(
                    "Failed to append history: event {id} of execution {execution_id} is already \
                 stored"
                ),
            ));
        }
    }
    Ok(())
}

/// Appends events that were checked.
pub(crate) fn append(
    store: &mut Store,
    instance: &str,
    execution_id: u64,
    events: Vec<(u64, StoredEvent)>,
) {
    if events.is_empty() {
        return;
    }
    let record = store.records.entry(instance.to_owned()).or_default();
    record.history.entry(execution_id).or_default().extend(events);
}

/// Stored events of one execution, ordered by event id.
pub(crate) fn stored<'a>(
    store: &'a Store,
    instance: &str,
    execution_id: u64,
) -> Vec<(u64, &'a StoredEvent)> {
    let events = store.records.get(instance).and_then(|it| it.history.get(&execution_id));
    events.into_iter().flatten().map(|(id, event)| (*id, event)).collect()
}

/// History of one execution. An event that cannot be decoded is an error and never omitted:
/// replaying a shorter history would repeat work.
pub(crate) fn read(
    store: &Store,
    instance: &str,
    execution_id: u64,
) -> Result<Vec<Event>, Refusal> {
    stored(store, instance, execution_id).into_iter().map(|(_, event)| decode(event)).collect()
}

pub(crate) fn decode(event: &StoredEvent) -> Result<Event, Refusal> {
    serde_json::from_str(&event.text).map_err(|error| {
        Refusal::new(
            ProviderErrorKind::Undecodable,
            format!("history deserialization failed: {error}"),
        )
    })
}

/// The outcome of the latest execution. Only the deciding event is decoded, so that an instance
/// that failed because of its unreadable history has the outcome "failed".
pub(crate) fn outcome(store: &Store, instance: &str) -> Result<InstanceOutcome, Refusal> {
    let events = stored(store, instance, store.latest_execution(instance));
    // Cancellations of activities may follow the event that completes an execution.
    let ended = events.iter().rev().find(|(_, event)| {
        matches!(event.event_type, "OrchestrationCompleted" | "OrchestrationFailed")
    });
    if let Some((_, event)) = ended {
        return Ok(InstanceOutcome::Ended(Box::new(decode(event)?)));
    }
    let started = start_event(store, instance)?.is_some();
    Ok(if started { InstanceOutcome::Running } else { InstanceOutcome::NotFound })
}

/// The start event of the latest execution, which is its first event.
pub(crate) fn start_event(store: &Store, instance: &str) -> Result<Option<Event>, Refusal> {
    let events = stored(store, instance, store.latest_execution(instance));
    let Some((_, first)) = events.first() else { return Ok(None) };
    let first = decode(first)?;
    Ok(matches!(first.kind, EventKind::OrchestrationStarted { .. }).then_some(first))
}
