//! Trouble of the server neither fails nor poisons running work: it waits until the trouble is
//! over. Every SQLSTATE that the tests did not list used to fail the instance, and a commit that
//! was retried used up the attempts of its messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use duroxide_core::client::Client;
use duroxide_core::providers::{Provider, ProviderError};
use duroxide_core::runtime::{
    ActivityRegistry, OrchestrationRegistry, OrchestrationStatus, Runtime, RuntimeOptions,
};
use duroxide_core::{ActivityContext, OrchestrationContext};
use futures_util::future::join_all;
use tokio::sync::watch;

use crate::support::*;

const INSTANCES: usize = 4;
/// Failed calls that an outage must cause.
const FAILURES: u64 = 30;
/// How long an outage lasts: longer than the leases of more attempts than a message has.
const LENGTH: Duration = Duration::from_millis(1_500);

struct Running {
    client: Client,
    runtime: Arc<Runtime>,
    /// Activities return once this is true.
    gate: watch::Sender<bool>,
    /// How often an activity has started.
    runs: Arc<AtomicUsize>,
}

/// Instances that wait for a signal, on a node that poisons soon.
async fn running(store: &Store) -> Running {
    let (gate, opened) = watch::channel(false);
    let runs = Arc::new(AtomicUsize::new(0));
    let started = Arc::clone(&runs);
    let echo = move |_ctx: ActivityContext, input: String| {
        let mut opened = opened.clone();
        started.fetch_add(1, Ordering::SeqCst);
        async move {
            opened.wait_for(|opened| *opened).await.map_err(|error| error.to_string())?;
            Ok(input)
        }
    };
    let wait = |ctx: OrchestrationContext, _input: String| async move {
        let data = ctx.schedule_wait("go").await;
        let first = ctx.schedule_activity("Echo", data).await?;
        ctx.schedule_activity("Echo", first).await
    };
    let provider: Arc<dyn Provider> = store.node().await;
    let options = RuntimeOptions {
        max_attempts: 2,
        orchestrator_lock_timeout: Duration::from_millis(400),
        worker_lock_timeout: Duration::from_millis(400),
        ..RuntimeOptions::default()
    };
    let runtime = Runtime::start_with_options(
        Arc::clone(&provider),
        ActivityRegistry::builder().register("Echo", echo).build(),
        OrchestrationRegistry::builder().register("Wait", wait).build(),
        options,
    )
    .await;
    let client = Client::new(provider);
    for number in 0..INSTANCES {
        let id = format!("i-{number}");
        client.start_orchestration(&id, "Wait", "").await.unwrap();
        while client.get_orchestration_status(&id).await.unwrap() == OrchestrationStatus::NotFound {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    Running { client, runtime, gate, runs }
}

impl Running {
    async fn signal_all(&self) {
        for number in 0..INSTANCES {
            self.client.raise_event(format!("i-{number}"), "go", "on").await.unwrap();
        }
    }

    /// Waits until the node has run into the trouble often enough.
    async fn suffer(&self) -> ProviderError {
        let suffering = async {
            loop {
                let trouble = self.runtime.store_health().trouble;
                if let Some(trouble) = trouble
                    && trouble.failures >= FAILURES
                    && trouble.since.elapsed().unwrap() > LENGTH
                {
                    return trouble.error;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, suffering).await.expect("the node notices the trouble")
    }

    async fn assert_all_complete(self, what: &str) {
        for number in 0..INSTANCES {
            let id = format!("i-{number}");
            let status = self.client.wait_for_orchestration(&id, PATIENCE).await.unwrap();
            let OrchestrationStatus::Completed { output, .. } = status else {
                panic!("{what}: {id}: {status:?}")
            };
            assert_eq!(output, "on");
        }
        let recovered = async {
            while !self.runtime.store_health().is_healthy() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, recovered).await.expect("the trouble is over");
        let metrics = self.runtime.observability_handle().unwrap().metrics_provider();
        assert!(!metrics.is_store_in_trouble(), "{what}");
        assert_eq!(metrics.snapshot().orch_poison + metrics.snapshot().activity_poison, 0);
        self.runtime.shutdown(None).await;
    }
}

/// Lets every insertion into these tables fail with this state.
async fn break_tables(sql: &Sql, tables: &[&str], state: &str) {
    sql.run(&format!(
        "CREATE FUNCTION $.broken() RETURNS trigger LANGUAGE plpgsql AS
         'BEGIN RAISE EXCEPTION ''on purpose'' USING ERRCODE = ''{state}''; END'"
    ))
    .await;
    for table in tables {
        sql.run(&format!(
            "CREATE TRIGGER broken BEFORE INSERT ON $.{table} FOR EACH ROW
             EXECUTE FUNCTION $.broken()"
        ))
        .await;
    }
}

async fn commits_survive(state: &'static str) {
    let store = Store::live();
    let node = running(&store).await;
    node.gate.send_replace(true);
    let sql = store.sql().await;
    break_tables(&sql, &["worker_queue", "history"], state).await;
    node.signal_all().await;
    let error = node.suffer().await;
    assert!(error.is_store_trouble() && error.message.contains(state), "{state}: {error}");
    sql.run("DROP FUNCTION $.broken() CASCADE").await;
    node.assert_all_complete(state).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_trouble_of_the_server_fails_or_poisons_running_work() {
    let states = ["XX000", "XX001", "40003", "72000", "0A000", "3F000", "53100", "42501", "P0001"];
    for some in states.chunks(3) {
        join_all(some.iter().map(|state| commits_survive(state))).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_of_activities_wait_while_their_queue_cannot_be_written() {
    let store = Store::live();
    let node = running(&store).await;
    node.signal_all().await;
    let sql = store.sql().await;
    let leased = "SELECT count(*) FROM $.worker_queue WHERE lock_token IS NOT NULL";
    while sql.count(leased).await < i64::try_from(INSTANCES).unwrap() {}
    break_tables(&sql, &["orchestrator_queue", "history"], "53100").await;
    node.gate.send_replace(true);
    node.suffer().await;
    sql.run("DROP FUNCTION $.broken() CASCADE").await;
    let runs = Arc::clone(&node.runs);
    node.assert_all_complete("results").await;
    assert_eq!(runs.load(Ordering::SeqCst), 2 * INSTANCES, "no activity ran again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_right_that_is_revoked_for_a_while_fails_nothing() {
    let admin = Store::live();
    admin.node().await;
    let sql = admin.sql().await;
    let role = format!("{}_worker", admin.schema);
    sql.run(&format!(
        "CREATE ROLE {role} LOGIN PASSWORD '{role}';
         GRANT USAGE ON SCHEMA $ TO {role};
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA $ TO {role};
         GRANT USAGE ON ALL SEQUENCES IN SCHEMA $ TO {role};
         GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA $ TO {role}"
    ))
    .await;
    let store = Store { url: admin.url_of(&role), schema: admin.schema.clone(), clock: None };
    let node = running(&store).await;
    node.gate.send_replace(true);
    for table in ["worker_queue", "history", "orchestrator_queue"] {
        sql.run(&format!("REVOKE INSERT, UPDATE ON $.{table} FROM {role}")).await;
    }
    let refused = node.client.raise_event("i-0", "go", "on").await.unwrap_err();
    assert!(refused.is_retryable(), "{refused}");
    sql.run(&format!("GRANT INSERT, UPDATE ON $.orchestrator_queue TO {role}")).await;
    node.signal_all().await;
    let error = node.suffer().await;
    assert!(error.message.contains("rights granted"), "{error}");
    sql.run(&format!("GRANT INSERT, UPDATE ON ALL TABLES IN SCHEMA $ TO {role}")).await;
    node.assert_all_complete("revoked").await;
}
