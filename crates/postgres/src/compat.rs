//! Names of duroxide-pg 0.1, for programs that were written for it. New programs use
//! [`PostgresProvider::builder`].

use crate::connect::open;
use crate::connect::options::Migrations;
use crate::schema::cleanup;
use crate::{PostgresError, PostgresProvider};

/// A schema that a program names, or not: made from `"name"`, `Some("name")` or `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaName(Option<String>);

impl From<&str> for SchemaName {
    fn from(name: &str) -> Self {
        Self(Some(name.to_owned()))
    }
}

impl From<&String> for SchemaName {
    fn from(name: &String) -> Self {
        Self(Some(name.clone()))
    }
}

impl From<Option<&str>> for SchemaName {
    fn from(name: Option<&str>) -> Self {
        Self(name.map(str::to_owned))
    }
}

/// Where and how a database is opened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProviderConfig {
    /// How to reach the server.
    pub connection: ConnectionConfig,
    /// The schema; `None` as in [`PostgresProvider::new`].
    pub schema_name: Option<String>,
    /// What to do about missing tables and functions.
    pub migration_policy: MigrationPolicy,
}

impl ProviderConfig {
    /// A database by its URL.
    pub fn url(database_url: impl Into<String>) -> Self {
        Self {
            connection: ConnectionConfig::Url(database_url.into()),
            schema_name: None,
            migration_policy: MigrationPolicy::default(),
        }
    }
}

/// How to reach the server.
#[derive(Clone)]
#[non_exhaustive]
pub enum ConnectionConfig {
    /// By a URL, with a password in it if one is needed.
    Url(String),
}

// A URL may hold a password.
impl std::fmt::Debug for ConnectionConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self::Url(_) = self;
        f.write_str("Url(…)")
    }
}

/// What opening a database does about missing tables and functions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MigrationPolicy {
    /// Creates them, as [`Migrations::Run`] does.
    #[default]
    ApplyAll,
    /// Fails unless everything is in place, as [`Migrations::Verify`] does.
    VerifyOnly,
}

impl From<MigrationPolicy> for Migrations {
    fn from(policy: MigrationPolicy) -> Self {
        match policy {
            MigrationPolicy::ApplyAll => Self::Run,
            MigrationPolicy::VerifyOnly => Self::Verify,
        }
    }
}

impl PostgresProvider {
    /// Like [`new`](Self::new) in a schema of the program's choice, one for each tenant: `"orders"`
    /// or `Some("orders")`; `None` is [`new`](Self::new).
    ///
    /// # Errors
    /// When the database cannot be used; the error says what to do.
    pub async fn new_with_schema(
        database_url: &str,
        schema: impl Into<SchemaName>,
    ) -> Result<Self, PostgresError> {
        let builder = Self::builder(database_url);
        match schema.into().0 {
            Some(name) => builder.with_schema(&name).open().await,
            None => builder.open().await,
        }
    }

    /// Opens a database as a configuration of duroxide-pg 0.1 says.
    ///
    /// # Errors
    /// When the database cannot be used; the error says what to do.
    pub async fn new_with_config(config: ProviderConfig) -> Result<Self, PostgresError> {
        let ConnectionConfig::Url(url) = &config.connection;
        let mut builder = Self::builder(url).with_migrations(config.migration_policy.into());
        if let Some(schema) = &config.schema_name {
            builder = builder.with_schema(schema);
        }
        builder.open().await
    }

    /// The schema that holds the tables.
    pub fn schema_name(&self) -> &str {
        self.store.schema.name()
    }

    /// Creates what is missing in the schema. Opening a database has done so already.
    ///
    /// # Errors
    /// When the schema cannot be changed.
    pub async fn initialize_schema(&self) -> Result<(), PostgresError> {
        let mut session = self.store.connections.pool.get().await?;
        open::migrate(&mut session, &self.store.schema, Migrations::Run).await
    }

    /// Drops everything of ours, for tests: the schema, or what is ours in `public`. The provider
    /// cannot be used afterwards.
    ///
    /// # Errors
    /// When the schema cannot be changed.
    pub async fn cleanup_schema(&self) -> Result<(), PostgresError> {
        let mut session = self.store.connections.pool.get().await?;
        cleanup::drop_everything(session.client_mut(), &self.store.schema).await
    }
}
