//! What the fast path of one node shares.

use std::sync::Arc;

use super::completions::Completions;
use super::durations::ActivityDurations;
use super::prefetch::Prefetch;
use crate::providers::ScheduledActivityIdentifier;
use crate::runtime::activities::Activities;
use crate::runtime::node::Node;
use crate::runtime::turns::Turns;

/// The only part of a node that holds both owners.
pub(crate) struct FastPath {
    pub(super) turns: Arc<Turns>,
    pub(super) activities: Arc<Activities>,
    /// Activities that wait for a slot.
    pub(super) prefetch: Prefetch,
    pub(super) durations: ActivityDurations,
    /// Results that wait for the next direct turn.
    pub(super) completions: Completions,
}

impl FastPath {
    pub(crate) fn new(turns: Arc<Turns>, activities: Arc<Activities>) -> Self {
        Self {
            turns,
            activities,
            prefetch: Prefetch::default(),
            durations: ActivityDurations::default(),
            completions: Completions::default(),
        }
    }

    /// The owner of turns.
    pub(crate) fn turns(&self) -> &Arc<Turns> {
        &self.turns
    }

    /// The owner of activities.
    pub(crate) fn activities(&self) -> &Arc<Activities> {
        &self.activities
    }

    pub(super) fn node(&self) -> &Arc<Node> {
        &self.turns.node
    }

    /// Cancels activities of this node that a committed turn no longer wants.
    pub(crate) fn cancel(&self, ids: &[ScheduledActivityIdentifier]) {
        if !ids.is_empty() {
            self.prefetch.forget(ids);
            self.activities.running.cancel(ids);
        }
    }
}
