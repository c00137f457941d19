//! Prefixes instance ids, so that they differ from those of an earlier run on the same store.

use std::path::Path;

use async_trait::async_trait;

use crate::{Engine, Failure, Job, Opener};

/// An opener whose engines prefix every instance id.
pub struct Prefixed<'a> {
    /// Opens the engine that runs the instances.
    pub opener: &'a dyn Opener,
    /// The prefix.
    pub prefix: String,
}

#[async_trait]
impl Opener for Prefixed<'_> {
    fn name(&self) -> &'static str {
        self.opener.name()
    }

    fn durability(&self) -> &'static str {
        self.opener.durability()
    }

    fn supports(&self, job: &Job) -> bool {
        self.opener.supports(job)
    }

    async fn open(&self, folder: &Path) -> Result<Box<dyn Engine>, Failure> {
        let engine = self.opener.open(folder).await?;
        Ok(Box::new(PrefixedEngine { engine, prefix: self.prefix.clone() }))
    }
}

struct PrefixedEngine {
    engine: Box<dyn Engine>,
    prefix: String,
}

impl PrefixedEngine {
    fn id(&self, id: &str) -> String {
        format!("{}{id}", self.prefix)
    }
}

#[async_trait]
impl Engine for PrefixedEngine {
    async fn start(&self, id: &str, job: &Job) -> Result<(), Failure> {
        self.engine.start(&self.id(id), job).await
    }

    async fn finish(&self, id: &str) -> Result<String, Failure> {
        self.engine.finish(&self.id(id)).await
    }

    async fn signal(&self, id: &str, value: u64) -> Result<(), Failure> {
        self.engine.signal(&self.id(id), value).await
    }

    async fn wait_until_idle(&self, id: &str) -> Result<(), Failure> {
        self.engine.wait_until_idle(&self.id(id)).await
    }

    fn statements(&self) -> Option<u64> {
        self.engine.statements()
    }

    async fn stop(&self) -> Result<(), Failure> {
        self.engine.stop().await
    }
}
