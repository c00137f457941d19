//! What a call changed. Waiters learn it when the change is durable.

use std::collections::{BTreeSet, HashSet};

use duroxide_core::providers::{ChangeHub, ChangeScope, InstanceEnd};

use crate::limits;

/// A set of changes.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) orchestrator_queue: bool,
    /// Routes of activities that may have become fetchable.
    pub(crate) routes: BTreeSet<String>,
    pub(crate) start_limits: bool,
    pub(crate) work_locks: bool,
    pub(crate) every_instance: bool,
    /// Instances that may have ended.
    pub(crate) instances: BTreeSet<String>,
    /// Instances that progressed.
    pub(crate) steps: BTreeSet<String>,
    /// How instances ended that clients of this node wait for.
    ends: Vec<InstanceEnd>,
}

impl Changes {
    /// A message may have become fetchable, now or at a time that is known now.
    pub(crate) fn orchestrator_queue(&mut self) {
        self.orchestrator_queue = true;
    }

    /// An activity may have become fetchable.
    pub(crate) fn worker_queue(&mut self, route: &str) {
        if !self.routes.contains(route) {
            self.routes.insert(route.to_owned());
        }
    }

    /// A schedule-to-start limit was added, or applies again.
    pub(crate) fn start_limits(&mut self) {
        self.start_limits = true;
    }

    /// A worker lost the lease of an activity that it runs.
    pub(crate) fn work_locks(&mut self) {
        self.work_locks = true;
    }

    /// History, status or values of an instance changed; it may have ended.
    pub(crate) fn instance(&mut self, instance: &str) {
        self.make_room();
        if !self.every_instance {
            self.instances.insert(instance.to_owned());
        }
    }

    /// An instance progressed, or one of its activities reported, and it has not ended.
    pub(crate) fn step(&mut self, instance: &str) {
        self.make_room();
        if !self.every_instance {
            self.steps.insert(instance.to_owned());
        }
    }

    /// An instance ended that a client of this node waits for.
    pub(crate) fn ended(&mut self, end: InstanceEnd) {
        self.instance(end.instance());
        self.ends.push(end);
    }

    /// The part that concerns other nodes.
    pub(crate) fn for_others(self) -> Self {
        Self { ends: Vec::new(), ..self }
    }

    fn make_room(&mut self) {
        if self.instances.len() + self.steps.len() >= limits::CHANGED_INSTANCES_MAX {
            self.instances.clear();
            self.steps.clear();
            self.every_instance = true;
        }
    }

    /// Anything may have changed.
    pub(crate) fn everything() -> Self {
        Self {
            orchestrator_queue: true,
            routes: BTreeSet::from([ANY_ROUTE.to_owned()]),
            start_limits: true,
            work_locks: true,
            every_instance: true,
            ..Self::default()
        }
    }

    /// Adds what another call changed.
    pub(crate) fn merge(&mut self, other: Self) {
        self.orchestrator_queue |= other.orchestrator_queue;
        self.routes.extend(other.routes);
        self.start_limits |= other.start_limits;
        self.work_locks |= other.work_locks;
        self.every_instance |= other.every_instance;
        self.ends.extend(other.ends);
        for instance in &other.steps {
            self.step(instance);
        }
        for instance in &other.instances {
            self.instance(instance);
        }
    }

    /// Whether nothing changed.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether instances progressed and nothing else changed: no waiter is blocked by that.
    pub(crate) fn is_only_steps(&self) -> bool {
        !self.orchestrator_queue
            && self.routes.is_empty()
            && !self.start_limits
            && !self.work_locks
            && !self.every_instance
            && self.instances.is_empty()
    }

    /// Wakes the waiters of these changes on this node.
    pub(crate) fn publish(&self, hub: &ChangeHub) {
        if self.orchestrator_queue {
            hub.notify(ChangeScope::OrchestratorQueue);
        }
        if !self.routes.is_empty() {
            hub.notify(ChangeScope::WorkerQueue);
        }
        if self.start_limits {
            hub.notify(ChangeScope::StartLimits);
        }
        if self.work_locks {
            hub.notify(ChangeScope::WorkLocks);
        }
        if self.every_instance {
            hub.notify_instances();
        }
        for instance in &self.steps {
            hub.notify_step(instance);
        }
        let ended: HashSet<&str> = self.ends.iter().map(InstanceEnd::instance).collect();
        for instance in self.instances.iter().filter(|it| !ended.contains(it.as_str())) {
            hub.notify(ChangeScope::Instance(instance));
        }
        for end in &self.ends {
            hub.notify_ended(end.clone());
        }
    }
}

/// Stands for activities of any tag.
pub(crate) const ANY_ROUTE: &str = "*";
