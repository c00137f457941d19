//! Suspended instances: a lease that no caller holds, and the reason on the instance.

use duroxide_core::model::ExecutionStatus;
use duroxide_core::providers::{
    ProviderErrorKind, SuspendedInstance, Suspension, SuspensionOrigin, suspension_retry_ms,
};

use super::inspect;
use super::refusal::Refusal;
use super::store::{Store, TurnLock};
use super::turn_lock::{self, Abandonment};

const UNTOUCHED: Abandonment = Abandonment { delay: None, ignore_attempt: true };

/// Suspends the instance of a leased turn, because of its code.
pub(crate) fn suspend_turn(
    store: &mut Store,
    now: u64,
    token: &str,
    reason: &str,
) -> Result<(), Refusal> {
    let instance = turn_lock::require_live(store, token, now)?;
    turn_lock::abandon(store, now, token, UNTOUCHED)?;
    let earlier = read(store, &instance).filter(|it| it.origin == SuspensionOrigin::Replay);
    let since = earlier.map_or(now, |earlier| earlier.since_ms);
    let suspension = Suspension::new(SuspensionOrigin::Replay, reason.to_owned(), since);
    insert(store, &instance, suspension, suspension_retry_ms(since, now));
    Ok(())
}

/// Suspends an instance that runs, because an operator asks for it.
pub(crate) fn suspend_instance(
    store: &mut Store,
    now: u64,
    instance: &str,
    reason: &str,
) -> Result<(), Refusal> {
    let info = inspect::instance_info(store, instance)?;
    if info.status != ExecutionStatus::Running.as_str() {
        return Err(Refusal::new(ProviderErrorKind::Conflict, "Instance has ended"));
    }
    end_lease(store, now, instance)?;
    let suspension = Suspension::new(SuspensionOrigin::Operator, reason.to_owned(), now);
    insert(store, instance, suspension, u64::MAX);
    Ok(())
}

/// Ends the lease of an instance, if there is one; returns when a suspension would have ended.
pub(crate) fn end_lease(
    store: &mut Store,
    now: u64,
    instance: &str,
) -> Result<Option<u64>, Refusal> {
    let held = store.turn_locks.iter().find(|lock| lock.instance == instance);
    let Some((token, until)) = held.map(|lock| {
        let until = lock.suspends.then_some(lock.until);
        (lock.token.clone(), until)
    }) else {
        return Ok(None);
    };
    turn_lock::abandon(store, now, &token, UNTOUCHED)?;
    turn_lock::remove(store, &token);
    Ok(until)
}

/// Stores a suspension that ends at this time.
pub(crate) fn insert(store: &mut Store, instance: &str, suspension: Suspension, until: u64) {
    let token = store.new_token();
    let instance_id = instance.to_owned();
    let lock = TurnLock { instance: instance_id, token, until, running: false, suspends: true };
    turn_lock::insert(store, lock);
    if let Some(stored) = stored(store, instance) {
        *stored = Some(suspension);
    }
}

/// Lifts a suspension; false if there is none.
pub(crate) fn resume(store: &mut Store, instance: &str) -> bool {
    let was_suspended = stored(store, instance).is_some_and(|stored| stored.take().is_some());
    if was_suspended {
        // A caller that retries the instance right now keeps its lease.
        store.turn_locks.retain(|lock| lock.instance != instance || !lock.suspends);
    }
    was_suspended
}

/// Makes all suspensions of replay expire now; returns how many.
pub(crate) fn retry_all(store: &mut Store, now: u64) -> u64 {
    let suspended = |instance: &str| {
        read(store, instance).is_some_and(|it| it.origin == SuspensionOrigin::Replay)
    };
    let due: Vec<String> = store
        .turn_locks
        .iter()
        .filter(|lock| lock.suspends && lock.until > now && suspended(&lock.instance))
        .map(|lock| lock.token.clone())
        .collect();
    for lock in store.turn_locks.iter_mut().filter(|lock| due.contains(&lock.token)) {
        lock.until = now;
    }
    due.len() as u64
}

/// The suspension of an instance.
pub(crate) fn read(store: &Store, instance: &str) -> Option<Suspension> {
    store.instance(instance)?.suspension.clone()
}

/// Suspended instances behind `after`, by id.
pub(crate) fn list(store: &Store, after: Option<&str>, limit: u32) -> Vec<SuspendedInstance> {
    let mut suspended: Vec<SuspendedInstance> = store
        .records
        .iter()
        .filter(|(id, _)| after.is_none_or(|after| id.as_str() > after))
        .filter_map(|(id, record)| {
            let instance = record.instance.as_ref()?;
            let suspended = SuspendedInstance::new(id.clone(), instance.suspension.clone()?);
            let (name, version) = (instance.name.clone(), instance.version.clone());
            Some(suspended.running(name, version, instance.current_execution))
        })
        .collect();
    suspended.sort_by(|a, b| a.instance_id.cmp(&b.instance_id));
    suspended.truncate(limit as usize);
    suspended
}

fn stored<'a>(store: &'a mut Store, instance: &str) -> Option<&'a mut Option<Suspension>> {
    let instance = store.records.get_mut(instance)?.instance.as_mut()?;
    Some(&mut instance.suspension)
}
