//! Log lines of orchestration code. A replay writes none.

use tracing::{debug, error, info, trace, warn};

use super::orchestration::OrchestrationContext;

/// Writes one log line with the fields that every line of an orchestration has.
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
    /// Logs a line, unless the code replays. An unknown level is logged as TRACE.
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

    /// Logs at INFO, unless the code replays.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn place_order(ctx: OrchestrationContext, order: String) -> Result<String, String> {
    ///     ctx.trace_info(format!("charging {order}"));
    ///     ctx.schedule_activity("Charge", order).await
    /// }
    /// ```
    pub fn trace_info(&self, message: impl Into<String>) {
        self.trace("INFO", message);
    }

    /// Logs at WARN, unless the code replays.
    pub fn trace_warn(&self, message: impl Into<String>) {
        self.trace("WARN", message);
    }

    /// Logs at ERROR, unless the code replays.
    pub fn trace_error(&self, message: impl Into<String>) {
        self.trace("ERROR", message);
    }

    /// Logs at DEBUG, unless the code replays.
    pub fn trace_debug(&self, message: impl Into<String>) {
        self.trace("DEBUG", message);
    }

    /// Always `false`; kept for 0.1.x.
    pub fn is_logging_enabled(&self) -> bool {
        false
    }
}
