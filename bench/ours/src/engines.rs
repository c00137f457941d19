//! This project on each of its stores.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use bench_harness::{Engine, Failure, Job, Opener};
use duroxide::RuntimeOptions;
use duroxide_sqlite::{SqliteProvider, Synchronous};

use crate::duroxide_engine::DuroxideEngine;

/// The engines of this program. A PostgreSQL store joins here.
pub(crate) const ALL: &[&dyn Opener] = &[
    &OursSqlite { name: "ours", synchronous: Synchronous::Full },
    &OursSqlite { name: "ours-normal", synchronous: Synchronous::Normal },
];

/// A file, with the defaults of the project.
struct OursSqlite {
    name: &'static str,
    synchronous: Synchronous,
}

#[async_trait]
impl Opener for OursSqlite {
    fn name(&self) -> &'static str {
        self.name
    }

    fn durability(&self) -> &'static str {
        match self.synchronous {
            Synchronous::Full => "SQLite WAL, synchronous=FULL",
            Synchronous::Normal => "SQLite WAL, synchronous=NORMAL",
        }
    }

    fn can(&self, _job: &Job) -> bool {
        true
    }

    async fn open(&self, folder: &Path) -> Result<Box<dyn Engine>, Failure> {
        let url = format!("sqlite:{}", folder.join("bench.db").display());
        let builder = SqliteProvider::builder(&url).synchronous(self.synchronous);
        let store = builder.open().await.map_err(|error| error.to_string())?;
        let options = RuntimeOptions::default();
        Ok(Box::new(DuroxideEngine::start(Arc::new(store), options).await))
    }
}
