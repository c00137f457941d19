//! Sessions: which owner runs the activities of a session.
//!
//! A session is a lease of its own, longer than that of an activity. It is created by the fetch
//! that takes its first activity, and it is not bound to an instance: deleting one leaves it.

use duroxide_core::clock::millis;
use duroxide_core::providers::SessionFetchConfig;

use super::store::{Session, Store};

/// Whether `owner` may take activities of the session: it holds it, or nobody does.
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

/// Notes that a session is in use, while its lease lives. Done by every renewal and every ack of
/// one of its activities.
pub(crate) fn touch(store: &mut Store, now: u64, session: &str) {
    if let Some(held) = store.sessions.get_mut(session).filter(|held| now < held.until) {
        held.last_used = now;
    }
}

/// How long sessions are renewed for, and when they count as idle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Renewal {
    pub(crate) extend_for: u64,
    pub(crate) idle_timeout: u64,
}

/// Extends the live sessions of these owners that were used lately; tells how many. An idle one
/// is left to run out, so that its next activity may go elsewhere.
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

/// Removes expired sessions that have no queued work; tells how many.
pub(crate) fn cleanup(store: &mut Store, now: u64) -> usize {
    let work = &store.work;
    let before = store.sessions.len();
    store.sessions.retain(|id, session| {
        let is_wanted = work.values().any(|work| work.session.as_ref() == Some(id));
        now < session.until || is_wanted
    });
    before - store.sessions.len()
}
