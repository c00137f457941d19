//! Drops a store.

use tokio_postgres::{Client, GenericClient};

use crate::PostgresError;
use crate::schema::namespace::Schema;
use crate::schema::{migrations, predecessor};

/// A schema that other programs share: only what is ours is dropped.
const SHARED: &str = "public";

/// Drops the schema, or what is ours in the shared one. Nodes and the server's own vacuum may use
/// the tables for a moment: it waits for them as long as a statement may take.
pub(crate) async fn drop_everything(
    client: &mut Client,
    schema: &Schema,
) -> Result<(), PostgresError> {
    let transaction = client.transaction().await?;
    let statements = match schema.name() {
        SHARED => drop_ours(&transaction, schema).await?,
        _ => format!("DROP SCHEMA IF EXISTS {} CASCADE", schema.quoted()),
    };
    transaction.batch_execute(&format!("SET LOCAL lock_timeout = 0; {statements}")).await?;
    transaction.commit().await?;
    Ok(())
}

/// The statements that drop what is ours in a schema with tables of others.
async fn drop_ours(client: &impl GenericClient, schema: &Schema) -> Result<String, PostgresError> {
    let mut statements = String::new();
    for function in our_functions(client, schema).await? {
        statements.push_str(&format!("DROP FUNCTION IF EXISTS {function};"));
    }
    // The ledger of duroxide-pg 0.1 belongs to a store that was migrated.
    for table in migrations::tables().chain([predecessor::LEDGER]) {
        statements.push_str(&format!("DROP TABLE IF EXISTS {}.{table};", schema.quoted()));
    }
    Ok(statements)
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
