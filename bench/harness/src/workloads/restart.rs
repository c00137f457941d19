//! An instance goes on after its engine was closed and opened again.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::crowd::checked;
use crate::job::SIGNAL;
use crate::{Engine, Failure, Job, Opener, Sample};

const ID: &str = "replayed";

/// An instance is run until it waits.
pub(super) async fn prepare(
    opener: &dyn Opener,
    folder: &Path,
    events: u64,
) -> Result<(), Failure> {
    let engine = opener.open(folder).await?;
    engine.start(ID, &Job::ChainThenWait { steps: events / 2 }).await?;
    engine.quiet(ID).await?;
    engine.stop().await
}

/// The clock runs from the opening of the store to the end of the instance.
pub(super) async fn cold_replay(
    opener: &dyn Opener,
    folder: &Path,
    events: u64,
) -> Result<Sample, Failure> {
    let job = Job::ChainThenWait { steps: events / 2 };
    let begun = Instant::now();
    let engine: Arc<dyn Engine> = opener.open(folder).await?.into();
    let opened = begun.elapsed();
    engine.signal(ID, SIGNAL).await?;
    let ended = checked(&*engine, ID, &job).await;
    let elapsed = begun.elapsed();
    engine.stop().await?;
    Ok(Sample {
        count: events,
        seconds: elapsed.as_secs_f64(),
        failed: u64::from(ended.is_err()),
        failure: ended.err(),
        ..Sample::default()
    }
    .with("open_ms", milliseconds(opened)))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
