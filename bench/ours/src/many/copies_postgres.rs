//! Copies in a schema of PostgreSQL.

use std::path::Path;

use bench_harness::postgres::schema;
use tokio_postgres::Client;

use super::copies::{Column, Copies, EVENT_TIME};
use super::population::prefix;
use crate::floor::connect_to;
use crate::heavy::text;

/// A number that is never used again, as the provider chooses it.
const RANDOM: &str = "(random() * 9e18)::BIGINT + 1";

/// Makes the copies, and what the server does by itself after such a load.
pub(super) async fn make(copies: &Copies, folder: &Path, server: &str) -> Result<(), String> {
    let schema = schema(folder);
    let client = connect_to(server, &schema).await?;
    // Speed matters here and durability does not: an incomplete store is made again.
    client
        .batch_execute(
            "SET synchronous_commit = off; SET work_mem = '256MB';
             CREATE TEMP TABLE copied_units (prefix TEXT, earlier BIGINT, place BIGINT)",
        )
        .await
        .map_err(text)?;
    let (prefixes, times): (Vec<String>, Vec<i64>) = copies.listed().into_iter().unzip();
    let sql = "INSERT INTO copied_units
         SELECT * FROM unnest($1::TEXT[], $2::BIGINT[]) WITH ORDINALITY";
    client.execute(sql, &[&prefixes, &times]).await.map_err(text)?;
    let sql = "SELECT table_name::TEXT FROM information_schema.columns
         WHERE table_schema = $1 AND column_name = 'instance_id'";
    for row in client.query(sql, &[&schema]).await.map_err(text)? {
        copy(copies, &client, (&schema, row.get(0))).await?;
    }
    client.batch_execute("VACUUM ANALYZE").await.map_err(text)
}

async fn copy(
    copies: &Copies,
    client: &Client,
    (schema, table): (&str, &str),
) -> Result<(), String> {
    let mark = prefix(copies.of);
    let event = match table {
        "history" => format!(
            ", substr(event_data, 1, position('{EVENT_TIME}' IN event_data) + {length} - 1) AS head,
             substring(event_data FROM '{EVENT_TIME}([0-9]+)')::BIGINT AS event_at,
             ltrim(substr(event_data, position('{EVENT_TIME}' IN event_data) + {length}),
                 '0123456789') AS tail",
            length = EVENT_TIME.len()
        ),
        _other => String::new(),
    };
    let unit = format!(
        "CREATE TEMP TABLE unit_{table} AS SELECT *{event} FROM {schema}.{table}
         WHERE starts_with(instance_id, '{mark}')"
    );
    client.batch_execute(&unit).await.map_err(text)?;
    let columns = columns(client, (schema, table), &mark).await?;
    let (names, values) = copies.columns(&columns, RANDOM);
    let insert = format!(
        "INSERT INTO {schema}.{table} ({names})
         SELECT {values} FROM copied_units u CROSS JOIN unit_{table} t ORDER BY u.place"
    );
    client.batch_execute(&insert).await.map_err(|error| format!("{table}: {error}"))
}

async fn columns(
    client: &Client,
    (schema, table): (&str, &str),
    mark: &str,
) -> Result<Vec<Column>, String> {
    let sql = "SELECT column_name::TEXT, is_identity::TEXT, is_generated::TEXT
         FROM information_schema.columns WHERE table_schema = $1 AND table_name = $2
         ORDER BY ordinal_position";
    let mut columns = Vec::new();
    for row in client.query(sql, &[&schema, &table]).await.map_err(text)? {
        let name: String = row.get(0);
        let is_numbered = row.get::<_, &str>(1) == "YES" || row.get::<_, &str>(2) == "ALWAYS";
        let found = format!(
            "SELECT 1 FROM unit_{table} WHERE position('{mark}' IN {name}::TEXT) > 0 LIMIT 1"
        );
        let has_ids = !client.query(&found, &[]).await.map_err(text)?.is_empty();
        columns.push(Column { name, has_ids, is_numbered });
    }
    Ok(columns)
}
