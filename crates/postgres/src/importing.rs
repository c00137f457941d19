//! Instances that an operator's call imports from another store, each in one transaction.

use std::sync::Arc;

use duroxide_core::providers::kit::{MessageKind, activity_name, message_variant};
use duroxide_core::providers::{
    CopiedActivity, CopiedMessage, InstanceCopy, InstanceHead, NeededCode, ProviderErrorKind,
    RegisteredActivities, SuspensionOrigin, WorkItem, suspension_retry_ms,
};
use semver::Version;
use uuid::Uuid;

use crate::commit::encoded::new_incarnation;
use crate::connect::session::Session;
use crate::error::JobError;
use crate::limits;
use crate::notify::change::Changes;
use crate::queues::orchestrator_queue::code_key;
use crate::queues::work_route;
use crate::schema::call::Argument;
use crate::schema::codes;
use crate::schema::number::to_db;
use crate::schema::stored_text::stored;
use crate::schema::version_key::version_key;
use crate::statements::Attempts;
use crate::store::Store;

/// Stores an instance that is not known.
pub(crate) async fn import(store: &Arc<Store>, copy: InstanceCopy) -> Result<(), JobError> {
    let store = Arc::clone(store);
    // A caller that stops waiting must not leave a transaction open.
    let written = tokio::spawn(async move { write(&store, &copy).await });
    written.await.map_err(|error| JobError::Broken(format!("import_instance stopped: {error}")))?
}

async fn write(store: &Store, copy: &InstanceCopy) -> Result<(), JobError> {
    let mut attempts = Attempts::new(&store.settings);
    loop {
        match write_once(store, copy).await {
            Ok(()) => {
                store.publish(changes(copy));
                store.notifier.turns_committed(None);
                return Ok(());
            }
            Err(error) if error.is_unavailable() => attempts.pause_or_fail(error).await?,
            Err(error) => return Err(error),
        }
    }
}

fn changes(copy: &InstanceCopy) -> Changes {
    let mut changes = Changes::default();
    changes.orchestrator_queue();
    changes.instance(&copy.instance);
    for activity in &copy.activities {
        changes.worker_queue(&work_route::route(activity.tag.as_deref()));
        if activity.start_by_ms.is_some() {
            changes.start_limits();
        }
    }
    changes
}

async fn write_once(store: &Store, copy: &InstanceCopy) -> Result<(), JobError> {
    let session = store.connections.single_writers.get().await?;
    session.execute("BEGIN").await.map_err(JobError::without_effect)?;
    match insert(store, &session, copy).await {
        Ok(()) => session.execute("COMMIT").await,
        Err(error) => {
            // What cannot be rolled back is lost with its connection.
            let _rolled_back = session.execute("ROLLBACK").await;
            Err(error.without_effect())
        }
    }
}

async fn insert(store: &Store, session: &Session, copy: &InstanceCopy) -> Result<(), JobError> {
    insert_instance(store, session, copy).await?;
    for events in copy.events.chunk_by(|one, next| one.execution_id == next.execution_id) {
        for events in events.chunks(limits::IMPORTED_PER_CALL) {
            let execution = events.first().map_or(0, |event| to_db(event.execution_id));
            let ids: Vec<i64> = events.iter().map(|event| to_db(event.event_id)).collect();
            let types: Vec<String> = events.iter().map(|event| stored(&event.kind())).collect();
            let texts: Vec<&str> = events.iter().map(|event| event.text.as_str()).collect();
            let arguments: [Argument<'_>; 6] = [
                ("p_now", &store.now()),
                ("p_instance", &stored(&copy.instance)),
                ("p_execution", &execution),
                ("e_id", &ids),
                ("e_type", &types),
                ("e_data", &texts),
            ];
            session.call(&store.schema, "append_history", &arguments).await?;
        }
    }
    for activities in copy.activities.chunks(limits::IMPORTED_PER_CALL) {
        insert_activities(store, session, &copy.instance, activities).await?;
    }
    let mut before = 0;
    for messages in copy.messages.chunks(limits::IMPORTED_PER_CALL) {
        insert_messages(store, session, &copy.instance, messages, before).await?;
        before += messages.len();
    }
    Ok(())
}

