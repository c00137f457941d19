//! Instances that an operator's call imports from another store, each in one job.

use duroxide_core::providers::kit::{activity_name, message_variant};
use duroxide_core::providers::{
    CopiedActivity, CopiedMessage, CopiedSuspension, InstanceCopy, InstanceHead, NeededCode,
    ProviderError, ProviderErrorKind, RegisteredActivities, SuspensionOrigin, WorkItem,
    suspension_retry_ms,
};
use rusqlite::params;
use semver::Version;

use crate::commit::turn_commit::new_incarnation;
use crate::error::JobError;
use crate::queues::{client_message, orchestrator_queue, ready_messages, sessions, worker_queue};
use crate::schema::number::{from_db, to_db};
use crate::write::writer::Tx;
use crate::{SqliteProvider, deletion_slices, suspension};

const OPERATION: &str = "import_instance";

/// Stores an instance that is not known.
pub(crate) async fn import(
    provider: &SqliteProvider,
    copy: InstanceCopy,
) -> Result<(), ProviderError> {
    provider.writer().run(OPERATION, move |tx| store(tx, &copy)).await
}

fn store(tx: &mut Tx<'_>, copy: &InstanceCopy) -> Result<(), JobError> {
    let instance = copy.instance.as_str();
    if is_taken(tx, copy)? {
        let text = format!("Instance {instance} exists");
        return Err(JobError::refused(ProviderErrorKind::Conflict, text));
    }
    let becomes_known = copy.head.is_some() || copy.messages.iter().any(|it| start_rank(it) > 0);
    if becomes_known {
        orchestrator_queue::unpark(tx.conn, instance)?;
    }
    if let Some(head) = &copy.head {
        insert_head(tx, instance, head)?;
    }
    insert_executions(tx, copy)?;
    insert_events(tx, copy)?;
    insert_keys(tx, copy)?;
    insert_message_ids(tx, copy)?;
    for activity in &copy.activities {
        insert_activity(tx, instance, activity)?;
    }
    for message in &copy.messages {
        insert_message(tx, instance, message)?;
    }
    match copy.head.as_ref().and_then(|head| head.suspension.as_ref()) {
        Some(suspended) => drop(suspension::lock(tx, instance, suspended_until(tx, suspended))?),
        None => drop(ready_messages::list_rerouted(tx, instance)?),
    }
    tx.changes.orchestrator_queue();
    tx.changes.instance(instance.to_owned());
    Ok(())
}

/// Whether the id belongs to an instance, or to messages that may be those of the copy.
fn is_taken(tx: &Tx<'_>, copy: &InstanceCopy) -> Result<bool, JobError> {
    let instance = copy.instance.as_str();
    if deletion_slices::hides(tx.conn, instance, None)?
        || client_message::is_known(tx.conn, instance)?
    {
        return Ok(true);
    }
    let has_start = copy.messages.iter().any(|message| start_rank(message) > 0);
    if copy.head.is_some() || has_start {
        return Ok(false);
    }
    Ok(tx
        .conn
        .prepare_cached("SELECT 1 FROM orchestrator_queue WHERE instance_id = ?1")?
        .exists([instance])?)
}

/// An operator's suspension lasts for ever; one of replay until its next attempt.
fn suspended_until(tx: &Tx<'_>, suspended: &CopiedSuspension) -> i64 {
    match suspended.origin() {
        SuspensionOrigin::Replay => to_db(suspension_retry_ms(suspended.since_ms, from_db(tx.now))),
        SuspensionOrigin::Operator | _ => i64::MAX,
    }
}

fn insert_head(tx: &Tx<'_>, instance: &str, head: &InstanceHead) -> Result<(), JobError> {
    let suspended = head.suspension.as_ref();
    tx.conn
        .prepare_cached(
            "INSERT INTO instances (instance_id, orchestration_name, orchestration_version,
                 current_execution_id, created_at, updated_at, custom_status,
                 custom_status_version, incarnation, suspended_since, suspended_by,
                 suspended_reason, parent_instance_id)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,
                 (SELECT instance_id FROM instances WHERE instance_id = ?13))",
        )?
        .execute(params![
            instance,
            head.orchestration_name,
            head.orchestration_version,
            to_db(head.current_execution_id),
            to_db(head.created_at_ms),
            to_db(head.updated_at_ms),
            head.custom_status,
            to_db(head.custom_status_version),
            new_incarnation(),
            suspended.map(|it| to_db(it.since_ms)),
            suspended.map(|it| it.origin().as_str()),
            suspended.map(|it| it.reason.as_str()),
            head.parent_instance_id,
        ])?;
    Ok(())
}

fn insert_executions(tx: &Tx<'_>, copy: &InstanceCopy) -> Result<(), JobError> {
    let mut statement = tx.conn.prepare_cached(
        "INSERT INTO executions (instance_id, execution_id, status, output, started_at,
             completed_at, duroxide_version, duroxide_version_major, duroxide_version_minor,
             duroxide_version_patch)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    for execution in &copy.executions {
        let pin = execution.pin.as_deref().and_then(|pin| Version::parse(pin).ok());
        statement.execute(params![
            copy.instance,
            to_db(execution.execution_id),
            execution.status,
            execution.output,
            execution.started_at_ms.map(to_db),
            execution.completed_at_ms.map(to_db),
            execution.pin,
            pin.as_ref().map(|pin| to_db(pin.major)),
            pin.as_ref().map(|pin| to_db(pin.minor)),
            pin.as_ref().map(|pin| to_db(pin.patch)),
        ])?;
    }
    Ok(())
}

