//! Brings a schema to the current tables. The numbered files are the only source of the schema.

use deadpool_postgres::Object;
use tokio_postgres::GenericClient;

use crate::PostgresError;
use crate::schema::namespace::Schema;

struct Migration {
    name: &'static str,
    sql: &'static str,
}

macro_rules! migration {
    ($name:literal) => {
        Migration { name: $name, sql: include_str!(concat!("../../migrations/", $name, ".sql")) }
    };
}

/// Number n is the n-th file. A released file is never changed: nodes of the release before go on
/// while the next one migrates.
const MIGRATIONS: [Migration; 7] = [
    migration!("0001_tables"),
    migration!("0002_messages"),
    migration!("0003_turns"),
    migration!("0004_commit"),
    migration!("0005_work"),
    migration!("0006_retention"),
    migration!("0007_step"),
];

const RECORD: &str = "CREATE TABLE IF NOT EXISTS {schema}.duroxide_migrations (
    version BIGINT PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at TIMESTAMPTZ NOT NULL DEFAULT now()
);";

/// Number of the newest step.
pub(crate) fn newest() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Applies what is missing, all or nothing. Any number of nodes may do this at once.
pub(crate) async fn run(client: &mut Object, schema: &Schema) -> Result<(), PostgresError> {
    if version(&***client, schema).await? == newest() {
        return Ok(());
    }
    let transaction = client.transaction().await?;
    // Held until the end of the transaction; whoever comes second finds everything done.
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&lock_key(schema)]).await?;
    transaction.batch_execute("SET LOCAL statement_timeout = 0").await?;
    let done = version(&*transaction, schema).await?;
    transaction.batch_execute(&text_after(schema, done)).await?;
    transaction.commit().await?;
    Ok(())
}

/// Refuses a schema that is not at the current version, without changing it.
pub(crate) async fn check(client: &Object, schema: &Schema) -> Result<(), PostgresError> {
    let found = version(&***client, schema).await?;
    if found == newest() {
        return Ok(());
    }
    Err(PostgresError::OlderSchema { schema: schema.name().to_owned(), found, known: newest() })
}

/// All statements that a new schema needs, to be run by somebody who may.
pub(crate) fn text(schema: &Schema) -> String {
    format!("BEGIN;\n{}COMMIT;\n", text_after(schema, 0))
}

fn text_after(schema: &Schema, done: i64) -> String {
    let quoted = schema.quoted();
    let mut text = String::new();
    if done == 0 {
        // Asked first: who may not make schemas may still fill one that was made for them.
        let (quote, name) = (do_quote(quoted), literal(schema.name()));
        text.push_str(&format!(
            "DO {quote} BEGIN\n    IF NOT EXISTS (\n        \
             SELECT 1 FROM pg_namespace WHERE nspname = {name}\n    ) \
             THEN\n        CREATE SCHEMA {quoted};\n    END IF;\nEND {quote};\n",
        ));
    }
    text.push_str(&schema.migration(RECORD));
    text.push('\n');
    for (number, migration) in (1..).zip(&MIGRATIONS) {
        if number <= done {
            continue;
        }
        text.push_str(&format!("\n-- {}\n", migration.name));
        text.push_str(&schema.migration(migration.sql));
        text.push_str(&format!(
            "INSERT INTO {quoted}.duroxide_migrations (version, name) VALUES ({number}, '{}');\n",
            migration.name
        ));
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

/// The number of steps that a schema has behind it.
async fn version(client: &impl GenericClient, schema: &Schema) -> Result<i64, PostgresError> {
    // By the tables of the catalogue: its functions may answer from before we waited for a lock.
    let sql = "SELECT EXISTS (
             SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = $1 AND c.relname = 'duroxide_migrations')";
    let known = client.query_one(sql, &[&schema.name()]).await?;
    if !known.get::<_, bool>(0) {
        return Ok(0);
    }
    let sql =
        format!("SELECT coalesce(max(version), 0) FROM {}.duroxide_migrations", schema.quoted());
    let found: i64 = client.query_one(&sql, &[]).await?.get(0);
    if found > newest() {
        let schema = schema.name().to_owned();
        return Err(PostgresError::NewerSchema { schema, found, known: newest() });
    }
    Ok(found)
}

/// Apart from the keys of instances, which are made by the same numbers.
fn lock_key(schema: &Schema) -> i64 {
    schema.key() ^ 0x6d69_6772_6174_6521
}
