//! Parents and children.

use duroxide::client::{ChildAct, Client, MendChildren, MendPlan};
use duroxide::providers::{ProviderErrorKind, WorkItem};
use duroxide::{ClientError, OrchestrationContext};

use crate::support::{
    Node, Store, Workshop, is_conflict, options, orchestrations, refusal, within,
};

fn code() -> duroxide::runtime::registry::OrchestrationRegistryBuilder {
    orchestrations()
        .register("Top", |ctx: OrchestrationContext, _: String| async move {
            let before = ctx.schedule_activity("work", "top").await?;
            let middle = ctx.schedule_sub_orchestration("Middle", "m").await?;
            Ok(format!("{before} {middle}"))
        })
        .register("Middle", |ctx: OrchestrationContext, _: String| async move {
            let before = ctx.schedule_activity("work", "middle").await?;
            let leaf = ctx.schedule_sub_orchestration("Leaf", "l").await?;
            Ok(format!("{before} {leaf}"))
        })
        .register("Leaf", |ctx: OrchestrationContext, _: String| async move {
            let before = ctx.schedule_activity("work", "leaf").await?;
            let last = ctx.schedule_activity("work", "last").await?;
            Ok(format!("{before} {last}"))
        })
        .register("Two", |ctx: OrchestrationContext, _: String| async move {
            let slow = ctx.schedule_sub_orchestration("Waits", "");
            let quick = ctx.schedule_sub_orchestration("Leaf", "l").await?;
            Ok(format!("{quick} {}", slow.await?))
        })
        .register("Forgets", |ctx: OrchestrationContext, _: String| async move {
            let slow = ctx.schedule_sub_orchestration("Waits", "");
            match ctx.schedule_sub_orchestration("Leaf", "l").await {
                Ok(quick) => Ok(format!("{quick} {}", slow.await?)),
                Err(error) => {
                    // A dropped future would cancel its child.
                    std::mem::forget(slow);
                    Err(error)
                }
            }
        })
        .register("Held", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("hold", "held").await
        })
        .register("Pair", |ctx: OrchestrationContext, _: String| async move {
            let slow = ctx.schedule_sub_orchestration("Waits", "");
            let quick = ctx.schedule_sub_orchestration("Held", "").await?;
            Ok(format!("{quick} {}", slow.await?))
        })
}

/// The code of a child, which a node may lack.
fn waits(
    code: duroxide::runtime::registry::OrchestrationRegistryBuilder,
) -> duroxide::runtime::registry::OrchestrationRegistryBuilder {
    code.register("Waits", |ctx: OrchestrationContext, _: String| async move {
        Ok(ctx.schedule_wait("go").await)
    })
}

const MIDDLE: &str = "i::sub::4";
const LEAF: &str = "i::sub::4::sub::4";

on_every_store!(
    a_failure_deep_in_a_tree_is_retried_there,
    a_call_that_was_interrupted_is_finished,
    a_running_sibling_answers_the_mended_parent,
    a_cancelled_tree_goes_on,
    a_parent_is_retried_while_its_failure_cancels_a_child,
    a_child_whose_cancellation_waits_is_retried,
    a_child_that_is_cancelled_before_its_first_turn_is_started,
    a_second_cancellation_does_not_reach_the_retried_instance,
    a_child_alone_is_mended_only_if_detached,
);

async fn a_failure_deep_in_a_tree_is_retried_there(store: Store) {
    let shop = Workshop::default();
    shop.break_input("last", "deep trouble");
    let node = Node::start(&store, &shop, waits(code())).await;
    node.start_instance("i", "Top", "").await;
    assert_eq!(node.failure("i").await, "deep trouble");
    shop.repair();
    let strict = options().with_children(MendChildren::Refuse);
    let refused = refusal(node.client.retry_instance("i", &strict).await);
    assert!(refused.contains(MIDDLE), "{refused}");
    let plan = node.retry("i").await;
    let ChildAct::Retry(middle) = &plan.children[0].act else { panic!("{plan}") };
    assert_eq!((plan.children[0].instance.as_str(), middle.instance.as_str()), (MIDDLE, MIDDLE));
    let ChildAct::Retry(leaf) = &middle.children[0].act else { panic!("{plan}") };
    assert_eq!((leaf.instance.as_str(), leaf.run_again[0].name.as_str()), (LEAF, "work"));
    assert_eq!(node.output("i").await, "top! middle! leaf! last!");
    for (input, runs) in [("top", 1), ("middle", 1), ("leaf", 1), ("last", 2)] {
        assert_eq!(shop.runs(input), runs, "{input}");
    }
    for instance in ["i", MIDDLE, LEAF] {
        assert_eq!(node.execution(instance).await, 2, "{instance}");
    }
    node.stop().await;
}

