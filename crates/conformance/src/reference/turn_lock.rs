//! Leases of turns: which caller holds an instance, and until when.
//!
//! A lease is live while `now < until`. Once it has expired, another fetch may lease the instance,
//! and the old token is invalid.

use super::refusal::Refusal;
use super::store::{Store, TurnLock};
use duroxide_core::providers::{LeaseHolders, ProviderErrorKind};

/// Whether the instance has a live lease.
pub(crate) fn is_held(store: &Store, instance: &str, now: u64) -> bool {
    store.turn_locks.iter().any(|lock| lock.instance == instance && now < lock.until)
}

/// Leases an instance without a live lease, in place of an expired one.
pub(crate) fn insert(store: &mut Store, lock: TurnLock) {
    match store.turn_locks.iter_mut().find(|other| other.instance == lock.instance) {
        Some(expired) => *expired = lock,
        None => store.turn_locks.push(lock),
    }
}

/// The instance behind a token, if the lease is live.
pub(crate) fn require_live(store: &Store, token: &str, now: u64) -> Result<String, Refusal> {
    let lock = find(store, token)?;
    if lock.until <= now {
        return Err(Refusal::new(ProviderErrorKind::LostLease, "Instance lock expired"));
    }
    Ok(lock.instance.clone())
}

fn find<'a>(store: &'a Store, token: &str) -> Result<&'a TurnLock, Refusal> {
    let lock = store.turn_locks.iter().find(|lock| lock.token == token);
    lock.ok_or_else(unknown_token)
}

/// The lease behind a token, also an expired one.
pub(crate) fn find_mut<'a>(store: &'a mut Store, token: &str) -> Result<&'a mut TurnLock, Refusal> {
    let lock = store.turn_locks.iter_mut().find(|lock| lock.token == token);
    lock.ok_or_else(unknown_token)
}

fn unknown_token() -> Refusal {
    Refusal::new(ProviderErrorKind::LostLease, "Invalid lock token")
}

/// Ends a lease.
pub(crate) fn remove(store: &mut Store, token: &str) {
    store.turn_locks.retain(|lock| lock.token != token);
}

/// Extends a live lease, counted from now.
pub(crate) fn renew(store: &mut Store, now: u64, token: &str, by: u64) -> Result<(), Refusal> {
    require_live(store, token, now)?;
    reclaim(store, now, token, by)
}

/// Extends a lease, counted from now, also an expired one: the token is gone once another caller
/// has leased the instance.
pub(crate) fn reclaim(store: &mut Store, now: u64, token: &str, by: u64) -> Result<(), Refusal> {
    find_mut(store, token)?.until = now.saturating_add(by);
    Ok(())
}

/// Extends the expired leases that live nodes of this process hold.
pub(crate) fn renew_held(store: &mut Store, now: u64, holders: &LeaseHolders, by: u64) {
    for lock in store.turn_locks.iter_mut().filter(|lock| lock.until <= now) {
        if holders.hold(&lock.token) {
            lock.until = now.saturating_add(by);
        }
    }
}

/// How a turn or an activity is abandoned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Abandonment {
    /// Hides it for this long. Without a delay it stays as visible as it was.
    pub(crate) delay: Option<u64>,
    /// Undoes the attempt, as if it had not been fetched.
    pub(crate) ignore_attempt: bool,
}

/// Abandons a turn.
///
/// Only messages of this turn are hidden or have an attempt undone, not those that arrived under
/// the lease or were hidden at the fetch. An expired turn can still be abandoned until another
/// caller leases the instance.
pub(crate) fn abandon(
    store: &mut Store,
    now: u64,
    token: &str,
    how: Abandonment,
) -> Result<(), Refusal> {
    let lock = find(store, token)?;
    let is_suspended = |id: &str| store.instance(id).is_some_and(|it| it.suspension.is_some());
    if lock.suspends && is_suspended(&lock.instance) {
        // An operator's call held a suspended instance, which stays suspended.
        return Ok(());
    }
    remove(store, token);
    for message in store.messages.values_mut() {
        if message.turn.as_deref() != Some(token) {
            continue;
        }
        message.turn = None;
        if let Some(delay) = how.delay {
            message.visible_at = now.saturating_add(delay);
        }
        if how.ignore_attempt {
            message.attempt_count = message.attempt_count.saturating_sub(1);
        }
    }
    Ok(())
}
