//! This project on each of its stores.

use std::path::Path;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bench_harness::{Engine, Failure, Job, Opener};
use duroxide::RuntimeOptions;
use duroxide_sqlite::{SqliteProvider, Synchronous};

use crate::duroxide_engine::DuroxideEngine;
use crate::postgres::OursPostgres;

/// The engines of this program.
pub(crate) const ALL: &[&dyn Opener] = &[
    &DEFAULT,
    &OursSqlite { name: "ours-normal", synchronous: Synchronous::Normal, ..DEFAULT },
    &OursSqlite { name: "ours-evicting", warm_max: Some(16), ..DEFAULT },
    &OursSqlite { name: "ours-counting", counted: true, ..DEFAULT },
    &OursSqlite { name: "ours-2-nodes", nodes: 2, ..DEFAULT },
    &OursSqlite { name: "ours-4-nodes", nodes: 4, ..DEFAULT },
    &OursPostgres { name: "ours-pg", nodes: 1 },
    &OursPostgres { name: "ours-pg-2-nodes", nodes: 2 },
];

const DEFAULT: OursSqlite = OursSqlite {
    name: "ours",
    synchronous: Synchronous::Full,
    warm_max: None,
    nodes: 1,
    counted: false,
};

/// A SQLite file with the defaults of the project except for these fields.
struct OursSqlite {
    name: &'static str,
    synchronous: Synchronous,
    /// Executions kept between turns.
    warm_max: Option<usize>,
    /// Nodes, each with separate connections, like separate processes.
    nodes: usize,
    /// Whether the store counts its statements, which costs a little time.
    counted: bool,
}

#[async_trait]
impl Opener for OursSqlite {
    fn name(&self) -> &'static str {
        self.name
    }

    fn durability(&self) -> &'static str {
        match self.synchronous {
            Synchronous::Full => "SQLite WAL, log flushed before each commit returns",
            Synchronous::Normal => "SQLite WAL, synchronous=NORMAL",
        }
    }

    fn supports(&self, _job: &Job) -> bool {
        true
    }

    async fn open(&self, folder: &Path) -> Result<Box<dyn Engine>, Failure> {
        let first = self.node(folder).await?;
        let mut others: Vec<Box<dyn Engine>> = Vec::new();
        for _ in 1..self.nodes {
            others.push(Box::new(self.node(folder).await?));
        }
        Ok(Nodes::combine(first, others))
    }
}

impl OursSqlite {
    async fn node(&self, folder: &Path) -> Result<DuroxideEngine, Failure> {
        let url = format!("sqlite:{}", folder.join("bench.db").display());
        let mut builder = SqliteProvider::builder(&url).with_synchronous(self.synchronous);
        if self.counted {
            builder = builder.with_statement_counter(Arc::clone(statements()));
        }
        let store = builder.open().await.map_err(|error| error.to_string())?;
        let mut options = RuntimeOptions::default();
        if let Some(warm_max) = self.warm_max {
            options.warm_cache.instances_max = warm_max;
        }
        let engine = DuroxideEngine::start(Arc::new(store), options).await;
        let count = || statements().load(Ordering::Relaxed);
        Ok(if self.counted { engine.counting(count) } else { engine })
    }
}

fn statements() -> &'static Arc<AtomicU64> {
    static COUNT: OnceLock<Arc<AtomicU64>> = OnceLock::new();
    COUNT.get_or_init(Arc::default)
}

/// Several nodes on one store; the client belongs to the first.
pub(crate) struct Nodes {
    first: DuroxideEngine,
    others: Vec<Box<dyn Engine>>,
}

impl Nodes {
    /// Combines the nodes into one engine.
    pub(crate) fn combine(first: DuroxideEngine, others: Vec<Box<dyn Engine>>) -> Box<dyn Engine> {
        if others.is_empty() {
            return Box::new(first);
        }
        Box::new(Self { first, others })
    }
}

#[async_trait]
impl Engine for Nodes {
    async fn start(&self, id: &str, job: &Job) -> Result<(), Failure> {
        self.first.start(id, job).await
    }

    async fn finish(&self, id: &str) -> Result<String, Failure> {
        self.first.finish(id).await
    }

    async fn signal(&self, id: &str, value: u64) -> Result<(), Failure> {
        self.first.signal(id, value).await
    }

    async fn wait_until_idle(&self, id: &str) -> Result<(), Failure> {
        self.first.wait_until_idle(id).await
    }

    async fn stop(&self) -> Result<(), Failure> {
        for other in &self.others {
            other.stop().await?;
        }
        self.first.stop().await
    }
}
