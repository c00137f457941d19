//! The metrics of one runtime behind a handle.

use std::sync::Arc;

use super::{MetricsProvider, MetricsSnapshot, ObservabilityConfig};

/// Holds the metrics of one runtime.
pub struct ObservabilityHandle {
    metrics: Arc<MetricsProvider>,
}

impl ObservabilityHandle {
    /// Sets up metrics. Installs no log subscriber: that is the program's decision, see
    /// `init_logging` behind the feature `logging`.
    pub fn init(config: &ObservabilityConfig) -> Result<Self, String> {
        Ok(Self { metrics: Arc::new(MetricsProvider::new(config)?) })
    }

    /// The counters and gauges.
    pub fn metrics_provider(&self) -> &Arc<MetricsProvider> {
        &self.metrics
    }

    /// Has no effect, because no data is buffered; kept for 0.1.x.
    pub async fn shutdown(self) -> Result<(), String> {
        Ok(())
    }

    /// The current counts.
    pub fn metrics_snapshot(&self) -> MetricsSnapshot {
        self.metrics.snapshot()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_handle_counts_into_its_snapshot() {
        let handle = ObservabilityHandle::init(&ObservabilityConfig::default()).unwrap();
        handle.metrics_provider().record_activity_success();
        assert_eq!(handle.metrics_snapshot().activity_success, 1);
        handle.shutdown().await.unwrap();
    }
}
