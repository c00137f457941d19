//! A request to an execution to end by itself.
//!
//! It is stored as a signal with a reserved name, like [patch markers](super::patch): every release
//! decodes it and replays it without effect.

use serde::{Deserialize, Serialize};

use super::cancel_reason::CancellingParent;
use super::{Event, EventKind, WorkItem};

/// Name of the signal that asks an execution to end.
pub(crate) const CANCEL_REQUESTED: &str = "__duroxide_syscall:cancel_requested";

/// A request to end, which the code of the orchestration may answer in its own way.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
/// use duroxide::{CancelRequest, Event};
///
/// /// Why an execution was asked to end, if it was.
/// fn asked(history: &[Event]) -> Option<String> {
///     history.iter().find_map(CancelRequest::of).map(|request| request.reason)
/// }
/// assert_eq!(asked(&[]), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CancelRequest {
    /// Why.
    pub reason: String,
    /// When the execution is cancelled if it still runs, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

impl CancelRequest {
    /// The request that an event records, if it records one.
    pub fn of(event: &Event) -> Option<Self> {
        let EventKind::ExternalEvent { name, data } = &event.kind else { return None };
        if name != CANCEL_REQUESTED {
            return None;
        }
        serde_json::from_str(data).ok()
    }

    pub(crate) fn new(reason: String, deadline_ms: Option<u64>) -> Self {
        Self { reason, deadline_ms }
    }

    pub(crate) fn to_kind(&self) -> EventKind {
        let data = serde_json::to_string(self).unwrap_or_default();
        EventKind::ExternalEvent { name: CANCEL_REQUESTED.to_owned(), data }
    }

    /// Whether it adds nothing to an earlier request.
    pub(crate) fn is_covered_by(&self, earlier: &Self) -> bool {
        match (self.deadline_ms, earlier.deadline_ms) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(later), Some(earlier)) => later >= earlier,
        }
    }
}

/// The message that brings a request. A request of a parent names its call, because an unrelated
/// instance may have the id of the child.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SentCancelRequest {
    #[serde(flatten)]
    pub(crate) request: CancelRequest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<CancellingParent>,
}

impl SentCancelRequest {
    /// The request in the payload of a signal, if the signal is one.
    pub(crate) fn of_signal(name: &str, data: &str) -> Option<Self> {
        (name == CANCEL_REQUESTED).then(|| serde_json::from_str(data).ok()).flatten()
    }

    pub(crate) fn into_message(self, instance: String) -> WorkItem {
        let data = serde_json::to_string(&self).unwrap_or_default();
        WorkItem::ExternalRaised { instance, name: CANCEL_REQUESTED.to_owned(), data }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_back() {
        let request = CancelRequest::new("why".to_owned(), Some(7));
        let parent = Some(CancellingParent("p".to_owned(), 1, 2));
        let sent = SentCancelRequest { request: request.clone(), parent };
        let WorkItem::ExternalRaised { name, data, .. } = sent.into_message("i".to_owned()) else {
            unreachable!()
        };
        assert_eq!(data, r#"{"reason":"why","deadline_ms":7,"parent":["p",1,2]}"#);
        let read = SentCancelRequest::of_signal(&name, &data).unwrap();
        assert_eq!((read.request, read.parent.map(|call| call.2)), (request, Some(2)));
        assert!(SentCancelRequest::of_signal("stop", &data).is_none());
    }

    #[test]
    fn only_a_sooner_deadline_adds_something() {
        let by = |deadline| CancelRequest::new(String::new(), deadline);
        for (later, earlier, covered) in [
            (None, None, true),
            (None, Some(5), true),
            (Some(5), None, false),
            (Some(5), Some(5), true),
            (Some(4), Some(5), false),
        ] {
            assert_eq!(by(later).is_covered_by(&by(earlier)), covered, "{later:?} {earlier:?}");
        }
    }
}
