//! What the jobs of one commit changed, told to waiters once it is durable.

use duroxide_core::providers::{ChangeHub, ChangeScope, InstanceEnd};

/// What was changed.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    orchestrator_queue: bool,
    worker_queue: bool,
    start_limits: bool,
    work_locks: bool,
    everything: bool,
    /// Instances that went on, and those that may have ended.
    steps: Vec<String>,
    instances: Vec<String>,
    /// How instances ended that somebody waits for.
    ends: Vec<InstanceEnd>,
}

impl Changes {
    /// A message may have become fetchable, or its time is known now.
    pub(crate) fn orchestrator_queue(&mut self) {
        self.orchestrator_queue = true;
    }

    /// An activity may have become fetchable.
    pub(crate) fn worker_queue(&mut self) {
        self.worker_queue = true;
    }

    /// A schedule-to-start limit was added, or counts again.
    pub(crate) fn start_limits(&mut self) {
        self.start_limits = true;
    }

    /// An activity that someone runs is no longer theirs.
    pub(crate) fn work_locks(&mut self) {
        self.work_locks = true;
    }

    /// History, status or values of an instance changed.
    pub(crate) fn instance(&mut self, instance: String) {
        self.instances.push(instance);
    }

    /// An instance went on, or an activity of it reported, and it has not ended.
    pub(crate) fn step(&mut self, instance: String) {
        self.steps.push(instance);
    }

    /// An instance ended that somebody waits for.
    pub(crate) fn ended(&mut self, end: InstanceEnd) {
        self.ends.push(end);
    }

    /// Another process may have changed anything.
    pub(crate) fn everything(&mut self) {
        self.everything = true;
    }

    /// Adds what another job changed.
    pub(crate) fn merge(&mut self, other: Self) {
        self.orchestrator_queue |= other.orchestrator_queue;
        self.worker_queue |= other.worker_queue;
        self.start_limits |= other.start_limits;
        self.work_locks |= other.work_locks;
        self.everything |= other.everything;
        self.steps.extend(other.steps);
        self.instances.extend(other.instances);
        self.ends.extend(other.ends);
    }

    /// Wakes whoever waits for one of these changes.
    pub(crate) fn publish(self, hub: &ChangeHub) {
        if self.everything {
            hub.notify_all();
            return;
        }
        if self.orchestrator_queue {
            hub.notify(ChangeScope::OrchestratorQueue);
        }
        if self.worker_queue {
            hub.notify(ChangeScope::WorkerQueue);
        }
        if self.start_limits {
            hub.notify(ChangeScope::StartLimits);
        }
        if self.work_locks {
            hub.notify(ChangeScope::WorkLocks);
        }
        for instance in &self.steps {
            hub.notify_step(instance);
        }
        for instance in &self.instances {
            hub.notify(ChangeScope::Instance(instance));
        }
        for end in self.ends {
            hub.notify_ended(end);
        }
    }
}
