//! What an execution asked for, from the request to the result, as its history tells it.
//!
//! A history has the time of the request and the time at which the result was recorded. When a
//! worker started an activity that has ended is not stored.

use duroxide::{Event, EventKind};
use serde::Serialize;

/// One request of an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Span {
    pub(crate) kind: SpanKind,
    /// The event that made the request.
    pub(crate) event_id: u64,
    /// The name of the activity, event, queue or child; empty for a timer.
    pub(crate) name: String,
    pub(crate) state: SpanState,
    pub(crate) requested_at_ms: u64,
    /// When the result was recorded.
    pub(crate) ended_at_ms: Option<u64>,
    /// When a timer is due.
    pub(crate) fire_at_ms: Option<u64>,
    /// How long an open activity has waited for a worker, if the store knows.
    pub(crate) queued_ms: Option<u64>,
    /// How long an open activity has run at the most, if the store knows that it runs.
    pub(crate) run_ms_max: Option<u64>,
}

/// What was requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SpanKind {
    Activity,
    Timer,
    Event,
    Queue,
    Child,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SpanState {
    /// No result yet.
    Open,
    /// An activity that no worker has claimed.
    Queued,
    /// An activity that a worker runs.
    Running,
    /// The result came: the activity or child completed, the timer fired, the message arrived.
    Done,
    Failed,
    Cancelled,
}

impl SpanState {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether there is no result yet.
    pub(crate) fn is_open(self) -> bool {
        match self {
            Self::Open | Self::Queued | Self::Running => true,
            Self::Done | Self::Failed | Self::Cancelled => false,
        }
    }
}

/// Collects spans from events, in their order.
#[derive(Debug, Default)]
pub(crate) struct Spans {
    pub(crate) spans: Vec<Span>,
}

impl Spans {
    /// Adds what an event says.
    pub(crate) fn add(&mut self, event: &Event) {
        if let Some((kind, name, fire_at_ms)) = request(&event.kind) {
            self.spans.push(Span {
                kind,
                event_id: event.event_id,
                name: name.to_owned(),
                state: SpanState::Open,
                requested_at_ms: event.timestamp_ms,
                ended_at_ms: None,
                fire_at_ms,
                queued_ms: None,
                run_ms_max: None,
            });
        } else if let Some((state, kind, name)) = result(&event.kind) {
            let at = event.timestamp_ms;
            if let Some(span) = self.open_request(event.source_event_id, kind, name) {
                (span.state, span.ended_at_ms) = (state, Some(at));
            }
        }
    }

    /// The request that a result belongs to. Messages name none: they go to the first that waits.
    fn open_request(
        &mut self,
        source: Option<u64>,
        kind: SpanKind,
        name: Option<&str>,
    ) -> Option<&mut Span> {
        self.spans.iter_mut().find(|span| match (source, name) {
            (Some(id), _) => span.event_id == id,
            (None, Some(name)) => span.state.is_open() && span.kind == kind && span.name == name,
            (None, None) => false,
        })
    }
}

type Request<'a> = (SpanKind, &'a str, Option<u64>);

fn request(kind: &EventKind) -> Option<Request<'_>> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "only requests open a span")]
    match kind {
        EventKind::ActivityScheduled { name, .. } => Some((SpanKind::Activity, name, None)),
        EventKind::TimerCreated { fire_at_ms } => Some((SpanKind::Timer, "", Some(*fire_at_ms))),
        EventKind::ExternalSubscribed { name } => Some((SpanKind::Event, name, None)),
        EventKind::QueueSubscribed { name } => Some((SpanKind::Queue, name, None)),
        EventKind::SubOrchestrationScheduled { name, .. } => Some((SpanKind::Child, name, None)),
        _ => None,
    }
}

type Ending<'a> = (SpanState, SpanKind, Option<&'a str>);

fn result(kind: &EventKind) -> Option<Ending<'_>> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "only results close a span")]
    match kind {
        EventKind::ActivityCompleted { .. } => Some((SpanState::Done, SpanKind::Activity, None)),
        EventKind::ActivityFailed { .. } => Some((SpanState::Failed, SpanKind::Activity, None)),
        EventKind::ActivityCancelRequested { .. } => {
            Some((SpanState::Cancelled, SpanKind::Activity, None))
        }
        EventKind::TimerFired { .. } => Some((SpanState::Done, SpanKind::Timer, None)),
        EventKind::ExternalEvent { name, .. } => {
            Some((SpanState::Done, SpanKind::Event, Some(name)))
        }
        EventKind::ExternalSubscribedCancelled { .. } => {
            Some((SpanState::Cancelled, SpanKind::Event, None))
        }
        EventKind::QueueEventDelivered { name, .. } => {
            Some((SpanState::Done, SpanKind::Queue, Some(name)))
        }
        EventKind::QueueSubscriptionCancelled { .. } => {
            Some((SpanState::Cancelled, SpanKind::Queue, None))
        }
        EventKind::SubOrchestrationCompleted { .. } => {
            Some((SpanState::Done, SpanKind::Child, None))
        }
        EventKind::SubOrchestrationFailed { .. } => {
            Some((SpanState::Failed, SpanKind::Child, None))
        }
        EventKind::SubOrchestrationCancelRequested { .. } => {
            Some((SpanState::Cancelled, SpanKind::Child, None))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(event_id: u64, source: Option<u64>, at: u64, kind: EventKind) -> Event {
        Event {
            event_id,
            source_event_id: source,
            instance_id: "a".to_owned(),
            execution_id: 1,
            timestamp_ms: at,
            duroxide_version: "0.2.0".to_owned(),
            kind,
        }
    }

    fn waits(name: &str) -> EventKind {
        EventKind::ExternalSubscribed { name: name.to_owned() }
    }

    fn arrives(name: &str) -> EventKind {
        EventKind::ExternalEvent { name: name.to_owned(), data: String::new() }
    }

    #[test]
    fn a_result_ends_the_request_that_it_names() {
        let mut spans = Spans::default();
        for id in [2, 3] {
            spans.add(&event(id, None, 10, EventKind::TimerCreated { fire_at_ms: 50 }));
        }
        spans.add(&event(4, Some(3), 51, EventKind::TimerFired { fire_at_ms: 50 }));
        let states: Vec<_> =
            spans.spans.iter().map(|span| (span.state, span.ended_at_ms)).collect();
        assert_eq!(states, [(SpanState::Open, None), (SpanState::Done, Some(51))]);
    }

    #[test]
    fn a_message_ends_the_first_wait_of_its_name() {
        let mut spans = Spans::default();
        for (id, name) in [(2, "a"), (3, "b"), (4, "b")] {
            spans.add(&event(id, None, 10, waits(name)));
        }
        spans.add(&event(5, None, 20, arrives("b")));
        spans.add(&event(6, None, 30, arrives("unknown")));
        let ends: Vec<_> = spans.spans.iter().map(|span| span.ended_at_ms).collect();
        assert_eq!(ends, [None, Some(20), None]);
    }
}
