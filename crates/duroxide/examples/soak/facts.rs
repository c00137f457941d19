//! What the store holds, read straight from its tables.

use duroxide::Event;
use rusqlite::{Connection, OpenFlags};

/// Everything that the audit looks at, whatever the store.
pub(crate) struct Facts {
    /// All events by instance, execution and number.
    pub(crate) events: Vec<Event>,
    pub(crate) executions: Vec<ExecutionRow>,
    /// Current execution of each instance.
    pub(crate) instances: Vec<(String, u64)>,
    /// What the store says of its own soundness.
    pub(crate) soundness: String,
    pub(crate) leftovers: Leftovers,
}

/// One row of the executions.
pub(crate) struct ExecutionRow {
    pub(crate) instance: String,
    pub(crate) execution: u64,
    pub(crate) status: String,
}

/// What must be gone when all work is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Leftovers {
    pub(crate) messages: u64,
    pub(crate) activities: u64,
    pub(crate) turn_leases: u64,
    pub(crate) sessions: u64,
}

/// The tables of a store.
pub(crate) struct Tables {
    connection: Connection,
}

impl Tables {
    /// Opens the tables beside the provider. Another kind of store adds its own way here.
    pub(crate) fn open(url: &str) -> Result<Self, String> {
        let path = url.strip_prefix("sqlite:").unwrap_or(url);
        let path = path.strip_prefix("//").unwrap_or(path);
        let path = path.split('?').next().unwrap_or(path);
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
            .map_err(|error| format!("{url}: {error}"))?;
        connection
            .busy_timeout(std::time::Duration::from_secs(30))
            .map_err(|error| error.to_string())?;
        Ok(Self { connection })
    }

    /// Counts what is left.
    pub(crate) fn leftovers(&self) -> Result<Leftovers, String> {
        Ok(Leftovers {
            messages: self.count("orchestrator_queue")?,
            activities: self.count("worker_queue")?,
            turn_leases: self.count("instance_locks")?,
            sessions: self.count("sessions")?,
        })
    }

    /// Reads everything.
    pub(crate) fn facts(&self) -> Result<Facts, String> {
        let events = self.rows(
            "SELECT event_data FROM history ORDER BY instance_id, execution_id, event_id",
            |row| row.get::<_, String>(0),
        )?;
        let events: Result<Vec<Event>, _> =
            events.iter().map(|text| serde_json::from_str(text)).collect();
        let executions = self.rows(
            "SELECT instance_id, execution_id, status FROM executions
             ORDER BY instance_id, execution_id",
            |row| {
                let (instance, execution) = (row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs());
                Ok(ExecutionRow { instance, execution, status: row.get(2)? })
            },
        )?;
        let instances = self.rows(
            "SELECT instance_id, current_execution_id FROM instances ORDER BY instance_id",
            |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs())),
        )?;
        let soundness = self.rows("PRAGMA integrity_check", |row| row.get::<_, String>(0))?;
        Ok(Facts {
            events: events.map_err(|error| format!("an event cannot be read: {error}"))?,
            executions,
            instances,
            soundness: soundness.join("; "),
            leftovers: self.leftovers()?,
        })
    }

    fn count(&self, table: &str) -> Result<u64, String> {
        let counts = self.rows(&format!("SELECT count(*) FROM {table}"), |row| row.get(0))?;
        Ok(counts.first().map_or(0, |count: &i64| count.unsigned_abs()))
    }

    fn rows<T>(
        &self,
        sql: &str,
        read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, String> {
        let collected = self.connection.prepare(sql).and_then(|mut statement| {
            statement.query_map([], read)?.collect::<rusqlite::Result<Vec<T>>>()
        });
        collected.map_err(|error| format!("{sql}: {error}"))
    }
}
