//! The store under test, by its URL.

use std::sync::Arc;

use duroxide::providers::Provider;
use duroxide::providers::postgres::PostgresProvider;
use duroxide::providers::sqlite::SqliteProvider;

/// A store that several processes open.
#[derive(Debug, Clone)]
pub(crate) enum Store {
    Sqlite { url: String },
    Postgres { url: String, schema: String },
}

impl Store {
    /// The store that a URL names; for PostgreSQL in this schema.
    pub(crate) fn new(url: &str, schema: &str) -> Self {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Self::Sqlite { url: url.to_owned() };
        }
        Self::Postgres { url: url.to_owned(), schema: schema.to_owned() }
    }

    /// Arguments for a worker process.
    pub(crate) fn args(&self) -> Vec<&str> {
        match self {
            Self::Sqlite { url } => vec!["--store", url],
            Self::Postgres { url, schema } => vec!["--store", url, "--schema", schema],
        }
    }

    /// Opens the store, and creates its tables if they are missing.
    pub(crate) async fn open(&self) -> Result<Arc<dyn Provider>, String> {
        match self {
            Self::Sqlite { url } => match SqliteProvider::new(url, None).await {
                Ok(store) => Ok(Arc::new(store)),
                Err(error) => Err(format!("{url}: {error}")),
            },
            Self::Postgres { url, schema } => {
                match PostgresProvider::new_with_schema(url, schema).await {
                    Ok(store) => Ok(Arc::new(store)),
                    Err(error) => Err(format!("the store: {error}")),
                }
            }
        }
    }
}
