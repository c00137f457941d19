//! A store that is open.

use std::path::Path;
use std::sync::Arc;

use duroxide::Client;
#[cfg(feature = "postgres")]
use duroxide::providers::postgres::PostgresProvider;
#[cfg(feature = "sqlite")]
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::providers::{Provider, StoreDescription};

use super::access::Access;
use super::location::Location;
use super::refusal::Refusal;
use crate::failure::{Failure, Result};

#[cfg(not(any(feature = "sqlite", feature = "postgres")))]
compile_error!("choose a kind of store: the feature sqlite, postgres, or both");

/// A store that is open.
#[derive(Debug, Clone)]
pub(crate) enum Store {
    #[cfg(feature = "sqlite")]
    Sqlite(Arc<SqliteProvider>),
    #[cfg(feature = "postgres")]
    Postgres(Arc<PostgresProvider>),
}

impl Store {
    /// Opens a store that exists, unless the access is to migrate.
    pub(crate) async fn open(location: &Location, access: Access) -> Result<Self, Refusal> {
        match location {
            #[cfg(feature = "sqlite")]
            Location::Sqlite { url } => {
                Ok(Self::Sqlite(Arc::new(super::sqlite::open(url, access).await?)))
            }
            #[cfg(feature = "postgres")]
            Location::Postgres { url, schema } => {
                let opened = super::postgres::open(url, schema.as_deref(), access).await?;
                Ok(Self::Postgres(Arc::new(opened)))
            }
            #[cfg(not(all(feature = "sqlite", feature = "postgres")))]
            other => {
                let _built_without = (other, access);
                Err(Refusal::Other("this command was built without that kind of store".to_owned()))
            }
        }
    }

    /// The provider.
    pub(crate) fn provider(&self) -> Arc<dyn Provider> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(provider) => Arc::<SqliteProvider>::clone(provider),
            #[cfg(feature = "postgres")]
            Self::Postgres(provider) => Arc::<PostgresProvider>::clone(provider),
        }
    }

    /// A client of the store.
    pub(crate) fn client(&self) -> Client {
        Client::new(self.provider())
    }

    /// What the store says about itself.
    pub(crate) async fn describe(&self) -> Result<StoreDescription> {
        Ok(match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(provider) => provider.describe().await?,
            #[cfg(feature = "postgres")]
            Self::Postgres(provider) => provider.describe().await?,
        })
    }

    /// Searches the content for damage; `None` if this kind of store guards itself.
    pub(crate) async fn check_content(&self) -> Result<Option<Vec<String>>> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(provider) => Ok(Some(provider.check_integrity().await.map_err(failed)?)),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Ok(None),
        }
    }

    /// Makes the file as small as its content.
    pub(crate) async fn vacuum(&self) -> Result<()> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(provider) => provider.vacuum().await.map_err(failed),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Err(Failure::error(
                "PostgreSQL frees space by itself (autovacuum): use VACUUM of psql to do it now",
            )),
        }
    }

    /// Copies the store to a new file.
    pub(crate) async fn backup(&self, file: &Path) -> Result<()> {
        let _only_of_files = file;
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(provider) => provider.backup(file).await.map_err(failed),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => {
                Err(Failure::error("a PostgreSQL store is copied with pg_dump, not with backup"))
            }
        }
    }

    /// Completes what was requested and closes the store.
    pub(crate) async fn close(&self) -> Result<()> {
        Ok(self.provider().close().await?)
    }
}

#[cfg(feature = "sqlite")]
fn failed(error: duroxide::providers::sqlite::SqliteError) -> Failure {
    Failure::error(super::refusal::with_causes(&error))
}
