//! Queries over many instances: each page is found quickly.

use duroxide_core::providers::{InstanceCountQuery, ProviderAdmin};
use duroxide_core::query::Filter;

use crate::support::*;

/// Fills the store as nodes would have: one instance in a hundred failed, one in a thousand runs,
/// every tenth has an attribute, every fiftieth is a child.
fn fill(store: &Store, instances: u64) {
    let conn = store.sql();
    conn.execute_batch(&format!(
        "BEGIN;
         CREATE TEMP TABLE numbers AS
         WITH RECURSIVE n (x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM n WHERE x + 1 < {instances})
         SELECT x, printf('i%07d', x * 7919 % {instances}) AS id FROM n;
         INSERT INTO instances (instance_id, orchestration_name, orchestration_version,
             current_execution_id, created_at, updated_at, parent_instance_id, custom_status,
             custom_status_version, incarnation)
         SELECT id, CASE x % 20 WHEN 0 THEN 'Order' WHEN 1 THEN 'OrderItem' ELSE
                 'Flow' || (x % 20) END,
             '1.0.0', 1, {BEGIN_MS} - 3600000 + x * 3600000 / {instances}, {BEGIN_MS}, CASE
                 WHEN x % 50 = 49 THEN printf('i%07d', (x - 1) * 7919 % {instances}) END,
             CASE x % 3 WHEN 0 THEN 'step ' || x END, x % 3 = 0, x + 1
         FROM numbers;
         INSERT INTO executions (instance_id, execution_id, status, output, started_at,
             completed_at, duroxide_version)
         SELECT id, 1, CASE WHEN x % 100 = 20 THEN 'Failed' WHEN x % 1000 = 1 THEN 'Running'
                 ELSE 'Completed' END,
             CASE WHEN x % 100 = 20 THEN 'timeout ' || x ELSE 'a result of some length' END,
             {BEGIN_MS} - 3600000 + x * 3600000 / {instances},
             CASE WHEN x % 1000 <> 1 THEN {BEGIN_MS} END, '0.2.0'
         FROM numbers;
         INSERT INTO history (instance_id, execution_id, event_id, event_type, event_data)
         SELECT id, 1, 2, 'OrchestrationFailed',
             '{{\"event_id\":2,\"source_event_id\":null,\"instance_id\":\"' || id || '\",' ||
             '\"execution_id\":1,\"timestamp_ms\":1,\"duroxide_version\":\"0.2.0\",' ||
             '\"type\":\"OrchestrationFailed\",\"details\":{{\"Application\":' ||
             '{{\"kind\":\"OrchestrationFailed\",\"message\":\"timeout\",\"retryable\":false}}}}}}'
         FROM numbers WHERE x % 100 = 20;
         INSERT INTO kv_store (instance_id, key, value)
         SELECT id, '__duroxide_attribute:customer', printf('i80%014x', x / 10 % 10000)
         FROM numbers WHERE x % 10 = 0;
         COMMIT;"
    ))
    .unwrap();
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
    ("created>=-36s", 10_000),
    ("id:i000001*", 10),
    ("parent:any status:running", 0),
    ("attr.customer=42", 10),
    ("attr.customer>=9990 status:failed", 100),
];

#[tokio::test]
async fn many_instances_are_found_by_every_filter() {
    const INSTANCES: u64 = 20_000;
    let store = Store::new().await;
    fill(&store, INSTANCES);
    for (text, of_a_million) in FILTERS {
        let filter = Filter::parse(text).unwrap();
        let mut count = InstanceCountQuery::new(filter, u64::MAX);
        let mut total = 0;
        loop {
            let part = store.provider.count_instances(count.clone()).await.unwrap();
            total += part.count;
            let Some(next) = part.next else { break };
            count = count.with_after(next);
        }
        // Ids and customers do not grow with the number of instances in the same way.
        if !text.starts_with("id:") && !text.starts_with("attr.") {
            assert_eq!(total, of_a_million * INSTANCES / 1_000_000, "{text}");
        }
    }
}