/// The process died after it had stored the parent: the same call finishes the rest.
async fn a_call_that_was_interrupted_is_finished(store: Store) {
    let shop = Workshop::default();
    shop.break_input("last", "deep trouble");
    let node = Node::start(&store, &shop, waits(code())).await;
    node.start_instance("i", "Top", "").await;
    node.failure("i").await;
    shop.repair();
    // The child cannot be retried, so that the call stops behind the parent.
    let taken = node.client.plan_retry(MIDDLE, &options().with_detached(true)).await.unwrap();
    let obstacle = crate::operators::Obstacle::on(&store, MIDDLE);
    let stopped = obstacle.client().retry_instance("i", &options()).await;
    let Err(ClientError::Provider(error)) = stopped else { panic!("{stopped:?}") };
    assert_eq!(error.kind, ProviderErrorKind::Unavailable);
    assert_eq!([node.execution("i").await, node.execution(MIDDLE).await], [2, 1]);
    let plan = node.client.retry_instance("i", &options()).await.unwrap();
    assert_eq!(plan.children.len(), 1, "{plan}");
    let ChildAct::Retry(middle) = &plan.children[0].act else { panic!("{plan}") };
    assert_eq!(middle.kept, taken.kept);
    assert_eq!(node.output("i").await, "top! middle! leaf! last!");
    assert_eq!(shop.runs("top"), 1);
    assert!(is_conflict(&node.client.retry_instance("i", &options()).await), "all is done");
    node.stop().await;
}

/// The child of another call runs on while its parent fails and is retried. It knows only the
/// execution that started it.
async fn a_running_sibling_answers_the_mended_parent(store: Store) {
    let shop = Workshop::default();
    shop.break_input("last", "trouble");
    let node = Node::start(&store, &shop, waits(code())).await;
    node.start_instance("i", "Forgets", "").await;
    assert_eq!(node.failure("i").await, "trouble");
    node.until_event("i::sub::2", "ExternalSubscribed").await;
    shop.repair();
    let plan = node.retry("i").await;
    assert_eq!(plan.children[0].act, ChildAct::Wait, "{plan}");
    node.client.raise_event("i::sub::2", "go", "on").await.unwrap();
    assert_eq!(node.output("i").await, "leaf! last! on");
    assert_eq!(node.execution("i::sub::2").await, 1, "it was left alone");
    node.stop().await;
}

async fn a_cancelled_tree_goes_on(store: Store) {
    let shop = Workshop::default();
    let node = Node::start(&store, &shop, waits(code())).await;
    node.start_instance("i", "Two", "").await;
    node.until_event("i::sub::2", "ExternalSubscribed").await;
    node.until_event("i", "SubOrchestrationCompleted").await;
    node.client.cancel_instance("i", "by mistake").await.unwrap();
    node.failure("i").await;
    assert_eq!(node.failure("i::sub::2").await, "canceled: parent canceled");
    node.retry("i").await;
    node.until_event("i::sub::2", "ExternalSubscribed").await;
    node.client.raise_event("i::sub::2", "go", "on").await.unwrap();
    assert_eq!(node.output("i").await, "leaf! last! on");
    node.stop().await;
}

/// A child that was about to be cancelled counted as one that runs. Its end then failed the parent
/// a second time.
async fn a_parent_is_retried_while_its_failure_cancels_a_child(store: Store) {
    let shop = Workshop::default();
    let node = Node::start(&store, &shop, waits(code())).await;
    for round in 0..10 {
        shop.break_input("last", "trouble");
        let (parent, child) = (format!("i{round}"), format!("i{round}::sub::2"));
        node.start_instance(&parent, "Two", "").await;
        assert_eq!(node.failure(&parent).await, "trouble");
        shop.repair();
        node.client.retry_instance(&parent, &options()).await.unwrap();
        node.until_event(&child, "ExternalSubscribed").await;
        node.client.raise_event(&child, "go", "on").await.unwrap();
        assert_eq!(node.output(&parent).await, "leaf! last! on");
        assert_eq!(node.execution(&parent).await, 2);
    }
    node.stop().await;
}

