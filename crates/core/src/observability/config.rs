//! What a user may choose about logs and gauges.

use std::time::Duration;

/// Form of log lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// One JSON object a line.
    Json,
    /// Full lines for people.
    Pretty,
    /// Short lines for people.
    #[default]
    Compact,
}

/// Choices about logs and gauges.
#[derive(Debug, Clone)]
pub struct ObservabilityConfig {
    /// Form of log lines.
    pub log_format: LogFormat,
    /// Level of what orchestrations and activities log; everything else logs from WARN.
    pub log_level: String,
    /// Name of the program.
    pub service_name: String,
    /// Version of the program.
    pub service_version: Option<String>,
    /// How often gauges are read from the store.
    pub gauge_poll_interval: Duration,
}

impl Default for ObservabilityConfig {
    fn default() -> Self {
        Self {
            log_format: LogFormat::Pretty,
            log_level: "info".to_owned(),
            service_name: "duroxide".to_owned(),
            service_version: None,
            gauge_poll_interval: Duration::from_secs(60),
        }
    }
}
