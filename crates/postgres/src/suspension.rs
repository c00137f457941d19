//! Suspended instances.
//!
//! A suspension is a row of `instance_locks` that no node holds and that holds no messages, so that
//! neither a fetch nor a direct turn passes it; the row of the instance says why. An operator's
//! lasts for ever. One of replay expires, and the next fetch lists the messages of the instance as
//! ready. The commit of a turn clears the row of the instance.

use std::time::Duration;

use duroxide_core::clock::millis;
use duroxide_core::providers::{
    ProviderErrorKind, SUSPENSION_RETRY_MAX, SUSPENSION_RETRY_MIN, SuspendedInstance, Suspension,
    SuspensionOrigin,
};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::JobError;
use crate::fetch::lease_token::TurnToken;
use crate::fetch::turn_lock;
use crate::notify::change::Changes;
use crate::read::inspect;
use crate::schema::call::Argument;
use crate::schema::codes::TurnResult;
use crate::schema::number::{from_db, to_db};
use crate::schema::stored_text::{from_stored, stored, to_stored};
use crate::store::Store;

/// Suspends the instance of a leased turn, because of its code.
pub(crate) async fn suspend_turn(
    store: &Store,
    token: &TurnToken,
    reason: &str,
) -> Result<(), JobError> {
    store.fast_path.wait_for_lease(token.id).await;
    let pause = |length: Duration| to_db(millis(length));
    let arguments: [Argument<'_>; 7] = [
        ("p_now", &store.now()),
        ("p_instance", &token.instance),
        ("p_token", &token.id),
        ("p_suspension", &Uuid::new_v4()),
        ("p_reason", &stored(reason)),
        ("p_pause_min", &pause(SUSPENSION_RETRY_MIN)),
        ("p_pause_max", &pause(SUSPENSION_RETRY_MAX)),
    ];
    let rows = store.call("suspend_turn", &arguments).await?;
    let result = rows.first().and_then(|row| TurnResult::from_code(row.get("o_code")));
    match result {
        Some(TurnResult::Committed) => {
            // A fetch that waits does not know when the suspension expires.
            changed(store);
            Ok(())
        }
        Some(TurnResult::LeaseExpired) => Err(turn_lock::expired()),
        Some(TurnResult::UnknownToken | TurnResult::NotCurrent | TurnResult::NotFirst) | None => {
            Err(turn_lock::unknown_token())
        }
    }
}

/// Suspends an instance that runs, because an operator asks for it.
pub(crate) async fn suspend_instance(
    store: &Store,
    instance: &str,
    reason: &str,
) -> Result<(), JobError> {
    let arguments: [Argument<'_>; 4] = [
        ("p_now", &store.now()),
        ("p_instance", &to_stored(instance)),
        ("p_suspension", &Uuid::new_v4()),
        ("p_reason", &stored(reason)),
    ];
    let rows = store.call_repeatable("suspend_instance", &arguments).await?;
    let status: Option<String> = rows.first().and_then(|row| row.get("o_status"));
    match status.as_deref() {
        None => Err(inspect::not_found(instance)),
        Some("Running") => Ok(()),
        Some(status) => {
            let text = format!("Instance {instance} has ended: {status}");
            Err(JobError::refused(ProviderErrorKind::Conflict, text))
        }
    }
}

/// Lifts a suspension; false if there is none.
pub(crate) async fn resume(store: &Store, instance: &str) -> Result<bool, JobError> {
    let instance = to_stored(instance);
    let arguments: [Argument<'_>; 1] = [("p_instance", &instance)];
    let rows = store.call("resume_instance", &arguments).await?;
    let resumed = rows.first().is_some_and(|row| row.get("o_resumed"));
    if resumed {
        changed(store);
    }
    Ok(resumed)
}

/// Makes all suspensions of replay expire now; returns how many.
pub(crate) async fn retry_all(store: &Store) -> Result<u64, JobError> {
    let sql = "WITH clock AS MATERIALIZED (SELECT coalesce($1, {schema}.now_ms()) AS now),
         retried AS (
             UPDATE {schema}.instance_locks l SET locked_until = c.now
             FROM clock c, {schema}.instances i
             WHERE i.suspended_since IS NOT NULL AND i.suspended_by = 'replay'
                 AND l.instance_id = i.instance_id AND l.locked_until > c.now
                 -- An operator may be suspending it right now.
                 AND l.locked_until < 9223372036854775807
                 AND cardinality(l.message_ids) = 0
             RETURNING 1
         )
         SELECT count(*) AS retried FROM retried";
    let rows = store.query(sql, &[&store.now()]).await?;
    let retried = rows.first().map_or(0, |row| from_db(row.get("retried")));
    if retried > 0 {
        changed(store);
    }
    Ok(retried)
}

/// The suspension of an instance.
pub(crate) async fn read(store: &Store, instance: &str) -> Result<Option<Suspension>, JobError> {
    let sql = "SELECT suspended_by, suspended_reason, suspended_since FROM {schema}.instances
         WHERE instance_id = $1 AND suspended_since IS NOT NULL";
    let rows = store.query(sql, &[&to_stored(instance)]).await?;
    Ok(rows.first().map(suspension))
}

/// Suspended instances behind `after`, by id.
pub(crate) async fn list(
    store: &Store,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<SuspendedInstance>, JobError> {
    let sql = "SELECT instance_id, orchestration_name, orchestration_version,
             current_execution_id, suspended_by, suspended_reason, suspended_since
         FROM {schema}.instances
         WHERE suspended_since IS NOT NULL AND ($1::TEXT IS NULL OR instance_id > $1)
         ORDER BY instance_id LIMIT $2";
    let rows = store.query(sql, &[&after.map(to_stored), &i64::from(limit)]).await?;
    let read = |row: &Row| {
        SuspendedInstance::new(from_stored(row.get("instance_id")), suspension(row)).running(
            from_stored(row.get("orchestration_name")),
            from_stored(row.get("orchestration_version")),
            from_db(row.get("current_execution_id")),
        )
    };
    Ok(rows.iter().map(read).collect())
}

fn suspension(row: &Row) -> Suspension {
    let origin: Option<String> = row.get("suspended_by");
    let reason: Option<String> = row.get("suspended_reason");
    Suspension::new(
        SuspensionOrigin::from_stored(origin.as_deref().unwrap_or_default()),
        from_stored(reason.unwrap_or_default()),
        from_db(row.get("suspended_since")),
    )
}

fn changed(store: &Store) {
    let mut changes = Changes::default();
    changes.orchestrator_queue();
    store.publish(changes);
}
