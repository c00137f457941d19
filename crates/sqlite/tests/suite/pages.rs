//! Pages of queries by the client.

use std::sync::Arc;

use duroxide_core::Client;
use duroxide_core::providers::InstanceQuery;
use duroxide_core::query::Filter;

use crate::support::*;

/// A search that stopped at its bound with a full page was gone on with, and the page got one row
/// more than its limit.
#[tokio::test]
async fn a_page_has_at_most_as_many_rows_as_its_limit() {
    let store = Store::new().await;
    store
        .sql()
        .execute_batch(
            "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 7000)
             INSERT INTO instances (instance_id, orchestration_name, orchestration_version,
                 current_execution_id, created_at, updated_at, custom_status, incarnation)
             SELECT 'i' || n, 'Test', '1.0.0', 1, n, n, iif(n IN (1, 7000), 'here', NULL), 1
             FROM n",
        )
        .unwrap();
    let client = Client::new(Arc::clone(&store.provider) as Arc<_>);
    let query = InstanceQuery::new(Filter::parse("custom~here").unwrap()).with_limit(1);
    let first = client.query_instances(query.clone()).await.unwrap();
    assert_eq!(first.rows.len(), 1);
    assert_eq!((first.rows[0].instance_id.as_str(), first.is_partial), ("i7000", false));
    let query = query.with_after(first.next.unwrap());
    let second = client.query_instances(query).await.unwrap();
    assert_eq!(second.rows.len(), 1);
    assert_eq!(second.rows[0].instance_id, "i1");
}
