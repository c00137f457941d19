//! Durable timers.

use std::panic::Location;
use std::time::Duration;

use super::future::DurableFuture;
use super::orchestration::OrchestrationContext;
use super::state::CallSite;
use crate::clock::millis;
use crate::model::{Action, ScheduleKind};

impl OrchestrationContext {
    /// Schedules a timer. It survives restarts. Even a timer without delay completes in a later
    /// turn.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use std::time::Duration;
    ///
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn remind(ctx: OrchestrationContext, user: String) -> Result<String, String> {
    ///     ctx.schedule_timer(Duration::from_secs(7 * 24 * 60 * 60)).await;
    ///     ctx.schedule_activity("SendReminder", user).await
    /// }
    /// ```
    #[track_caller]
    pub fn schedule_timer(&self, delay: Duration) -> DurableFuture<()> {
        self.schedule_timer_at(Location::caller(), delay)
    }

    pub(crate) fn schedule_timer_at(&self, site: CallSite, delay: Duration) -> DurableFuture<()> {
        let now_ms = self.shared.state().now_ms;
        let fire_at_ms = now_ms.saturating_add(millis(delay));
        let action = Action::CreateTimer { scheduling_event_id: 0, fire_at_ms };
        self.schedule_at(site, |_token| (action, ScheduleKind::Timer), |_fired| ())
    }
}
