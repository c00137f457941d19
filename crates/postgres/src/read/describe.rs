//! What the store says about itself.

use duroxide_core::providers::{ProviderError, StoreDescription};

use crate::PostgresProvider;
use crate::error::{During, JobError};
use crate::schema::migrations;
use crate::schema::number::from_db;
use crate::store::Store;

impl PostgresProvider {
    /// Where the store is, how large it is, and which version its tables have.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn describe(&self) -> Result<StoreDescription, ProviderError> {
        describe(&self.store).await.during("describe")
    }
}

async fn describe(store: &Store) -> Result<StoreDescription, JobError> {
    let server = store.session().await?.server();
    let sql = "SELECT current_database()::TEXT AS database,
             current_setting('server_version') AS engine,
             (SELECT coalesce(max(version), 0) FROM {schema}.duroxide_migrations) AS version,
             (SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::BIGINT
                  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                  WHERE n.nspname = $1 AND c.relkind = 'r') AS size";
    let rows = store.query(sql, &[&store.schema.name()]).await?;
    let row = rows.first().ok_or_else(|| JobError::Broken("no row".to_owned()))?;
    let place = format!("{server}/{}", row.get::<_, String>("database"));
    let mut description = StoreDescription::new("postgres", place);
    description.schema = Some(store.schema.name().to_owned());
    description.schema_version = row.get("version");
    description.schema_version_known = migrations::newest();
    description.engine_version = row.get("engine");
    description.size_bytes = from_db(row.get("size"));
    Ok(description)
}
