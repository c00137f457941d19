//! Values that differ from run to run, recorded so that replay sees the same.

use std::future::Future;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::orchestration::OrchestrationContext;
use crate::model::syscall;

impl OrchestrationContext {
    /// A random UUID, the same on every replay.
    pub fn new_guid(&self) -> impl Future<Output = Result<String, String>> {
        self.schedule_activity(syscall::NEW_GUID, "")
    }

    /// The current time, the same on every replay.
    pub fn utc_now(&self) -> impl Future<Output = Result<SystemTime, String>> {
        self.schedule_activity(syscall::UTC_NOW_MS, "").map(|answer| {
            let text = answer?;
            let millis = text.parse().map_err(|error| format!("utc_now: '{text}': {error}"))?;
            Ok(UNIX_EPOCH + Duration::from_millis(millis))
        })
    }
}
