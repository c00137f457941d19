//! Fetches of turns and of activities, with their waits.

use duroxide_core::clock::millis;
use duroxide_core::providers::{ChangeScope, FetchedTurn, FetchedWork, TurnFetch, WorkFetch};

use super::MemoryProvider;
use super::fetch::{self, TurnRequest};
use super::fetch_wait::{self, Polled};
use super::turn_lock;
use super::worker_queue::{self, WorkRequest};

impl MemoryProvider {
    /// Leases turns, and waits for the first.
    pub(super) async fn fetch_turns(&self, request: TurnFetch<'_>) -> Vec<FetchedTurn> {
        if request.turns_max == 0 {
            return Vec::new();
        }
        let turns = TurnRequest {
            turns_max: request.turns_max,
            lock_for: millis(request.lock_timeout),
            filter: request.filter,
            known: request.known.as_deref(),
        };
        let poll = || {
            let (mut store, now) = (self.store(), self.clock_ref().now_ms());
            turn_lock::renew_held(&mut store, now, self.holders(), turns.lock_for);
            let found = fetch::fetch_turns(&mut store, now, &turns);
            Polled { found, next_due: fetch::next_due(&store, now) }
        };
        fetch_wait::fetch(self, ChangeScope::OrchestratorQueue, request.poll_timeout, poll).await
    }

    /// Leases activities, and waits for the first.
    pub(super) async fn fetch_work(&self, request: WorkFetch<'_>) -> Vec<FetchedWork> {
        if request.slots.is_empty() {
            return Vec::new();
        }
        let work = WorkRequest {
            slots: request.slots,
            lock_for: millis(request.lock_timeout),
            filter: request.filter,
        };
        let poll = || {
            let (mut store, now) = (self.store(), self.clock_ref().now_ms());
            worker_queue::renew_held(&mut store, now, self.holders(), work.lock_for);
            let found = worker_queue::fetch_work(&mut store, now, &work);
            Polled { found, next_due: worker_queue::next_due(&store, now) }
        };
        fetch_wait::fetch(self, ChangeScope::WorkerQueue, request.poll_timeout, poll).await
    }
}
