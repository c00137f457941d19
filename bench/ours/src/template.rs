//! Runs one instance whose rows serve as a template for others.

use std::path::{Path, PathBuf};

use bench_harness::Job;
use tokio::runtime::Builder;

use crate::engines;

/// Id of the instance.
pub(crate) const ID: &str = "template";

/// Creates a store in `folder` and runs the job there until it completes or waits.
pub(crate) fn run(folder: &Path, job: Job) -> Result<PathBuf, String> {
    let runtime = Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let engine = engines::ALL[0].open(folder).await?;
        engine.start(ID, &job).await?;
        if matches!(job, Job::ChainThenWait { .. }) {
            engine.wait_until_idle(ID).await?;
        } else {
            engine.finish(ID).await?;
        }
        engine.stop().await
    })?;
    // Stops its threads, so that no connection holds the file open.
    drop(runtime);
    Ok(folder.join("bench.db"))
}