fn insert_events(tx: &Tx<'_>, copy: &InstanceCopy) -> Result<(), JobError> {
    let mut statement = tx.conn.prepare_cached(
        "INSERT INTO history
             (instance_id, execution_id, event_id, event_type, event_data, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for event in &copy.events {
        statement.execute(params![
            copy.instance,
            to_db(event.execution_id),
            to_db(event.event_id),
            event.kind(),
            event.text,
            tx.now
        ])?;
    }
    Ok(())
}

fn insert_keys(tx: &Tx<'_>, copy: &InstanceCopy) -> Result<(), JobError> {
    for key in &copy.keys {
        let sql = match key.is_current {
            true => {
                "INSERT INTO kv_delta (instance_id, key, value, last_updated_at_ms)
                 VALUES (?1, ?2, ?3, ?4)"
            }
            false => {
                "INSERT INTO kv_store (instance_id, key, value, last_updated_at_ms)
                 VALUES (?1, ?2, ?3, ?4)"
            }
        };
        tx.conn.prepare_cached(sql)?.execute(params![
            copy.instance,
            key.key,
            key.value,
            to_db(key.updated_at_ms)
        ])?;
    }
    Ok(())
}

fn insert_message_ids(tx: &Tx<'_>, copy: &InstanceCopy) -> Result<(), JobError> {
    let mut statement = tx.conn.prepare_cached(
        "INSERT INTO message_ids (instance_id, message_id, expires_at) VALUES (?1, ?2, ?3)
         ON CONFLICT (instance_id, message_id) DO UPDATE SET expires_at = excluded.expires_at",
    )?;
    for id in &copy.message_ids {
        statement.execute(params![copy.instance, id.id, to_db(id.expires_at_ms)])?;
    }
    Ok(())
}

fn insert_activity(
    tx: &mut Tx<'_>,
    instance: &str,
    activity: &CopiedActivity,
) -> Result<(), JobError> {
    let lane = match &activity.session_id {
        // The next fetch moves it, if its time has come.
        _ if activity.visible_at_ms > 0 => worker_queue::LANE_NONE,
        None => worker_queue::LANE_ANY,
        Some(session_id) if sessions::is_owned(tx, session_id)? => worker_queue::LANE_NONE,
        Some(_) => worker_queue::LANE_SESSIONS,
    };
    let name = activity_name(&activity.item);
    let code = if name.is_empty() { name } else { RegisteredActivities::key(&name) };
    let progress = activity.progress.as_ref();
    tx.conn
        .prepare_cached(
            "INSERT INTO worker_queue (work_item, created_at, instance_id, execution_id,
                 activity_id, session_id, tag, start_by, lane, code, visible_at, timed_at,
                 attempt_count, vouched, progress, progress_at, progress_attempt)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, iif(?11 > 0, ?12, NULL), ?13,
                 ?14, ?15, ?16, ?17)",
        )?
        .execute(params![
            activity.item,
            to_db(activity.queued_at_ms).min(tx.now),
            instance,
            to_db(activity.execution_id),
            to_db(activity.activity_id),
            activity.session_id,
            activity.tag,
            activity.start_by_ms.map(to_db),
            lane,
            code,
            to_db(activity.visible_at_ms),
            tx.now,
            activity.attempts,
            activity.vouched,
            progress.map(|it| it.text.as_str()),
            progress.map(|it| to_db(it.at_ms)),
            progress.map(|it| it.attempt),
        ])?;
    tx.changes.worker_queue();
    if activity.start_by_ms.is_some() {
        tx.changes.start_limits();
    }
    Ok(())
}

/// The rank of a start, as a new message has it.
fn start_rank(message: &CopiedMessage) -> i8 {
    match message_variant(&message.item) {
        "ContinueAsNew" => 1,
        "StartOrchestration" => 2,
        "CancelInstance" => -1,
        _ => 0,
    }
}

fn insert_message(tx: &Tx<'_>, instance: &str, message: &CopiedMessage) -> Result<(), JobError> {
    let item: Option<WorkItem> = serde_json::from_str(&message.item).ok();
    let code = item.as_ref().and_then(NeededCode::of_message).map(|code| code.key());
    // A timer has a time of its own, which a clock that is set back does not change.
    let is_timer = matches!(item, Some(WorkItem::TimerFired { .. }));
    let visible_at = to_db(message.visible_at_ms);
    let timed_at = (!is_timer && visible_at > tx.now).then_some(tx.now);
    tx.conn
        .prepare_cached(
            "INSERT INTO orchestrator_queue (instance_id, work_item, visible_at, created_at,
                 timed_at, attempt_count, excused, parked, start_rank, code, route)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, NULL)",
        )?
        .execute(params![
            instance,
            message.item,
            visible_at,
            to_db(message.queued_at_ms).min(tx.now),
            timed_at,
            message.attempts,
            message.excused,
            message.is_parked,
            start_rank(message),
            code
        ])?;
    Ok(())
}
