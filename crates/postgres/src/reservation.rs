//! Keeps the instances of a long list from running before they are deleted without force.
//!
//! No transaction can hold the locks of all of them. Each part of the list gets leases that no node
//! holds, unless one of its instances runs. Once every part has them, none can begin to run, and
//! the deletion goes on part by part. If one runs, the leases end, and nothing is deleted.

use duroxide_core::clock::millis;
use uuid::Uuid;

use crate::error::JobError;
use crate::limits;
use crate::notify::change::Changes;
use crate::retention::still_running;
use crate::schema::call::Argument;
use crate::schema::number::to_db;
use crate::schema::stored_text::{from_stored, stored};
use crate::store::Store;

/// Reserves all of these instances for a deletion, or refuses if one of them runs.
pub(crate) async fn reserve(store: &Store, ids: &[String], deletion: Uuid) -> Result<(), JobError> {
    let count = u32::try_from(ids.len()).unwrap_or(u32::MAX);
    let each = limits::RESERVATION_PER_INSTANCE.saturating_mul(count);
    let lock_for = to_db(millis(limits::RESERVATION.saturating_add(each)));
    for (number, part) in ids.chunks(limits::INSTANCES_PER_DELETION).enumerate() {
        let outcome = reserve_part(store, part, deletion, lock_for).await;
        if outcome.is_err() {
            let reserved = (number + 1) * limits::INSTANCES_PER_DELETION;
            release(store, &ids[..reserved.min(ids.len())], deletion).await;
            return outcome;
        }
    }
    Ok(())
}

async fn reserve_part(
    store: &Store,
    ids: &[String],
    deletion: Uuid,
    lock_for: i64,
) -> Result<(), JobError> {
    let stored_ids: Vec<String> = ids.iter().map(|id| stored(id)).collect();
    let arguments: [Argument<'_>; 4] = [
        ("p_now", &store.now()),
        ("p_ids", &stored_ids),
        ("p_deletion", &deletion),
        ("p_lock_for", &lock_for),
    ];
    let rows = store.call_repeatable("reserve_instances", &arguments).await?;
    let running = rows.first().and_then(|row| row.get::<_, Option<String>>("o_running"));
    running.map_or(Ok(()), |id| Err(still_running(&from_stored(id))))
}

/// Ends what was reserved; if that fails, the leases expire.
pub(crate) async fn release(store: &Store, ids: &[String], deletion: Uuid) {
    for part in ids.chunks(limits::INSTANCES_PER_DELETION) {
        let stored_ids: Vec<String> = part.iter().map(|id| stored(id)).collect();
        let arguments: [Argument<'_>; 2] = [("p_ids", &stored_ids), ("p_deletion", &deletion)];
        if let Err(error) = store.call_repeatable("release_reserved", &arguments).await {
            tracing::warn!(
                target: "duroxide::providers::postgres",
                %error,
                "could not release instances of a deletion that was refused; their leases expire"
            );
            return;
        }
    }
    let mut changes = Changes::default();
    changes.orchestrator_queue();
    store.publish(changes);
}
