//! Log lines that are silent while replaying.

use tracing::{debug, error, info, trace, warn};

use super::orchestration::OrchestrationContext;

/// One log line with the fields that every orchestration line carries.
macro_rules! emit {
    ($level:ident, $ctx:expr, $($rest:tt)+) => {
        $level!(
            target: "duroxide::orchestration",
            instance_id = %$ctx.shared.instance_id,
            execution_id = $ctx.shared.execution_id,
            orchestration_name = %$ctx.shared.orchestration_name,
            orchestration_version = %$ctx.shared.orchestration_version,
            $($rest)+
        )
    };
}

impl OrchestrationContext {
    /// Logs a line unless the code is replaying. Unknown levels are logged as TRACE.
    pub fn trace(&self, level: impl Into<String>, message: impl Into<String>) {
        if self.is_replaying() {
            return;
        }
        let (level, message) = (level.into(), message.into());
        match level.to_ascii_uppercase().as_str() {
            "INFO" => emit!(info, self, "{message}"),
            "WARN" => emit!(warn, self, "{message}"),
            "ERROR" => emit!(error, self, "{message}"),
            "DEBUG" => emit!(debug, self, "{message}"),
            _ => emit!(trace, self, level = %level, "{message}"),
        }
    }

    /// Logs at INFO unless the code is replaying.
    pub fn trace_info(&self, message: impl Into<String>) {
        self.trace("INFO", message);
    }

    /// Logs at WARN unless the code is replaying.
    pub fn trace_warn(&self, message: impl Into<String>) {
        self.trace("WARN", message);
    }

    /// Logs at ERROR unless the code is replaying.
    pub fn trace_error(&self, message: impl Into<String>) {
        self.trace("ERROR", message);
    }

    /// Logs at DEBUG unless the code is replaying.
    pub fn trace_debug(&self, message: impl Into<String>) {
        self.trace("DEBUG", message);
    }

    /// Always false; kept for code written against 0.1.x.
    pub fn is_logging_enabled(&self) -> bool {
        false
    }
}
