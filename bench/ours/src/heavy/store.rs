//! A node on either store.

use std::path::Path;
use std::sync::Arc;

use bench_harness::postgres::{schema, url};
use duroxide::providers::Provider;
use duroxide::runtime::Runtime;
use duroxide::{Client, RuntimeOptions};
use duroxide_pg::PostgresProvider;
use duroxide_sqlite::SqliteProvider;

use super::workflows::{activities, orchestrations};

const SHUTDOWN_MS: u64 = 5_000;

/// A kind of store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    Sqlite,
    Postgres,
}

impl Store {
    /// The store of this name.
    pub(crate) fn named(name: &str) -> Result<Self, String> {
        [Self::Sqlite, Self::Postgres]
            .into_iter()
            .find(|store| store.name() == name)
            .ok_or_else(|| format!("no store {name}"))
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }

    /// The store of a folder; `server` is its server, if the environment names none.
    pub(crate) async fn open(
        self,
        folder: &Path,
        server: Option<&str>,
    ) -> Result<Arc<dyn Provider>, String> {
        Ok(match self {
            Self::Sqlite => {
                let url = format!("sqlite:{}", folder.join("bench.db").display());
                Arc::new(SqliteProvider::builder(&url).open().await.map_err(text)?)
            }
            Self::Postgres => {
                let url = server.map_or_else(url, |server| Ok(server.to_owned()))?;
                let builder = PostgresProvider::builder(&url).with_schema(&schema(folder));
                Arc::new(builder.open().await.map_err(text)?)
            }
        })
    }

    /// A node on the store of a folder.
    pub(super) async fn node(self, folder: &Path, server: Option<&str>) -> Result<Node, String> {
        let store = self.open(folder, server).await?;
        let options = RuntimeOptions::default();
        let runtime = Runtime::start_with_options(
            Arc::clone(&store),
            activities(),
            orchestrations(),
            options,
        );
        Ok(Node { runtime: runtime.await, client: Client::new(store) })
    }
}

/// A node and a client.
pub(super) struct Node {
    runtime: Arc<Runtime>,
    client: Client,
}

impl Node {
    pub(super) fn client(&self) -> Client {
        self.client.clone()
    }

    pub(super) async fn stop(self) {
        self.runtime.shutdown(Some(SHUTDOWN_MS)).await;
    }
}

pub(crate) fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
