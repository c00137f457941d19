//! Makes an answer of what was read.

use super::history::{OpenChild, OpenWaits};
use super::parts::{Evidence, activities, timers};
use super::{
    Cause, ChildState, Ended, LimitReached, Listed, Outcome, QueuedStart, Suspended, TurnFacts,
    UnreadMessages, WaitingActivity, WaitingChild, Why, cause, next_step,
};
use crate::client::{LiveNodes, StrandedReason};
use crate::limits::EVENTS_PER_EXECUTION_MAX;
use crate::model::{Event, EventKind, ExecutionStatus};
use crate::providers::{
    InstanceInfo, InstanceQueues, NeededCode, QueuedMessages, Suspension, WaitingStart, WaitingTurn,
};
use semver::Version;

/// What was read of an instance.
pub(super) struct Gathered {
    instance: String,
    now_ms: u64,
    nodes: Option<LiveNodes>,
    pub(super) queues: Option<InstanceQueues>,
    pub(super) info: Option<InstanceInfo>,
    pub(super) start: Option<WaitingStart>,
    pub(super) end: Option<Event>,
    pub(super) suspension: Option<Suspension>,
    pub(super) open: OpenWaits,
    pub(super) child_states: Vec<ChildState>,
}

impl Gathered {
    pub(super) fn new(instance: &str, now_ms: u64, nodes: Option<LiveNodes>) -> Self {
        Self {
            instance: instance.to_owned(),
            now_ms,
            nodes,
            queues: None,
            info: None,
            start: None,
            end: None,
            suspension: None,
            open: OpenWaits::new(),
            child_states: Vec::new(),
        }
    }

    pub(super) fn answer(&self) -> Why {
        let now_ms = self.queues.as_ref().map_or(self.now_ms, |queues| queues.now_ms);
        let info = self.info.as_ref();
        let start = self.start.as_ref();
        let version = start.and_then(|start| start.orchestration_version.clone());
        let mut why = Why {
            instance: self.instance.clone(),
            now_ms,
            cause: Cause::Unknown,
            next: Vec::new(),
            orchestration: info
                .map(|info| info.orchestration_name.clone())
                .or_else(|| start.map(|start| start.orchestration_name.clone())),
            version: info.map(|info| info.orchestration_version.clone()).or(version),
            pin: self.open.pin.clone(),
            execution_id: info.map(|info| info.current_execution_id),
            parent: info
                .and_then(|info| info.parent_instance_id.clone())
                .or_else(|| start.and_then(|start| start.parent_instance_id.clone())),
            created_at_ms: info.map(|info| info.created_at),
            updated_at_ms: info.map(|info| info.updated_at),
            events: self.open.events,
            ended: self.ended(),
            start: start.map(|start| QueuedStart {
                queued_at_ms: start.waiting_since_ms,
                visible_at_ms: start.visible_at_ms,
                attempts: start.attempt_count,
            }),
            suspended: self.suspension.as_ref().map(|suspension| self.suspended(suspension)),
            cancel_requested: self.open.cancel_requested.clone(),
            undecodable: self.open.undecodable.clone(),
            turn: self.turn(),
            activities: Listed::default(),
            timers: Listed::default(),
            waits: Listed::default(),
            queues: Listed::default(),
            children: Listed::default(),
            buffered: Listed::default(),
            missed: Listed::default(),
            limits: Vec::new(),
        };
        if why.ended.is_none() {
            self.add_calls(&mut why);
        }
        why.cause = cause::choose(&why);
        why.next = next_step::next_steps(&why);
        why
    }

    fn add_calls(&self, why: &mut Why) {
        let evidence = Evidence {
            execution_id: why.execution_id.unwrap_or_default(),
            now_ms: why.now_ms,
            open: &self.open,
            queues: self.queues.as_ref(),
            nodes: self.nodes.as_ref(),
        };
        why.activities = activities(&evidence);
        why.timers = timers(&evidence);
        why.waits = self.open.waits.waits();
        why.queues = self.open.queues.waits();
        why.buffered = self.open.queues.untaken();
        why.missed = self.open.waits.untaken();
        let child = |(open, state): (&OpenChild, &ChildState)| WaitingChild {
            instance: open.instance.clone(),
            name: open.name.clone(),
            requested_at_ms: open.at_ms,
            state: *state,
        };
        why.children = Listed {
            total: self.open.children.len() as u64,
            items: self.open.children.values().zip(&self.child_states).map(child).collect(),
        };
        let count = self.open.events;
        if count >= EVENTS_PER_EXECUTION_MAX {
            why.limits.push(LimitReached::Events { count, max: EVENTS_PER_EXECUTION_MAX });
        }
        let late = why.activities.items.iter().filter_map(|it| late(it, why.now_ms));
        why.limits.extend(late.collect::<Vec<_>>());
    }

