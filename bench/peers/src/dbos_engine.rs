//! The dbos engine on PostgreSQL.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use bench_harness::postgres::{DURABILITY, schema, url};
use bench_harness::{Engine, Failure, Job, Opener};
use dbos::{Config, DBOS, StartOptions, WorkflowHandle};

use crate::dbos_workflows::{InvalidInput, Workflow, register};

/// dbos with its defaults, in a separate schema of the server that the environment names.
pub(crate) struct DbosPostgres;

#[async_trait]
impl Opener for DbosPostgres {
    fn name(&self) -> &'static str {
        "dbos"
    }

    fn durability(&self) -> &'static str {
        DURABILITY
    }

    fn supports(&self, job: &Job) -> bool {
        matches!(job, Job::Chain { .. } | Job::FanOut { .. })
    }

    async fn open(&self, folder: &Path) -> Result<Box<dyn Engine>, Failure> {
        let dbos = DBOS::new(Config {
            schema: schema(folder),
            app_version: Some("1.0.0".to_owned()),
            ..Config::new("bench", url()?)
        });
        let (chain, fan_out) = register(&dbos).map_err(text)?;
        dbos.launch().await.map_err(text)?;
        Ok(Box::new(Dbos { dbos, chain, fan_out, handles: Mutex::default() }))
    }
}

struct Dbos {
    dbos: DBOS,
    chain: Workflow,
    fan_out: Workflow,
    /// A handle observes the completion of its workflow without a query.
    handles: Mutex<HashMap<String, WorkflowHandle<String, InvalidInput>>>,
}

#[async_trait]
impl Engine for Dbos {
    async fn start(&self, id: &str, job: &Job) -> Result<(), Failure> {
        let workflow = match job {
            Job::Chain { .. } => &self.chain,
            Job::FanOut { .. } => &self.fan_out,
            other => return Err(format!("dbos has no {}", other.name())),
        };
        let options = StartOptions { workflow_id: Some(id), ..StartOptions::default() };
        let handle = workflow.start_with(job.input(), options).await.map_err(text)?;
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        handles.insert(id.to_owned(), handle);
        Ok(())
    }

    async fn finish(&self, id: &str) -> Result<String, Failure> {
        let kept = self.handles.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        let handle = kept.ok_or_else(|| format!("{id} was not started here"))?;
        handle.result().await.map_err(|error| format!("{id}: {error}"))
    }

    async fn signal(&self, id: &str, _value: u64) -> Result<(), Failure> {
        Err(format!("{id} accepts no events"))
    }

    async fn wait_until_idle(&self, id: &str) -> Result<(), Failure> {
        Err(format!("{id} never waits"))
    }

    async fn stop(&self) -> Result<(), Failure> {
        self.dbos.shutdown().await;
        Ok(())
    }
}

fn text(error: impl std::fmt::Display) -> Failure {
    error.to_string()
}
