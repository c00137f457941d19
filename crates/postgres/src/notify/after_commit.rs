//! Who is notified after a turn is committed.
//!
//! - Clients that wait for the instance: with its end if a client of this node waited for that when
//!   the turn was encoded, so that it need not read; otherwise as an end or as a step.
//! - Workers of this node and of others: for each activity that the commit did not lease itself.
//! - Dispatchers: if the commit enqueued messages, or left messages that a fetch passed over
//!   because their instance was leased.
//! - Workers that run activities: if the commit cancelled a leased activity.
//! - Sweepers of start limits: if the commit scheduled an activity with such a limit.
//!
//! The writer publishes all this when the transaction is durable. One notification more comes from
//! [`Notifier::turns_committed`](crate::notify::notifier::Notifier::turns_committed).

use crate::commit::encoded::{EncodedCommit, StoredInstance};
use crate::notify::change::Changes;
use crate::schema::number::from_db;
use crate::schema::stored_text::from_stored;

/// What one committed turn changed.
pub(crate) fn changes(commit: &EncodedCommit, stored: Option<StoredInstance>) -> Changes {
    let mut changes = Changes::default();
    let instance = from_stored(commit.token.instance.clone());
    let custom_status = stored.and_then(|it| it.custom_status);
    match (&commit.awaited_end, custom_status) {
        (Some(end), Some((status, version))) => {
            let status = status.map(from_stored);
            changes.ended(end.with_custom_status(status, from_db(version)));
        }
        _ if commit.metadata.ends => changes.instance(&instance),
        _ => changes.step(&instance),
    }
    for work in commit.work.iter().filter(|work| work.lease.is_none()) {
        changes.worker_queue(&work.route);
        if work.start_limit.is_some() {
            changes.start_limits();
        }
    }
    if !commit.messages.is_empty() {
        changes.orchestrator_queue();
    }
    changes
}

/// What the turns of one commit changed together: `left_messages` if fetchable messages are left
/// for one of their instances, `lost_work` if one of them cancelled a leased activity.
pub(crate) fn add_shared(changes: &mut Changes, left_messages: bool, lost_work: bool) {
    if left_messages {
        changes.orchestrator_queue();
    }
    if lost_work {
        changes.work_locks();
    }
}
