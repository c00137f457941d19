//! Many instances, with a bounded number of them at a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::job::SIGNAL;
use crate::stats::quantile;
use crate::{Engine, Failure, Job, Sample};

/// An instance that has not completed within this time counts as lost.
pub(super) const FINISH_MAX: Duration = Duration::from_secs(120);

/// Concurrent callers where the workload sets no bound.
const CALLERS: u64 = 64;

/// Starts `count` instances and waits for each, `at_once` at a time.
pub(super) async fn workflows(
    engine: &Arc<dyn Engine>,
    job: Job,
    count: u64,
    at_once: u64,
) -> Sample {
    let started = Instant::now();
    let outcome = run_each(count, at_once, |number| {
        let engine = Arc::clone(engine);
        async move {
            let id = format!("w-{number}");
            engine.start(&id, &job).await?;
            check_result(&*engine, &id, &job).await
        }
    })
    .await;
    outcome.sample(count, started.elapsed())
}

/// Starts `count` instances without waiting for them; the time ends when all are accepted.
pub(super) async fn burst(engine: &Arc<dyn Engine>, job: Job, count: u64) -> Sample {
    let started = Instant::now();
    let mut outcome = start_all(engine, job, count, 0).await;
    let elapsed = started.elapsed();
    let ends = finish_all(engine, job, count).await;
    let drained = started.elapsed();
    outcome.failures.extend(ends.failures);
    outcome.sample(count, elapsed).with("seconds_until_all_ended", drained.as_secs_f64())
}

/// Starts `count` instances, numbered from `first`.
pub(super) async fn start_all(
    engine: &Arc<dyn Engine>,
    job: Job,
    count: u64,
    first: u64,
) -> Outcome {
    run_each(count, CALLERS, |number| {
        let engine = Arc::clone(engine);
        async move { engine.start(&format!("w-{}", first + number), &job).await }
    })
    .await
}

/// Signals each waiting instance and checks its result.
pub(super) async fn finish_all(engine: &Arc<dyn Engine>, job: Job, count: u64) -> Outcome {
    run_each(count, CALLERS, |number| {
        let engine = Arc::clone(engine);
        async move {
            let id = format!("w-{number}");
            engine.signal(&id, SIGNAL).await?;
            check_result(&*engine, &id, &job).await
        }
    })
    .await
}

/// Waits for an instance and compares its result with the expected one.
pub(super) async fn check_result(engine: &dyn Engine, id: &str, job: &Job) -> Result<(), Failure> {
    let finished = tokio::time::timeout(FINISH_MAX, engine.finish(id)).await;
    let result = finished
        .map_err(|_late| format!("{id} is lost: not completed within {FINISH_MAX:?}"))??;
    if result != job.result() {
        return Err(format!("{id}: {result} instead of {}", job.result()));
    }
    Ok(())
}

/// The outcome of many calls.
pub(super) struct Outcome {
    /// Durations of the successful calls in seconds.
    pub(super) latencies: Vec<f64>,
    /// Errors of the other calls.
    pub(super) failures: Vec<Failure>,
}

impl Outcome {
    /// The sample of these calls.
    pub(super) fn sample(self, count: u64, elapsed: Duration) -> Sample {
        let sample = Sample {
            count,
            seconds: elapsed.as_secs_f64(),
            failed: self.failures.len() as u64,
            failure: self.failures.into_iter().next(),
            ..Sample::default()
        };
        let milliseconds = |share| quantile(&self.latencies, share) * 1e3;
        sample
            .with("p50_ms", milliseconds(0.5))
            .with("p99_ms", milliseconds(0.99))
            .with("max_ms", milliseconds(1.0))
    }
}

/// Calls `act` for each number below `count`, `at_once` at a time.
pub(super) async fn run_each<F>(count: u64, at_once: u64, act: impl Fn(u64) -> F) -> Outcome
where
    F: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let mut outcome = Outcome { latencies: Vec::new(), failures: Vec::new() };
    let mut next = 0;
    let mut running = JoinSet::new();
    loop {
        while (running.len() as u64) < at_once && next < count {
            let call = act(next);
            next += 1;
            running.spawn(async move {
                let started = Instant::now();
                (call.await, started.elapsed())
            });
        }
        match running.join_next().await {
            None => return outcome,
            Some(Ok((Ok(()), elapsed))) => outcome.latencies.push(elapsed.as_secs_f64()),
            Some(Ok((Err(failure), _))) => outcome.failures.push(failure),
            Some(Err(panic)) => outcome.failures.push(panic.to_string()),
        }
    }
}
