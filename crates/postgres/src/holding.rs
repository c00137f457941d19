//! Instances that an operator's call holds.
//!
//! A hold is a short suspension whose token the caller knows: a commit under it is that of a turn
//! without messages. If nothing is committed, it expires like a suspension.

use std::time::Duration;

use duroxide_core::model::ExecutionStatus;
use duroxide_core::providers::{HeldInstance, ProviderErrorKind, ScheduledActivityIdentifier};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::JobError;
use crate::fetch::lease_token::TurnToken;
use crate::limits;
use crate::queues::cancelled_turns;
use crate::read::inspect;
use crate::schema::call::Argument;
use crate::schema::number::{from_db, lease_length};
use crate::schema::stored_text::stored;
use crate::store::Store;

/// Holds an instance that has not ended, in place of any other holder.
pub(crate) async fn hold(
    store: &Store,
    instance: &str,
    lock_timeout: Duration,
) -> Result<HeldInstance, JobError> {
    let token = TurnToken { id: Uuid::new_v4(), instance: stored(instance) };
    let arguments: [Argument<'_>; 5] = [
        ("p_now", &store.now()),
        ("p_instance", &token.instance),
        ("p_token", &token.id),
        ("p_lock_for", &lease_length(lock_timeout)),
        ("p_cancellations_max", &cancelled_turns::reasons_max()),
    ];
    let rows = store.call_repeatable("hold_instance", &arguments).await?;
    let row = rows.first().filter(|row| row.get("o_known"));
    let row = row.ok_or_else(|| inspect::not_found(instance))?;
    // One that cannot be read is running.
    let status = row
        .get::<_, Option<String>>("o_status")
        .map(|text| ExecutionStatus::parse(&text).unwrap_or(ExecutionStatus::Running));
    if let Some(status @ (ExecutionStatus::Completed | ExecutionStatus::Failed)) = status {
        let text = format!("Instance {instance} has ended: {}", status.as_str());
        return Err(JobError::refused(ProviderErrorKind::Conflict, text));
    }
    let number = |column: &str| row.get::<_, Option<i64>>(column).map_or(0, from_db);
    let start = row.get::<_, Option<&str>>("o_start");
    Ok(HeldInstance::new(token.text(), number("o_execution"))
        .with_status(status)
        .with_last_event_id(number("o_last_event"))
        .with_start(start.and_then(|text| serde_json::from_str(text).ok()))
        .with_activities(activities(row, instance))
        .with_cancellations(cancelled_turns::reasons(row)))
}

fn activities(row: &Row, instance: &str) -> Vec<ScheduledActivityIdentifier> {
    let numbers = |column: &str| row.get::<_, Option<Vec<i64>>>(column).unwrap_or_default();
    let pairs = numbers("o_executions").into_iter().zip(numbers("o_activities"));
    let identify = |(execution_id, activity_id)| ScheduledActivityIdentifier {
        instance: instance.to_owned(),
        execution_id: from_db(execution_id),
        activity_id: from_db(activity_id),
    };
    pairs.map(identify).collect()
}

/// Removes the messages of an instance that has ended, except child starts.
pub(crate) async fn discard_late(store: &Store, instance: &str) -> Result<u64, JobError> {
    let mut total = 0;
    loop {
        let arguments: [Argument<'_>; 2] = [
            ("p_instance", &stored(instance)),
            ("p_messages_max", &limits::DISCARDED_PER_CALL_MAX),
        ];
        let rows = store.call_repeatable("discard_late_messages", &arguments).await?;
        let removed = rows.first().map_or(0, |row| row.get::<_, i64>("o_messages"));
        total += from_db(removed);
        if removed < limits::DISCARDED_PER_CALL_MAX {
            return Ok(total);
        }
    }
}
