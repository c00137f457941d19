//! Migrates a store of duroxide-pg 0.1 in place.
//!
//! Its tables are renamed, ours are created under the same names, the rows are copied and the old
//! tables dropped, in the transaction that migrates. Nodes of 0.1 cannot go on: a new one refuses
//! the ledger, and the functions that a running one calls fail with a text that says why.

use tokio_postgres::GenericClient;

use crate::PostgresError;
use crate::schema::migrations;
use crate::schema::namespace::{Schema, fnv1a, quoted};

/// The statements that copy the rows, to be run behind our first step.
pub(crate) const COPY: &str = include_str!("../../migrations/predecessor/copy.sql");

/// The ledger of the old migrations.
pub(crate) const LEDGER: &str = "_duroxide_migrations";

// The tables have the same columns from the first to the last of these old steps.
const OLDEST_STEP: i64 = 20;
const NEWEST_STEP: i64 = 26;

/// Recorded in the old ledger; no release of 0.1 knows it, so that 0.1.38 refuses to start.
const STEP_OF_OURS: i64 = 1000;

const TABLES: [&str; 9] = [
    "instances",
    "executions",
    "history",
    "orchestrator_queue",
    "worker_queue",
    "instance_locks",
    "sessions",
    "kv_store",
    "kv_delta",
];

/// The functions through which nodes of 0.1 read and write.
const FUNCTIONS: [&str; 36] = [
    "abandon_orchestration_item",
    "abandon_work_item",
    "ack_orchestration",
    "ack_orchestration_item",
    "ack_worker",
    "append_history",
    "cleanup_orphaned_sessions",
    "cleanup_schema",
    "delete_instances_atomic",
    "enqueue_completion",
    "enqueue_message",
    "enqueue_orchestration_work",
    "enqueue_orchestrator_work",
    "enqueue_worker_work",
    "fetch_history",
    "fetch_history_with_execution",
    "fetch_orchestration_item",
    "fetch_work_item",
    "get_custom_status",
    "get_execution_info",
    "get_instance_info",
    "get_instance_stats",
    "get_kv_all_values",
    "get_kv_value",
    "get_parent_id",
    "get_queue_depths",
    "get_system_metrics",
    "latest_execution_id",
    "list_children",
    "list_executions",
    "list_instances",
    "list_instances_by_status",
    "prune_executions",
    "renew_orchestration_item_lock",
    "renew_session_lock",
    "renew_work_item_lock",
];

/// Whether the schema has the ledger of duroxide-pg 0.1. Its store may be migrated already.
pub(crate) async fn has_ledger(
    client: &impl GenericClient,
    schema: &str,
) -> Result<bool, PostgresError> {
    migrations::has_table(client, schema, LEDGER).await
}

/// Refuses a store of 0.1 that this build cannot migrate.
pub(crate) async fn check(
    client: &impl GenericClient,
    schema: &Schema,
) -> Result<(), PostgresError> {
    let sql =
        format!("SELECT coalesce(max(version), 0) AS version FROM {}.{LEDGER}", schema.quoted());
    let found: i64 = client.query_one(&sql, &[]).await?.get("version");
    if (OLDEST_STEP..=NEWEST_STEP).contains(&found) {
        return Ok(());
    }
    Err(PostgresError::Predecessor { schema: schema.name().to_owned(), found })
}

/// Renames the old tables and their indexes, so that ours can have the names.
pub(crate) async fn set_aside(
    client: &impl GenericClient,
    schema: &Schema,
) -> Result<(), PostgresError> {
    let owner = schema.quoted();
    // A node of 0.1 that migrates at this moment holds this lock.
    let key = fnv1a(b"duroxide_pg:migrations:".iter().copied().chain(schema.name().bytes()));
    client.execute("SELECT pg_advisory_xact_lock($1)", &[&key.cast_signed()]).await?;
    let tables: Vec<String> = TABLES.iter().map(|table| format!("{owner}.{table}")).collect();
    let lock = format!("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE", tables.join(", "));
    client.batch_execute(&lock).await?;
    for table in TABLES {
        let sql = "SELECT i.relname AS index FROM pg_index x
                 JOIN pg_class i ON i.oid = x.indexrelid
                 JOIN pg_class t ON t.oid = x.indrelid
                 JOIN pg_namespace n ON n.oid = t.relnamespace
             WHERE n.nspname = $1 AND t.relname = $2";
        for (number, row) in client.query(sql, &[&schema.name(), &table]).await?.iter().enumerate()
        {
            let index = quoted(row.get("index"));
            client
                .batch_execute(&format!(
                    "ALTER INDEX {owner}.{index} RENAME TO duroxide_0_1_{table}_{number}"
                ))
                .await?;
        }
        client
            .batch_execute(&format!("ALTER TABLE {owner}.{table} RENAME TO duroxide_0_1_{table}"))
            .await?;
    }
    Ok(())
}

/// Keeps nodes of 0.1 out, each with a text that says why.
pub(crate) async fn keep_out(
    client: &impl GenericClient,
    schema: &Schema,
) -> Result<(), PostgresError> {
    let owner = schema.quoted();
    let record = format!(
        "INSERT INTO {owner}.{LEDGER} (version, name)
         VALUES ({STEP_OF_OURS}, 'migrated to duroxide-pg 0.2; upgrade this program')"
    );
    client.batch_execute(&record).await?;
    // Under the same name, arguments and result, a function can be replaced in place.
    let sql = "SELECT p.proname AS name, pg_get_function_arguments(p.oid) AS arguments,
             pg_get_function_result(p.oid) AS result
         FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
         WHERE n.nspname = $1 AND p.prokind = 'f' AND p.proname = ANY ($2)";
    for row in client.query(sql, &[&schema.name(), &&FUNCTIONS[..]]).await? {
        let (name, arguments) = (quoted(row.get("name")), row.get::<_, &str>("arguments"));
        let result: &str = row.get("result");
        client
            .batch_execute(&format!(
                "CREATE OR REPLACE FUNCTION {owner}.{name}({arguments}) RETURNS {result}
                 LANGUAGE plpgsql AS $stub$ BEGIN
                     RAISE EXCEPTION 'this store was migrated to duroxide-pg 0.2'
                         USING HINT = 'stop this node and upgrade its program';
                 END $stub$"
            ))
            .await?;
    }
    Ok(())
}
