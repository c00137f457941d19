//! Durable timers.

use std::time::Duration;

use super::future::DurableFuture;
use super::orchestration::OrchestrationContext;
use crate::clock::millis;
use crate::model::{Action, ScheduleKind};

impl OrchestrationContext {
    /// Schedules a timer. It survives restarts; a zero delay still costs a turn.
    pub fn schedule_timer(&self, delay: Duration) -> DurableFuture<()> {
        let now_ms = self.shared.state().now_ms;
        let fire_at_ms = now_ms.saturating_add(millis(delay));
        let action = Action::CreateTimer { scheduling_event_id: 0, fire_at_ms };
        self.schedule(action, ScheduleKind::Timer, |_fired| ())
    }
}