async fn insert_instance(
    store: &Store,
    session: &Session,
    copy: &InstanceCopy,
) -> Result<(), JobError> {
    let head = copy.head.as_ref();
    let text = |of: fn(&InstanceHead) -> Option<&str>| head.and_then(of).map(stored);
    let number = |of: fn(&InstanceHead) -> u64| head.map_or(0, |head| to_db(of(head)));
    let suspended = head.and_then(|head| head.suspension.as_ref());
    // An operator's suspension lasts for ever; one of replay until its next attempt.
    let suspended_until = suspended.map(|it| match it.origin() {
        SuspensionOrigin::Replay => to_db(suspension_retry_ms(it.since_ms, store.clock().now_ms())),
        SuspensionOrigin::Operator | _ => i64::MAX,
    });
    let starts = copy.messages.iter().any(|message| kind(message) == MessageKind::Start);
    let x = ExecutionColumns::of(copy);
    let keys: Vec<String> = copy.keys.iter().map(|it| stored(&it.key)).collect();
    let values: Vec<Option<String>> =
        copy.keys.iter().map(|it| it.value.as_deref().map(stored)).collect();
    let times: Vec<i64> = copy.keys.iter().map(|it| to_db(it.updated_at_ms)).collect();
    let current: Vec<bool> = copy.keys.iter().map(|it| it.is_current).collect();
    let ids: Vec<String> = copy.message_ids.iter().map(|it| stored(&it.id)).collect();
    let expiries: Vec<i64> = copy.message_ids.iter().map(|it| to_db(it.expires_at_ms)).collect();
    let arguments: [Argument<'_>; 30] = [
        ("p_now", &store.now()),
        ("p_instance", &stored(&copy.instance)),
        ("p_starts", &starts),
        ("p_name", &text(|it| Some(&it.orchestration_name))),
        ("p_version", &text(|it| Some(&it.orchestration_version))),
        ("p_execution", &number(|it| it.current_execution_id)),
        ("p_created_at", &number(|it| it.created_at_ms)),
        ("p_updated_at", &number(|it| it.updated_at_ms)),
        ("p_parent", &text(|it| it.parent_instance_id.as_deref())),
        ("p_custom", &text(|it| it.custom_status.as_deref())),
        ("p_custom_version", &number(|it| it.custom_status_version)),
        ("p_incarnation", &new_incarnation()),
        ("p_suspended_since", &suspended.map(|it| to_db(it.since_ms))),
        ("p_suspended_by", &suspended.map(|it| it.origin().as_str())),
        ("p_suspended_reason", &suspended.map(|it| stored(&it.reason))),
        ("p_suspended_until", &suspended_until),
        ("p_suspension", &Uuid::new_v4()),
        ("x_id", &x.ids),
        ("x_status", &x.statuses),
        ("x_output", &x.outputs),
        ("x_started_at", &x.started),
        ("x_completed_at", &x.completed),
        ("x_pin", &x.pins),
        ("x_pin_key", &x.pin_keys),
        ("k_key", &keys),
        ("k_value", &values),
        ("k_at", &times),
        ("k_current", &current),
        ("i_id", &ids),
        ("i_expires_at", &expiries),
    ];
    let rows = session.call(&store.schema, "import_instance", &arguments).await?;
    match rows.first().is_some_and(|row| row.get("o_is_new")) {
        true => Ok(()),
        false => {
            let text = format!("Instance {} exists", copy.instance);
            Err(JobError::refused(ProviderErrorKind::Conflict, text))
        }
    }
}

#[derive(Default)]
struct ExecutionColumns<'a> {
    ids: Vec<i64>,
    statuses: Vec<String>,
    outputs: Vec<Option<String>>,
    started: Vec<Option<i64>>,
    completed: Vec<Option<i64>>,
    pins: Vec<Option<&'a str>>,
    pin_keys: Vec<Option<Vec<u8>>>,
}

impl<'a> ExecutionColumns<'a> {
    fn of(copy: &'a InstanceCopy) -> Self {
        let mut columns = Self::default();
        for execution in &copy.executions {
            let pin = execution.pin.as_deref();
            let version = pin.and_then(|pin| Version::parse(pin).ok());
            columns.ids.push(to_db(execution.execution_id));
            columns.statuses.push(stored(&execution.status));
            columns.outputs.push(execution.output.as_deref().map(stored));
            columns.started.push(execution.started_at_ms.map(to_db));
            columns.completed.push(execution.completed_at_ms.map(to_db));
            columns.pins.push(pin);
            columns.pin_keys.push(version.as_ref().map(version_key));
        }
        columns
    }
}

