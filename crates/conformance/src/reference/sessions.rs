//! Sessions: which owner runs the activities of a session.
//!
//! A session is a separate lease, longer than that of an activity. The fetch of its first activity
//! creates it. It does not belong to an instance: deleting an instance keeps it.

use duroxide_core::clock::millis;
use duroxide_core::providers::SessionFetchConfig;

use super::store::{Session, Store};

/// Whether `owner` may fetch activities of the session: it owns the session, or the session is
/// free.
pub(crate) fn is_free_for(store: &Store, now: u64, session: &str, owner: &str) -> bool {
    let held = store.sessions.get(session).filter(|held| now < held.until);
    held.is_none_or(|held| held.owner == owner)
}

/// Leases a session to an owner, or refreshes the lease that it holds.
pub(crate) fn claim(store: &mut Store, now: u64, session: String, owner: &SessionFetchConfig) {
    let claimed = Session {
        owner: owner.owner_id.clone(),
        until: now.saturating_add(millis(owner.lock_timeout)),
        last_used: now,
    };
    store.sessions.insert(session, claimed);
}

/// Records a use of a session while its lease is live. Every renewal and every ack of one of its
/// activities does this.
pub(crate) fn touch(store: &mut Store, now: u64, session: &str) {
    if let Some(held) = store.sessions.get_mut(session).filter(|held| now < held.until) {
        held.last_used = now;
    }
}

/// Records a use of a session, and extends its lease if that has expired.
pub(crate) fn reclaim(store: &mut Store, now: u64, session: &str, until: u64) {
    if let Some(held) = store.sessions.get_mut(session) {
        held.last_used = now;
        if held.until <= now {
            held.until = until;
        }
    }
}

/// How long sessions are renewed for, and when they count as idle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Renewal {
    pub(crate) extend_for: u64,
    pub(crate) idle_timeout: u64,
}

/// Extends the live sessions of these owners that were used recently, and returns how many. An idle
/// session expires, so that another owner can claim it.
pub(crate) fn renew(store: &mut Store, now: u64, owners: &[&str], renewal: Renewal) -> usize {
    let used_after = now.saturating_sub(renewal.idle_timeout);
    let mut renewed = 0;
    for session in store.sessions.values_mut() {
        let is_live = now < session.until && session.last_used > used_after;
        if is_live && owners.contains(&session.owner.as_str()) {
            session.until = now.saturating_add(renewal.extend_for);
            renewed += 1;
        }
    }
    renewed
}

/// Removes expired sessions that have no queued work, and returns how many.
pub(crate) fn cleanup(store: &mut Store, now: u64) -> usize {
    let work = &store.work;
    let before = store.sessions.len();
    store.sessions.retain(|id, session| {
        let is_wanted = work.values().any(|work| work.session.as_ref() == Some(id));
        now < session.until || is_wanted
    });
    before - store.sessions.len()
}
