//! What the queues hold of one instance.

use semver::Version;

use super::NeededCode;

/// Asks what the queues hold of one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstanceQueuesQuery {
    /// The instance.
    pub instance: String,
    /// How many messages that are ready, that are delayed and that are parked are counted, and how
    /// many activities are returned, each at the most.
    pub limit: u32,
}

impl InstanceQueuesQuery {
    /// Asks about an instance.
    pub fn new(instance: impl Into<String>, limit: u32) -> Self {
        Self { instance: instance.into(), limit }
    }
}

/// What the queues hold of one instance; nothing for one that is unknown or is being deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstanceQueues {
    /// The time of the store at which this was read, milliseconds since the Unix epoch.
    pub now_ms: u64,
    /// The code that the next turn needs; `None` if it needs none.
    pub code: Option<NeededCode>,
    /// The version that the execution is pinned to.
    pub pin: Option<Version>,
    /// The lease that keeps other turns off, unless it has expired.
    pub lease: Option<TurnLease>,
    /// Messages of the orchestrator queue, each kind once, by the names of the kinds.
    pub messages: Vec<QueuedMessages>,
    /// There are more messages than were counted.
    pub has_more_messages: bool,
    /// Activities of all executions, by execution and activity.
    pub activities: Vec<QueuedActivity>,
    /// There are more activities than were returned.
    pub has_more_activities: bool,
}

impl InstanceQueues {
    /// Nothing is queued.
    pub fn new(now_ms: u64) -> Self {
        Self { now_ms, ..Self::default() }
    }

    /// What the next turn needs.
    #[must_use]
    pub fn with_needs(mut self, code: Option<NeededCode>, pin: Option<Version>) -> Self {
        (self.code, self.pin) = (code, pin);
        self
    }

    /// The lease that keeps other turns off.
    #[must_use]
    pub fn with_lease(mut self, lease: Option<TurnLease>) -> Self {
        self.lease = lease;
        self
    }

    /// The activities, and whether there are more.
    #[must_use]
    pub fn with_activities(mut self, activities: Vec<QueuedActivity>, has_more: bool) -> Self {
        (self.activities, self.has_more_activities) = (activities, has_more);
        self
    }

    /// Counts a message under its kind.
    pub fn count(&mut self, message: &QueuedMessage<'_>) {
        let place = self.messages.binary_search_by(|group| group.kind.as_str().cmp(message.kind));
        let place = place.unwrap_or_else(|place| {
            self.messages.insert(place, QueuedMessages::new(message.kind));
            place
        });
        let visible_at_ms = message.visible_at_ms;
        if let Some(group) = self.messages.get_mut(place) {
            group.attempts = group.attempts.max(message.attempts);
            if message.is_parked {
                group.parked += 1;
            } else if visible_at_ms <= self.now_ms {
                group.ready += 1;
                group.ready_since_ms = Some(earlier(group.ready_since_ms, visible_at_ms));
            } else {
                group.delayed += 1;
                group.next_visible_ms = Some(earlier(group.next_visible_ms, visible_at_ms));
            }
        }
    }
}

fn earlier(known: Option<u64>, other: u64) -> u64 {
    known.map_or(other, |known| known.min(other))
}

/// One message of the orchestrator queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuedMessage<'a> {
    /// Name of the [`WorkItem`](crate::WorkItem) variant.
    pub kind: &'a str,
    /// From when on a turn may take it, milliseconds since the Unix epoch.
    pub visible_at_ms: u64,
    /// It waits for an instance that does not exist.
    pub is_parked: bool,
    /// How often nodes have fetched it.
    pub attempts: u32,
}

/// The messages of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueuedMessages {
    /// Name of the [`WorkItem`](crate::WorkItem) variant.
    pub kind: String,
    /// Those that a turn may take, or has taken and not committed.
    pub ready: u32,
    /// Those that become visible later, such as timers.
    pub delayed: u32,
    /// Those that wait for an instance that does not exist.
    pub parked: u32,
    /// Since when the first of the ready ones is visible, milliseconds since the Unix epoch.
    pub ready_since_ms: Option<u64>,
    /// When the first of the delayed ones becomes visible, milliseconds since the Unix epoch.
    pub next_visible_ms: Option<u64>,
    /// How often nodes have fetched that which they have fetched most often, with the fetch of the
    /// present lease.
    pub attempts: u32,
}

