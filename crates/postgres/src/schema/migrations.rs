//! Brings a schema up to date: numbered migrations make the tables, and then the functions of this
//! build are installed. These texts are the only source of the schema.

use std::collections::HashSet;

use tokio_postgres::{Client, GenericClient};

use crate::PostgresError;
use crate::limits;
use crate::schema::functions;
use crate::schema::namespace::Schema;
use crate::schema::predecessor;

struct Migration {
    name: &'static str,
    sql: &'static str,
}

macro_rules! migration {
    ($name:literal) => {
        Migration { name: $name, sql: include_str!(concat!("../../migrations/", $name, ".sql")) }
    };
}

/// A step that made functions before these had files and versions of their own. A new schema
/// records it and does nothing, so that the numbers mean the same in every schema.
const fn retired(name: &'static str) -> Migration {
    Migration { name, sql: "" }
}

/// Number n is the n-th step. A released file never changes: nodes of the previous release continue
/// while a node of the next one migrates.
const MIGRATIONS: [Migration; 29] = [
    migration!("0001_tables"),
    retired("0002_messages"),
    retired("0003_turns"),
    retired("0004_commit"),
    retired("0005_work"),
    retired("0006_retention"),
    retired("0007_step"),
    migration!("0008_function_versions"),
    migration!("0009_starts_of_instances"),
    migration!("0010_notification_channel"),
    migration!("0011_vouched_leases"),
    migration!("0012_lanes_of_activities"),
    migration!("0013_pins_of_ready_messages"),
    migration!("0014_running_executions"),
    migration!("0015_message_ids"),
    migration!("0016_excused_attempts"),
    migration!("0017_senders"),
    migration!("0018_commits_of_events"),
    migration!("0019_code_of_ready_messages"),
    migration!("0020_suspended_instances"),
    migration!("0021_announced_turns"),
    migration!("0022_code_of_activities"),
    migration!("0023_deletions_in_slices"),
    migration!("0024_times_of_leases_and_delays"),
    migration!("0025_waiting_cancellations"),
    migration!("0026_far_messages"),
    migration!("0027_queries_over_instances"),
    migration!("0028_parked_messages_of_instances"),
    migration!("0029_children_without_an_index"),
];

const RECORD: &str = "CREATE TABLE IF NOT EXISTS {schema}.duroxide_migrations (
    version BIGINT PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at TIMESTAMPTZ NOT NULL DEFAULT now()
);";

/// The names of all tables that the steps create.
pub(crate) fn tables() -> impl Iterator<Item = &'static str> {
    let texts = MIGRATIONS.iter().map(|migration| migration.sql).chain([RECORD]);
    let created = texts.flat_map(|sql| sql.split("CREATE TABLE ").skip(1));
    let names = created.filter_map(|text| text.split_once("{schema}.").map(|(_, name)| name));
    names.filter_map(|text| text.split_whitespace().next())
}

/// The number of the newest step.
pub(crate) fn newest() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Applies what is missing, all or nothing. Any number of nodes may do this at once. A node that
/// finds everything applied needs no right to change the schema.
pub(crate) async fn run(client: &mut Client, schema: &Schema) -> Result<(), PostgresError> {
    let mut attempt = 1;
    while !State::read(&*client, schema).await?.is_current() {
        match apply(client, schema).await {
            Err(error) if error.is_deadlock() && attempt < limits::MIGRATION_ATTEMPTS_MAX => {
                attempt += 1;
            }
            outcome => return outcome,
        }
    }
    Ok(())
}

async fn apply(client: &mut Client, schema: &Schema) -> Result<(), PostgresError> {
    let transaction = client.transaction().await?;
    // Another node may migrate for as long as it takes. Older servers lack the last of these.
    let unlimited = "SELECT set_config(name, '0', true) FROM pg_settings
         WHERE name IN ('statement_timeout', 'lock_timeout',
             'idle_in_transaction_session_timeout', 'transaction_timeout')";
    transaction.execute(unlimited, &[]).await?;
    // Held until the transaction ends; the next node then finds everything applied.
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&lock_key(schema)]).await?;
    let state = State::read(&transaction, schema).await?;
    if state.predecessor {
        predecessor::check(&transaction, schema).await?;
        predecessor::set_aside(&transaction, schema).await?;
    }
    lock_tables(&transaction, schema, state).await?;
    transaction.batch_execute(&text_after(schema, state)).await?;
    if state.predecessor {
        predecessor::keep_out(&transaction, schema).await?;
    }
    transaction.commit().await?;
    Ok(())
}

/// Locks what the missing steps change, as strictly as any of them does. Nodes work meanwhile: a
/// step that got a weaker lock first, and then waited for a node that has read the table and waits
/// to write it, would deadlock. Nodes lock tables in other orders; then nothing is lost yet.
async fn lock_tables(
    client: &impl GenericClient,
    schema: &Schema,
    state: State,
) -> Result<(), PostgresError> {
    let missing = (1..).zip(&MIGRATIONS).filter(|(number, _)| *number > state.tables);
    let named: HashSet<&str> = missing.flat_map(|(_, step)| named_in(step.sql)).collect();
    let mut found = Vec::new();
    for table in tables().filter(|table| named.contains(table)) {
        if state.tables > 0 && has_table(client, schema.name(), table).await? {
            found.push(format!("{}.{table}", schema.quoted()));
        }
    }
    if !found.is_empty() {
        let lock = format!("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE", found.join(", "));
        client.batch_execute(&lock).await?;
    }
    Ok(())
}

