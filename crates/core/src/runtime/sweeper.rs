//! Decides which stranded work has waited for too long, if the options set a limit.
//!
//! 1. What work needs counts as missing from the first pass of this node that finds no live node
//!    with it. A pass that finds one begins the time again.
//! 2. Only time counts in which this node could search: after an outage of the store the time
//!    begins again, because other nodes may not have announced themselves yet.
//! 3. An item fails only if it has waited for the limit itself.
//! 4. A lack of nodes is no mistake: without any node for such work, or if a node does not report
//!    what it runs, nothing fails.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use semver::Version;

use super::dispatchers;
use super::fast_path::FastPath;
use crate::client::{StrandedItem, StrandedWork};
use crate::clock::millis;
use crate::limits::{ITEMS_PER_FETCH_MAX, STRANDED_PASSES_MIN, WORKER_ANNOUNCEMENT_LIFETIME};
use crate::providers::{NeededCode, ProviderError, ScheduledActivityIdentifier};

/// What some work needs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Need {
    Turn { code_key: String, pin: Option<Version> },
    Activity { name: String, tag: Option<String> },
}

/// Since when no live node has what some work needs.
struct Missing {
    since_ms: u64,
    /// Passes that found so.
    passes: u32,
    last_pass: u64,
}

/// Work that has waited for too long, all with the same need.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Due {
    Turns(dispatchers::orchestration::DueTurns),
    Activities(dispatchers::worker::DueActivities),
}

impl Due {
    /// Fails the work, as far as it still waits and no live node can run it.
    pub(super) async fn fail(
        &self,
        fast_path: &Arc<FastPath>,
        limit: Duration,
    ) -> Result<(), ProviderError> {
        match self {
            Self::Turns(due) => {
                dispatchers::orchestration::fail_stranded(fast_path, due, limit).await
            }
            Self::Activities(due) => {
                dispatchers::worker::fail_stranded(fast_path.activities(), due, limit).await
            }
        }
    }

    fn add(&mut self, item: &StrandedItem) {
        match (self, item) {
            (Self::Turns(due), StrandedItem::Turn(turn)) => {
                if due.instances.len() < ITEMS_PER_FETCH_MAX {
                    due.instances.insert(turn.instance_id.clone());
                }
            }
            (Self::Activities(due), StrandedItem::Activity(work)) => {
                if due.activities.len() < ITEMS_PER_FETCH_MAX {
                    due.activities.push(ScheduledActivityIdentifier {
                        instance: work.instance_id.clone(),
                        execution_id: work.execution_id,
                        activity_id: work.activity_id,
                    });
                }
            }
            (Self::Turns(_), StrandedItem::Activity(_))
            | (Self::Activities(_), StrandedItem::Turn(_)) => {}
        }
    }
}

/// What this node knows about stranded work.
pub(super) struct Sweeper {
    pub(super) limit: Duration,
    missing: HashMap<Need, Missing>,
    due: HashMap<Need, Due>,
    pass: u64,
    /// When this node last searched a part of the queues.
    searched_ms: u64,
}

impl Sweeper {
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, missing: HashMap::new(), due: HashMap::new(), pass: 0, searched_ms: 0 }
    }

    /// Notes that this node has searched a part of the queues at `now_ms`. A pause in which live
    /// nodes could be forgotten, such as that of a suspended machine, proves nothing.
    pub(super) fn searched(&mut self, now_ms: u64) {
        let pause_ms = now_ms.saturating_sub(self.searched_ms);
        if pause_ms > millis(WORKER_ANNOUNCEMENT_LIFETIME) {
            self.forget();
        }
        self.searched_ms = now_ms;
    }

    /// Forgets what was missing: this node could not search.
    pub(super) fn forget(&mut self) {
        self.missing.clear();
        self.due.clear();
    }

    /// Notes what a pass has found at `now_ms`, by the clock of the store.
    pub(super) fn note(&mut self, stranded: &StrandedWork, now_ms: u64) {
        let Some((need, empty)) = need_of(&stranded.item) else { return };
        if !stranded.reason.is_mistake() {
            self.missing.remove(&need);
            return;
        }
        let missing = self.missing.entry(need.clone()).or_insert(Missing {
            since_ms: now_ms,
            passes: 0,
            last_pass: self.pass.wrapping_sub(1),
        });
        if missing.last_pass != self.pass {
            missing.last_pass = self.pass;
            missing.passes += 1;
        }
        let limit = millis(self.limit);
        let for_too_long = |since_ms: u64| now_ms.saturating_sub(since_ms) >= limit;
        // A clock that is set forward must not be enough.
        if missing.passes >= STRANDED_PASSES_MIN
            && for_too_long(missing.since_ms)
            && for_too_long(stranded.item.waiting_since_ms())
        {
            self.due.entry(need).or_insert(empty).add(&stranded.item);
        }
    }

    /// What is due, once.
    pub(super) fn take_due(&mut self) -> Vec<Due> {
        self.due.drain().map(|(_, due)| due).collect()
    }

    /// A pass through both queues has ended: what it did not find is not missing.
    pub(super) fn pass_ended(&mut self) {
        let pass = self.pass;
        self.missing.retain(|_, missing| missing.last_pass == pass);
        self.pass = pass.wrapping_add(1);
    }
}

