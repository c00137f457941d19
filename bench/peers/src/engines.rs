//! The peers, each with the settings that its documentation recommends.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bench_harness::{Engine, Failure, Job, Opener};
use duroxide::RuntimeOptions;
use duroxide::providers::sqlite::SqliteProvider;

use crate::dbos_engine::DbosPostgres;
use crate::durare_engine::DurareSqlite;
use crate::duroxide_engine::DuroxideEngine;
use crate::postgres::DuroxidePostgres;

/// The engines of this program.
pub(crate) const ALL: &[&dyn Opener] = &[
    &DuroxideSqlite { name: "duroxide-0.1.32", poll: None },
    // The interval that its provider guide recommends for SQLite; its default is 100 ms.
    &DuroxideSqlite { name: "duroxide-0.1.32-10ms", poll: Some(Duration::from_millis(10)) },
    &DurareSqlite { name: "durare", full: true },
    &DurareSqlite { name: "durare-normal", full: false },
    &DuroxidePostgres,
    &DbosPostgres,
];

/// The published 0.1.32 with its SQLite provider.
struct DuroxideSqlite {
    name: &'static str,
    poll: Option<Duration>,
}

#[async_trait]
impl Opener for DuroxideSqlite {
    fn name(&self) -> &'static str {
        self.name
    }

    fn durability(&self) -> &'static str {
        // It sets a level that SQLite does not know, which SQLite treats as NORMAL.
        "SQLite WAL, synchronous=NORMAL"
    }

    fn supports(&self, _job: &Job) -> bool {
        true
    }

    async fn open(&self, folder: &Path) -> Result<Box<dyn Engine>, Failure> {
        let path = folder.join("bench.db");
        if !path.exists() {
            std::fs::write(&path, []).map_err(|error| error.to_string())?;
        }
        let url = format!("sqlite:{}", path.display());
        let store = SqliteProvider::new(&url, None).await.map_err(|error| error.to_string())?;
        let mut options = RuntimeOptions::default();
        if let Some(poll) = self.poll {
            options.dispatcher_min_poll_interval = poll;
        }
        Ok(Box::new(DuroxideEngine::start(Arc::new(store), options).await))
    }
}
