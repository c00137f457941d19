//! Rough numbers, printed: `cargo bench -p duroxide-pg --bench measure`.
//!
//! The server is a throw-away one whose commits wait for the disk, on the same machine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use duroxide_core::client::Client;
use duroxide_core::providers::{Provider, TagFilter, WorkItem};
use duroxide_core::runtime::{ActivityRegistry, OrchestrationRegistry, Runtime};
use duroxide_core::{ActivityContext, OrchestrationContext};
use duroxide_pg::PostgresProvider;
use duroxide_pg_server::{Server, Setup};
use tokio_postgres::{NoTls, SimpleQueryMessage};

const LEASE: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_secs(120);

fn activities() -> ActivityRegistry {
    let echo = |_ctx: ActivityContext, input: String| async move { Ok(input) };
    ActivityRegistry::builder().register("Echo", echo).build()
}

fn orchestrations() -> OrchestrationRegistry {
    let chain = |ctx: OrchestrationContext, input: String| async move {
        let steps: usize = input.parse().map_err(|error| format!("{error}"))?;
        for step in 0..steps {
            ctx.schedule_activity("Echo", step.to_string()).await?;
        }
        Ok(input)
    };
    let fan = |ctx: OrchestrationContext, input: String| async move {
        let wide: usize = input.parse().map_err(|error| format!("{error}"))?;
        let all = (0..wide).map(|step| ctx.schedule_activity("Echo", step.to_string())).collect();
        ctx.join(all).await;
        Ok(input)
    };
    OrchestrationRegistry::builder().register("Chain", chain).register("Fan", fan).build()
}

async fn one(client: &Client, name: &str, id: &str, input: &str) {
    client.start_orchestration(id, name, input).await.unwrap();
    client.wait_for_orchestration(id, PATIENCE).await.unwrap();
}