/// What an item needs, and a list of such items that is still empty.
fn need_of(item: &StrandedItem) -> Option<(Need, Due)> {
    match item {
        StrandedItem::Turn(turn) => {
            let code: NeededCode = turn.code.clone()?;
            let need = Need::Turn { code_key: code.key(), pin: turn.pin.clone() };
            let instances = BTreeSet::new();
            let pin = turn.pin.clone();
            let due = dispatchers::orchestration::DueTurns { code, pin, instances };
            Some((need, Due::Turns(due)))
        }
        StrandedItem::Activity(work) => {
            let (name, tag) = (work.activity_name.clone(), work.tag.clone());
            let need = Need::Activity { name: name.clone(), tag: tag.clone() };
            let activities = Vec::new();
            let due = dispatchers::worker::DueActivities { name, tag, activities };
            Some((need, Due::Activities(due)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::StrandedReason;
    use crate::providers::WaitingTurn;

    const LIMIT_MS: u64 = 1000;

    fn turn(instance: &str, since_ms: u64, reason: StrandedReason) -> StrandedWork {
        let code = NeededCode::of_execution("Order", "2.0.0");
        let turn = WaitingTurn::new(instance, since_ms).with_needs(Some(code), None);
        StrandedWork::new(StrandedItem::Turn(turn), reason)
    }

    /// Passes at these times, each of which finds one turn that waits since 0; the due instances.
    fn sweep(sweeper: &mut Sweeper, times: &[u64]) -> Vec<String> {
        let mut due = Vec::new();
        for now_ms in times {
            sweeper.searched(*now_ms);
            sweeper.note(&turn("i", 0, StrandedReason::HandlerMissing), *now_ms);
            for found in sweeper.take_due() {
                let Due::Turns(turns) = found else { panic!("no activity is stranded") };
                due.extend(turns.instances);
            }
            sweeper.pass_ended();
        }
        due
    }

    fn sweeper() -> Sweeper {
        Sweeper::new(Duration::from_millis(LIMIT_MS))
    }

    #[test]
    fn work_is_due_when_its_need_was_missing_for_the_limit() {
        assert_eq!(sweep(&mut sweeper(), &[5000, 5500, 5999]), [""; 0], "found too late");
        assert_eq!(sweep(&mut sweeper(), &[5000, 5500, 6000]), ["i"]);
    }

    #[test]
    fn a_clock_that_jumps_is_not_enough() {
        assert_eq!(sweep(&mut sweeper(), &[5000, 90_000]), [""; 0]);
    }

    #[test]
    fn a_pass_that_finds_a_node_begins_the_time_again() {
        let mut sweeper = sweeper();
        assert_eq!(sweep(&mut sweeper, &[5000, 5500]), [""; 0]);
        sweeper.pass_ended();
        assert_eq!(sweep(&mut sweeper, &[6000, 6100, 6200]), [""; 0]);
        assert_eq!(sweep(&mut sweeper, &[7000]), ["i"]);
        sweeper.note(&turn("i", 0, StrandedReason::Unknown), 7000);
        assert_eq!(sweep(&mut sweeper, &[7100, 7200, 8000]), [""; 0], "a node may have it");
    }

    #[test]
    fn time_without_a_search_does_not_count() {
        let mut failed = sweeper();
        assert_eq!(sweep(&mut failed, &[5000, 5100, 5200]), [""; 0]);
        failed.forget();
        assert_eq!(sweep(&mut failed, &[9000, 9500, 9900]), [""; 0], "the store was down");
        assert_eq!(sweep(&mut failed, &[10_000]), ["i"]);

        let lifetime_ms = millis(WORKER_ANNOUNCEMENT_LIFETIME);
        let mut paused = sweeper();
        assert_eq!(sweep(&mut paused, &[5000, 5100, 5200]), [""; 0]);
        let later = 5200 + lifetime_ms + 1;
        assert_eq!(sweep(&mut paused, &[later, later + 500, later + 999]), [""; 0]);
        assert_eq!(sweep(&mut paused, &[later + 1000]), ["i"]);
    }

    #[test]
    fn a_pass_may_take_longer_than_an_announcement_is_valid() {
        let mut sweeper = sweeper();
        let lifetime_ms = millis(WORKER_ANNOUNCEMENT_LIFETIME);
        for pass in 1..=2 {
            assert_eq!(sweep(&mut sweeper, &[2 * pass * lifetime_ms]), [""; 0]);
            sweeper.searched((2 * pass + 1) * lifetime_ms);
        }
        assert_eq!(sweep(&mut sweeper, &[6 * lifetime_ms]), ["i"]);
    }

    #[test]
    fn a_new_item_waits_for_the_limit_itself() {
        let mut sweeper = sweeper();
        assert_eq!(sweep(&mut sweeper, &[1000, 1100, 1200, 1300]), [""; 0]);
        sweeper.note(&turn("new", 1500, StrandedReason::HandlerMissing), 2400);
        assert_eq!(sweeper.take_due(), []);
        sweeper.note(&turn("new", 1500, StrandedReason::HandlerMissing), 2500);
        assert_eq!(sweeper.take_due().len(), 1);
    }
}
