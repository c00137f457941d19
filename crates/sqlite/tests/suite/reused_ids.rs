//! Ids that are used again while parts of the deleted instance still run.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::client::Client;
use duroxide_core::providers::Provider;
use duroxide_core::runtime::{
    ActivityRegistry, OrchestrationRegistry, OrchestrationStatus, Runtime,
};
use duroxide_core::{ActivityContext, OrchestrationContext};
use duroxide_sqlite::SqliteProvider;

use crate::support::*;

const ROUNDS: u64 = 100;

fn orchestrations() -> OrchestrationRegistry {
    let parent = |ctx: OrchestrationContext, round: String| async move {
        let activity = ctx.schedule_activity("Echo", format!("a{round}"));
        let child = ctx.schedule_sub_orchestration_with_id("Child", "child", format!("c{round}"));
        let (activity, child) = ctx.join2(activity, child).await;
        ctx.schedule_timer(Duration::from_millis(1)).await;
        let last = ctx.schedule_activity("Echo", format!("b{round}")).await;
        Ok(format!("{} {} {}", activity?, child?, last?))
    };
    let child = |ctx: OrchestrationContext, input: String| async move {
        ctx.schedule_activity("Echo", input).await
    };
    OrchestrationRegistry::builder().register("Parent", parent).register("Child", child).build()
}

fn activities() -> ActivityRegistry {
    let echo = |_ctx: ActivityContext, input: String| async move {
        // Some of them run while their instance is deleted and started again.
        tokio::time::sleep(Duration::from_millis(input.len() as u64 % 3)).await;
        Ok(input)
    };
    ActivityRegistry::builder().register("Echo", echo).build()
}

/// Deletes an instance at every stage of its life, and starts it again under the same id.
async fn reuse(nodes: Vec<Arc<dyn Provider>>) {
    let mut runtimes = Vec::new();
    for node in &nodes {
        let node = Arc::clone(node);
        runtimes.push(Runtime::start_with_store(node, activities(), orchestrations()).await);
    }
    let client = Client::new(Arc::clone(&nodes[0]));
    for round in 0..ROUNDS {
        client.start_orchestration("parent", "Parent", round.to_string()).await.unwrap();
        let patience = Duration::from_millis(round * 7 % 23);
        let status = client.wait_for_orchestration("parent", patience).await;
        match status {
            Ok(OrchestrationStatus::Completed { output, .. }) => {
                assert_eq!(output, format!("a{round} c{round} b{round}"));
            }
            Ok(OrchestrationStatus::Failed { details, .. }) => {
                panic!("round {round} failed: {details:?}")
            }
            Ok(_) | Err(_) => {}
        }
        // It may not have started yet, or be about to have a child.
        let deleted = async {
            while client.delete_instance("parent", true).await.is_err() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, deleted).await.expect("it is deleted");
    }
    client.start_orchestration("parent", "Parent", "last").await.unwrap();
    let status = client.wait_for_orchestration("parent", PATIENCE).await.unwrap();
    let OrchestrationStatus::Completed { output, .. } = status else { panic!("{status:?}") };
    assert_eq!(output, "alast clast blast");
    for runtime in runtimes {
        runtime.shutdown(None).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_gets_nothing_that_was_meant_for_a_deleted_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut nodes: Vec<Arc<dyn Provider>> = Vec::new();
    for _ in 0..2 {
        let provider = SqliteProvider::builder(&url(&folder)).open().await;
        nodes.push(Arc::new(provider.unwrap()));
    }
    reuse(nodes).await;
}
