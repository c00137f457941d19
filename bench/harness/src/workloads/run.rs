//! Runs one workload once.

use std::path::Path;
use std::sync::Arc;

use super::{idle, many, messages, restart, single};
use crate::usage::{folder_bytes, process_cpu_seconds};
use crate::{Case, Engine, Failure, Job, Opener, Sample, Workload};

/// Prepares the store for the case with an engine that is stopped before the case runs.
///
/// # Errors
/// When the engine cannot be started or stopped, or an instance fails.
pub async fn prepare(opener: &dyn Opener, folder: &Path, case: Case) -> Result<(), Failure> {
    match case.workload {
        Workload::ColdReplay => restart::prepare(opener, folder, case.size).await,
        Workload::Idle => idle::prepare(opener, folder, case.size).await,
        _ => Ok(()),
    }
}

/// Runs the case on a prepared store in `folder`.
///
/// # Errors
/// When the engine cannot be started or stopped. Workflows that fail are counted in the sample.
pub async fn run(opener: &dyn Opener, folder: &Path, case: Case) -> Result<Sample, Failure> {
    let before = process_cpu_seconds();
    let mut sample = match case.workload {
        Workload::ColdReplay => restart::cold_replay(opener, folder, case.size).await?,
        Workload::Idle => idle::idle(opener, folder, case.size).await?,
        _ => on_one_engine(opener, folder, case).await?,
    };
    opener.name().clone_into(&mut sample.engine);
    opener.durability().clone_into(&mut sample.durability);
    case.workload.name().clone_into(&mut sample.workload);
    case.workload.unit().clone_into(&mut sample.unit);
    sample.size = case.size;
    if sample.cpu_seconds == 0.0 {
        sample.cpu_seconds = process_cpu_seconds() - before;
    }
    Ok(sample.with("store_bytes", folder_bytes(folder) as f64))
}

/// Runs one workflow that is not timed, so that one-time work of the engine is not measured.
async fn warm_up(opener: &dyn Opener, engine: &dyn Engine) -> Result<(), Failure> {
    let job = Job::Chain { steps: 1 };
    if opener.supports(&job) {
        engine.start(WARM_UP, &job).await?;
        engine.finish(WARM_UP).await?;
    }
    Ok(())
}

/// Id of the untimed workflow.
const WARM_UP: &str = "warm-up";

async fn on_one_engine(opener: &dyn Opener, folder: &Path, case: Case) -> Result<Sample, Failure> {
    let engine: Arc<dyn Engine> = opener.open(folder).await?.into();
    let size = case.size;
    let job = case.workload.job(size);
    warm_up(opener, engine.as_ref()).await?;
    let statements = engine.statements();
    let mut sample = match case.workload {
        Workload::Small50 => many::workflows(&engine, job, size, 50).await,
        Workload::Small500 => many::workflows(&engine, job, size, 500).await,
        Workload::Latency => many::workflows(&engine, job, size, 1).await,
        Workload::Chain | Workload::FanOut | Workload::Waits | Workload::Loop => {
            single::one(&engine, job, size).await
        }
        Workload::Payload100k | Workload::Payload1m => single::one(&engine, job, size).await,
        Workload::Tree => single::one(&engine, job, size + size * size).await,
        Workload::Timers => messages::timers(&engine, size).await,
        Workload::Events => messages::events(&engine, size).await,
        Workload::Burst => many::burst(&engine, job, size).await,
        Workload::Memory => idle::memory(&engine, job, size).await,
        Workload::ColdReplay | Workload::Idle => Sample::default(),
    };
    if let (Some(before), Some(after)) = (statements, engine.statements()) {
        let per_unit = (after - before) as f64 / sample.count.max(1) as f64;
        sample = sample.with("statements_per_unit", per_unit);
    }
    engine.stop().await?;
    Ok(sample)
}
