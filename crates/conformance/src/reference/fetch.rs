//! Fetching turns.
//!
//! The order matters: choose, filter, identify, lease, tag and count, read. A fetch that fails or
//! finds nothing has leased nothing and counted nothing.

use duroxide_core::model::{ExecutionStatus, INITIAL_EXECUTION_ID};
use duroxide_core::providers::kit::{RowError, StartedOrchestration, decode_messages, to_db};
use duroxide_core::providers::{
    FetchFilter, FetchedTurn, HistoryMark, KnownHistory, NeededCode, OrchestrationItem, WorkItem,
};
use semver::Version;

use super::store::{Message, Store, StoredEvent, TurnLock};
use super::{attempts, history, orchestrator_queue, turn_lock, turn_messages};

/// The request of a dispatcher.
pub(crate) struct TurnRequest<'a> {
    pub(crate) turns_max: usize,
    pub(crate) lock_for: u64,
    pub(crate) filter: &'a FetchFilter,
    pub(crate) known: Option<&'a dyn KnownHistory>,
}

/// Which code an instance runs.
struct Identity {
    name: String,
    version: String,
    execution_id: u64,
    /// `None` while the instance does not exist.
    incarnation: Option<u64>,
}

/// Leases up to `turns_max` instances that have visible messages.
pub(crate) fn fetch_turns(
    store: &mut Store,
    now: u64,
    request: &TurnRequest<'_>,
) -> Vec<FetchedTurn> {
    let mut turns = Vec::new();
    for instance in candidates(store, now) {
        if turns.len() == request.turns_max {
            break;
        }
        if fits(store, &instance, request.filter) {
            turns.extend(lease_turn(store, now, request, &instance));
        }
    }
    turns
}

/// Instances with a visible message and without a live lease.
///
/// Instances with an expired lease come first, by expiry and then by name, because their work is
/// already late. The others follow by the time at which the first message became visible, and by
/// arrival.
pub(crate) fn candidates(store: &Store, now: u64) -> Vec<String> {
    // An expired suspension is no late work: the instance takes its turn among the others.
    let is_late = |lock: &&TurnLock| lock.until <= now && !lock.suspends;
    let mut late: Vec<_> = store.turn_locks.iter().filter(is_late).collect();
    late.sort_by_key(|lock| (lock.until, lock.instance.as_str()));
    let mut instances: Vec<String> = late.iter().map(|lock| lock.instance.clone()).collect();
    instances.retain(|instance| !orchestrator_queue::ready(store, instance, now).is_empty());
    let mut ready: Vec<_> = store.messages.iter().filter(|(_, it)| it.is_ready(now)).collect();
    ready.sort_by_key(|(number, message)| (message.visible_at, **number));
    for (_, Message { instance, .. }) in ready {
        if !turn_lock::is_held(store, instance, now) && !instances.contains(instance) {
            instances.push(instance.clone());
        }
    }
    instances
}

/// Whether the caller can replay the current execution and has the code of the next turn.
///
/// Decided before anything is leased, counted or decoded: a node must not change an execution that
/// it cannot run. An execution without a pin matches every filter except one without ranges.
fn fits(store: &Store, instance: &str, filter: &FetchFilter) -> bool {
    if !filter.allows_some_turn() {
        return false;
    }
    let pin = needed_pin(store, instance);
    pin.is_none_or(|pin| filter.allows_pin(pin))
        && filter.allows_code(needed_code(store, instance).as_ref())
}

/// The version that a node must replay for the next turn of an instance. Any node can drain what
/// waits for one that has ended.
pub(crate) fn needed_pin<'a>(store: &'a Store, instance: &str) -> Option<&'a Version> {
    let execution = store.execution(instance)?;
    let has_ended =
        execution.is(ExecutionStatus::Completed) || execution.is(ExecutionStatus::Failed);
    execution.pin.as_ref().filter(|_| !has_ended)
}

/// The code that the next turn of an instance needs.
pub(crate) fn needed_code(store: &Store, instance: &str) -> Option<NeededCode> {
    let requested = |is_wanted: fn(&WorkItem) -> bool| {
        let queued = store.messages.values().filter(|it| it.instance == instance && !it.parked);
        let mut items = queued.filter_map(|message| orchestrator_queue::decode(&message.text));
        items.find(is_wanted).and_then(|item| NeededCode::of_message(&item))
    };
    match (store.instance(instance), store.execution(instance)) {
        (Some(known), Some(execution)) if execution.is(ExecutionStatus::Running) => {
            Some(NeededCode::of_execution(&known.name, &known.version))
        }
        (Some(_), Some(execution)) if execution.is(ExecutionStatus::ContinuedAsNew) => {
            requested(|item| matches!(item, WorkItem::ContinueAsNew { .. }))
        }
        (Some(_), Some(_ended)) => None,
        (None, _) | (_, None) => requested(WorkItem::is_start),
    }
}

