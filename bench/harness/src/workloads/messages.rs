//! Timers and events.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::many::{check_result, run_each};
use crate::job::SIGNAL;
use crate::workload::{EVENTS_PER_INSTANCE, TIMERS_PER_INSTANCE};
use crate::{Engine, Job, Sample};

const CALLERS: u64 = 64;

/// The timers are due this long after the first start: time for each start, and a reserve.
const START_MS: u64 = 3;
const LEAD_MS: u64 = 1_000;

/// All timers are due at one moment; the time runs from then until the last instance completes.
pub(super) async fn timers(engine: &Arc<dyn Engine>, size: u64) -> Sample {
    let instances = (size / TIMERS_PER_INSTANCE).max(1);
    let due = Instant::now() + Duration::from_millis(LEAD_MS + START_MS * instances);
    let mut outcome = run_each(instances, CALLERS, |number| {
        let engine = Arc::clone(engine);
        async move {
            let delay = due.saturating_duration_since(Instant::now());
            let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
            let job = Job::Timers { count: TIMERS_PER_INSTANCE, delay_ms };
            engine.start(&format!("w-{number}"), &job).await
        }
    })
    .await;
    let early = due.checked_duration_since(Instant::now());
    if early.is_none() {
        outcome
            .failures
            .push("the timers were due before every instance had started: nothing measured".into());
    }
    tokio::time::sleep(early.unwrap_or_default()).await;
    let job = Job::Timers { count: TIMERS_PER_INSTANCE, delay_ms: 0 };
    let ends = run_each(instances, instances, |number| {
        let engine = Arc::clone(engine);
        async move { check_result(&*engine, &format!("w-{number}"), &job).await }
    })
    .await;
    outcome.failures.extend(ends.failures);
    outcome.latencies = ends.latencies;
    outcome.sample(instances * TIMERS_PER_INSTANCE, due.elapsed())
}

/// The time runs from the first event until the last instance completes.
pub(super) async fn events(engine: &Arc<dyn Engine>, size: u64) -> Sample {
    let instances = (size / EVENTS_PER_INSTANCE).max(1);
    let job = Job::Events { count: EVENTS_PER_INSTANCE };
    let starts = super::many::start_all(engine, job, instances, 0).await;
    let started = Instant::now();
    let mut outcome = run_each(instances * EVENTS_PER_INSTANCE, CALLERS, |number| {
        let engine = Arc::clone(engine);
        async move { engine.signal(&format!("w-{}", number % instances), SIGNAL).await }
    })
    .await;
    let ends = run_each(instances, CALLERS, |number| {
        let engine = Arc::clone(engine);
        async move { check_result(&*engine, &format!("w-{number}"), &job).await }
    })
    .await;
    outcome.failures.extend(starts.failures);
    outcome.failures.extend(ends.failures);
    outcome.sample(instances * EVENTS_PER_INSTANCE, started.elapsed())
}