/// The node that has the code of the child is gone, so that the cancellation waits.
async fn a_child_whose_cancellation_waits_is_retried(store: Store) {
    let shop = Workshop::default();
    shop.break_input("held", "trouble");
    let node = Node::start(&store, &shop, code()).await;
    let other = Node::start(&store, &shop, waits(orchestrations())).await;
    node.start_instance("i", "Pair", "").await;
    node.until_event("i::sub::2", "ExternalSubscribed").await;
    other.stop().await;
    shop.release();
    assert_eq!(node.failure("i").await, "trouble");
    shop.repair();
    let plan = node.client.plan_retry("i", &options()).await.unwrap();
    let act = |plan: &MendPlan, place: usize| plan.children[place].act.clone();
    assert!(matches!(act(&plan, 0), ChildAct::Retry(_)), "{plan}");
    let done = node.client.retry_instance("i", &options()).await.unwrap();
    let ChildAct::Retry(slow) = act(&done, 0) else { panic!("{done}") };
    assert_eq!((slow.instance.as_str(), slow.cause.as_str()), ("i::sub::2", "it was cancelled"));
    assert!(matches!(act(&done, 1), ChildAct::Retry(_)), "{done}");
    let other = Node::start(&store, &shop, waits(orchestrations())).await;
    node.client.raise_event("i::sub::2", "go", "on").await.unwrap();
    assert_eq!(node.output("i").await, "held! on");
    other.stop().await;
    node.stop().await;
}

/// No node has run the child yet: its start and its cancellation are in the queue.
async fn a_child_that_is_cancelled_before_its_first_turn_is_started(store: Store) {
    let shop = Workshop::default();
    shop.break_input("held", "trouble");
    shop.release();
    let node = Node::start(&store, &shop, code()).await;
    node.start_instance("i", "Pair", "").await;
    assert_eq!(node.failure("i").await, "trouble");
    shop.repair();
    let done = node.client.retry_instance("i", &options()).await.unwrap();
    assert_eq!(done.children[0].act, ChildAct::Start, "{done}");
    let other = Node::start(&store, &shop, waits(orchestrations())).await;
    node.until_event("i::sub::2", "ExternalSubscribed").await;
    node.client.raise_event("i::sub::2", "go", "on").await.unwrap();
    assert_eq!(node.output("i").await, "held! on");
    other.stop().await;
    node.stop().await;
}

/// Two operators cancel an instance, and one of them retries it.
async fn a_second_cancellation_does_not_reach_the_retried_instance(store: Store) {
    let shop = Workshop::default();
    let node = Node::start(&store, &shop, waits(code())).await;
    node.start_instance("i", "Waits", "").await;
    node.until_event("i", "ExternalSubscribed").await;
    node.client.cancel_instance("i", "by mistake").await.unwrap();
    assert_eq!(node.failure("i").await, "canceled: by mistake");
    node.stop().await;
    let client = Client::new(std::sync::Arc::clone(&store));
    let again = WorkItem::CancelInstance { instance: "i".to_owned(), reason: "again".to_owned() };
    store.enqueue_for_orchestrator(again, None).await.unwrap();
    client.retry_instance("i", &options()).await.unwrap();
    let node = Node::start(&store, &shop, waits(code())).await;
    node.client.raise_event("i", "go", "on").await.unwrap();
    assert_eq!(node.output("i").await, "on");
    node.stop().await;
}

async fn a_child_alone_is_mended_only_if_detached(store: Store) {
    let shop = Workshop::default();
    shop.break_input("last", "trouble");
    let node = Node::start(&store, &shop, waits(code())).await;
    node.start_instance("i", "Top", "").await;
    node.failure("i").await;
    shop.repair();
    let refused = refusal(node.client.retry_instance(LEAF, &options()).await);
    assert!(refused.contains(&format!("mend {MIDDLE} instead")), "{refused}");
    let detached = options().with_detached(true);
    node.client.retry_instance(LEAF, &detached).await.unwrap();
    assert_eq!(node.output(LEAF).await, "leaf! last!");
    // Its answer has no effect on the parent, which gets it when it is mended itself.
    assert_eq!(node.failure("i").await, "trouble");
    within(node.retry("i")).await;
    assert_eq!(node.output("i").await, "top! middle! leaf! last!");
    assert_eq!(shop.runs("last"), 2);
    node.stop().await;
}
