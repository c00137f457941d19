//! What the queues hold of one instance, for the management side.

use duroxide_core::providers::kit::{activity_name, message_variant};
use duroxide_core::providers::{
    InstanceQueues, InstanceQueuesQuery, QueuedActivity, QueuedMessage, SessionOwner, TurnLease,
};

use super::fetch;
use super::store::{Message, Store, Work};

/// What the queues hold of one instance.
pub(crate) fn read(store: &Store, now: u64, query: &InstanceQueuesQuery) -> InstanceQueues {
    let instance = query.instance.as_str();
    let limit = usize::try_from(query.limit).unwrap_or(usize::MAX);
    let mut lease = store.turn_locks.iter().filter(|it| it.instance == instance && it.until > now);
    let lease = lease.next().map(|lock| match lock.suspends {
        true => TurnLease::of_suspension((lock.until < u64::MAX).then_some(lock.until)),
        false => TurnLease::of_node(lock.until),
    });
    let mut work: Vec<&Work> = store.work.values().filter(|it| it.instance == instance).collect();
    work.sort_by_key(|it| (it.execution_id, it.activity_id));
    let has_more = work.len() > limit;
    let activities = work.into_iter().take(limit).map(|it| activity(store, now, it)).collect();
    let mut queues = InstanceQueues::new(now)
        .with_needs(
            fetch::needed_code(store, instance),
            fetch::needed_pin(store, instance).cloned(),
        )
        .with_lease(lease)
        .with_activities(activities, has_more);
    let parts: [fn(&Message, u64) -> bool; 3] = [
        |message, now| message.is_ready(now),
        |message, now| !message.parked && message.visible_at > now,
        |message, _now| message.parked,
    ];
    for is_in in parts {
        let messages = store.messages.values();
        let mut messages = messages.filter(|it| it.instance == instance && is_in(it, now));
        for message in messages.by_ref().take(limit) {
            queues.count(&QueuedMessage {
                kind: message_variant(&message.text),
                visible_at_ms: message.visible_at,
                is_parked: message.parked,
                attempts: message.attempt_count,
            });
        }
        queues.has_more_messages |= messages.next().is_some();
    }
    queues
}

fn activity(store: &Store, now: u64, work: &Work) -> QueuedActivity {
    let session = work.session.as_ref().and_then(|session| store.sessions.get(session));
    let owner = session.filter(|session| session.until > now);
    let name = activity_name(&work.text);
    let mut found = QueuedActivity::new(work.execution_id, work.activity_id, name);
    found.tag = work.tag.clone();
    found.session_id = work.session.clone();
    found.session_owner = owner.map(|it| SessionOwner::new(it.owner.as_str(), it.until));
    found.queued_at_ms = work.enqueued_at;
    found.delayed_until_ms = (work.visible_at > now).then_some(work.visible_at);
    found.leased_until_ms = work.lock.as_ref().map(|lock| lock.until).filter(|it| *it > now);
    found.attempts = work.attempt_count;
    found.start_by_ms = work.start_by.filter(|_| !work.starting);
    found.progress = work.progress.as_ref().map(|progress| progress.text.clone());
    found.progress_at_ms = work.progress.as_ref().map(|progress| progress.updated_at);
    found
}
