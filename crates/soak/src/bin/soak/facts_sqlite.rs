//! Reads the tables of a SQLite file.

use std::collections::BTreeMap;

use rusqlite::{Connection, OpenFlags};

use crate::facts::{
    EVENTS_SQL, EXECUTIONS_SQL, ExecutionRow, Facts, INSTANCES_SQL, LEFTOVERS_SQL, Leftovers,
    events,
};

const TEXTS_SQL: &str = "SELECT instance_id, event_data FROM history
     UNION ALL SELECT instance_id, work_item FROM orchestrator_queue";

/// The tables of a file.
pub(crate) struct SqliteTables {
    connection: Connection,
}

impl SqliteTables {
    /// Opens them beside the provider.
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
        let counts = self.rows(LEFTOVERS_SQL, |row| {
            let count = |index| row.get::<_, i64>(index).map(i64::unsigned_abs);
            Ok(Leftovers {
                messages: count(0)?,
                activities: count(1)?,
                turn_leases: count(2)?,
                sessions: count(3)?,
            })
        })?;
        counts.first().copied().ok_or_else(|| "nothing was counted".to_owned())
    }

    /// Reads everything.
    pub(crate) fn facts(&self) -> Result<Facts, String> {
        let texts = self.rows(EVENTS_SQL, |row| row.get::<_, String>(0))?;
        let executions = self.rows(EXECUTIONS_SQL, |row| {
            let (instance, execution) = (row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs());
            Ok(ExecutionRow { instance, execution, status: row.get(2)? })
        })?;
        let instances = self
            .rows(INSTANCES_SQL, |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs())))?;
        let soundness = self.rows("PRAGMA integrity_check", |row| row.get::<_, String>(0))?;
        Ok(Facts {
            events: events(&texts)?,
            executions,
            instances,
            soundness: soundness.join("; "),
            leftovers: self.leftovers()?,
        })
    }

    /// The texts of messages and events of each instance.
    pub(crate) fn texts(&self) -> Result<BTreeMap<String, String>, String> {
        let mut texts: BTreeMap<String, String> = BTreeMap::new();
        for (instance, text) in
            self.rows(TEXTS_SQL, |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?
        {
            texts.entry(instance).or_default().push_str(&text);
        }
        Ok(texts)
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
