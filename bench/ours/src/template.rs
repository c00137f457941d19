//! One instance that this project has run for real, whose rows others are made of.

use std::path::{Path, PathBuf};

use bench_harness::Job;
use tokio::runtime::Builder;

use crate::engines;

/// Id of the instance.
pub(crate) const ID: &str = "template";

/// Makes a store in `folder` and runs the job there: to its end, or until it waits.
pub(crate) fn run(folder: &Path, job: Job) -> Result<PathBuf, String> {
    let runtime = Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let engine = engines::ALL[0].open(folder).await?;
        engine.start(ID, &job).await?;
        if matches!(job, Job::ChainThenWait { .. }) {
            engine.quiet(ID).await?;
        } else {
            engine.finish(ID).await?;
        }
        engine.stop().await
    })?;
    // Its threads have ended, so the file is nobody's.
    drop(runtime);
    Ok(folder.join("bench.db"))
}
