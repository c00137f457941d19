//! What an operator chooses when an instance is mended.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The point up to which the events of an execution are kept.
///
/// As JSON it is the text of its display.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
#[non_exhaustive]
pub enum MendPoint {
    /// The last event before the failure: the failed call runs again. An instance that was
    /// cancelled continues as if it had not been.
    LastFailed,
    /// This event is the last that is kept.
    Event(u64),
    /// Only the start of the execution is kept, with the messages that it carries.
    First,
}

impl fmt::Display for MendPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LastFailed => f.write_str("last-failed"),
            Self::Event(id) => write!(f, "{id}"),
            Self::First => f.write_str("first"),
        }
    }
}

impl From<MendPoint> for String {
    fn from(point: MendPoint) -> Self {
        point.to_string()
    }
}

impl TryFrom<String> for MendPoint {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for MendPoint {
    type Err = String;

    /// Reads `last-failed`, `first`, or the number of an event.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "last-failed" => Ok(Self::LastFailed),
            "first" => Ok(Self::First),
            number => number.parse().map(Self::Event).map_err(|_not_a_number| {
                format!("'{text}' is no event: use last-failed, first or the number of an event")
            }),
        }
    }
}

/// What happens to signals and queue messages that arrived after the kept events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LaterMessages {
    /// They arrive again. A signal that a wait received is held until a wait for it opens.
    #[default]
    Reapply,
    /// They are dropped.
    Drop,
}

/// What happens to results that arrived after the kept events, of activities scheduled before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LaterResults {
    /// They arrive again.
    #[default]
    Keep,
    /// They are dropped, and the activities run again.
    RunAgain,
}

/// What happens to children that the kept events wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum MendChildren {
    /// One that failed is retried, one that runs is awaited, and one that completed answers again.
    #[default]
    Mend,
    /// The call is refused if there are any.
    Refuse,
}

/// How an instance is mended.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
/// use duroxide::client::{LaterMessages, MendOptions};
///
/// let options = MendOptions::default()
///     .with_messages(LaterMessages::Drop)
///     .with_reason("the bank has recovered");
/// assert_eq!(options.reason, "the bank has recovered");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct MendOptions {
    /// Signals and queue messages that came later.
    pub messages: LaterMessages,
    /// Results of activities that came later.
    pub results: LaterResults,
    /// Children that are waited for.
    pub children: MendChildren,
    /// Allows a child to be mended whose parent no longer waits for it.
    pub detached: bool,
    /// The version of the code from now on; that of the execution if there is none.
    pub version: Option<String>,
    /// Why, for the history.
    pub reason: String,
}

impl MendOptions {
    /// Signals and queue messages that came later.
    #[must_use = "returns the changed options"]
    pub fn with_messages(mut self, messages: LaterMessages) -> Self {
        self.messages = messages;
        self
    }

    /// Results of activities that came later.
    #[must_use = "returns the changed options"]
    pub fn with_results(mut self, results: LaterResults) -> Self {
        self.results = results;
        self
    }

    /// Children that are waited for.
    #[must_use = "returns the changed options"]
    pub fn with_children(mut self, children: MendChildren) -> Self {
        self.children = children;
        self
    }

    /// Whether a child may be mended whose parent no longer waits for it: its result has no effect
    /// on the parent.
    #[must_use = "returns the changed options"]
    pub fn with_detached(mut self, detached: bool) -> Self {
        self.detached = detached;
        self
    }

    /// The version of the code from now on. It must agree with the kept events.
    #[must_use = "returns the changed options"]
    pub fn with_version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Why, for the history.
    #[must_use = "returns the changed options"]
    pub fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    /// The options for a child: the version is that of the parent's code.
    pub(super) fn for_child(&self) -> Self {
        Self { version: None, detached: false, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_read_back() {
        for point in [MendPoint::LastFailed, MendPoint::First, MendPoint::Event(12)] {
            assert_eq!(point.to_string().parse(), Ok(point));
        }
        let error = "last".parse::<MendPoint>().unwrap_err();
        assert_eq!(error, "'last' is no event: use last-failed, first or the number of an event");
    }
}
