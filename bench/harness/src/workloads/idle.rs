//! The cost of an idle node and of a waiting instance.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::many::start_all;
use crate::usage::Usage;
use crate::{Engine, Failure, Job, Opener, Sample};

/// Time for a node to become idle before the measurement, and length of the measurement.
const SETTLE: Duration = Duration::from_secs(3);
const MEASURED: Duration = Duration::from_secs(8);

/// Runs instances until they wait.
pub(super) async fn prepare(
    opener: &dyn Opener,
    folder: &Path,
    waiting: u64,
) -> Result<(), Failure> {
    let engine: Arc<dyn Engine> = opener.open(folder).await?.into();
    let starts = start_all(&engine, Job::ChainThenWait { steps: 0 }, waiting, 0).await;
    if let Some(failure) = starts.failures.into_iter().next() {
        return Err(failure);
    }
    for number in 0..waiting {
        engine.wait_until_idle(&format!("w-{number}")).await?;
    }
    engine.stop().await
}

/// Measures an idle node on a store with this many waiting instances.
pub(super) async fn idle(
    opener: &dyn Opener,
    folder: &Path,
    waiting: u64,
) -> Result<Sample, Failure> {
    let engine = opener.open(folder).await?;
    tokio::time::sleep(SETTLE).await;
    let before = Usage::now();
    let statements = engine.statements();
    let started = Instant::now();
    tokio::time::sleep(MEASURED).await;
    let elapsed = started.elapsed().as_secs_f64();
    let after = Usage::now();
    let statements_after = engine.statements();
    engine.stop().await?;
    let mut sample = Sample {
        count: waiting,
        seconds: elapsed,
        cpu_seconds: after.cpu_seconds - before.cpu_seconds,
        ..Sample::default()
    }
    .with("core_percent", (after.cpu_seconds - before.cpu_seconds) / elapsed * 100.0)
    .with("wakeups_per_second", (after.waits - before.waits) as f64 / elapsed)
    .with("resident_bytes", after.resident_bytes as f64);
    if let (Some(before), Some(after)) = (statements, statements_after) {
        sample = sample.with("statements_per_second", (after - before) as f64 / elapsed);
    }
    Ok(sample)
}

/// Memory per instance, measured over the last quarter of the instances: with enough instances the
/// caches of the store are full by then.
pub(super) async fn memory(engine: &Arc<dyn Engine>, job: Job, size: u64) -> Sample {
    let measured = size / 4;
    let started = Instant::now();
    let first = start_all(engine, job, size - measured, 0).await;
    let resident = resident_when_idle(engine, size - measured).await;
    let second = start_all(engine, job, measured, size - measured).await;
    let resident_after = resident_when_idle(engine, size).await;
    let mut failures = first.failures;
    failures.extend(second.failures);
    let growth = resident_after as f64 - resident as f64;
    Sample {
        count: size,
        seconds: started.elapsed().as_secs_f64(),
        failed: failures.len() as u64,
        failure: failures.into_iter().next(),
        ..Sample::default()
    }
    .with("bytes_per_instance", growth / measured as f64)
    .with("resident_bytes", resident_after as f64)
}

async fn resident_when_idle(engine: &Arc<dyn Engine>, started: u64) -> u64 {
    let mut idle = Ok(());
    for number in 0..started {
        idle = idle.and(engine.wait_until_idle(&format!("w-{number}")).await);
    }
    tokio::time::sleep(SETTLE).await;
    Usage::now().resident_bytes
}
