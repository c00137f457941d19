//! The provider kit by the paths of the facade.

use std::time::Duration;

use duroxide::Event;
use duroxide::providers::kit::{
    Changes, EncodedActivity, EncodedEvent, EncodedMessage, EncodedWorker, KvChange, LongPoll,
    MessageKind, RowError, StartedOrchestration, activity_name, count_from_db, decode_activity,
    decode_event, decode_history, decode_messages, decode_start_event, decode_worker,
    ends_execution, from_db, kv_changes, last_custom_status, last_kv_changes, message_variant,
    to_db,
};
use duroxide::providers::{
    ChangeHub, ChangeScope, ChangeWatch, Clock, DeleteInstanceResult, ExecutionMetadata,
    LiveWorker, ProviderError, ProviderErrorKind, PruneResult, ScheduledActivityIdentifier,
    WorkItem, WorkerAnnouncement,
};

use crate::{is, is_send};

fn encoding(
    events: &[Event],
    item: &WorkItem,
    worker: &WorkerAnnouncement,
) -> Result<(), RowError> {
    for event in EncodedEvent::encode_all(events)? {
        is::<(u64, &'static str, String)>((event.event_id, event.event_type, event.text));
    }
    is::<EncodedEvent>(EncodedEvent::encode(&events[0])?);
    is::<Option<EncodedMessage<'_>>>(EncodedMessage::encode(item)?);
    is::<EncodedMessage<'_>>(EncodedMessage::encode_completion(item)?);
    let message = EncodedMessage::encode_message(item)?;
    is::<(&str, String, Option<u64>)>((message.instance, message.text, message.due_ms));
    match message.kind {
        MessageKind::Start | MessageKind::Queue | MessageKind::Other => {}
    }
    let activity = EncodedActivity::encode(item)?;
    is::<(&str, u64, u64)>((activity.instance, activity.execution_id, activity.activity_id));
    is::<(Option<&str>, Option<&str>)>((activity.session_id, activity.tag));
    is::<String>(activity.text);
    let worker = EncodedWorker::encode(worker)?;
    is::<(&str, String, String)>((worker.node_id, worker.tag_filter, worker.activities));
    Ok(())
}

fn decoding(text: &str, by: Option<ScheduledActivityIdentifier>) -> Result<(), RowError> {
    is::<Event>(decode_event(text)?);
    is::<Vec<Event>>(decode_history(&[text])?);
    is::<Option<Event>>(decode_start_event(Some(text))?);
    is::<Vec<WorkItem>>(decode_messages("id", &[(1_i64, String::from(text))]));
    is::<Option<WorkItem>>(decode_activity(1_i64, String::from(text), by));
    is::<LiveWorker>(decode_worker(String::from("node"), text, text, 1_u64)?);
    is::<String>(activity_name(text));
    is::<&str>(message_variant(text));
    let started = StartedOrchestration::from_first_event(Some(text));
    is::<(String, String)>((started.name, started.version));
    Ok(())
}

fn errors(error: &RowError) {
    is::<ProviderError>(error.during("read"));
    is::<ProviderErrorKind>(error.kind());
}

fn deltas(events: &[Event], metadata: &ExecutionMetadata, message: &WorkItem) {
    for change in kv_changes(events, str::to_owned) {
        match change {
            KvChange::Set { key, value, updated_at_ms } => {
                is::<(String, String, u64)>((key, value, updated_at_ms));
            }
            KvChange::Clear { key } => is::<String>(key),
            KvChange::ClearAll => {}
        }
    }
    is::<Vec<KvChange<String>>>(last_kv_changes(events, str::to_owned));
    is::<Option<Option<&str>>>(last_custom_status(events));
    is::<bool>(ends_execution(metadata));
    is::<Option<StartedOrchestration>>(StartedOrchestration::from_message(message));
}

async fn waiting(hub: &ChangeHub, clock: &dyn Clock) {
    let long_poll = LongPoll::new(hub, ChangeScope::OrchestratorQueue, Duration::ZERO);
    let mut long_poll = long_poll.recheck_after(Duration::ZERO);
    is::<bool>(is_send(long_poll.wait(clock, Some(1_u64))).await);
    is::<bool>(long_poll.is_over());
    is::<&mut ChangeWatch>(long_poll.changes());
    is::<ChangeWatch>(long_poll.into_changes());
}

fn publishing(hub: &ChangeHub) {
    let mut changes = Changes::default();
    changes.orchestrator_queue();
    changes.worker_queue();
    changes.start_limits();
    changes.work_locks();
    changes.everything();
    changes.instance(String::from("id"));
    changes.step(String::from("id"));
    changes.merge(Changes::default());
    changes.publish(hub);
}

fn numbers_and_totals() {
    is::<i64>(to_db(1_u64));
    is::<u64>(from_db(1_i64));
    is::<usize>(count_from_db(1_i64));
    let mut deleted = DeleteInstanceResult::default();
    deleted += DeleteInstanceResult::default();
    let mut pruned = PruneResult::default();
    pruned += PruneResult::default();
}

#[tokio::test]
async fn the_facade_exports_the_provider_kit() {
    publishing(&ChangeHub::default());
    numbers_and_totals();
    waiting(&ChangeHub::default(), &duroxide::providers::SystemClock).await;
    let _compiled = (encoding, decoding, errors, deltas);
}
