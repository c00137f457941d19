//! Queries over many instances: each page is found quickly, and no plan reads a whole table.

use std::time::{Duration, Instant};

use duroxide_core::providers::{InstanceCountQuery, InstanceOrder, InstanceQuery, ProviderAdmin};
use duroxide_core::query::Filter;
use duroxide_pg::PostgresProvider;
use duroxide_pg_server::{Server, Setup};

use crate::support::*;

/// Fills the store as nodes would have: one instance in a hundred failed, one in a thousand runs,
/// every tenth has an attribute, every fiftieth is a child.
async fn fill(store: &Store, instances: u64) {
    let sql = store.sql().await;
    let id = |number: &str| format!("'i' || lpad((({number}) * 7919 % {instances})::TEXT, 7, '0')");
    sql.run_as_is(
        &format!(
            "CREATE TEMP TABLE numbers AS
             SELECT x, {} AS id FROM generate_series(0::BIGINT, {instances} - 1) AS n (x);
             INSERT INTO @.instances (instance_id, orchestration_name, orchestration_version,
                 current_execution_id, created_at, updated_at, parent_instance_id, custom_status,
                 custom_status_version, incarnation)
             SELECT id, CASE x % 20 WHEN 0 THEN 'Order' WHEN 1 THEN 'OrderItem'
                     ELSE 'Flow' || (x % 20) END,
                 '1.0.0', 1, {BEGIN_MS} - 3600000 + x * 3600000 / {instances}, {BEGIN_MS},
                 CASE WHEN x % 50 = 49 THEN {} END, CASE x % 3 WHEN 0 THEN 'step ' || x END,
                 (x % 3 = 0)::INTEGER, x + 1
             FROM numbers;
             INSERT INTO @.executions (instance_id, execution_id, status, output, started_at,
                 completed_at, duroxide_version)
             SELECT id, 1, CASE WHEN x % 100 = 20 THEN 'Failed' WHEN x % 1000 = 1 THEN 'Running'
                     ELSE 'Completed' END,
                 CASE WHEN x % 100 = 20 THEN 'timeout ' || x ELSE 'a result of some length' END,
                 {BEGIN_MS} - 3600000 + x * 3600000 / {instances},
                 CASE WHEN x % 1000 <> 1 THEN {BEGIN_MS} END, '0.2.0'
             FROM numbers;
             INSERT INTO @.history (instance_id, execution_id, event_id, event_type, event_data,
                 created_at)
             SELECT id, 1, 2, 'OrchestrationFailed',
                 '{{\"event_id\":2,\"source_event_id\":null,\"instance_id\":\"' || id || '\",' ||
                 '\"execution_id\":1,\"timestamp_ms\":1,\"duroxide_version\":\"0.2.0\",' ||
                 '\"type\":\"OrchestrationFailed\",\"details\":{{\"Application\":{{\"kind\":' ||
                 '\"OrchestrationFailed\",\"message\":\"timeout\",\"retryable\":false}}}}}}', 1
             FROM numbers WHERE x % 100 = 20;
             INSERT INTO @.kv_store (instance_id, key, value, last_updated_at_ms)
             SELECT id, '__duroxide_attribute:customer',
                 'i80' || lpad(to_hex(x / 10 % 10000), 14, '0'), 1
             FROM numbers WHERE x % 10 = 0;
             ANALYZE @.instances, @.executions, @.history, @.kv_store",
            id("x"),
            id("x - 1"),
        )
        .replace('@', &store.schema),
    )
    .await;
}

/// Filters with the number of instances that they select of each million.
const FILTERS: [(&str, u64); 13] = [
    ("", 1_000_000),
    ("status:failed", 10_000),
    ("status:failed name:Order*", 10_000),
    ("status:running", 1000),
    ("status:suspended", 0),
    ("-status:completed name:OrderItem", 1000),
    ("name:Order", 50_000),
    ("name:Flow1*", 500_000),
    ("created>-36s", 10_000),
    ("id:i000001*", 10),
    ("parent:any status:running", 0),
    ("attr.customer=42", 10),
    ("attr.customer>=9990 status:failed", 100),
];

/// The time of the first page of each filter, in both orders.
async fn timed(node: &PostgresProvider, text: &str) -> Duration {
    let filter = Filter::parse(text).unwrap();
    let mut longest = Duration::ZERO;
    for order in InstanceOrder::ALL {
        let query = InstanceQuery::new(filter.clone()).sorted_by(order).with_limit(50);
        let begin = Instant::now();
        let page = node.query_instances(query).await.unwrap();
        longest = longest.max(begin.elapsed());
        println!(
            "{:>9.1?} {order:?} {text}: {} rows, partial: {}",
            begin.elapsed(),
            page.rows.len(),
            page.is_partial
        );
    }
    longest
}

#[tokio::test]
async fn no_query_reads_a_whole_table() {
    const INSTANCES: u64 = 20_000;
    let settings = [
        "session_preload_libraries=auto_explain",
        "auto_explain.log_min_duration=0",
        "auto_explain.log_nested_statements=on",
    ];
    let settings = settings.map(str::to_owned).to_vec();
    let server = Server::start(&Setup { settings, ..Setup::default() }).unwrap();
    let store = Store { clock: Store::new().clock, ..Store::at(&server.url()) };
    let node = store.node().await;
    fill(&store, INSTANCES).await;
    let before = server.log().len();
    for (text, of_a_million) in FILTERS {
        timed(&node, text).await;
        let mut count = InstanceCountQuery::new(Filter::parse(text).unwrap(), u64::MAX);
        let mut total = 0;
        loop {
            let part = node.count_instances(count.clone()).await.unwrap();
            total += part.count;
            let Some(next) = part.next else { break };
            count = count.with_after(next);
        }
        // Ids and customers do not grow with the number of instances in the same way.
        if !text.starts_with("id:") && !text.starts_with("attr.") {
            let expected = of_a_million * INSTANCES / 1_000_000;
            // An instance at the very limit is new or not, by the millisecond of the query.
            let at_the_limit = u64::from(text.starts_with("created"));
            assert!(total.abs_diff(expected) <= at_the_limit, "{text}: {total}, not {expected}");
        }
    }
    let log = server.log();
    let log = &log[before..];
    for index in [
        "idx_instances_age",
        "idx_instances_name",
        "idx_executions_failed",
        "idx_executions_running",
        "idx_kv_store_attributes",
    ] {
        assert!(log.contains(index), "no plan uses {index}");
    }
    for table in ["instances", "executions", "history", "kv_store", "kv_delta"] {
        let scan = format!("Seq Scan on {table} ");
        let found = log.lines().find(|line| line.contains(&scan));
        // A table without rows is read as a whole.
        assert!(found.is_none() || table == "kv_delta", "{found:?}");
    }
    assert!(!log.contains("Hash Join"), "each row is looked up");
}