async fn throughput(client: &Client, label: &str, at_once: usize, total: usize) {
    let begun = Instant::now();
    let mut tasks = Vec::new();
    for task in 0..at_once {
        let (client, label) = (client.clone(), label.to_owned());
        tasks.push(tokio::spawn(async move {
            for number in 0..total / at_once {
                one(&client, "Chain", &format!("{label}-{task}-{number}"), "5").await;
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let each = begun.elapsed().as_secs_f64();
    println!("{at_once} at once: {:.0} workflows of five steps a second", total as f64 / each);
}

async fn latency(client: &Client) {
    let mut times = Vec::new();
    for number in 0..200 {
        let begun = Instant::now();
        one(client, "Chain", &format!("latency-{number}"), "5").await;
        times.push(begun.elapsed());
    }
    times.sort();
    println!("one workflow of five steps: median {:?}, p99 {:?}", times[100], times[197]);
}

async fn chains(client: &Client) {
    for steps in [100_u32, 1000, 5000] {
        let begun = Instant::now();
        one(client, "Chain", &format!("chain-{steps}"), &steps.to_string()).await;
        let each = begun.elapsed() / steps;
        println!("chain of {steps}: {each:?} a step, {:.0} a second", 1.0 / each.as_secs_f64());
    }
}

async fn fans(client: &Client) {
    for wide in [100_u32, 1000] {
        let begun = Instant::now();
        one(client, "Fan", &format!("fan-{wide}"), &wide.to_string()).await;
        println!(
            "fan of {wide}: {:.0} activities a second",
            f64::from(wide) / begun.elapsed().as_secs_f64()
        );
    }
}

fn start(instance: &str) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: instance.to_owned(),
        orchestration: "Nobody".to_owned(),
        input: "{}".to_owned(),
        version: None,
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        execution_id: 1,
    }
}

async fn fetch_times(provider: &PostgresProvider, label: &str) {
    let mut empty = Vec::new();
    let mut full = Vec::new();
    for number in 0..300 {
        let begun = Instant::now();
        let none = provider.fetch_orchestration_item(LEASE, Duration::ZERO, None).await.unwrap();
        empty.push(begun.elapsed());
        assert!(none.is_none());
        let item = start(&format!("fetched {label} {number}"));
        provider.enqueue_for_orchestrator(item, None).await.unwrap();
        let begun = Instant::now();
        let turn = provider.fetch_orchestration_item(LEASE, Duration::ZERO, None).await.unwrap();
        full.push(begun.elapsed());
        let (_, token, _) = turn.unwrap();
        provider
            .ack_orchestration_item(&token, 1, vec![], vec![], vec![], Default::default(), vec![])
            .await
            .unwrap();
    }
    empty.sort();
    full.sort();
    println!("fetch of a turn {label}: median {:?}; of none {:?}", full[150], empty[150]);
    let begun = Instant::now();
    for _ in 0..100 {
        let none = provider.fetch_work_item(LEASE, Duration::ZERO, None, &TagFilter::DefaultOnly);
        assert!(none.await.unwrap().is_none());
    }
    println!("fetch of no activity {label}: {:?}", begun.elapsed() / 100);
}

/// Times scatter with whatever else the machine does; pages do not.
async fn fetch_pages(client: &tokio_postgres::Client, label: &str) {
    let sql = "SELECT version FROM flat.duroxide_functions";
    let version: String = client.query_one(sql, &[]).await.unwrap().get(0);
    let sql = format!(
        "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)
         SELECT * FROM flat.fetch_turns_{version}(NULL, 1, 1000, NULL, NULL, 0, 0, 0)"
    );
    // The first one on a connection reads the catalogue, and notes which rows it found dead.
    client.simple_query(&sql).await.unwrap();
    let said = client.simple_query(&sql).await.unwrap();
    let row = said.iter().find_map(|message| {
        let SimpleQueryMessage::Row(row) = message else { return None };
        row.get(0)
    });
    let explained: serde_json::Value = serde_json::from_str(row.unwrap()).unwrap();
    let plan = &explained[0]["Plan"];
    let pages =
        ["Shared Hit Blocks", "Shared Read Blocks"].map(|name| plan[name].as_u64().unwrap());
    let sql = "SELECT sum(n_dead_tup)::BIGINT FROM pg_stat_user_tables
         WHERE schemaname = 'flat' AND relname IN ('orchestrator_queue', 'instance_locks')";
    let dead: i64 = client.query_one(sql, &[]).await.unwrap().get(0);
    println!("fetch of none {label}: {} pages, about {dead} dead rows", pages[0] + pages[1]);
}

async fn flat_queues(url: &str) {
    let provider = PostgresProvider::new_with_schema(url, "flat").await.unwrap();
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    fetch_pages(&client, "in an empty store").await;
    fetch_times(&provider, "in an empty store").await;
    let sql =
        "INSERT INTO flat.orchestrator_queue (instance_id, work_item, visible_at, created_at, kind)
         SELECT 'w-' || i, '{}', 9000000000000, 0, 0 FROM generate_series(1, 1000000) i;
         INSERT INTO flat.instances (instance_id, orchestration_name, orchestration_version,
             current_execution_id, created_at, updated_at, incarnation)
         SELECT 'f-' || i, 'n', '1.0.0', 1, 0, 0, i FROM generate_series(1, 1000000) i;";
    client.batch_execute(sql).await.unwrap();
    fetch_pages(&client, "with a million waiting and a million finished").await;
    fetch_times(&provider, "with a million waiting and a million finished").await;
    let provider = Arc::new(provider);
    let begun = Instant::now();
    let mut tasks = Vec::new();
    for task in 0..64 {
        let provider = Arc::clone(&provider);
        tasks.push(tokio::spawn(async move {
            for number in 0..200_000 / 64 {
                let item = start(&format!("p-{task}-{number}"));
                provider.enqueue_for_orchestrator(item, None).await.unwrap();
                let turn = provider.fetch_orchestration_item(LEASE, PATIENCE, None).await.unwrap();
                let (_, token, _) = turn.unwrap();
                provider
                    .ack_orchestration_item(
                        &token,
                        1,
                        vec![],
                        vec![],
                        vec![],
                        Default::default(),
                        vec![],
                    )
                    .await
                    .unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    println!("200000 messages passed in {:?}", begun.elapsed());
    fetch_pages(&client, "after 200000 messages").await;
    fetch_times(&provider, "after 200000 messages").await;
}

async fn all(url: String) {
    let provider: Arc<dyn Provider> = Arc::new(PostgresProvider::new(&url).await.unwrap());
    let runtime =
        Runtime::start_with_store(Arc::clone(&provider), activities(), orchestrations()).await;
    let client = Client::new(Arc::clone(&provider));
    latency(&client).await;
    chains(&client).await;
    fans(&client).await;
    for at_once in [8, 64] {
        throughput(&client, &format!("t{at_once}"), at_once, 2000).await;
    }
    runtime.shutdown(None).await;
    if std::env::args().any(|arg| arg == "flat") {
        flat_queues(&url).await;
    }
}

fn main() {
    let server = Server::start(&Setup { durable: true, ..Setup::default() }).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(all(server.url()));
}
