//! This project on PostgreSQL.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use bench_harness::postgres::{DURABILITY, schema, url};
use bench_harness::{Engine, Failure, Job, Opener};
use duroxide::RuntimeOptions;
use duroxide_pg::PostgresProvider;

use crate::duroxide_engine::DuroxideEngine;
use crate::engines::Nodes;

/// The defaults of the project, in a separate schema of the server that the environment names.
pub(crate) struct OursPostgres {
    pub(crate) name: &'static str,
    /// Nodes, each with separate connections, like separate processes.
    pub(crate) nodes: usize,
}

#[async_trait]
impl Opener for OursPostgres {
    fn name(&self) -> &'static str {
        self.name
    }

    fn durability(&self) -> &'static str {
        DURABILITY
    }

    fn supports(&self, _job: &Job) -> bool {
        true
    }

    async fn open(&self, folder: &Path) -> Result<Box<dyn Engine>, Failure> {
        let first = node(folder).await?;
        let mut others: Vec<Box<dyn Engine>> = Vec::new();
        for _ in 1..self.nodes {
            others.push(Box::new(node(folder).await?));
        }
        Ok(Nodes::combine(first, others))
    }
}

async fn node(folder: &Path) -> Result<DuroxideEngine, Failure> {
    let builder = PostgresProvider::builder(&url()?).with_schema(&schema(folder));
    let store = builder.open().await.map_err(|error| error.to_string())?;
    Ok(DuroxideEngine::start(Arc::new(store), RuntimeOptions::default()).await)
}