async fn insert_activities(
    store: &Store,
    session: &Session,
    instance: &str,
    activities: &[CopiedActivity],
) -> Result<(), JobError> {
    fn column<'a, T>(of: &'a [CopiedActivity], value: impl Fn(&'a CopiedActivity) -> T) -> Vec<T> {
        of.iter().map(value).collect()
    }
    let code = |it: &CopiedActivity| {
        let name = activity_name(&it.item);
        if name.is_empty() { name } else { stored(&RegisteredActivities::key(&name)) }
    };
    let progress = |it: &CopiedActivity| it.progress.as_ref().map(|it| stored(&it.text));
    let progress_at = |it: &CopiedActivity| it.progress.as_ref().map(|it| to_db(it.at_ms));
    let progress_attempt = |it: &CopiedActivity| it.progress.as_ref().map(|it| count(it.attempt));
    let arguments: [Argument<'_>; 16] = [
        ("p_now", &store.now()),
        ("p_instance", &stored(instance)),
        ("w_item", &column(activities, |it| it.item.as_str())),
        ("w_execution", &column(activities, |it| to_db(it.execution_id))),
        ("w_activity", &column(activities, |it| to_db(it.activity_id))),
        ("w_queued_at", &column(activities, |it| to_db(it.queued_at_ms))),
        ("w_visible_at", &column(activities, |it| to_db(it.visible_at_ms))),
        ("w_attempts", &column(activities, |it| count(it.attempts))),
        ("w_vouched", &column(activities, |it| count(it.vouched))),
        ("w_session", &column(activities, |it| it.session_id.as_deref().map(stored))),
        ("w_route", &column(activities, |it| work_route::route(it.tag.as_deref()))),
        ("w_code", &column(activities, code)),
        ("w_start_by", &column(activities, |it| it.start_by_ms.map(to_db))),
        ("w_progress", &column(activities, progress)),
        ("w_progress_at", &column(activities, progress_at)),
        ("w_progress_attempt", &column(activities, progress_attempt)),
    ];
    session.call(&store.schema, "import_activities", &arguments).await.map(drop)
}

async fn insert_messages(
    store: &Store,
    session: &Session,
    instance: &str,
    messages: &[CopiedMessage],
    before: usize,
) -> Result<(), JobError> {
    fn column<'a, T>(of: &'a [CopiedMessage], value: impl Fn(&'a CopiedMessage) -> T) -> Vec<T> {
        of.iter().map(value).collect()
    }
    let code = |it: &CopiedMessage| {
        let item: Option<WorkItem> = serde_json::from_str(&it.item).ok();
        item.as_ref().and_then(NeededCode::of_message).map(|code| code_key(&code.key()))
    };
    // A timer has a time of its own, which a clock that is set back does not change.
    let is_timer = |it: &CopiedMessage| message_variant(&it.item) == "TimerFired";
    let arguments: [Argument<'_>; 12] = [
        ("p_now", &store.now()),
        ("p_instance", &stored(instance)),
        ("p_before", &to_db(before as u64)),
        ("m_item", &column(messages, |it| it.item.as_str())),
        ("m_kind", &column(messages, |it| codes::message_kind(kind(it)))),
        ("m_code", &column(messages, code)),
        ("m_queued_at", &column(messages, |it| to_db(it.queued_at_ms))),
        ("m_visible_at", &column(messages, |it| to_db(it.visible_at_ms))),
        ("m_is_timer", &column(messages, is_timer)),
        ("m_attempts", &column(messages, |it| count(it.attempts))),
        ("m_excused", &column(messages, |it| count(it.excused))),
        ("m_parked", &column(messages, |it| it.is_parked)),
    ];
    session.call(&store.schema, "import_messages", &arguments).await.map(drop)
}

/// The kind of a message, whether this build can decode it or not.
fn kind(message: &CopiedMessage) -> MessageKind {
    match message_variant(&message.item) {
        "StartOrchestration" | "ContinueAsNew" => MessageKind::Start,
        "QueueMessage" => MessageKind::Queue,
        _ => MessageKind::Other,
    }
}

fn count(attempts: u32) -> i32 {
    i32::try_from(attempts).unwrap_or(i32::MAX)
}
