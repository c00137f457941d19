//! The published 0.1.32 with its PostgreSQL provider.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use bench_harness::postgres::{DURABILITY, schema, url};
use bench_harness::{Engine, Failure, Job, Opener};
use duroxide::RuntimeOptions;
use duroxide_pg::PostgresProvider;

use crate::duroxide_engine::DuroxideEngine;

/// Its defaults, in a separate schema of the server that the environment names.
pub(crate) struct DuroxidePostgres;

#[async_trait]
impl Opener for DuroxidePostgres {
    fn name(&self) -> &'static str {
        "duroxide-0.1.32-pg"
    }

    fn durability(&self) -> &'static str {
        DURABILITY
    }

    fn supports(&self, _job: &Job) -> bool {
        true
    }

    async fn open(&self, folder: &Path) -> Result<Box<dyn Engine>, Failure> {
        let store = PostgresProvider::new_with_schema(&url()?, Some(&schema(folder))).await;
        let store = store.map_err(|error| error.to_string())?;
        Ok(Box::new(DuroxideEngine::start(Arc::new(store), RuntimeOptions::default()).await))
    }
}
