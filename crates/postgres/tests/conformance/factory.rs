//! Schemas for the suite, with a clock that only the test moves.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use duroxide_conformance::ProviderFactory;
use duroxide_core::providers::{ManualClock, Provider};
use duroxide_pg::PostgresProvider;
use tokio_postgres::{Client, NoTls};

const BEGIN_MS: u64 = 1_700_000_000_000;

/// A schema per store.
pub(crate) struct SchemaFactory {
    clock: Arc<ManualClock>,
    schemas: Mutex<Vec<String>>,
}

impl SchemaFactory {
    pub(crate) fn new() -> Self {
        Self { clock: Arc::new(ManualClock::new(BEGIN_MS)), schemas: Mutex::default() }
    }

    /// A connection of our own, to look and to meddle, and the schema of the store made last.
    async fn sql(&self) -> (Client, String) {
        let schema = self.schemas.lock().unwrap().last().unwrap().clone();
        let url = duroxide_pg_server::shared_url().unwrap();
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        (client, schema)
    }
}

#[async_trait]
impl ProviderFactory for SchemaFactory {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        let schema = format!("t_{}", uuid::Uuid::new_v4().simple());
        self.schemas.lock().unwrap().push(schema.clone());
        let url = duroxide_pg_server::shared_url().unwrap();
        let builder =
            PostgresProvider::builder(&url)
                .with_schema(&schema)
                .with_clock(Arc::<ManualClock>::clone(&self.clock));
        Arc::new(builder.open().await.unwrap())
    }

    async fn corrupt_instance_history(&self, instance: &str) {
        let (client, schema) = self.sql().await;
        let sql =
            format!("UPDATE {schema}.history SET event_data = '{{torn' WHERE instance_id = $1");
        let changed = client.execute(&sql, &[&instance]).await.unwrap();
        assert!(changed > 0, "'{instance}' has no history to corrupt");
    }

    async fn get_max_attempt_count(&self, instance: &str) -> u32 {
        let (client, schema) = self.sql().await;
        // A lease counts for the messages that it holds.
        let sql = format!(
            "SELECT coalesce(max(q.attempt_count + (
                 SELECT count(*) FROM {schema}.instance_locks l
                 WHERE l.instance_id = q.instance_id AND q.id = ANY (l.message_ids))), 0)
             FROM {schema}.orchestrator_queue q WHERE q.instance_id = $1"
        );
        let row = client.query_one(&sql, &[&instance]).await.unwrap();
        u32::try_from(row.get::<_, i64>(0)).unwrap()
    }

    async fn pass_time(&self, by: Duration) {
        self.clock.advance(by);
    }
}
