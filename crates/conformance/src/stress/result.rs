//! The result of a load.

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
    /// Instances that failed because of the store or the engine, including poisoned messages and
    /// time-outs.
    pub failed_infrastructure: usize,
    /// Instances that failed because code and history disagree.
    pub failed_configuration: usize,
    /// Instances that failed in their own code.
    pub failed_application: usize,
    /// Time from the first start to the last completion.
    pub total_time: Duration,
    /// Completed instances per second.
    pub orch_throughput: f64,
    /// Activities of completed instances per second.
    pub activity_throughput: f64,
    /// Average time from start to completion, over completed instances.
    pub avg_latency_ms: f64,
}

impl StressTestResult {
    /// Completed instances in percent of those started; zero if none was started.
    pub fn success_rate(&self) -> f64 {
        if self.launched == 0 {
            return 0.0;
        }
        ratio(self.completed, self.launched) * 100.0
    }
}

/// Counts the outcomes of instances.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) launched: usize,
    completed: usize,
    infrastructure: usize,
    configuration: usize,
    application: usize,
    latency: Duration,
}

/// The outcome of one instance.
#[derive(Debug)]
pub(super) enum RunOutcome {
    Completed(Duration),
    Failed(ErrorDetails),
    /// The instance could not be started or did not finish in time.
    Lost,
}

impl Tally {
    pub(super) fn count(&mut self, outcome: &RunOutcome) {
        match outcome {
            RunOutcome::Completed(latency) => {
                self.completed += 1;
                self.latency += *latency;
            }
            RunOutcome::Failed(ErrorDetails::Configuration { .. }) => self.configuration += 1,
            RunOutcome::Failed(ErrorDetails::Application { .. }) => self.application += 1,
            RunOutcome::Failed(
                ErrorDetails::Infrastructure { .. } | ErrorDetails::Poison { .. },
            )
            | RunOutcome::Lost => self.infrastructure += 1,
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
    fn every_outcome_is_counted_in_its_class() {
        let mut tally = Tally { launched: 3, ..Tally::default() };
        tally.count(&RunOutcome::Completed(Duration::from_millis(20)));
        tally.count(&RunOutcome::Lost);
        tally.count(&RunOutcome::Failed(ErrorDetails::Infrastructure {
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
    fn a_load_without_starts_has_a_success_rate_of_zero() {
        let result = Tally::default().result(Duration::ZERO, 5);
        assert!(result.success_rate().abs() < f64::EPSILON);
        assert!(result.avg_latency_ms.abs() < f64::EPSILON);
    }
}