    fn ended(&self) -> Option<Ended> {
        let info = self.info.as_ref()?;
        let output = || info.output.clone().unwrap_or_default();
        let known = match self.end.as_ref().map(|event| &event.kind) {
            Some(EventKind::OrchestrationCompleted { output }) => {
                Some(Outcome::Completed { output: output.clone() })
            }
            Some(EventKind::OrchestrationFailed { details }) => Some(Outcome::Failed {
                category: Some(details.category()),
                error: details.display_message(),
            }),
            _unreadable => None,
        };
        let outcome = match ExecutionStatus::parse(&info.status)? {
            ExecutionStatus::Running | ExecutionStatus::ContinuedAsNew => return None,
            ExecutionStatus::Completed => {
                known.unwrap_or_else(|| Outcome::Completed { output: output() })
            }
            ExecutionStatus::Failed => {
                known.unwrap_or_else(|| Outcome::Failed { category: None, error: output() })
            }
        };
        Some(Ended { outcome, at_ms: self.end.as_ref().map(|event| event.timestamp_ms) })
    }

    fn suspended(&self, suspension: &Suspension) -> Suspended {
        let lease = self.queues.as_ref().and_then(|queues| queues.lease);
        Suspended {
            origin: suspension.origin,
            reason: suspension.reason.clone(),
            since_ms: suspension.since_ms,
            retry_at_ms: lease.filter(|lease| lease.is_suspension).and_then(|it| it.until_ms),
        }
    }

    fn turn(&self) -> TurnFacts {
        let stranded = self.stranded_turn();
        let Some(queues) = &self.queues else {
            return TurnFacts { stranded, ..TurnFacts::default() };
        };
        // A call of an operator holds an instance like a suspension.
        let is_held = |is_suspension: bool| !is_suspension || self.suspension.is_none();
        let lease = queues.lease.filter(|lease| is_held(lease.is_suspension));
        let messages = &queues.messages;
        TurnFacts {
            is_known: true,
            leased_until_ms: lease.and_then(|lease| lease.until_ms),
            ready_since_ms: messages.iter().filter_map(|it| it.ready_since_ms).min(),
            attempts: messages.iter().map(|it| it.attempts).max().unwrap_or(0),
            unread: messages.iter().map(unread).collect(),
            has_more_unread: queues.has_more_messages,
            stranded,
        }
    }

    /// Why no live node can run the next turn.
    fn stranded_turn(&self) -> Option<StrandedReason> {
        let (code, pin) = match (&self.queues, &self.start, &self.info) {
            (Some(queues), ..) => (queues.code.clone(), queues.pin.clone()),
            (None, Some(start), _) => (NeededCode::of_start(start), None),
            (None, None, Some(info)) => {
                let (name, version) = (&info.orchestration_name, &info.orchestration_version);
                let pin = self.open.pin.as_deref().and_then(|pin| Version::parse(pin).ok());
                (Some(NeededCode::of_execution(name, version)), pin)
            }
            (None, None, None) => return None,
        };
        let turn = WaitingTurn::new(self.instance.as_str(), self.now_ms).with_needs(code, pin);
        self.nodes.as_ref()?.why_turn(&turn)
    }
}

fn unread(messages: &QueuedMessages) -> UnreadMessages {
    UnreadMessages {
        kind: messages.kind.clone(),
        ready: messages.ready,
        delayed: messages.delayed,
        parked: messages.parked,
        next_visible_ms: messages.next_visible_ms,
    }
}

/// The limit of an activity that no worker started in time.
fn late(activity: &WaitingActivity, now_ms: u64) -> Option<LimitReached> {
    let start_by_ms = activity.start_by_ms.filter(|start_by_ms| *start_by_ms <= now_ms)?;
    Some(LimitReached::ScheduleToStart { activity_id: activity.activity_id, start_by_ms })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_execution_with_as_many_events_as_it_may_have_has_reached_a_limit() {
        let mut gathered = Gathered::new("a", 7, None);
        gathered.open.events = EVENTS_PER_EXECUTION_MAX - 1;
        assert_eq!(gathered.answer().limits, []);
        gathered.open.events += 1;
        let max = EVENTS_PER_EXECUTION_MAX;
        let why = gathered.answer();
        assert_eq!(why.limits, [LimitReached::Events { count: max, max }]);
        assert!(why.to_string().contains("limits reached:"), "{why}");
    }
}