/// The names in the schema that a step mentions.
fn named_in(sql: &'static str) -> impl Iterator<Item = &'static str> {
    let behind = sql.split("{schema}.").skip(1);
    behind.filter_map(|text| text.split(|c: char| !c.is_alphanumeric() && c != '_').next())
}

/// Refuses a schema that is not up to date, without changing it.
pub(crate) async fn check(client: &Client, schema: &Schema) -> Result<(), PostgresError> {
    let state = State::read(client, schema).await?;
    let name = schema.name().to_owned();
    if state.tables < newest() {
        return Err(PostgresError::OlderSchema {
            schema: name,
            found: state.tables,
            known: newest(),
        });
    }
    if !state.functions {
        let version = functions::version().to_owned();
        return Err(PostgresError::MissingFunctions { schema: name, version });
    }
    Ok(())
}

/// All statements that a new schema needs, for an administrator to run.
pub(crate) fn text(schema: &Schema) -> String {
    format!("BEGIN;\n{}COMMIT;\n", text_after(schema, State::default()))
}

/// The statements that install this build's functions in a schema that has all tables.
pub(crate) fn functions_text(schema: &Schema) -> String {
    format!("BEGIN;\n{}COMMIT;\n", functions::text(schema))
}

fn text_after(schema: &Schema, state: State) -> String {
    let quoted = schema.quoted();
    let mut text = String::new();
    if state.tables == 0 {
        // Checked first: a role that may not create schemas may still fill an existing one.
        let (quote, name) = (do_quote(quoted), literal(schema.name()));
        text.push_str(&format!(
            "DO {quote} BEGIN\n    IF NOT EXISTS (\n        \
             SELECT 1 FROM pg_namespace WHERE nspname = {name}\n    ) \
             THEN\n        CREATE SCHEMA {quoted};\n    END IF;\nEND {quote};\n",
        ));
    }
    text.push_str(&schema.definition(RECORD));
    text.push('\n');
    for (number, migration) in (1..).zip(&MIGRATIONS) {
        if number <= state.tables {
            continue;
        }
        text.push_str(&format!("\n-- {}\n", migration.name));
        text.push_str(&schema.definition(migration.sql));
        if number == 1 && state.predecessor {
            text.push_str(&schema.definition(predecessor::COPY));
        }
        text.push_str(&format!(
            "INSERT INTO {quoted}.duroxide_migrations (version, name) VALUES ({number}, '{}');\n",
            migration.name
        ));
    }
    if !state.functions {
        text.push_str(&functions::text(schema));
    }
    text
}

fn do_quote(quoted: &str) -> String {
    let mut quote = "$do$".to_owned();
    while quoted.contains(&quote) {
        quote.insert(1, 'x');
    }
    quote
}

/// A text constant, safe under either setting of `standard_conforming_strings`.
fn literal(text: &str) -> String {
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// What a schema has already.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    /// The number of the last migration.
    tables: i64,
    /// Whether the functions of this build are installed.
    functions: bool,
    /// Whether it holds a store of duroxide-pg 0.1, and nothing of ours.
    predecessor: bool,
}

impl State {
    fn is_current(self) -> bool {
        self.tables == newest() && self.functions
    }

    async fn read(client: &impl GenericClient, schema: &Schema) -> Result<Self, PostgresError> {
        let tables = last_migration(client, schema).await?;
        if tables < newest() {
            let predecessor = tables == 0 && predecessor::has_ledger(client, schema.name()).await?;
            return Ok(Self { tables, functions: false, predecessor });
        }
        let sql = format!(
            "SELECT EXISTS (SELECT 1 FROM {}.duroxide_functions WHERE version = $1) AS installed",
            schema.quoted()
        );
        let row = client.query_one(&sql, &[&functions::version()]).await?;
        Ok(Self { tables, functions: row.get("installed"), predecessor: false })
    }
}

/// Whether the schema has our record of migrations.
pub(crate) async fn has_record(
    client: &impl GenericClient,
    schema: &str,
) -> Result<bool, PostgresError> {
    has_table(client, schema, "duroxide_migrations").await
}

/// Whether the schema has a table of this name.
pub(crate) async fn has_table(
    client: &impl GenericClient,
    schema: &str,
    table: &str,
) -> Result<bool, PostgresError> {
    // From the catalogue's tables: its functions may return a state from before the lock wait.
    let sql = "SELECT EXISTS (
             SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind = 'r') AS found";
    Ok(client.query_one(sql, &[&schema, &table]).await?.get("found"))
}

async fn last_migration(
    client: &impl GenericClient,
    schema: &Schema,
) -> Result<i64, PostgresError> {
    if !has_record(client, schema.name()).await? {
        return Ok(0);
    }
    let sql = format!(
        "SELECT coalesce(max(version), 0) AS version FROM {}.duroxide_migrations",
        schema.quoted()
    );
    let found: i64 = client.query_one(&sql, &[]).await?.get("version");
    if found > newest() {
        let schema = schema.name().to_owned();
        return Err(PostgresError::NewerSchema { schema, found, known: newest() });
    }
    Ok(found)
}

/// Differs from the keys of instances, which come from the same numbers.
fn lock_key(schema: &Schema) -> i64 {
    schema.key() ^ 0x6d69_6772_6174_6521
}
