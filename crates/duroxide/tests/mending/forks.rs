//! Copies of instances under other ids.

use duroxide::OrchestrationContext;
use duroxide::client::{ChildAct, MendPoint};
use duroxide::runtime::registry::OrchestrationRegistryBuilder;

use crate::support::{
    Node, Store, Workshop, event_of, is_conflict, options, orchestrations, refusal, within,
};

fn code() -> OrchestrationRegistryBuilder {
    orchestrations()
        .register("Held", |ctx: OrchestrationContext, _: String| async move {
            let first = ctx.schedule_activity("work", "first").await?;
            let held = ctx.schedule_activity("hold", "held").await?;
            Ok(format!("{first} {held}"))
        })
        .register("Parent", |ctx: OrchestrationContext, id: String| async move {
            let before = ctx.schedule_activity("work", "before").await?;
            let child = match id.is_empty() {
                true => ctx.schedule_sub_orchestration("Child", "c").await?,
                false => ctx.schedule_sub_orchestration_with_id("Child", id, "c").await?,
            };
            Ok(format!("{before} {child}"))
        })
        .register("Queue", |ctx: OrchestrationContext, _: String| async move {
            let first = ctx.schedule_activity("work", "first").await?;
            Ok(format!("{first} {}", ctx.dequeue_event("q").await))
        })
        .register("Child", |ctx: OrchestrationContext, _: String| async move {
            Ok(ctx.schedule_wait("go").await)
        })
}

on_every_store!(
    a_running_instance_is_forked_and_goes_on,
    a_fork_has_its_own_children,
    a_fork_of_a_child_is_a_root,
    a_fork_needs_a_new_id,
    a_fork_receives_queue_messages_that_waited_for_its_id,
);

async fn a_running_instance_is_forked_and_goes_on(store: Store) {
    let shop = Workshop::default();
    let node = Node::start(&store, &shop, code()).await;
    node.start_instance("i", "Held", "").await;
    within(async {
        while shop.runs("held") == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let last = node.history("i").await.len() as u64;
    let point = MendPoint::Event(last);
    let planned = node.client.plan_fork("i", "fork", point, &options()).await.unwrap();
    let plan = node.client.fork_instance("i", "fork", point, &options()).await.unwrap();
    assert_eq!(planned.to_string(), plan.to_string());
    assert!(plan.is_fork() && plan.new_execution_id == 1, "{plan}");
    shop.release();
    assert_eq!(node.output("i").await, "first! held!");
    assert_eq!(node.output("fork").await, "first! held!");
    assert_eq!([shop.runs("first"), shop.runs("held")], [1, 2]);
    assert_eq!(node.execution("i").await, 1);
    node.stop().await;
}

async fn a_fork_has_its_own_children(store: Store) {
    let shop = Workshop::default();
    let node = Node::start(&store, &shop, code()).await;
    node.start_instance("i", "Parent", "").await;
    node.until_event("i::sub::4", "ExternalSubscribed").await;
    let point = MendPoint::Event(4);
    let plan = node.client.fork_instance("i", "fork", point, &options()).await.unwrap();
    assert_eq!(plan.children[0].instance, "fork::sub::4");
    assert_eq!(plan.children[0].act, ChildAct::Start);
    node.until_event("fork::sub::4", "ExternalSubscribed").await;
    node.client.raise_event("fork::sub::4", "go", "fork").await.unwrap();
    assert_eq!(node.output("fork").await, "before! fork");
    node.client.raise_event("i::sub::4", "go", "original").await.unwrap();
    assert_eq!(node.output("i").await, "before! original");
    assert_eq!(shop.runs("before"), 1);
    // A child with a chosen id cannot exist twice.
    node.start_instance("j", "Parent", "the-child").await;
    node.until_event("the-child", "ExternalSubscribed").await;
    let refused = node.client.fork_instance("j", "fork-2", point, &options()).await;
    let refused = refusal(refused);
    assert!(refused.contains("the-child"), "{refused}");
    node.stop().await;
}

async fn a_fork_of_a_child_is_a_root(store: Store) {
    let shop = Workshop::default();
    let node = Node::start(&store, &shop, code()).await;
    node.start_instance("i", "Parent", "").await;
    node.until_event("i::sub::4", "ExternalSubscribed").await;
    node.client.fork_instance("i::sub::4", "alone", MendPoint::First, &options()).await.unwrap();
    node.until_event("alone", "ExternalSubscribed").await;
    node.client.raise_event("alone", "go", "on").await.unwrap();
    assert_eq!(node.output("alone").await, "on");
    assert_eq!(node.client.get_instance_info("alone").await.unwrap().parent_instance_id, None);
    assert!(event_of(&node.history("i").await, "SubOrchestrationCompleted").is_none());
    node.stop().await;
}

async fn a_fork_needs_a_new_id(store: Store) {
    let shop = Workshop::default();
    let node = Node::start(&store, &shop, code()).await;
    node.start_instance("i", "Parent", "").await;
    node.start_instance("j", "Parent", "").await;
    node.until_event("i::sub::4", "ExternalSubscribed").await;
    node.until_event("j::sub::4", "ExternalSubscribed").await;
    for id in ["", "i", "sub::1", "a::sub::1"] {
        refusal(node.client.fork_instance("i", id, MendPoint::First, &options()).await);
    }
    let taken = node.client.fork_instance("i", "j", MendPoint::First, &options()).await;
    assert!(is_conflict(&taken), "{taken:?}");
    assert!(is_conflict(&node.client.plan_fork("i", "j", MendPoint::First, &options()).await));
    node.stop().await;
}

/// On PostgreSQL such messages stayed parked: only a start made them fetchable.
async fn a_fork_receives_queue_messages_that_waited_for_its_id(store: Store) {
    let shop = Workshop::default();
    let node = Node::start(&store, &shop, code()).await;
    node.client.enqueue_event("fork", "q", "early").await.unwrap();
    within(async {
        while node.client.list_parked_messages(1).await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    node.start_instance("i", "Queue", "").await;
    node.until_event("i", "ExternalSubscribedPersistent").await;
    node.client.fork_instance("i", "fork", MendPoint::Event(3), &options()).await.unwrap();
    assert_eq!(node.output("fork").await, "first! early");
    node.stop().await;
}
