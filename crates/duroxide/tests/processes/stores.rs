//! The stores that the cases run on.

use std::path::Path;
use std::sync::Arc;

use duroxide::providers::Provider;
use serde::{Deserialize, Serialize};

/// Makes a test of each case for every store; a case is an `async fn` that gets its cluster.
macro_rules! on_every_store {
    ($($case:ident),+ $(,)?) => {
        $(mod $case {
            #[cfg(feature = "sqlite")]
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_sqlite() {
                use crate::{cluster::Cluster, stores::Store};
                super::$case(Cluster::new(Store::sqlite).await).await;
            }

            #[cfg(feature = "postgres")]
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_postgres() {
                use crate::{cluster::Cluster, stores::Store};
                super::$case(Cluster::new(Store::postgres).await).await;
            }
        })+
    };
}

/// A store that several processes open.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Store {
    #[cfg(feature = "sqlite")]
    Sqlite { url: String },
    #[cfg(feature = "postgres")]
    Postgres { url: String, schema: String },
}

impl Store {
    /// A file of its own.
    #[cfg(feature = "sqlite")]
    pub(crate) fn sqlite(folder: &Path) -> Self {
        Self::Sqlite { url: format!("sqlite:{}", folder.join("store.db").display()) }
    }

    /// A schema of its own on the throw-away server of this process.
    #[cfg(feature = "postgres")]
    pub(crate) fn postgres(folder: &Path) -> Self {
        // The folder is new and its name is random, so that the schema is new as well.
        let name = folder.file_name().unwrap().to_str().unwrap();
        let url = duroxide_pg_server::shared_url().unwrap();
        Self::Postgres { url, schema: format!("processes{}{name}", std::process::id()) }
    }

    /// Opens the store, and creates its tables if they are missing.
    pub(crate) async fn open(&self) -> Arc<dyn Provider> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite { url } => {
                use duroxide::providers::sqlite::SqliteProvider;
                Arc::new(SqliteProvider::new(url, None).await.unwrap())
            }
            #[cfg(feature = "postgres")]
            Self::Postgres { url, schema } => {
                use duroxide::providers::postgres::PostgresProvider;
                Arc::new(PostgresProvider::new_with_schema(url, schema).await.unwrap())
            }
        }
    }
}
