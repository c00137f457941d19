//! What a commit changed, published once it is durable.

use crate::providers::{ChangeHub, ChangeScope, InstanceEnd};

/// What a commit changed. Collect it while the commit is written, and
/// [`publish`](Self::publish) it once the commit is durable: a waiter that polls earlier finds
/// nothing and sleeps again.
#[derive(Debug, Default)]
pub struct Changes {
    orchestrator_queue: bool,
    worker_queue: bool,
    start_limits: bool,
    work_locks: bool,
    everything: bool,
    /// Instances that progressed and did not end.
    steps: Vec<String>,
    /// Instances that may have ended.
    instances: Vec<String>,
    /// The ends of instances that a client waits for.
    ends: Vec<InstanceEnd>,
}

impl Changes {
    /// A message may have become fetchable, or the time at which it does is known now.
    pub fn orchestrator_queue(&mut self) {
        self.orchestrator_queue = true;
    }

    /// An activity may have become fetchable.
    pub fn worker_queue(&mut self) {
        self.worker_queue = true;
    }

    /// A schedule-to-start limit was added, or counts again.
    pub fn start_limits(&mut self) {
        self.start_limits = true;
    }

    /// The worker of a running activity lost its lease.
    pub fn work_locks(&mut self) {
        self.work_locks = true;
    }

    /// History, status or values of an instance changed, and it may have ended.
    pub fn instance(&mut self, instance: String) {
        self.instances.push(instance);
    }

    /// An instance progressed, or an activity of it reported, and the instance has not ended.
    pub fn step(&mut self, instance: String) {
        self.steps.push(instance);
    }

    /// An instance ended that a client waits for.
    pub fn ended(&mut self, end: InstanceEnd) {
        self.ends.push(end);
    }

    /// Another process may have changed anything.
    pub fn everything(&mut self) {
        self.everything = true;
    }

    /// Adds what another job of the same commit changed.
    pub fn merge(&mut self, other: Self) {
        self.orchestrator_queue |= other.orchestrator_queue;
        self.worker_queue |= other.worker_queue;
        self.start_limits |= other.start_limits;
        self.work_locks |= other.work_locks;
        self.everything |= other.everything;
        self.steps.extend(other.steps);
        self.instances.extend(other.instances);
        self.ends.extend(other.ends);
    }

    /// Notifies the waiters of these changes.
    pub fn publish(self, hub: &ChangeHub) {
        if self.everything {
            hub.notify_all();
            return;
        }
        let queues = [
            (self.orchestrator_queue, ChangeScope::OrchestratorQueue),
            (self.worker_queue, ChangeScope::WorkerQueue),
            (self.start_limits, ChangeScope::StartLimits),
            (self.work_locks, ChangeScope::WorkLocks),
        ];
        for (_, scope) in queues.into_iter().filter(|(changed, _)| *changed) {
            hub.notify(scope);
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
