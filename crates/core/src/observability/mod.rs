//! What a runtime shows of itself: logs, metrics and a snapshot of the counts.

#[cfg(test)]
pub(crate) mod capture;
mod config;
mod handle;
mod logging;
mod metrics;
mod snapshot;

pub use config::{LogFormat, ObservabilityConfig};
pub use handle::ObservabilityHandle;
pub use logging::init_logging;
pub use metrics::MetricsProvider;
pub use snapshot::MetricsSnapshot;
