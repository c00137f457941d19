//! What a node sends when there is nothing to do.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::Provider;
use duroxide_core::runtime::{ActivityRegistry, OrchestrationRegistry, Runtime};
use duroxide_pg_server::{Server, Setup};

use crate::support::*;

const WATCHED: Duration = Duration::from_secs(8);

fn statements(server: &Server) -> usize {
    server
        .log()
        .lines()
        .filter(|line| line.contains("execute ") || line.contains("statement: "))
        .count()
}

#[tokio::test]
async fn an_idle_node_sends_less_than_one_query_a_second() {
    let settings = vec!["log_min_duration_statement=0".to_owned()];
    let server = Server::start(&Setup { settings, ..Setup::default() }).unwrap();
    let store = Store::at(&server.url());
    let node: Arc<dyn Provider> = store.node().await;
    let activities = ActivityRegistry::builder().build();
    let orchestrations = OrchestrationRegistry::builder().build();
    let runtime = Runtime::start_with_store(node, activities, orchestrations).await;
    // It waits once it has polled both queues.
    let sql = store.sql().await;
    let turns = format!("{}($1", sql.function("fetch_turns").await);
    let work = format!("{}($1", sql.function("fetch_work").await);
    while !(server.log().contains(&turns) && server.log().contains(&work)) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let before = statements(&server);
    tokio::time::sleep(WATCHED).await;
    let asked = statements(&server) - before;
    assert!(u64::try_from(asked).unwrap() < WATCHED.as_secs(), "{asked} queries in {WATCHED:?}");
    runtime.shutdown(None).await;
}
