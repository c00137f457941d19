//! One instance with many steps.

use std::sync::Arc;
use std::time::Instant;

use super::many::check_result;
use crate::{Engine, Job, Sample};

const ID: &str = "single";

/// Runs one instance, which completes `count` units.
pub(super) async fn one(engine: &Arc<dyn Engine>, job: Job, count: u64) -> Sample {
    let started = Instant::now();
    let mut checked = engine.start(ID, &job).await;
    if checked.is_ok() {
        checked = check_result(&**engine, ID, &job).await;
    }
    Sample {
        count,
        seconds: started.elapsed().as_secs_f64(),
        failed: u64::from(checked.is_err()),
        failure: checked.err(),
        ..Sample::default()
    }
}
