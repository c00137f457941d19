//! A store whose rows can be changed.

use std::sync::Arc;

use duroxide::providers::Provider;

use super::cell::Cell;

/// The tables whose rows belong to an instance.
pub(super) const TABLES: [&str; 9] = [
    "instances",
    "executions",
    "history",
    "orchestrator_queue",
    "worker_queue",
    "instance_locks",
    "kv_store",
    "kv_delta",
    "message_ids",
];

/// A row as SQL returns it, each value as a text.
pub type TextRow = Vec<Option<String>>;

/// A store and a connection beside it.
pub trait RowStore {
    /// The store.
    fn provider(&self) -> Arc<dyn Provider>;

    /// Runs SQL without the provider.
    fn run(&self, sql: &str) -> impl Future<Output = Result<Vec<TextRow>, String>>;

    /// SQL for the names of the columns of a table.
    fn columns_sql(&self, table: &str) -> String;

    /// SQL for conditions, one for each row of an instance in a table, which select that row.
    fn conditions_sql(&self, table: &str, instance: &str) -> String;

    /// A table as SQL names it.
    fn table(&self, name: &str) -> String;

    /// A value as SQL writes it.
    fn literal(&self, cell: &Cell) -> String;
}