impl QueuedMessages {
    /// No message of a kind.
    pub fn new(kind: impl Into<String>) -> Self {
        Self { kind: kind.into(), ..Self::default() }
    }
}

/// A lease that keeps other turns of an instance off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnLease {
    /// When it expires, milliseconds since the Unix epoch; `None` if it does not.
    pub until_ms: Option<u64>,
    /// No node holds it: the instance is suspended, or an operator's call holds it.
    pub is_suspension: bool,
}

impl TurnLease {
    /// The lease of a node.
    pub fn of_node(until_ms: u64) -> Self {
        Self { until_ms: Some(until_ms), is_suspension: false }
    }

    /// A lease that no node holds.
    pub fn of_suspension(until_ms: Option<u64>) -> Self {
        Self { until_ms, is_suspension: true }
    }
}

/// An activity of the worker queue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueuedActivity {
    /// Execution that asked.
    pub execution_id: u64,
    /// Schedule event id.
    pub activity_id: u64,
    /// Registered name; empty if the activity cannot be decoded.
    pub name: String,
    /// Routing tag.
    pub tag: Option<String>,
    /// Session to run in.
    pub session_id: Option<String>,
    /// The owner of that session, if it has one.
    pub session_owner: Option<SessionOwner>,
    /// When it was scheduled, milliseconds since the Unix epoch.
    pub queued_at_ms: u64,
    /// Before this time no worker may claim it, milliseconds since the Unix epoch; `None` if that
    /// is past.
    pub delayed_until_ms: Option<u64>,
    /// When the lease of a worker expires, milliseconds since the Unix epoch; `None` without a
    /// live lease.
    pub leased_until_ms: Option<u64>,
    /// How often workers have fetched it.
    pub attempts: u32,
    /// It fails unless a worker starts it before this time, milliseconds since the Unix epoch;
    /// `None` if a worker has, or if it may wait for ever.
    pub start_by_ms: Option<u64>,
    /// What it last reported.
    pub progress: Option<String>,
    /// When it did, milliseconds since the Unix epoch.
    pub progress_at_ms: Option<u64>,
}

impl QueuedActivity {
    /// An activity that waits for a worker.
    pub fn new(execution_id: u64, activity_id: u64, name: impl Into<String>) -> Self {
        Self { execution_id, activity_id, name: name.into(), ..Self::default() }
    }
}

/// The worker that runs the activities of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionOwner {
    /// Its name: that of `RuntimeOptions::worker_node_id`, if the node has one.
    pub owner_id: String,
    /// Until when, milliseconds since the Unix epoch.
    pub until_ms: u64,
}

impl SessionOwner {
    /// An owner.
    pub fn new(owner_id: impl Into<String>, until_ms: u64) -> Self {
        Self { owner_id: owner_id.into(), until_ms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_counted_by_kind_and_time() {
        let mut queues = InstanceQueues::new(100);
        let message = |kind, visible_at_ms, is_parked, attempts| QueuedMessage {
            kind,
            visible_at_ms,
            is_parked,
            attempts,
        };
        for message in [
            message("TimerFired", 300, false, 0),
            message("ExternalRaised", 100, false, 2),
            message("TimerFired", 200, false, 0),
            message("ExternalRaised", 90, false, 1),
            message("QueueMessage", 5, true, 0),
        ] {
            queues.count(&message);
        }
        let [raised, queued, timers] = queues.messages.as_slice() else {
            panic!("{:?}", queues.messages);
        };
        assert_eq!((raised.kind.as_str(), raised.ready, raised.attempts), ("ExternalRaised", 2, 2));
        assert_eq!(raised.ready_since_ms, Some(90));
        assert_eq!((queued.parked, queued.ready, queued.ready_since_ms), (1, 0, None));
        assert_eq!((timers.delayed, timers.next_visible_ms), (2, Some(200)));
    }
}
