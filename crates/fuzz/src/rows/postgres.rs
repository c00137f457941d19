//! Rows of a schema of a PostgreSQL server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use duroxide::providers::Provider;
use duroxide::providers::postgres::PostgresProvider;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use super::cell::Cell;
use super::store::{RowStore, TextRow};

/// A schema of its own.
pub struct PostgresRows {
    provider: Arc<PostgresProvider>,
    client: Client,
    schema: String,
}

impl PostgresRows {
    /// Creates a schema on a server.
    ///
    /// # Errors
    /// When that is not possible.
    pub async fn new(url: &str) -> Result<Self, String> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let schema = format!("fuzz_{}_{number}", std::process::id());
        let opened = PostgresProvider::builder(url).with_schema(&schema).open().await;
        let provider = opened.map_err(|error| error.to_string())?;
        let connected = tokio_postgres::connect(url, NoTls).await;
        let (client, connection) = connected.map_err(|error| error.to_string())?;
        tokio::spawn(async move {
            // Ends with its client; an error is one of the next statement.
            drop(connection.await);
        });
        Ok(Self { provider: Arc::new(provider), client, schema })
    }
}

impl RowStore for PostgresRows {
    fn provider(&self) -> Arc<dyn Provider> {
        Arc::clone(&self.provider) as Arc<dyn Provider>
    }

    async fn run(&self, sql: &str) -> Result<Vec<TextRow>, String> {
        let answer = self.client.simple_query(sql).await;
        let mut rows = Vec::new();
        for message in answer.map_err(|error| format!("{error:?}"))? {
            if let SimpleQueryMessage::Row(row) = message {
                rows.push((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect());
            }
        }
        Ok(rows)
    }

    fn columns_sql(&self, table: &str) -> String {
        format!(
            "SELECT column_name FROM information_schema.columns
             WHERE table_schema = '{}' AND table_name = '{table}' AND is_identity = 'NO'
               AND is_generated = 'NEVER'
             ORDER BY ordinal_position",
            self.schema
        )
    }

    fn conditions_sql(&self, table: &str, instance: &str) -> String {
        let table = self.table(table);
        format!(
            "SELECT 'ctid = ''' || ctid::text || '''' FROM {table}
             WHERE instance_id = '{instance}' ORDER BY ctid"
        )
    }

    fn table(&self, name: &str) -> String {
        format!("{}.{name}", self.schema)
    }

    /// A text of any type: the server casts it to that of the column. It refuses zero bytes itself.
    fn literal(&self, cell: &Cell) -> String {
        let quoted = |text: &str| format!("'{}'", text.replace('\0', "").replace('\'', "''"));
        match cell {
            Cell::Null => "NULL".to_owned(),
            Cell::Text(text) | Cell::Number(text) => quoted(text),
            Cell::Bytes(bytes) => quoted(&String::from_utf8_lossy(bytes)),
        }
    }
}
