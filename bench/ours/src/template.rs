//! Runs one instance whose rows serve as a template for others.

use std::path::{Path, PathBuf};

use bench_harness::{Job, Opener};
use tokio::runtime::Builder;

use crate::engines;

/// Id of the instance.
pub(crate) const ID: &str = "template";

/// Creates a SQLite store in `folder` and runs the job there until it completes or waits.
pub(crate) fn run(folder: &Path, job: Job) -> Result<PathBuf, String> {
    run_on(engines::ALL[0], folder, job)?;
    Ok(folder.join("bench.db"))
}

/// Runs the job on the store of an engine until it completes or waits.
pub(crate) fn run_on(opener: &dyn Opener, folder: &Path, job: Job) -> Result<(), String> {
    let runtime = Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    // Dropping the runtime stops its threads, so that no connection holds the store open.
    runtime.block_on(async {
        let engine = opener.open(folder).await?;
        engine.start(ID, &job).await?;
        if matches!(job, Job::ChainThenWait { .. }) {
            engine.wait_until_idle(ID).await?;
        } else {
            engine.finish(ID).await?;
        }
        engine.stop().await
    })
}
