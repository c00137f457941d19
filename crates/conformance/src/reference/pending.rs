//! What goes on in a store, for tests that wait until nothing does.

use std::fmt;

use duroxide_core::clock::millis;

use super::MemoryProvider;
use super::fetch::candidates;
use super::store::Store;
use super::{turn_lock, worker_queue};
use crate::limits::HELD_LEASE;

/// What runs or can run now, and when more can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PendingWork {
    /// Instances that take a turn or could.
    pub turns: usize,
    /// Activities that could be leased.
    pub work_ready: usize,
    /// Activities under a lease.
    pub work_leased: usize,
    /// When the next message or activity becomes visible.
    pub next_due: Option<u64>,
}

impl fmt::Display for PendingWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { turns, work_ready, work_leased, .. } = self;
        write!(f, "{turns} turns, {work_leased} activities, {work_ready} activities that wait")
    }
}

impl MemoryProvider {
    /// What goes on at this moment. Leases that live nodes of this process hold have not expired.
    pub fn pending(&self) -> PendingWork {
        let (mut store, now) = (self.store(), self.clock_ref().now_ms());
        turn_lock::renew_held(&mut store, now, self.holders(), millis(HELD_LEASE));
        worker_queue::renew_held(&mut store, now, self.holders(), millis(HELD_LEASE));
        pending(&store, now)
    }
}

fn pending(store: &Store, now: u64) -> PendingWork {
    let running = store.turn_locks.iter().filter(|lock| lock.until > now && !lock.suspends);
    let leased = store.work.values().filter(|work| work.is_leased(now));
    let ready = store.work.values().filter(|work| work.visible_at <= now && !work.is_leased(now));
    let messages = store.messages.values().filter(|message| !message.parked);
    let visible = messages.map(|message| message.visible_at);
    let due = visible.chain(store.work.values().map(|work| work.visible_at));
    PendingWork {
        turns: running.count() + candidates(store, now).len(),
        work_ready: ready.count(),
        work_leased: leased.count(),
        next_due: due.filter(|due| *due > now).min(),
    }
}
