//! An instance resumes after its engine was stopped and started again.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::many::check_result;
use crate::job::SIGNAL;
use crate::{Engine, Failure, Job, Opener, Sample};

const ID: &str = "replayed";

/// Runs an instance until it waits.
pub(super) async fn prepare(
    opener: &dyn Opener,
    folder: &Path,
    events: u64,
) -> Result<(), Failure> {
    let engine = opener.open(folder).await?;
    engine.start(ID, &Job::ChainThenWait { steps: events / 2 }).await?;
    engine.wait_until_idle(ID).await?;
    engine.stop().await
}

/// The time runs from the opening of the store until the instance completes.
pub(super) async fn cold_replay(
    opener: &dyn Opener,
    folder: &Path,
    events: u64,
) -> Result<Sample, Failure> {
    let job = Job::ChainThenWait { steps: events / 2 };
    let started = Instant::now();
    let engine: Arc<dyn Engine> = opener.open(folder).await?.into();
    let opened = started.elapsed();
    engine.signal(ID, SIGNAL).await?;
    let checked = check_result(&*engine, ID, &job).await;
    let elapsed = started.elapsed();
    engine.stop().await?;
    Ok(Sample {
        count: events,
        seconds: elapsed.as_secs_f64(),
        failed: u64::from(checked.is_err()),
        failure: checked.err(),
        ..Sample::default()
    }
    .with("open_ms", milliseconds(opened)))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
