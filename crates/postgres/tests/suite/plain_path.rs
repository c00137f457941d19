//! The plain path does all the work when the fast path is off.

use std::sync::Arc;

use duroxide_core::client::Client;
use duroxide_core::providers::Provider;
use duroxide_core::runtime::{
    ActivityRegistry, OrchestrationRegistry, OrchestrationStatus, Runtime,
};
use duroxide_core::{ActivityContext, OrchestrationContext};
use duroxide_pg::PostgresProvider;

use crate::support::*;

async fn plain(store: &Store) -> PostgresProvider {
    store.builder().with_fast_path(false).open().await.unwrap()
}

#[tokio::test]
async fn workflows_complete_without_the_fast_path() {
    let store = Store::live();
    let node: Arc<dyn Provider> = Arc::new(plain(&store).await);
    let echo = |_ctx: ActivityContext, input: String| async move { Ok(input) };
    let chain = |ctx: OrchestrationContext, _input: String| async move {
        for step in 0..5 {
            ctx.schedule_activity("Echo", step.to_string()).await?;
        }
        let all = (0..5).map(|step| ctx.schedule_activity("Echo", step.to_string())).collect();
        Ok(ctx.join(all).await.len().to_string())
    };
    let activities = ActivityRegistry::builder().register("Echo", echo).build();
    let orchestrations = OrchestrationRegistry::builder().register("Chain", chain).build();
    let runtime = Runtime::start_with_store(Arc::clone(&node), activities, orchestrations).await;
    let client = Client::new(node);
    for number in 0..5 {
        let id = format!("i-{number}");
        client.start_orchestration(&id, "Chain", "").await.unwrap();
        let status = client.wait_for_orchestration(&id, PATIENCE).await.unwrap();
        let OrchestrationStatus::Completed { output, .. } = status else { panic!("{status:?}") };
        assert_eq!(output, "5");
    }
    runtime.shutdown(None).await;
}

#[tokio::test]
async fn without_the_fast_path_a_start_is_stored_before_its_turn_runs() {
    let store = Store::live();
    let node = plain(&store).await;
    let fetch = node.fetch_orchestration_item(LEASE, PATIENCE, None);
    let (fetched, sent) = tokio::join!(fetch, node.enqueue_for_orchestrator(start("a"), None));
    sent.unwrap();
    let (item, token, _) = fetched.unwrap().expect("a turn");
    assert_eq!(item.messages, [start("a")]);
    let held = "SELECT count(*) FROM $.instance_locks WHERE cardinality(message_ids) = 1";
    assert_eq!(store.count(held).await, 1);
    node.store_turn(commit(&token, vec![started("a")])).await.unwrap();
    assert_eq!(node.read("a").await.unwrap().len(), 1);
}

#[tokio::test]
async fn without_the_fast_path_a_direct_turn_is_committed() {
    let store = Store::live();
    let node = plain(&store).await;
    let (mark, token) = crate::direct::running(&node, "a").await;
    let turn = Arc::new(crate::direct::direct("a", mark, &token));
    node.commit_direct_turn(turn).await.unwrap().expect("it follows");
}
