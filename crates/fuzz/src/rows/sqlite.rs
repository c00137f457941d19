//! Rows of a SQLite file.

use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::Provider;
use duroxide::providers::sqlite::SqliteProvider;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::cell::{Cell, hex};
use super::store::{RowStore, TextRow};

/// How long the connection beside the provider waits for it.
const BUSY: Duration = Duration::from_secs(10);

/// A file in a temporary folder.
pub struct SqliteRows {
    provider: Arc<SqliteProvider>,
    connection: Connection,
    // Removed when this value is dropped.
    _folder: tempfile::TempDir,
}

impl SqliteRows {
    /// Creates the file.
    ///
    /// # Errors
    /// When that is not possible.
    pub async fn new() -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let file = folder.path().join("store.db");
        let url = file.to_str().ok_or("the temporary folder has no name in Unicode")?;
        let provider = SqliteProvider::new(url, None).await.map_err(|error| error.to_string())?;
        let connection = Connection::open(&file).map_err(|error| error.to_string())?;
        connection.busy_timeout(BUSY).map_err(|error| error.to_string())?;
        Ok(Self { provider: Arc::new(provider), connection, _folder: folder })
    }

    fn rows(&self, sql: &str) -> rusqlite::Result<Vec<TextRow>> {
        let mut statement = self.connection.prepare(sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let value = |at| Ok(text(row.get_ref(at)?));
            found.push((0..columns).map(value).collect::<rusqlite::Result<TextRow>>()?);
        }
        Ok(found)
    }
}

fn text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}

impl RowStore for SqliteRows {
    fn provider(&self) -> Arc<dyn Provider> {
        Arc::clone(&self.provider) as Arc<dyn Provider>
    }

    async fn run(&self, sql: &str) -> Result<Vec<TextRow>, String> {
        self.rows(sql).map_err(|error| error.to_string())
    }

    fn columns_sql(&self, table: &str) -> String {
        format!("SELECT name FROM pragma_table_info('{table}') ORDER BY cid")
    }

    /// The keys of the row, whatever type a change has given them.
    fn conditions_sql(&self, table: &str, instance: &str) -> String {
        let keys = match table {
            "instances" | "instance_locks" => &["instance_id"][..],
            "executions" => &["instance_id", "execution_id"],
            "history" => &["instance_id", "execution_id", "event_id"],
            "kv_store" | "kv_delta" => &["instance_id", "key"],
            "message_ids" => &["instance_id", "message_id"],
            _queue => &["id"],
        };
        let parts: Vec<String> =
            keys.iter().map(|key| format!("'{key} = ' || quote({key})")).collect();
        let condition = parts.join(" || ' AND ' || ");
        format!("SELECT {condition} FROM {table} WHERE instance_id = '{instance}' ORDER BY 1")
    }

    fn table(&self, name: &str) -> String {
        name.to_owned()
    }

    fn literal(&self, cell: &Cell) -> String {
        match cell {
            Cell::Null => "NULL".to_owned(),
            Cell::Text(text) => format!("CAST(x'{}' AS TEXT)", hex(text.as_bytes())),
            Cell::Bytes(bytes) => format!("x'{}'", hex(bytes)),
            Cell::Number(number) if number.parse::<f64>().is_ok_and(f64::is_finite) => {
                number.clone()
            }
            Cell::Number(word) => format!("'{word}'"),
        }
    }
}
