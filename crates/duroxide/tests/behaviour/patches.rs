//! Code that is changed in place while its instances run.

use std::pin::Pin;

use duroxide::{ActivityContext, OrchestrationContext, PatchMarker};

use crate::support::{Mode, Node, activities, count, in_every_mode, memory, orchestrations};

async fn before(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ctx.schedule_wait("First").await;
    ctx.schedule_activity("Echo", "old").await?;
    ctx.schedule_wait("Second").await;
    Ok("without".to_owned())
}

async fn with(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ctx.schedule_wait("First").await;
    let patched = ctx.patched("echo-new");
    ctx.schedule_activity("Echo", if patched { "new" } else { "old" }).await?;
    ctx.schedule_wait("Second").await;
    Ok(if ctx.patched("echo-new") { "with" } else { "without" }.to_owned())
}

async fn after(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ctx.schedule_wait("First").await;
    ctx.deprecate_patch("echo-new");
    ctx.schedule_activity("Echo", "new").await?;
    ctx.schedule_wait("Second").await;
    Ok("with".to_owned())
}

async fn removed(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ctx.schedule_wait("First").await;
    ctx.schedule_activity("Echo", "new").await?;
    ctx.schedule_wait("Second").await;
    Ok("with".to_owned())
}

async fn echo(_: ActivityContext, input: String) -> Result<String, String> {
    Ok(input)
}

type Running = Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;
type Code = fn(OrchestrationContext, String) -> Running;

/// Raises the first signal and waits until the code waits for the second.
async fn pass_first(node: &Node, instance: &str) {
    node.client.raise_event(instance, "First", "").await.unwrap();
    node.wait_for_history(instance, |history| count(history, "ExternalSubscribed") == 2).await;
}

/// Three deployments of one orchestration, with instances that wait at both places during each.
async fn instances_keep_their_branch_through_all_deployments(mode: Mode) {
    let store = memory().await;
    let deployed = async |code: Code| {
        let registry = orchestrations().register("Code", code);
        Node::on(&store, mode.options(), registry, activities().register("Echo", echo)).await
    };
    let code: [Code; 4] = [
        |ctx, input| Box::pin(before(ctx, input)),
        |ctx, input| Box::pin(with(ctx, input)),
        |ctx, input| Box::pin(after(ctx, input)),
        |ctx, input| Box::pin(removed(ctx, input)),
    ];

    let node = deployed(code[0]).await;
    for instance in ["passed", "waiting"] {
        node.start_instance(instance, "Code", "").await;
        node.wait_for_event(instance, "ExternalSubscribed").await;
    }
    pass_first(&node, "passed").await;
    node.stop().await;

    let node = deployed(code[1]).await;
    pass_first(&node, "waiting").await;
    node.client.raise_event("passed", "Second", "").await.unwrap();
    assert_eq!(node.output("passed").await, "without");
    assert!(patches(&node, "passed").await.is_empty());
    assert_eq!(patches(&node, "waiting").await, [("echo-new".to_owned(), false)]);
    for instance in ["new", "last"] {
        node.start_instance(instance, "Code", "").await;
        node.wait_for_event(instance, "ExternalSubscribed").await;
    }
    node.stop().await;

    let node = deployed(code[2]).await;
    node.client.raise_event("waiting", "Second", "").await.unwrap();
    assert_eq!(node.output("waiting").await, "with");
    for instance in ["new", "last"] {
        pass_first(&node, instance).await;
        assert_eq!(patches(&node, instance).await, [("echo-new".to_owned(), true)]);
    }
    node.stop().await;

    // A node of the deployment before, and one of the deployment after.
    for (code, instance) in [(code[1], "new"), (code[3], "last")] {
        let node = deployed(code).await;
        node.client.raise_event(instance, "Second", "").await.unwrap();
        assert_eq!(node.output(instance).await, "with");
        node.stop().await;
    }
}

async fn patches(node: &Node, instance: &str) -> Vec<(String, bool)> {
    let history = node.history(instance).await;
    let markers = history.iter().filter_map(PatchMarker::of);
    markers.map(|marker| (marker.id.to_owned(), marker.deprecated)).collect()
}

in_every_mode! {
    instances_keep_their_branch_through_all_deployments,
}
