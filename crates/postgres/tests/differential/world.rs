//! Two providers under one clock.

use std::sync::Arc;
use std::time::Duration;

use duroxide_conformance::reference::MemoryProvider;
use duroxide_core::providers::{Clock, ManualClock, Provider};
use duroxide_pg::PostgresProvider;
use tokio_postgres::{Client, NoTls};

use crate::apply::Side;
use crate::op::{INSTANCES, Op};
use crate::state;

const BEGIN_MS: u64 = 1_700_000_000_000;
const TABLES: [&str; 11] = [
    "instances",
    "executions",
    "history",
    "orchestrator_queue",
    "instance_locks",
    "worker_queue",
    "sessions",
    "kv_store",
    "kv_delta",
    "message_ids",
    "repinned",
];

pub(crate) struct World {
    clock: Arc<ManualClock>,
    memory: Arc<MemoryProvider>,
    client: Client,
    schema: String,
    opened: Arc<dyn Provider>,
    reference: Side,
    postgres: Side,
}

fn memory(clock: &Arc<ManualClock>) -> (Arc<MemoryProvider>, Side) {
    let shared: Arc<dyn Clock> = Arc::<ManualClock>::clone(clock);
    let memory = Arc::new(MemoryProvider::new(shared));
    let reference: Arc<dyn Provider> = Arc::<MemoryProvider>::clone(&memory);
    (memory, Side::new(reference))
}

impl World {
    pub(crate) async fn open() -> Self {
        let clock = Arc::new(ManualClock::new(BEGIN_MS));
        let url = duroxide_pg_server::shared_url().unwrap();
        let schema = format!("t_{}", uuid::Uuid::new_v4().simple());
        let builder = PostgresProvider::builder(&url).with_schema(&schema);
        let builder = builder.with_clock(Arc::<ManualClock>::clone(&clock));
        let opened: Arc<dyn Provider> = Arc::new(builder.open().await.unwrap());
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        let (memory, reference) = memory(&clock);
        let postgres = Side::new(Arc::clone(&opened));
        Self { clock, memory, client, schema, opened, reference, postgres }
    }

    /// Empties both sides.
    pub(crate) async fn begin_anew(&mut self) {
        for table in TABLES {
            let sql = format!("DELETE FROM {}.{table}", self.schema);
            self.client.batch_execute(&sql).await.unwrap();
        }
        self.clock.set(BEGIN_MS);
        (self.memory, self.reference) = memory(&self.clock);
        self.postgres = Side::new(Arc::clone(&self.opened));
    }

    /// Does one step on both sides; says what differs afterwards, if anything does.
    pub(crate) async fn step(&mut self, step: Op) -> Option<String> {
        match lasting(step) {
            Op::Advance(ms) => self.clock.advance(Duration::from_millis(ms)),
            Op::Corrupt(instance) => self.corrupt(INSTANCES[instance]).await,
            step => {
                let now = self.clock.now_ms();
                let answers =
                    [self.reference.apply(&step, now).await, self.postgres.apply(&step, now).await];
                if answers[0] != answers[1] {
                    return Some(format!("reference: {}\npostgres:  {}", answers[0], answers[1]));
                }
            }
        }
        let reference = state::visible(&*self.reference.provider).await;
        let postgres = state::visible(&*self.postgres.provider).await;
        let differing = reference.iter().zip(&postgres).find(|(one, other)| one != other);
        differing.map(|(one, other)| format!("then, reference: {one}\nthen, postgres:  {other}"))
    }

    async fn corrupt(&self, instance: &str) {
        self.memory.corrupt_history(instance);
        // As long as what the reference writes, because sizes are compared as well.
        let sql = format!(
            "UPDATE {}.history SET event_data = 'not an event' WHERE instance_id = $1",
            self.schema
        );
        self.client.execute(&sql, &[&instance]).await.unwrap();
    }
}

/// A lease on an activity that ends at once lets the reference hand it out to the next slot of the
/// same call. The database takes all slots at once, so that none can see the end of another's.
fn lasting(step: Op) -> Op {
    match step {
        Op::FetchWorks { lease: 0, owners, tags, handlers } => {
            Op::FetchWorks { lease: 1, owners, tags, handlers }
        }
        step => step,
    }
}
