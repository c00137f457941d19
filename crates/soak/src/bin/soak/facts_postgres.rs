//! Reads the tables of a PostgreSQL schema.

use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls, Row};

use crate::facts::{
    EVENTS_SQL, EXECUTIONS_SQL, ExecutionRow, Facts, INSTANCES_SQL, LEFTOVERS_SQL, Leftovers,
    events,
};

/// The tables of a schema, over a plain connection.
pub(crate) struct PostgresTables {
    tokio: Runtime,
    client: Client,
    schema: String,
}

impl PostgresTables {
    /// Opens them beside the provider.
    pub(crate) fn open(url: &str, schema: &str) -> Result<Self, String> {
        let tokio = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
        let client = tokio.block_on(async {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
            tokio::spawn(connection);
            let sql = format!("SET search_path TO \"{schema}\"");
            client.batch_execute(&sql).await.map(|()| client)
        });
        let client = client.map_err(|error| describe("the audit cannot connect", &error))?;
        Ok(Self { tokio, client, schema: schema.to_owned() })
    }

    /// Counts what is left.
    pub(crate) fn leftovers(&self) -> Result<Leftovers, String> {
        let rows = self.rows(LEFTOVERS_SQL)?;
        let row = rows.first().ok_or("nothing was counted")?;
        let count = |index: usize| row.get::<_, i64>(index).unsigned_abs();
        Ok(Leftovers {
            messages: count(0),
            activities: count(1),
            turn_leases: count(2),
            sessions: count(3),
        })
    }

    /// Reads everything.
    pub(crate) fn facts(&self) -> Result<Facts, String> {
        let texts: Vec<String> = self.rows(EVENTS_SQL)?.iter().map(|row| row.get(0)).collect();
        let number = |row: &Row, index: usize| row.get::<_, i64>(index).unsigned_abs();
        let executions = self.rows(EXECUTIONS_SQL)?;
        let executions = executions.iter().map(|row| ExecutionRow {
            instance: row.get(0),
            execution: number(row, 1),
            status: row.get(2),
        });
        let instances = self.rows(INSTANCES_SQL)?;
        let instances = instances.iter().map(|row| (row.get(0), number(row, 1)));
        Ok(Facts {
            events: events(&texts)?,
            executions: executions.collect(),
            instances: instances.collect(),
            // The server owns its files: no worker process can damage them.
            soundness: "ok".to_owned(),
            leftovers: self.leftovers()?,
        })
    }

    /// Drops the schema.
    pub(crate) fn remove(self) -> Result<(), String> {
        let sql = format!("DROP SCHEMA \"{}\" CASCADE", self.schema);
        let dropped = self.tokio.block_on(self.client.batch_execute(&sql));
        dropped.map_err(|error| describe(&sql, &error))
    }

    fn rows(&self, sql: &str) -> Result<Vec<Row>, String> {
        let rows = self.tokio.block_on(self.client.query(sql, &[]));
        rows.map_err(|error| describe(sql, &error))
    }
}

/// Adds the server's message, which the error itself does not show.
fn describe(what: &str, error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(said) => format!("{what}: {said}"),
        None => format!("{what}: {error}"),
    }
}
