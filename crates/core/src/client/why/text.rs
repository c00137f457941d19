//! The answer as text.

use std::fmt;

use super::lines::{Now, add, clipped, joined, length, name, shown};
use super::{
    ActivityState, BufferedMessages, Cause, Listed, Outcome, WaitingActivity, WaitingTimer, Why,
    wait_text,
};
use crate::limits::WHY_TEXT_MAX;
use crate::providers::SuspensionOrigin;

impl Why {
    /// The cause in one sentence, which begins with the id of the instance.
    pub fn summary(&self) -> String {
        format!("{} {}", shown(&self.instance), self.cause_text())
    }

    fn cause_text(&self) -> String {
        let now = Now(self.now_ms);
        match &self.cause {
            Cause::Ended => self.ended_text(),
            Cause::Suspended => self.suspended_text(),
            Cause::TurnStranded { reason } => format!("waits for {}: {reason}", self.code()),
            Cause::HistoryUndecodable => self.undecodable_text(),
            Cause::NotStarted => {
                let since = self.start.as_ref().map_or(self.now_ms, |start| start.queued_at_ms);
                format!("has not started: its start is queued for {}", now.since(since))
            }
            Cause::ActivityStranded { activity_id, reason } => {
                format!("waits for {}: {reason}", self.activity_name(*activity_id))
            }
            Cause::TurnRunning => "is running: a node has leased its turn".to_owned(),
            Cause::TurnReady => {
                let since = self.turn.ready_since_ms.unwrap_or(self.now_ms);
                format!("waits for a node to take its turn, for {}", now.since(since))
            }
            Cause::TurnDelayed { until_ms } => {
                let rest = length(until_ms.saturating_sub(self.now_ms));
                format!("waits for {rest}: a node has released its turn")
            }
            Cause::ActivityRetry { timer_id } => self.retry_text(self.timer(*timer_id)),
            Cause::Activity { activity_id } => {
                let state = self.activity(*activity_id).map(|it| activity_state(it, now));
                let name = self.activity_name(*activity_id);
                format!("waits for {name}{}", state.unwrap_or_default())
            }
            Cause::Child { instance } => {
                let child = self.children.items.iter().find(|child| child.instance == *instance);
                let state = child.map_or("is unknown", |child| wait_text::child_state(child.state));
                format!("waits for child {}, which {state}", name(instance))
            }
            Cause::Event { name: event } => format!("waits for event {}", name(event)),
            Cause::Queue { name: queue } => format!("waits for a message of queue {}", name(queue)),
            Cause::Timer { timer_id } => {
                let due = self.timer(*timer_id).map(|timer| timer_state(timer, now));
                format!("waits for timer #{timer_id}{}", due.unwrap_or_default())
            }
            Cause::Unknown => "waits for nothing that the store knows".to_owned(),
        }
    }

    fn ended_text(&self) -> String {
        match self.ended.as_ref().map(|ended| &ended.outcome) {
            Some(Outcome::Failed { error, .. }) => format!("has failed: {}", brief(error)),
            Some(Outcome::Completed { .. }) => "has completed".to_owned(),
            None => "has ended".to_owned(),
        }
    }

    fn suspended_text(&self) -> String {
        let Some(suspended) = &self.suspended else { return "is suspended".to_owned() };
        match suspended.origin {
            SuspensionOrigin::Replay => {
                "is suspended: its code disagrees with its history".to_owned()
            }
            SuspensionOrigin::Operator => {
                format!("is suspended by an operator: {}", brief(&suspended.reason))
            }
        }
    }

    fn undecodable_text(&self) -> String {
        let total = self.undecodable.as_ref().map_or(0, |events| events.total);
        match total {
            0 | 1 => "has an event that this build cannot decode".to_owned(),
            total => format!("has {total} events that this build cannot decode"),
        }
    }

    fn retry_text(&self, timer: Option<&WaitingTimer>) -> String {
        let call = timer.and_then(|timer| Some((timer, timer.retries.as_ref()?)));
        let Some((timer, call)) = call else { return "waits for a retry".to_owned() };
        let rest = length(timer.fire_at_ms.saturating_sub(self.now_ms));
        let times = match call.count {
            1 => "once".to_owned(),
            count => format!("{count} times"),
        };
        format!("waits for the retry of activity {} in {rest}: it failed {times}", name(&call.name))
    }

    fn activity_name(&self, activity_id: u64) -> String {
        let Some(activity) = self.activity(activity_id) else {
            return format!("activity #{activity_id}");
        };
        match &activity.tag {
            Some(tag) => format!("activity {} with tag {}", name(&activity.name), name(tag)),
            None => format!("activity {}", name(&activity.name)),
        }
    }

    fn code(&self) -> String {
        match (&self.orchestration, &self.version) {
            (Some(code), Some(version)) => {
                format!("orchestration {}", name(&format!("{code} {version}")))
            }
            (Some(code), None) => format!("orchestration {}", name(code)),
            (None, _) => "its orchestration".to_owned(),
        }
    }

    fn lines(&self) -> Vec<String> {
        let now = Now(self.now_ms);
        let mut lines = Vec::new();
        add(&mut lines, 0, &self.summary());
        for step in &self.next {
            match &step.command {
                // A command stays on its line, so that it can be copied.
                Some(command) => lines.push(format!("  try: {command}  ({})", step.text)),
                None => add(&mut lines, 2, &format!("try: {}", step.text)),
            }
        }
        lines.push(String::new());
        self.add_facts(&mut lines, now);
        self.add_calls(&mut lines, now);
        lines
    }

