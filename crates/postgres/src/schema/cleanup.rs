//! Drops a store.

use tokio_postgres::GenericClient;

use crate::PostgresError;
use crate::schema::namespace::Schema;
use crate::schema::{migrations, predecessor};

/// A schema that other programs share: only what is ours is dropped.
const SHARED: &str = "public";

/// Drops the schema, or what is ours in the shared one.
pub(crate) async fn drop_everything(
    client: &impl GenericClient,
    schema: &Schema,
) -> Result<(), PostgresError> {
    let quoted = schema.quoted();
    if schema.name() != SHARED {
        client.batch_execute(&format!("DROP SCHEMA IF EXISTS {quoted} CASCADE")).await?;
        return Ok(());
    }
    let mut statements = String::from("BEGIN;");
    for function in our_functions(client, schema).await? {
        statements.push_str(&format!("DROP FUNCTION IF EXISTS {function};"));
    }
    // The ledger of duroxide-pg 0.1 belongs to a store that was migrated.
    for table in migrations::tables().chain([predecessor::LEDGER]) {
        statements.push_str(&format!("DROP TABLE IF EXISTS {quoted}.{table};"));
    }
    statements.push_str("COMMIT;");
    client.batch_execute(&statements).await?;
    Ok(())
}

/// The functions of every installed version, and those that all versions share, with the types of
/// their arguments.
async fn our_functions(
    client: &impl GenericClient,
    schema: &Schema,
) -> Result<Vec<String>, PostgresError> {
    let sql = format!(
        "SELECT p.oid::REGPROCEDURE::TEXT AS function
         FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
         WHERE n.nspname = $1 AND (
             p.proname IN ('now_ms', 'instance_key') OR EXISTS (
                 SELECT 1 FROM {}.duroxide_functions f
                 WHERE right(p.proname, length(f.version) + 1) = '_' || f.version))",
        schema.quoted()
    );
    let rows = client.query(&sql, &[&schema.name()]).await?;
    Ok(rows.iter().map(|row| row.get("function")).collect())
}
