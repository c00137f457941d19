//! What the checker found out about one execution.

use std::fmt;

use crate::engine::{Agreement, Disagreement};
use crate::histories::RecordedHistory;
use crate::model::{Event, EventKind};

/// The result for one execution.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Verdict {
    /// The code agrees with the history.
    Fine(Agreement),
    /// The code and the history disagree.
    Differs(Box<Disagreement>),
    /// The orchestration, or this version of it, is not registered.
    HandlerMissing {
        /// The versions that are registered under its name.
        registered: Vec<String>,
    },
    /// The execution is pinned to a version of Duroxide that this node does not replay.
    VersionUnsupported {
        /// What the node replays.
        supported: String,
    },
    /// The history cannot be decoded.
    Undecodable {
        /// Why.
        error: String,
    },
}

impl Verdict {
    /// Whether the execution could go on with this code.
    pub fn is_fine(&self) -> bool {
        matches!(self, Self::Fine(_))
    }
}

/// One execution and what the checker found out about it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CheckedExecution {
    /// The instance.
    pub instance_id: String,
    /// The number of the execution.
    pub execution_id: u64,
    /// Registered name of its code; empty if that cannot be read.
    pub orchestration: String,
    /// Version of its code.
    pub version: String,
    /// The version of Duroxide that it is pinned to.
    pub pin: String,
    /// Number of its events.
    pub events: usize,
    /// The result.
    pub verdict: Verdict,
}

impl CheckedExecution {
    pub(super) fn of(history: &RecordedHistory, verdict: Verdict) -> Self {
        let start = history.events.first();
        let (orchestration, version) = start.and_then(code_of).unwrap_or_default();
        Self {
            instance_id: history.instance_id.clone(),
            execution_id: history.execution_id,
            orchestration: orchestration.to_owned(),
            version: version.to_owned(),
            pin: start.map(|start| start.duroxide_version.clone()).unwrap_or_default(),
            events: history.events.len(),
            verdict,
        }
    }
}

/// Name and version in a start event.
pub(super) fn code_of(start: &Event) -> Option<(&str, &str)> {
    let EventKind::OrchestrationStarted { name, version, .. } = &start.kind else { return None };
    Some((name, version))
}

impl fmt::Display for CheckedExecution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (execution {}", self.instance_id, self.execution_id)?;
        if !self.orchestration.is_empty() {
            write!(f, ", {} {}", self.orchestration, self.version)?;
        }
        f.write_str("): ")?;
        match &self.verdict {
            Verdict::Fine(_) => f.write_str("fine"),
            Verdict::Differs(difference) => write_difference(f, difference),
            Verdict::HandlerMissing { registered } if registered.is_empty() => {
                f.write_str("the orchestration is not registered")
            }
            Verdict::HandlerMissing { registered } => {
                write!(f, "this version is not registered; registered: {}", registered.join(", "))
            }
            Verdict::VersionUnsupported { supported } => {
                write!(f, "pinned to Duroxide {}, this node replays {supported}", self.pin)
            }
            Verdict::Undecodable { error } => write!(f, "cannot be decoded: {error}"),
        }
    }
}

fn write_difference(f: &mut fmt::Formatter<'_>, found: &Disagreement) -> fmt::Result {
    let Some(event_id) = found.event_id else {
        return write!(f, "differs: {}", found.message);
    };
    write!(f, "differs at event {event_id}")?;
    if let Some(site) = found.call_site {
        write!(f, ", called at {site}")?;
    }
    if !found.field.is_empty() {
        write!(f, "\n    field:     {}", found.field)?;
    }
    write!(f, "\n    recorded:  {}", found.recorded)?;
    write!(f, "\n    requested: {}", found.requested)?;
    write!(f, "\n    {}", found.message)
}
