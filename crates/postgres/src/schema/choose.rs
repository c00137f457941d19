//! The schema of a program that names none.

use tokio_postgres::GenericClient;
use tracing::warn;

use crate::PostgresError;
use crate::schema::migrations::has_record;
use crate::schema::namespace::Schema;
use crate::schema::predecessor;

/// The schema of a new store that no program named.
pub(crate) const DEFAULT: &str = "duroxide";
/// The schema that duroxide-pg 0.1 used when a program named none.
const PREDECESSOR_DEFAULT: &str = "public";

/// The named schema, or the one that holds a store already, or the default of a new store.
pub(crate) async fn choose(
    client: &impl GenericClient,
    named: Option<&str>,
) -> Result<Schema, PostgresError> {
    if let Some(name) = named {
        return Schema::new(name);
    }
    let predecessor = predecessor::has_ledger(client, PREDECESSOR_DEFAULT).await?;
    if predecessor && !has_record(client, DEFAULT).await? {
        return Schema::new(PREDECESSOR_DEFAULT);
    }
    if predecessor && !has_record(client, PREDECESSOR_DEFAULT).await? {
        warn!(
            target: "duroxide::providers::postgres",
            "using schema 'duroxide'; schema 'public' holds a store of duroxide-pg 0.1 that is \
             left alone: name the schema to open it"
        );
    }
    Schema::new(DEFAULT)
}