    fn add_facts(&self, lines: &mut Vec<String>, now: Now) {
        let runs = joined([
            Some(self.code()),
            self.execution_id.map(|id| format!("execution {id}")),
            self.execution_id.map(|_| format!("{} events", self.events)),
            self.parent.as_deref().map(|parent| format!("child of {}", name(parent))),
        ]);
        add(lines, 0, &runs);
        if let Some(start) = &self.start {
            add(lines, 0, &format!("start queued at {}", now.time(start.queued_at_ms)));
            if start.visible_at_ms > self.now_ms {
                add(lines, 2, &format!("delayed until {}", now.time(start.visible_at_ms)));
            }
        }
        if let Some(ended) = &self.ended {
            let at = ended.at_ms.map_or_else(|| "at an unknown time".to_owned(), |at| now.time(at));
            add(lines, 0, &format!("ended {at}"));
        } else if let Some(updated) = self.updated_at_ms {
            add(lines, 0, &format!("last changed {}", now.time(updated)));
        }
        if let Some(suspended) = &self.suspended {
            add(lines, 0, &format!("suspended since {}", now.time(suspended.since_ms)));
            if suspended.origin == SuspensionOrigin::Replay {
                add(lines, 2, &brief(&suspended.reason));
            }
            if let Some(retry) = suspended.retry_at_ms {
                add(lines, 2, &format!("a node tries it again at {}", now.time(retry)));
            }
        }
        if let Some(reason) = &self.cancel_requested {
            add(lines, 0, &format!("cancellation requested: {}", brief(reason)));
        }
        if let Some(events) = &self.undecodable {
            add(lines, 0, "undecodable events, so that this list may be incomplete:");
            let first = joined([
                events.first_event_id.map(|id| format!("event {id}")),
                events.event_kind.as_deref().map(|kind| format!("kind {}", name(kind))),
                events.written_by.as_deref().map(|by| format!("written by Duroxide {}", shown(by))),
                Some(shown(&events.error)),
            ]);
            add(lines, 2, &first);
        }
        add_items(lines, "limits reached:", self.limits.iter().map(|it| wait_text::limit(it, now)));
    }

    fn add_calls(&self, lines: &mut Vec<String>, now: Now) {
        add_list(lines, "activities", &self.activities, |it| wait_text::activity(it, now));
        add_list(lines, "children", &self.children, |it| wait_text::child(it, now));
        add_list(lines, "events waited for", &self.waits, |it| wait_text::event(it, now));
        add_list(lines, "queues waited for", &self.queues, |it| wait_text::event(it, now));
        add_list(lines, "timers", &self.timers, |it| wait_text::timer(it, now));
        let count = |it: &BufferedMessages| format!("{}: {}", name(&it.name), it.count);
        add_list(lines, "messages of queues that no read has taken", &self.buffered, count);
        add_list(lines, "events that no wait was open for; not delivered", &self.missed, count);
        if self.ended.is_none() || !self.turn.unread.is_empty() {
            add_items(lines, "next turn:", wait_text::turn(&self.turn, now).into_iter());
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("\n"))
    }
}

/// The beginning of a text that the store may hold in any length.
fn brief(text: &str) -> String {
    clipped(&shown(text), WHY_TEXT_MAX)
}

fn add_list<T>(
    lines: &mut Vec<String>,
    what: &str,
    listed: &Listed<T>,
    text: impl Fn(&T) -> String,
) {
    let heading = wait_text::heading(what, listed);
    add_items(lines, &heading, listed.items.iter().map(text));
}

/// Adds a heading and the items under it, if there are any.
fn add_items(lines: &mut Vec<String>, heading: &str, items: impl Iterator<Item = String>) {
    let mut items = items.peekable();
    if items.peek().is_some() {
        add(lines, 0, heading);
    }
    items.for_each(|item| add(lines, 2, &item));
}

fn activity_state(it: &WaitingActivity, now: Now) -> String {
    match &it.state {
        ActivityState::Queued { since_ms } => {
            format!(", which no worker has claimed for {}", now.since(*since_ms))
        }
        ActivityState::Delayed { until_ms } => {
            let rest = length(until_ms.saturating_sub(now.0));
            format!(", which a worker has released for another {rest}")
        }
        ActivityState::InSession { owner, .. } => {
            format!(", which only the owner of its session may claim: {}", name(owner))
        }
        ActivityState::Leased { node: Some(node), .. } => {
            format!(", which {} runs", name(node))
        }
        ActivityState::Leased { node: None, .. } => ", which a worker runs".to_owned(),
        ActivityState::NotQueued => ", which is not in the queue".to_owned(),
        ActivityState::Unknown => String::new(),
    }
}

fn timer_state(it: &WaitingTimer, now: Now) -> String {
    if it.is_lost {
        return ", which is due and not in the queue".to_owned();
    }
    match it.is_overdue {
        true => format!(", which was due {} ago", now.since(it.fire_at_ms)),
        false => format!(", due in {}", length(it.fire_at_ms.saturating_sub(now.0))),
    }
}
