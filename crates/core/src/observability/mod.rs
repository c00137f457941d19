//! Observability of a runtime: logs, metrics and a snapshot of the counts.

#[cfg(test)]
pub(crate) mod capture;
mod config;
mod handle;
#[cfg(feature = "logging")]
mod logging;
mod metrics;
#[cfg(test)]
pub(crate) mod seen;
mod snapshot;
mod traces;

pub use config::{LogFormat, ObservabilityConfig};
pub use handle::ObservabilityHandle;
#[cfg(feature = "logging")]
pub use logging::init_logging;
pub use metrics::MetricsProvider;
pub use snapshot::MetricsSnapshot;
pub use traces::TRACE_TARGET;
