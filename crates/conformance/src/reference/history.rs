//! Reading and appending events.

use duroxide_core::Event;
use duroxide_core::providers::kit::{
    EncodedEvent, decode_start_event, decode_stored_event, has_started,
};
use duroxide_core::providers::{
    InstanceOutcome, ProviderErrorKind, StoredEvent as AnyEvent, StoredEventsQuery,
};

use super::refusal::Refusal;
use super::store::{Store, StoredEvent};

/// Events that one read returns: few, so that a caller that stops early is noticed.
const EVENTS_PER_READ: usize = 8;

/// Events in their stored form, with their ids.
pub(crate) fn encode(events: &[Event]) -> Result<Vec<(u64, StoredEvent)>, Refusal> {
    let encode = |event| {
        let EncodedEvent { event_id, event_type, text, .. } = EncodedEvent::encode(event)?;
        Ok((event_id, StoredEvent::new(event_type.into(), text)))
    };
    events.iter().map(encode).collect()
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
    let events = stored(store, instance, execution_id).into_iter();
    events.map(|(_, event)| Ok(event.decode()?)).collect()
}

/// Some of the next events of one execution, whether they can be decoded or not.
pub(crate) fn stored_part(store: &Store, query: &StoredEventsQuery) -> Vec<AnyEvent> {
    let behind = stored(store, &query.instance, query.execution_id).into_iter();
    let behind = behind.filter(|(id, _)| *id > query.after).take(EVENTS_PER_READ);
    behind.map(|(id, event)| decode_stored_event(id, event.text().to_owned())).collect()
}

/// The outcome of the latest execution. Only the deciding event is decoded, so that an instance
/// that failed because of its unreadable history has the outcome "failed".
pub(crate) fn outcome(store: &Store, instance: &str) -> Result<InstanceOutcome, Refusal> {
    let events = stored(store, instance, store.latest_execution(instance));
    // Cancellations of activities may follow the event that completes an execution.
    let ended = events.iter().rev().find(|(_, event)| {
        matches!(&*event.event_type, "OrchestrationCompleted" | "OrchestrationFailed")
    });
    if let Some((_, event)) = ended {
        return Ok(InstanceOutcome::Ended(Box::new(event.decode()?)));
    }
    Ok(if has_started(first_text(store, instance)) {
        InstanceOutcome::Running
    } else {
        InstanceOutcome::NotFound
    })
}

/// The start event of the latest execution, which is its first event.
pub(crate) fn start_event(store: &Store, instance: &str) -> Result<Option<Event>, Refusal> {
    Ok(decode_start_event(first_text(store, instance))?)
}

/// The text of the first event of the latest execution.
pub(crate) fn first_text<'a>(store: &'a Store, instance: &str) -> Option<&'a str> {
    let events = stored(store, instance, store.latest_execution(instance));
    events.first().map(|(_, event)| event.text())
}
