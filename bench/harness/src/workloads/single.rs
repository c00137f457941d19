//! One instance that does much.

use std::sync::Arc;
use std::time::Instant;

use super::crowd::checked;
use crate::{Engine, Job, Sample};

const ID: &str = "single";

/// Runs one instance; `count` is what it does.
pub(super) async fn one(engine: &Arc<dyn Engine>, job: Job, count: u64) -> Sample {
    let begun = Instant::now();
    let mut ended = engine.start(ID, &job).await;
    if ended.is_ok() {
        ended = checked(&**engine, ID, &job).await;
    }
    Sample {
        count,
        seconds: begun.elapsed().as_secs_f64(),
        failed: u64::from(ended.is_err()),
        failure: ended.err(),
        ..Sample::default()
    }
}
