//! Values that differ from run to run. They are recorded, so that a replay returns the same.

use std::future::Future;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::orchestration::OrchestrationContext;
use crate::model::syscall;

impl OrchestrationContext {
    /// Returns a random UUID, which is the same in every replay.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn charge(ctx: OrchestrationContext, order: String) -> Result<String, String> {
    ///     let idempotency_key = ctx.new_guid().await?;
    ///     ctx.schedule_activity("Charge", format!("{idempotency_key} {order}")).await
    /// }
    /// ```
    #[track_caller]
    pub fn new_guid(&self) -> impl Future<Output = Result<String, String>> {
        self.schedule_activity(syscall::NEW_GUID, "")
    }

    /// Returns the current time, which is the same in every replay.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use std::time::UNIX_EPOCH;
    ///
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn stamp(ctx: OrchestrationContext, _input: String) -> Result<String, String> {
    ///     let age = ctx.utc_now().await?.duration_since(UNIX_EPOCH);
    ///     Ok(age.map_err(|error| error.to_string())?.as_secs().to_string())
    /// }
    /// ```
    #[track_caller]
    pub fn utc_now(&self) -> impl Future<Output = Result<SystemTime, String>> {
        self.schedule_activity(syscall::UTC_NOW_MS, "").map(|result| {
            let text = result?;
            let millis = text.parse().map_err(|error| format!("utc_now: '{text}': {error}"))?;
            Ok(UNIX_EPOCH + Duration::from_millis(millis))
        })
    }
}
