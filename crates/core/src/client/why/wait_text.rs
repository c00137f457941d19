//! One line for each thing that an instance waits for.

use super::lines::{Now, joined, name, shown};
use super::{
    ActivityState, ChildState, EarlierFailures, LimitReached, Listed, TurnFacts, UnreadMessages,
    WaitingActivity, WaitingChild, WaitingEvent, WaitingTimer,
};
use crate::limits::WHY_LISTED_MAX;

/// A heading with the number of items, or how many of them are shown.
pub(super) fn heading<T>(what: &str, listed: &Listed<T>) -> String {
    match listed.items.len() < WHY_LISTED_MAX {
        true => format!("{what} ({}):", listed.total),
        false => format!("{what} ({}, the first {WHY_LISTED_MAX}):", listed.total),
    }
}

pub(super) fn activity(it: &WaitingActivity, now: Now) -> String {
    let progress = it.progress.as_ref().map(|progress| {
        let at = progress.at_ms.map_or_else(String::new, |at| format!(" {}", now.distance(at)));
        format!("reported{at}: {}", shown(&progress.text))
    });
    let due = it.start_by_ms.map(|by| match by <= now.0 {
        true => format!("had to start by {}", now.time(by)),
        false => format!("fails unless it starts by {}", now.time(by)),
    });
    let parts = [
        Some(activity_state(&it.state, now)),
        (it.fetches > 0).then(|| format!("attempt {}", it.fetches)),
        it.tag.as_deref().map(|tag| format!("tag {}", name(tag))),
        it.session_id.as_deref().map(|session| format!("session {}", name(session))),
        due,
        it.stranded.as_ref().map(ToString::to_string),
        it.failures.as_ref().map(failures),
        progress,
    ];
    format!("#{} {} {}", it.activity_id, name(&it.name), joined(parts))
}

fn activity_state(state: &ActivityState, now: Now) -> String {
    match state {
        ActivityState::Queued { since_ms } => format!("queued since {}", now.time(*since_ms)),
        ActivityState::Delayed { until_ms } => {
            format!("released by a worker, claimable at {}", now.time(*until_ms))
        }
        ActivityState::InSession { owner, until_ms } => {
            let until = now.time(*until_ms);
            format!("queued for worker {}, which owns its session until {until}", name(owner))
        }
        ActivityState::Leased { until_ms, node } => {
            let by = node.as_deref().map_or_else(String::new, |it| format!(" by {}", name(it)));
            format!("leased{by} until {}", now.time(*until_ms))
        }
        ActivityState::NotQueued => "not in the queue".to_owned(),
        ActivityState::Unknown => "its place in the queue is not known".to_owned(),
    }
}

/// How often a call failed before, and the last error.
pub(super) fn failures(it: &EarlierFailures) -> String {
    let error = shown(&it.last_error);
    match it.count {
        1 => format!("failed once before: {error}"),
        count => format!("failed {count} times before: {error}"),
    }
}

pub(super) fn timer(it: &WaitingTimer, now: Now) -> String {
    let due = match it.is_overdue {
        true => format!("overdue since {}", now.time(it.fire_at_ms)),
        false => format!("due {}", now.time(it.fire_at_ms)),
    };
    let retries = it
        .retries
        .as_ref()
        .map(|call| format!("retry of {}, which {}", name(&call.name), failures(call)));
    let lost = it.is_lost.then(|| "not in the queue".to_owned());
    format!("#{} {}", it.timer_id, joined([Some(due), lost, retries]))
}

pub(super) fn event(it: &WaitingEvent, now: Now) -> String {
    let count = (it.count > 1).then(|| format!("{} waits", it.count));
    let since = Some(format!("since {}", now.time(it.since_ms)));
    format!("{} {}", name(&it.name), joined([since, count]))
}

pub(super) fn child(it: &WaitingChild, now: Now) -> String {
    let (state, since) = (child_state(it.state), now.time(it.requested_at_ms));
    format!("{} ({}) {state}, requested {since}", name(&it.instance), name(&it.name))
}

pub(super) fn child_state(state: ChildState) -> &'static str {
    match state {
        ChildState::NotStarted => "has not started",
        ChildState::Running => "is running",
        ChildState::Completed => "has completed",
        ChildState::Failed => "has failed",
        ChildState::Missing => "is unknown to the store",
    }
}

pub(super) fn limit(it: &LimitReached, now: Now) -> String {
    match it {
        LimitReached::Events { count, max } => {
            format!("the execution has {count} events of at most {max}")
        }
        LimitReached::ScheduleToStart { activity_id, start_by_ms } => {
            let by = now.time(*start_by_ms);
            format!("no worker started activity #{activity_id} by {by}; a node fails it")
        }
    }
}

/// What is known of the next turn, line by line.
pub(super) fn turn(it: &TurnFacts, now: Now) -> Vec<String> {
    if !it.is_known {
        return vec!["the provider does not report what the queues hold".to_owned()];
    }
    let mut lines = Vec::new();
    if let Some(until) = it.leased_until_ms {
        lines.push(format!("leased by a node until {}", now.time(until)));
    }
    if let Some(since) = it.ready_since_ms {
        let fetched = match it.attempts {
            0 => String::new(),
            1 => ", fetched once and not committed".to_owned(),
            attempts => format!(", fetched {attempts} times and not committed"),
        };
        lines.push(format!("ready since {}{fetched}", now.time(since)));
    }
    if let Some(reason) = &it.stranded {
        lines.push(reason.to_string());
    }
    lines.extend(it.unread.iter().map(|messages| unread(messages, now)));
    if it.has_more_unread {
        lines.push("and more messages than were counted".to_owned());
    }
    lines
}

fn unread(it: &UnreadMessages, now: Now) -> String {
    let next = it.next_visible_ms.map_or_else(String::new, |at| format!(", next {}", now.time(at)));
    let counted = |count: u32, text: &str| (count > 0).then(|| format!("{count} {text}"));
    let parts = [
        counted(it.ready, "ready"),
        counted(it.delayed, "delayed").map(|text| text + &next),
        counted(it.parked, "parked"),
    ];
    format!("message {}: {}", shown(&it.kind), joined(parts))
}
