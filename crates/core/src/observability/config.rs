//! Options of logs and gauges.

use std::time::Duration;

/// The format of log lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// One JSON object per line.
    Json,
    /// Full lines of text.
    Pretty,
    /// Short lines of text.
    #[default]
    Compact,
}

/// Options of logs and gauges.
#[derive(Debug, Clone)]
pub struct ObservabilityConfig {
    /// The format of log lines.
    pub log_format: LogFormat,
    /// Lowest level of the log lines of orchestrations and activities; for all other lines it is
    /// WARN.
    pub log_level: String,
    /// The name of the program.
    pub service_name: String,
    /// The version of the program.
    pub service_version: Option<String>,
    /// How often the runtime reads the gauges from the store.
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
