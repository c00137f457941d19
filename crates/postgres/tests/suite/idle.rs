//! What a node sends when there is nothing to do.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::Provider;
use duroxide_core::runtime::{ActivityRegistry, OrchestrationRegistry, Runtime};
use duroxide_pg_server::{Server, Setup};

use crate::support::*;

/// Two rounds of all that a node does at an interval.
const WATCHED: Duration = Duration::from_secs(20);
/// It polls three queues and searches for stranded work every 10 seconds, and for abandoned
/// deletions every five.
const QUERIES_MAX: usize = 30;
const TRIES_MAX: usize = 3;

fn statements(server: &Server) -> usize {
    server
        .log()
        .lines()
        .filter(|line| line.contains("execute ") || line.contains("statement: "))
        .count()
}

#[tokio::test]
async fn an_idle_node_sends_few_queries() {
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
    // On a busy machine a part of its start falls into the first of these times.
    let mut asked = Vec::new();
    while asked.last().is_none_or(|asked| *asked > QUERIES_MAX) {
        assert!(asked.len() < TRIES_MAX, "{asked:?} queries in {WATCHED:?} each");
        let before = statements(&server);
        tokio::time::sleep(WATCHED).await;
        asked.push(statements(&server) - before);
    }
    runtime.shutdown(None).await;
}
