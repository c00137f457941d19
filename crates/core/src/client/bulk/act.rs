//! What a bulk act does, and to which instances.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::client::{ClientError, MendPoint};
use crate::limits::{BULK_IDS_MAX, EDIT_TEXT_MAX, MAX_ID_BYTES};
use crate::query::Filter;

/// What is done to each instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum BulkAct {
    /// Cancels it.
    Cancel,
    /// Asks it to end by itself, and cancels it if it still runs after a time.
    RequestCancellation {
        /// The time, in milliseconds from when the instance is asked.
        grace_ms: u64,
    },
    /// Ends it at once, without its code.
    Terminate,
    /// Keeps it from taking turns.
    Suspend,
    /// Lifts its suspension.
    Resume,
    /// Runs what failed again.
    Retry,
    /// Takes it back to an event of its history.
    Reset {
        /// The last event that is kept.
        to: MendPoint,
    },
    /// Deletes it with its children.
    Delete {
        /// Whether a running instance is deleted, too.
        force: bool,
    },
    /// Deletes old executions, never the current one.
    Prune {
        /// Keeps this many of the latest executions.
        keep_last: Option<u32>,
        /// Deletes only executions that ended before, in milliseconds since the Unix epoch.
        completed_before: Option<u64>,
    },
}

impl BulkAct {
    /// Asks instances to end by themselves within this time.
    pub fn request_cancellation(grace: Duration) -> Self {
        Self::RequestCancellation { grace_ms: u64::try_from(grace.as_millis()).unwrap_or(u64::MAX) }
    }

    /// Its verb.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Cancel | Self::RequestCancellation { .. } => "cancel",
            Self::Terminate => "terminate",
            Self::Suspend => "suspend",
            Self::Resume => "resume",
            Self::Retry => "retry",
            Self::Reset { .. } => "reset",
            Self::Delete { .. } => "delete",
            Self::Prune { .. } => "prune",
        }
    }
}

impl fmt::Display for BulkAct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Which instances a bulk act concerns. They are fixed before the first of them is changed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum BulkTarget {
    /// All that a filter selects. Instances of built-in orchestrations are left out, and for a
    /// deletion all that have a parent.
    Matching(Filter),
    /// These, in their order: at most 5000.
    Ids(Vec<String>),
}

/// A bulk act that is asked for.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
/// use duroxide::client::{BulkAct, BulkRequest};
/// use duroxide::query::Filter;
///
/// let filter = Filter::parse("status:failed name:Order* error~timeout")?;
/// let request = BulkRequest::matching(BulkAct::Retry, filter)
///     .by("mara", "the bank has recovered")
///     .with_rate_per_second(50);
/// assert_eq!(request.act.word(), "retry");
/// # Ok::<(), duroxide::query::FilterError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BulkRequest {
    /// What is done.
    pub act: BulkAct,
    /// To which instances.
    pub target: BulkTarget,
    /// Who asks for it.
    pub by: String,
    /// Why. Instances that are cancelled, terminated, suspended, retried or reset get it as the
    /// reason.
    pub reason: String,
    /// At most this many instances a second; without a limit, as fast as the store allows.
    pub rate_per_second: Option<u32>,
    /// The id of the act; without one it gets a new one. The same id twice is one act.
    pub id: Option<String>,
}

impl BulkRequest {
    /// An act on what a filter selects.
    pub fn matching(act: BulkAct, filter: Filter) -> Self {
        Self::new(act, BulkTarget::Matching(filter))
    }

    /// An act on these instances.
    pub fn of_ids(act: BulkAct, ids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::new(act, BulkTarget::Ids(ids.into_iter().map(Into::into).collect()))
    }

    fn new(act: BulkAct, target: BulkTarget) -> Self {
        Self {
            act,
            target,
            by: String::new(),
            reason: String::new(),
            rate_per_second: None,
            id: None,
        }
    }

    /// Who asks for it, and why.
    #[must_use = "returns the changed act"]
    pub fn by(mut self, who: impl Into<String>, reason: impl Into<String>) -> Self {
        self.by = who.into();
        self.reason = reason.into();
        self
    }

    /// At most this many instances a second.
    #[must_use = "returns the changed act"]
    pub fn with_rate_per_second(mut self, rate: u32) -> Self {
        self.rate_per_second = Some(rate);
        self
    }

    /// The id of the act, so that the call may be repeated.
    #[must_use = "returns the changed act"]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Why it is refused, if it is.
    pub(super) fn check(&self) -> Result<(), ClientError> {
        let refused = |message: String| Err(ClientError::InvalidInput { message });
        for (what, text) in [("name of the operator", &self.by), ("reason", &self.reason)] {
            if text.len() > EDIT_TEXT_MAX {
                return refused(format!("the {what} has more than {EDIT_TEXT_MAX} bytes"));
            }
        }
        if self.by.is_empty() {
            return refused("a bulk act is recorded: say who asks for it".to_owned());
        }
        if self.rate_per_second == Some(0) {
            return refused("a rate of zero would never end".to_owned());
        }
        let BulkTarget::Ids(ids) = &self.target else { return Ok(()) };
        if ids.is_empty() || ids.len() > BULK_IDS_MAX {
            return refused(format!("one act takes 1 to {BULK_IDS_MAX} ids, got {}", ids.len()));
        }
        match ids.iter().find(|id| id.is_empty() || id.len() > MAX_ID_BYTES) {
            Some(id) => refused(format!("an id has 1 to {MAX_ID_BYTES} bytes, got {}", id.len())),
            None => Ok(()),
        }
    }
}
