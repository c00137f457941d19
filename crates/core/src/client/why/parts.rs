//! Open calls with what the queues and the nodes say about them.

use std::collections::HashMap;

use super::history::{OpenActivity, OpenTimer, OpenWaits};
use super::lines::clipped;
use super::{ActivityState, Listed, Progress, WaitingActivity, WaitingTimer, Why};
use crate::client::{LiveNodes, StrandedReason};
use crate::limits::{WHY_LISTED_MAX, WHY_TEXT_MAX};
use crate::providers::{
    InstanceQueues, ListCursor, QueuedActivity, ScheduledActivityIdentifier, WaitingWork,
};

impl Why {
    /// A listed activity.
    pub(super) fn activity(&self, activity_id: u64) -> Option<&WaitingActivity> {
        self.activities.items.iter().find(|activity| activity.activity_id == activity_id)
    }

    /// A listed timer.
    pub(super) fn timer(&self, timer_id: u64) -> Option<&WaitingTimer> {
        self.timers.items.iter().find(|timer| timer.timer_id == timer_id)
    }
}

/// What the parts of an answer are made of.
pub(super) struct Evidence<'a> {
    pub(super) execution_id: u64,
    pub(super) now_ms: u64,
    pub(super) open: &'a OpenWaits,
    pub(super) queues: Option<&'a InstanceQueues>,
    pub(super) nodes: Option<&'a LiveNodes>,
}

/// Open activities: first those that no live node can run, then those that wait, then others.
pub(super) fn activities(evidence: &Evidence<'_>) -> Listed<WaitingActivity> {
    let queued = evidence.queues.map(|queues| queues.activities.as_slice()).unwrap_or_default();
    let current = queued.iter().filter(|it| it.execution_id == evidence.execution_id);
    let queued: HashMap<u64, &QueuedActivity> = current.map(|it| (it.activity_id, it)).collect();
    let mut known: HashMap<(Option<&str>, &str), Option<StrandedReason>> = HashMap::new();
    let mut found: Vec<(u8, u64, ActivityState, Option<StrandedReason>)> = Vec::new();
    for (id, open) in &evidence.open.activities {
        let state = state_of(evidence, queued.get(id).copied(), open);
        let waits = matches!(state, ActivityState::Queued { .. } | ActivityState::Delayed { .. });
        let stranded = match waits {
            true => known
                .entry((open.tag.as_deref(), open.name.as_str()))
                .or_insert_with(|| stranded(evidence.nodes, open))
                .clone(),
            false => None,
        };
        found.push((rank(&state, stranded.as_ref()), *id, state, stranded));
    }
    let total = found.len() as u64;
    found.sort_by_key(|(rank, id, ..)| (*rank, *id));
    found.truncate(WHY_LISTED_MAX);
    let listed = found.into_iter().filter_map(|(_, id, state, stranded)| {
        let open = evidence.open.activities.get(&id)?;
        let row = queued.get(&id).copied();
        Some(WaitingActivity {
            activity_id: id,
            name: open.name.clone(),
            tag: open.tag.clone(),
            session_id: open.session_id.clone(),
            scheduled_at_ms: open.at_ms,
            state,
            fetches: row.map_or(0, |row| row.attempts),
            failures: open.failures.clone(),
            start_by_ms: row.and_then(|row| row.start_by_ms),
            progress: row.and_then(progress),
            stranded,
        })
    });
    Listed { total, items: listed.collect() }
}

fn progress(row: &QueuedActivity) -> Option<Progress> {
    let text = clipped(row.progress.as_deref()?, WHY_TEXT_MAX);
    Some(Progress { text, at_ms: row.progress_at_ms })
}

fn state_of(
    evidence: &Evidence<'_>,
    row: Option<&QueuedActivity>,
    open: &OpenActivity,
) -> ActivityState {
    let Some(queues) = evidence.queues else { return ActivityState::Unknown };
    let Some(row) = row else {
        return match queues.has_more_activities {
            true => ActivityState::Unknown,
            false => ActivityState::NotQueued,
        };
    };
    let owner = row.session_owner.as_ref();
    if let Some(until_ms) = row.leased_until_ms {
        let node = owner.map(|owner| owner.owner_id.clone());
        return ActivityState::Leased { until_ms, node };
    }
    if let Some(until_ms) = row.delayed_until_ms {
        return ActivityState::Delayed { until_ms };
    }
    match owner {
        Some(owner) => {
            ActivityState::InSession { owner: owner.owner_id.clone(), until_ms: owner.until_ms }
        }
        None => ActivityState::Queued {
            since_ms: if row.queued_at_ms > 0 { row.queued_at_ms } else { open.at_ms },
        },
    }
}

fn stranded(nodes: Option<&LiveNodes>, open: &OpenActivity) -> Option<StrandedReason> {
    let unnamed =
        ScheduledActivityIdentifier { instance: String::new(), execution_id: 0, activity_id: 0 };
    let work = WaitingWork::new(ListCursor::new(""), unnamed, open.name.as_str());
    nodes?.serving(open.tag.as_deref()).why(&work)
}

fn rank(state: &ActivityState, stranded: Option<&StrandedReason>) -> u8 {
    match state {
        _ if stranded.is_some() => 0,
        ActivityState::Queued { .. } => 1,
        ActivityState::InSession { .. } => 2,
        ActivityState::Delayed { .. } => 3,
        ActivityState::Leased { .. } => 4,
        ActivityState::NotQueued | ActivityState::Unknown => 5,
    }
}

/// Timers: first those that are lost, then retries, then by the time at which they are due.
pub(super) fn timers(evidence: &Evidence<'_>) -> Listed<WaitingTimer> {
    let has_message = evidence.queues.is_none_or(|queues| {
        let timers = queues.messages.iter().any(|messages| messages.kind == "TimerFired");
        timers || queues.has_more_messages
    });
    let timer = |(id, open): (&u64, &OpenTimer)| {
        let is_overdue = open.fire_at_ms <= evidence.now_ms;
        WaitingTimer {
            timer_id: *id,
            created_at_ms: open.at_ms,
            fire_at_ms: open.fire_at_ms,
            is_overdue,
            is_lost: is_overdue && !has_message,
            retries: open.retries.clone(),
        }
    };
    let mut items: Vec<WaitingTimer> = evidence.open.timers.iter().map(timer).collect();
    items.sort_by_key(|timer| {
        (!timer.is_lost, timer.retries.is_none(), timer.fire_at_ms, timer.timer_id)
    });
    let total = items.len() as u64;
    items.truncate(WHY_LISTED_MAX);
    Listed { total, items }
}
