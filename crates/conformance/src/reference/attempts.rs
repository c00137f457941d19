//! Which attempts do not count towards poison.

use super::refusal::Refusal;
use super::store::{Store, TurnLock};
use super::{turn_lock, worker_queue};

/// Of the attempts of a message that prove nothing, one in so many counts all the same: what ends
/// its node outside its code must be poison in the end.
const COUNTED_EVERY: u32 = 10;

/// Excuses the last attempt of the messages that an expired lease of the instance held, unless the
/// code of their turn was running. To be called before another caller leases the instance.
pub(crate) fn excuse_expired(store: &mut Store, instance: &str, now: u64) {
    let expired = |lock: &&TurnLock| lock.instance == instance && lock.until <= now;
    let Some(lock) = store.turn_locks.iter().find(expired) else { return };
    let held = |turn: &Option<String>| turn.as_deref() == Some(lock.token.as_str());
    for message in store.messages.values_mut().filter(|message| held(&message.turn)) {
        message.excused = match message.attempt_count {
            ..=2 if lock.running => 0,
            _ if lock.running => message.excused,
            attempt if attempt % COUNTED_EVERY == 0 => message.excused,
            _ => message.excused + 1,
        };
    }
}

/// Marks whether the code of a turn runs; returns how many of its attempts are excused.
pub(crate) fn mark(store: &mut Store, token: &str, running: bool) -> Result<u32, Refusal> {
    turn_lock::find_mut(store, token)?.running = running;
    let of_turn = store.messages.values().filter(|it| it.turn.as_deref() == Some(token));
    let counts: Vec<_> = of_turn.map(|it| (it.attempt_count, it.excused)).collect();
    let attempts = counts.iter().map(|(attempts, _)| *attempts).max().unwrap_or(0);
    let left = counts.iter().map(|(attempts, excused)| attempts.saturating_sub(*excused)).max();
    Ok(attempts - left.unwrap_or(0))
}

/// Adds to the leases whose holder vouches for the activity; returns how many there are.
pub(crate) fn vouch(store: &mut Store, token: &str, leases: u32) -> Result<u32, Refusal> {
    let held = store.work.values_mut().find(|work| work.is_held_by(token));
    let work = held.ok_or_else(worker_queue::lost_lease)?;
    work.vouched = work.vouched.saturating_add(leases);
    Ok(work.vouched)
}
