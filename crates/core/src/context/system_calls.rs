//! Values that differ from run to run, recorded so that replay sees the same.

use std::future::Future;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::orchestration::OrchestrationContext;

/// Prefix of activities that the runtime itself answers.
pub const SYSCALL_PREFIX: &str = "__duroxide_syscall:";

/// Answers with a random UUID.
pub const SYSCALL_NEW_GUID: &str = "__duroxide_syscall:new_guid";

/// Answers with the time in milliseconds since the Unix epoch.
pub const SYSCALL_UTC_NOW: &str = "__duroxide_syscall:utc_now_ms";

/// Answers with a key-value entry of another instance.
pub const SYSCALL_GET_KV_VALUE: &str = "__duroxide_syscall:get_kv_value";

impl OrchestrationContext {
    /// A random UUID, the same on every replay.
    pub fn new_guid(&self) -> impl Future<Output = Result<String, String>> {
        self.schedule_activity(SYSCALL_NEW_GUID, "")
    }

    /// The current time, the same on every replay.
    pub fn utc_now(&self) -> impl Future<Output = Result<SystemTime, String>> {
        self.schedule_activity(SYSCALL_UTC_NOW, "").map(|answer| {
            let text = answer?;
            let millis = text.parse().map_err(|error| format!("utc_now: '{text}': {error}"))?;
            Ok(UNIX_EPOCH + Duration::from_millis(millis))
        })
    }
}
