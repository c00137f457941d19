//! What a call changed, told to waiters on this node and on others once it is durable.

use std::collections::BTreeSet;

use duroxide_core::providers::{ChangeHub, ChangeScope};

use crate::limits;

/// What was changed.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) orchestrator_queue: bool,
    /// Routes of activities that may have become fetchable.
    pub(crate) routes: BTreeSet<String>,
    pub(crate) every_instance: bool,
    pub(crate) instances: BTreeSet<String>,
}

impl Changes {
    /// A message may have become fetchable, or its time is known now.
    pub(crate) fn orchestrator_queue(&mut self) {
        self.orchestrator_queue = true;
    }

    /// An activity may have become fetchable.
    pub(crate) fn worker_queue(&mut self, route: &str) {
        if !self.routes.contains(route) {
            self.routes.insert(route.to_owned());
        }
    }

    /// History, status or values of an instance changed.
    pub(crate) fn instance(&mut self, instance: &str) {
        if self.instances.len() >= limits::CHANGED_INSTANCES_MAX {
            self.instances.clear();
            self.every_instance = true;
        }
        if !self.every_instance {
            self.instances.insert(instance.to_owned());
        }
    }

    /// Anything may have changed.
    pub(crate) fn everything() -> Self {
        Self {
            orchestrator_queue: true,
            routes: BTreeSet::from([ANY_ROUTE.to_owned()]),
            every_instance: true,
            instances: BTreeSet::new(),
        }
    }

    /// Adds what another call changed.
    pub(crate) fn merge(&mut self, other: Self) {
        self.orchestrator_queue |= other.orchestrator_queue;
        self.routes.extend(other.routes);
        self.every_instance |= other.every_instance;
        for instance in &other.instances {
            self.instance(instance);
        }
    }

    /// Whether nothing was changed.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Wakes whoever waits for one of these changes on this node.
    pub(crate) fn publish(&self, hub: &ChangeHub) {
        if self.orchestrator_queue {
            hub.notify(ChangeScope::OrchestratorQueue);
        }
        if !self.routes.is_empty() {
            hub.notify(ChangeScope::WorkerQueue);
        }
        if self.every_instance {
            hub.notify_instances();
        }
        for instance in &self.instances {
            hub.notify(ChangeScope::Instance(instance));
        }
    }
}

/// Stands for activities of any tag.
pub(crate) const ANY_ROUTE: &str = "*";
