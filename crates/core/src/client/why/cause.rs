//! The primary cause.

use serde::Serialize;

use super::{ActivityState, WaitingActivity, Why};
use crate::client::StrandedReason;

/// What keeps an instance from going on. The variants are in the order in which they are chosen:
/// what an operator can act on comes before what passes by itself. A timer that the store has lost
/// comes before the other calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// It has ended: [`Why::ended`].
    Ended,
    /// It is suspended: [`Why::suspended`].
    Suspended,
    /// Messages wait for a turn, and no live node can run it.
    TurnStranded {
        /// Why.
        reason: StrandedReason,
    },
    /// This build cannot decode all events: [`Why::undecodable`].
    HistoryUndecodable,
    /// Its start is queued, and a live node can run it.
    NotStarted,
    /// An activity waits, and no live node can run it.
    ActivityStranded {
        /// Schedule event id.
        activity_id: u64,
        /// Why.
        reason: StrandedReason,
    },
    /// A node runs a turn: [`TurnFacts::leased_until_ms`](super::TurnFacts::leased_until_ms).
    TurnRunning,
    /// Messages wait for a turn that a live node can run.
    TurnReady,
    /// A node has released its turn; it may be fetched later.
    TurnDelayed {
        /// From when on.
        until_ms: u64,
    },
    /// An activity failed, and a timer runs before the next call.
    ActivityRetry {
        /// Schedule event id of the timer.
        timer_id: u64,
    },
    /// It waits for an activity.
    Activity {
        /// Schedule event id.
        activity_id: u64,
    },
    /// It waits for a child.
    Child {
        /// Instance id of the child.
        instance: String,
    },
    /// It waits for an event.
    Event {
        /// Name of the event.
        name: String,
    },
    /// It waits for a message of a queue.
    Queue {
        /// Name of the queue.
        name: String,
    },
    /// It waits for a timer.
    Timer {
        /// Schedule event id.
        timer_id: u64,
    },
    /// Nothing that the store knows keeps it from going on.
    Unknown,
}

/// A limit that an instance has reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum LimitReached {
    /// The execution has as many events as an execution may have.
    Events {
        /// How many it has.
        count: u64,
        /// How many it may have.
        max: u64,
    },
    /// No worker started an activity in time; a node fails it.
    ScheduleToStart {
        /// Schedule event id.
        activity_id: u64,
        /// By when a worker had to start it.
        start_by_ms: u64,
    },
}

/// The cause of an answer, by the evidence in it.
pub(super) fn choose(why: &Why) -> Cause {
    if why.ended.is_some() {
        return Cause::Ended;
    }
    if why.suspended.is_some() {
        return Cause::Suspended;
    }
    of_turn(why).or_else(|| of_calls(why)).unwrap_or(Cause::Unknown)
}

fn of_turn(why: &Why) -> Option<Cause> {
    let turn = &why.turn;
    let is_leased = turn.leased_until_ms.is_some();
    let waits = (turn.ready_since_ms.is_some() || why.start.is_some()) && !is_leased;
    // A node that does not report what it runs may run it.
    let stranded = turn.stranded.clone().filter(|reason| *reason != StrandedReason::Unknown);
    if let (true, Some(reason)) = (waits, stranded) {
        return Some(Cause::TurnStranded { reason });
    }
    if why.undecodable.is_some() {
        return Some(Cause::HistoryUndecodable);
    }
    if why.start.is_some() && !is_leased {
        return Some(Cause::NotStarted);
    }
    if let Some(cause) = stranded_activity(why) {
        return Some(cause);
    }
    if is_leased {
        return Some(Cause::TurnRunning);
    }
    if waits {
        return Some(Cause::TurnReady);
    }
    // Nothing but a timer is delayed unless a node has released it.
    let delayed = turn.unread.iter().filter(|unread| unread.kind != "TimerFired");
    let until = delayed.filter_map(|unread| unread.next_visible_ms).min();
    until.map(|until_ms| Cause::TurnDelayed { until_ms })
}

fn stranded_activity(why: &Why) -> Option<Cause> {
    let stranded = |activity: &WaitingActivity| {
        let reason = activity.stranded.clone()?;
        Some(Cause::ActivityStranded { activity_id: activity.activity_id, reason })
    };
    why.activities.items.iter().find_map(stranded)
}

fn of_calls(why: &Why) -> Option<Cause> {
    let timers = &why.timers.items;
    let lost = timers.iter().find(|timer| timer.is_lost);
    let retry = timers.iter().find(|timer| timer.retries.is_some() && !timer.is_overdue);
    let activity = why.activities.items.iter().min_by_key(|activity| urgency(&activity.state));
    let event = why.waits.items.first().map(|wait| Cause::Event { name: wait.name.clone() });
    let queue = || why.queues.items.first().map(|wait| Cause::Queue { name: wait.name.clone() });
    let child = || {
        let child = why.children.items.first();
        child.map(|child| Cause::Child { instance: child.instance.clone() })
    };
    lost.map(|timer| Cause::Timer { timer_id: timer.timer_id })
        .or_else(|| retry.map(|timer| Cause::ActivityRetry { timer_id: timer.timer_id }))
        .or_else(|| activity.map(|it| Cause::Activity { activity_id: it.activity_id }))
        .or_else(child)
        .or(event)
        .or_else(queue)
        .or_else(|| timers.first().map(|timer| Cause::Timer { timer_id: timer.timer_id }))
}

/// What an operator can do least about comes last.
fn urgency(state: &ActivityState) -> u8 {
    match state {
        ActivityState::Queued { .. } => 0,
        ActivityState::InSession { .. } => 1,
        ActivityState::Delayed { .. } => 2,
        ActivityState::Leased { .. } => 3,
        ActivityState::NotQueued | ActivityState::Unknown => 4,
    }
}
