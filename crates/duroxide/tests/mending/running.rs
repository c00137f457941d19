//! Resets of instances that run.

use duroxide::OrchestrationContext;
use duroxide::client::{ChildAct, MendPoint};
use duroxide::runtime::registry::OrchestrationRegistryBuilder;

use crate::support::{Node, Store, Workshop, count, options, orchestrations, within};

fn code() -> OrchestrationRegistryBuilder {
    orchestrations()
        .register("Chain", |ctx: OrchestrationContext, _: String| async move {
            let mut done = Vec::new();
            for step in ["one", "two"] {
                done.push(ctx.schedule_activity("work", step).await?);
            }
            ctx.set_kv_value("at", "hold");
            done.push(ctx.schedule_activity("hold", "held").await?);
            done.push(ctx.get_kv_value("at").unwrap_or_default());
            Ok(done.join(" "))
        })
        .register("Parent", |ctx: OrchestrationContext, _: String| async move {
            let one = ctx.schedule_activity("work", "one").await?;
            let child = ctx.schedule_sub_orchestration("Child", "c").await?;
            Ok(format!("{one} {child}"))
        })
        .register("Child", |ctx: OrchestrationContext, _: String| async move {
            Ok(ctx.schedule_wait("go").await)
        })
}

on_every_store!(
    a_running_instance_goes_back,
    a_child_of_a_dropped_call_is_cancelled,
    a_child_of_a_kept_call_goes_on,
    a_suspended_instance_is_reset,
);

async fn held(shop: &Workshop, runs: usize) {
    within(async {
        while shop.runs("held") < runs {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// The node has the execution in memory, and an activity of it runs. Neither can go on: the result
/// of the old run is lost, the node replays the new execution.
async fn a_running_instance_goes_back(store: Store) {
    let shop = Workshop::default();
    let node = Node::start(&store, &shop, code()).await;
    node.start_instance("i", "Chain", "").await;
    held(&shop, 1).await;
    let waiting = tokio::spawn({
        let client = node.client.clone();
        async move { client.wait_for_orchestration("i", crate::support::TIMEOUT).await }
    });
    let plan = node.client.reset_instance("i", MendPoint::Event(3), &options()).await.unwrap();
    assert_eq!((plan.new_execution_id, plan.kept), (2, 3));
    // The end of the first execution is not the end of the instance.
    held(&shop, 2).await;
    assert!(!waiting.is_finished());
    let first = node.client.get_execution_info("i", 1).await.unwrap();
    let text = "canceled: reset to event 3, see execution 2";
    assert_eq!((first.status.as_str(), first.output.as_deref()), ("Failed", Some(text)));
    shop.release();
    let status = waiting.await.unwrap().unwrap();
    let duroxide::OrchestrationStatus::Completed { output, .. } = status else { panic!() };
    assert_eq!(output, "one! two! held! hold");
    assert_eq!([shop.runs("one"), shop.runs("two"), shop.runs("held")], [1, 2, 2]);
    assert_eq!(count(&node.history("i").await, "ActivityCompleted"), 3);
    node.stop().await;
}

async fn a_child_of_a_dropped_call_is_cancelled(store: Store) {
    let shop = Workshop::default();
    let node = Node::start(&store, &shop, code()).await;
    node.start_instance("i", "Parent", "").await;
    node.until_event("i::sub::4", "ExternalSubscribed").await;
    let plan = node.client.reset_instance("i", MendPoint::Event(2), &options()).await.unwrap();
    assert_eq!(plan.children[0].act, ChildAct::Cancel, "{plan}");
    let text = node.failure("i::sub::4").await;
    assert_eq!(text, "canceled: parent was reset to an event before this call");
    // The new call has a child with another id.
    let child = "i::sub::2_5";
    node.until_event("i", "SubOrchestrationScheduled").await;
    node.until_event(child, "ExternalSubscribed").await;
    node.client.raise_event(child, "go", "on").await.unwrap();
    assert_eq!(node.output("i").await, "one! on");
    node.stop().await;
}

async fn a_child_of_a_kept_call_goes_on(store: Store) {
    let shop = Workshop::default();
    let node = Node::start(&store, &shop, code()).await;
    node.start_instance("i", "Parent", "").await;
    node.until_event("i::sub::4", "ExternalSubscribed").await;
    for execution in [2, 3] {
        node.client.reset_instance("i", MendPoint::Event(4), &options()).await.unwrap();
        assert_eq!(node.execution("i").await, execution);
    }
    node.client.raise_event("i::sub::4", "go", "on").await.unwrap();
    assert_eq!(node.output("i").await, "one! on");
    assert_eq!(node.execution("i::sub::4").await, 1);
    node.stop().await;
}

async fn a_suspended_instance_is_reset(store: Store) {
    let shop = Workshop::default();
    let node = Node::start(&store, &shop, code()).await;
    node.start_instance("i", "Parent", "").await;
    node.until_event("i::sub::4", "ExternalSubscribed").await;
    node.client.suspend_instance("i", "a look").await.unwrap();
    node.client.reset_instance("i", MendPoint::First, &options()).await.unwrap();
    assert_eq!(node.client.get_suspension("i").await.unwrap(), None);
    node.until("i", |history| count(history, "SubOrchestrationScheduled") == 1).await;
    assert_eq!(shop.runs("one"), 2);
    node.stop().await;
}