fn lease_turn(
    store: &mut Store,
    now: u64,
    request: &TurnRequest<'_>,
    instance: &str,
) -> Option<FetchedTurn> {
    let Some(identity) = identify(store, now, instance) else {
        orchestrator_queue::park_or_drop(store, now, instance);
        return None;
    };
    let mark = request.known.and_then(|known| known.mark(instance));
    let token = store.new_token();
    let until = now.saturating_add(request.lock_for);
    attempts::excuse_expired(store, instance, now);
    let lock = TurnLock {
        instance: instance.to_owned(),
        token: token.clone(),
        until,
        running: false,
        suspends: false,
    };
    turn_lock::insert(store, lock);
    let (messages, attempt_count) = tag_messages(store, now, instance, &token);
    let (item, history_after) = read_turn(store, instance, identity, mark);
    let item = OrchestrationItem { messages, ..item };
    Some(FetchedTurn::new(item, token, attempt_count).with_history_after(history_after))
}

/// Finds out what an instance runs; `None` if it does not exist and nothing starts it.
fn identify(store: &Store, now: u64, instance: &str) -> Option<Identity> {
    if let Some(known) = store.instance(instance) {
        return Some(Identity {
            name: known.name.clone(),
            version: known.version.clone(),
            execution_id: known.current_execution,
            incarnation: Some(known.incarnation),
        });
    }
    let seeded = store.records.get(instance).and_then(|it| it.last_seeded_execution());
    if let Some(execution_id) = seeded {
        let first = history::first_text(store, instance);
        return Some(new_identity(StartedOrchestration::from_first_event(first), execution_id));
    }
    let numbers = orchestrator_queue::ready(store, instance, now);
    let mut items = numbers
        .iter()
        .filter_map(|number| orchestrator_queue::decode(&store.messages[number].text));
    let started = items.find_map(|item| StartedOrchestration::from_message(&item))?;
    Some(new_identity(started, INITIAL_EXECUTION_ID))
}

/// An instance that is not stored yet: seeded with history, or about to be started.
fn new_identity(started: StartedOrchestration, execution_id: u64) -> Identity {
    let StartedOrchestration { name, version, .. } = started;
    Identity { name, version, execution_id, incarnation: None }
}

/// Tags and counts the messages of the turn and returns the highest count.
///
/// A message that cannot be decoded is tagged and counted like the others but omitted from the
/// turn; the commit removes it with them.
fn tag_messages(store: &mut Store, now: u64, instance: &str, token: &str) -> (Vec<WorkItem>, u32) {
    let mut rows = Vec::new();
    let mut attempt_count = 0;
    for number in turn_messages::choose(store, instance, now) {
        let Some(message) = store.messages.get_mut(&number) else { continue };
        message.turn = Some(token.to_owned());
        message.attempt_count += 1;
        attempt_count = attempt_count.max(message.attempt_count);
        rows.push((to_db(number), message.text.clone()));
    }
    (decode_messages(instance, &rows), attempt_count)
}

/// The history of the current execution, without the part that the caller holds, and the values of
/// finished executions.
///
/// A history that cannot be decoded does not fail the fetch: the turn carries `history_error`, so
/// that attempts are counted and the runtime can fail the instance.
fn read_turn(
    store: &Store,
    instance: &str,
    identity: Identity,
    mark: Option<HistoryMark>,
) -> (OrchestrationItem, u64) {
    let stored = history::stored(store, instance, identity.execution_id);
    let held = mark.filter(|mark| is_held(mark, &identity, &stored)).map_or(0, |it| it.event_id);
    let wanted = stored.into_iter().filter(|(id, _)| *id > held);
    let decoded: Result<_, RowError> = wanted.map(|(_, event)| event.decode()).collect();
    let (history, history_error, history_after) = match decoded {
        Ok(events) => (events, None, held),
        Err(error) => (Vec::new(), Some(error.to_string()), 0),
    };
    // A caller that holds the execution holds its values too.
    let record = store.records.get(instance).filter(|_| held == 0);
    let values = record.map(|record| record.values.snapshot());
    let item = OrchestrationItem {
        instance: instance.to_owned(),
        orchestration_name: identity.name,
        execution_id: identity.execution_id,
        version: identity.version,
        history,
        messages: Vec::new(),
        history_error,
        kv_snapshot: values.unwrap_or_default(),
    };
    (item, history_after)
}

/// A mark is valid only for exactly this execution of exactly this incarnation: an instance that
/// was deleted and created again under the same id has another history. And only if the commit that
/// it names stored its event: a store that was restored from a backup may hold another event there.
fn is_held(mark: &HistoryMark, identity: &Identity, stored: &[(u64, &StoredEvent)]) -> bool {
    identity.incarnation == Some(mark.incarnation)
        && identity.execution_id == mark.execution_id
        && stored
            .iter()
            .any(|(id, event)| *id == mark.event_id && mark.matches_commit(event.commit_id))
}

/// The next time at which a message becomes visible or a lease expires.
pub(crate) fn next_due(store: &Store, now: u64) -> Option<u64> {
    let visible = store.messages.values().filter(|it| !it.parked).map(|it| it.visible_at);
    let expired = store.turn_locks.iter().map(|lock| lock.until);
    visible.chain(expired).filter(|due| *due > now).min()
}
