//! Contents of the store, read directly from its tables.

use duroxide::Event;

use crate::facts_postgres::PostgresTables;
use crate::facts_sqlite::SqliteTables;
use crate::store::Store;

/// Everything that the audit checks.
pub(crate) struct Facts {
    /// All events by instance, execution and number.
    pub(crate) events: Vec<Event>,
    pub(crate) executions: Vec<ExecutionRow>,
    /// Current execution of each instance.
    pub(crate) instances: Vec<(String, u64)>,
    /// Result of the store's own integrity check.
    pub(crate) soundness: String,
    pub(crate) leftovers: Leftovers,
}

/// One row of the executions.
pub(crate) struct ExecutionRow {
    pub(crate) instance: String,
    pub(crate) execution: u64,
    pub(crate) status: String,
}

/// What must be gone when all work is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Leftovers {
    pub(crate) messages: u64,
    pub(crate) activities: u64,
    pub(crate) turn_leases: u64,
    pub(crate) sessions: u64,
}

/// All events in order.
pub(crate) const EVENTS_SQL: &str =
    "SELECT event_data FROM history ORDER BY instance_id, execution_id, event_id";
/// All executions in order.
pub(crate) const EXECUTIONS_SQL: &str = "SELECT instance_id, execution_id, status FROM executions
     ORDER BY instance_id, execution_id";
/// All instances in order.
pub(crate) const INSTANCES_SQL: &str =
    "SELECT instance_id, current_execution_id FROM instances ORDER BY instance_id";
/// What is left, in the order of [`Leftovers`].
pub(crate) const LEFTOVERS_SQL: &str = "SELECT (SELECT count(*) FROM orchestrator_queue),
     (SELECT count(*) FROM worker_queue),
     (SELECT count(*) FROM instance_locks),
     (SELECT count(*) FROM sessions)";

/// Reads the stored form of events.
pub(crate) fn events(texts: &[String]) -> Result<Vec<Event>, String> {
    let read: Result<Vec<Event>, _> = texts.iter().map(|text| serde_json::from_str(text)).collect();
    read.map_err(|error| format!("an event cannot be read: {error}"))
}

/// The tables of a store. Both kinds have the same names for what is read here.
pub(crate) enum Tables {
    Sqlite(SqliteTables),
    Postgres(PostgresTables),
}

impl Tables {
    /// Opens the tables beside the provider.
    pub(crate) fn open(store: &Store) -> Result<Self, String> {
        match store {
            Store::Sqlite { url } => SqliteTables::open(url).map(Self::Sqlite),
            Store::Postgres { url, schema } => {
                PostgresTables::open(url, schema).map(Self::Postgres)
            }
        }
    }

    /// Counts what is left.
    pub(crate) fn leftovers(&self) -> Result<Leftovers, String> {
        match self {
            Self::Sqlite(tables) => tables.leftovers(),
            Self::Postgres(tables) => tables.leftovers(),
        }
    }

    /// Reads everything.
    pub(crate) fn facts(&self) -> Result<Facts, String> {
        match self {
            Self::Sqlite(tables) => tables.facts(),
            Self::Postgres(tables) => tables.facts(),
        }
    }

    /// Removes a store that was created for this soak only.
    pub(crate) fn remove(self) -> Result<(), String> {
        match self {
            // The file is removed with its folder.
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(tables) => tables.remove(),
        }
    }
}
