//! Totals of operations on many instances.

use std::ops::AddAssign;

use crate::providers::{DeleteInstanceResult, PruneResult};

impl AddAssign for DeleteInstanceResult {
    fn add_assign(&mut self, other: Self) {
        self.instances_deleted += other.instances_deleted;
        self.executions_deleted += other.executions_deleted;
        self.events_deleted += other.events_deleted;
        self.queue_messages_deleted += other.queue_messages_deleted;
    }
}

impl AddAssign for PruneResult {
    fn add_assign(&mut self, other: Self) {
        self.instances_processed += other.instances_processed;
        self.executions_deleted += other.executions_deleted;
        self.events_deleted += other.events_deleted;
    }
}
