//! What a load came to.

use std::time::Duration;

use duroxide_core::ErrorDetails;

/// Counts and rates of one load.
#[derive(Debug, Clone)]
pub struct StressTestResult {
    /// Instances started.
    pub launched: usize,
    /// Instances that completed.
    pub completed: usize,
    /// Instances that failed or did not finish in time.
    pub failed: usize,
    /// Failed for the store or the engine, poisoned messages and time-outs included.
    pub failed_infrastructure: usize,
    /// Failed because code and history disagree.
    pub failed_configuration: usize,
    /// Failed by their own code.
    pub failed_application: usize,
    /// From the first start to the last end.
    pub total_time: Duration,
    /// Completed instances per second.
    pub orch_throughput: f64,
    /// Activities of completed instances per second.
    pub activity_throughput: f64,
    /// From start to end of an instance, on average over those that completed.
    pub avg_latency_ms: f64,
}

impl StressTestResult {
    /// Completed instances in percent of those started; zero when none was.
    pub fn success_rate(&self) -> f64 {
        if self.launched == 0 {
            return 0.0;
        }
        ratio(self.completed, self.launched) * 100.0
    }
}

/// Counts ends as they come.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) launched: usize,
    completed: usize,
    infrastructure: usize,
    configuration: usize,
    application: usize,
    latency: Duration,
}

/// How one instance ended.
#[derive(Debug)]
pub(super) enum Ended {
    Completed(Duration),
    Failed(ErrorDetails),
    /// It could not be started, or did not finish in time.
    Lost,
}

impl Tally {
    pub(super) fn count(&mut self, ended: &Ended) {
        match ended {
            Ended::Completed(latency) => {
                self.completed += 1;
                self.latency += *latency;
            }
            Ended::Failed(ErrorDetails::Configuration { .. }) => self.configuration += 1,
            Ended::Failed(ErrorDetails::Application { .. }) => self.application += 1,
            Ended::Failed(ErrorDetails::Infrastructure { .. } | ErrorDetails::Poison { .. })
            | Ended::Lost => self.infrastructure += 1,
        }
    }

    pub(super) fn result(&self, total_time: Duration, activities_each: usize) -> StressTestResult {
        let seconds = total_time.as_secs_f64().max(f64::MIN_POSITIVE);
        let throughput = ratio(self.completed, 1) / seconds;
        let latency_ms = self.latency.as_secs_f64() * 1000.0;
        StressTestResult {
            launched: self.launched,
            completed: self.completed,
            failed: self.infrastructure + self.configuration + self.application,
            failed_infrastructure: self.infrastructure,
            failed_configuration: self.configuration,
            failed_application: self.application,
            total_time,
            orch_throughput: throughput,
            activity_throughput: throughput * ratio(activities_each, 1),
            avg_latency_ms: latency_ms / ratio(self.completed.max(1), 1),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a load are far below 2^52")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_is_counted_in_its_class() {
        let mut tally = Tally { launched: 3, ..Tally::default() };
        tally.count(&Ended::Completed(Duration::from_millis(20)));
        tally.count(&Ended::Lost);
        tally.count(&Ended::Failed(ErrorDetails::Infrastructure {
            operation: "read".to_owned(),
            message: "gone".to_owned(),
            retryable: false,
        }));
        let result = tally.result(Duration::from_secs(2), 5);
        assert_eq!((result.launched, result.completed, result.failed), (3, 1, 2));
        assert_eq!(result.failed_infrastructure, 2);
        assert!((result.orch_throughput - 0.5).abs() < 1e-9);
        assert!((result.activity_throughput - 2.5).abs() < 1e-9);
        assert!((result.avg_latency_ms - 20.0).abs() < 1e-9);
        assert!((result.success_rate() - 100.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_started_is_no_success() {
        let result = Tally::default().result(Duration::ZERO, 5);
        assert!(result.success_rate().abs() < f64::EPSILON);
        assert!(result.avg_latency_ms.abs() < f64::EPSILON);
    }
}
