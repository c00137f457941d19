//! Mistakes of callers: each is named where it can be seen.

use std::time::Duration;

use duroxide::client::{StartRequest, Started, UnstartedInstance, UnstartedReason};
use duroxide::providers::WorkerAnnouncement;
use duroxide::runtime::{RuntimeOptions, UnregisteredBackoffConfig};
use duroxide::{ActivityContext, Client, ClientError, OrchestrationContext, OrchestrationStatus};
use tokio::task::JoinSet;

use crate::support::{
    DEFAULT_MODE, Node, TIMEOUT, activities, memory, orchestrations, short_backoff, within,
};

async fn echo(_: OrchestrationContext, input: String) -> Result<String, String> {
    Ok(input)
}

#[tokio::test]
async fn an_unknown_status_and_an_unknown_instance_are_errors() {
    let registry = orchestrations().register("Echo", echo);
    let node = Node::on(&memory().await, DEFAULT_MODE.options(), registry, activities()).await;
    let error = node.client.list_instances_by_status("Runing").await.unwrap_err();
    assert!(error.to_string().contains("Running, Completed, Failed"), "{error}");
    let error = node.client.get_instance_info("missing").await.unwrap_err();
    assert!(matches!(error, ClientError::InstanceNotFound { .. }), "{error:?}");
    assert_eq!(error.to_string(), "Instance missing not found");
    node.stop().await;
}

/// The failure said only that the messages were fetched too often.
#[tokio::test]
async fn the_failure_of_unregistered_code_says_so() {
    let options = RuntimeOptions {
        max_attempts: 1,
        unregistered_backoff: short_backoff(),
        ..DEFAULT_MODE.options()
    };
    async fn calls(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        ctx.schedule_activity("Chrage", "").await
    }
    let registry = orchestrations().register("Order", calls);
    let node = Node::on(&memory().await, options, registry, activities()).await;
    node.start_instance("typo", "Odrer", "").await;
    let text = node.failure_text("typo").await;
    assert!(text.starts_with("poison: orchestration typo exceeded"), "{text}");
    assert!(text.ends_with("orchestration 'Odrer' is not registered on this node"), "{text}");
    node.client.start_orchestration_versioned("new", "Order", "9.0.0", "").await.unwrap();
    let text = node.failure_text("new").await;
    assert!(text.contains("'Order' in version '9.0.0' is not registered"), "{text}");
    node.start_instance("order", "Order", "").await;
    let text = node.failure_text("order").await;
    assert!(text.ends_with("activity 'Chrage' is not registered on this node"), "{text}");
    let counts = node.stop_and_count().await;
    assert_eq!((counts.orch_failures, counts.orch_poison), (3, 3));
}

/// Its status was `NotFound`, and it was in no list.
#[tokio::test]
async fn a_start_that_no_node_can_run_is_listed_with_the_reason() {
    let hour = Duration::from_secs(3600);
    let options = RuntimeOptions {
        unregistered_backoff: UnregisteredBackoffConfig { base_delay: hour, max_delay: hour },
        ..DEFAULT_MODE.options()
    };
    let registry = orchestrations().register("Order", echo);
    let node = Node::on(&memory().await, options, registry, activities()).await;
    let client = &node.client;
    assert_eq!(client.explain_unstarted("typo").await.unwrap(), None);
    client.start_orchestration("typo", "Odrer", "").await.unwrap();
    client.start_orchestration_versioned("early", "Order", "9.0.0", "").await.unwrap();
    let listed = within(async {
        loop {
            let listed = client.list_unstarted_instances(10).await.unwrap();
            let was_released = |it: &UnstartedInstance| {
                it.reason == UnstartedReason::NoHandler
                    && it.start.visible_at_ms > it.start.waiting_since_ms
            };
            if listed.len() == 2 && listed.iter().all(was_released) {
                return listed;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    let texts: Vec<String> = listed.iter().map(ToString::to_string).collect();
    let early = "'early' waits for a node with `Order` in version 9.0.0";
    assert_eq!(texts, [early, "'typo' waits for a node with `Odrer`"]);
    let explained = client.explain_unstarted("typo").await.unwrap().unwrap();
    assert_eq!(explained, listed[1]);
    assert_eq!(client.list_unstarted_instances(1).await.unwrap(), listed[..1]);
    let status = client.get_orchestration_status("typo").await.unwrap();
    assert_eq!(status, OrchestrationStatus::NotFound);
    client.start_orchestration("good", "Order", "").await.unwrap();
    client.wait_for_orchestration("good", TIMEOUT).await.unwrap();
    assert_eq!(client.explain_unstarted("good").await.unwrap(), None);
    node.stop().await;
}

/// By default no node fetches such a start, so that it only said that it waits in the queue.
#[tokio::test]
async fn a_start_that_no_node_fetches_is_listed_with_the_reason() {
    let store = memory().await;
    let registry = orchestrations().register("Order", echo);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry, activities()).await;
    let client = &node.client;
    client.start_orchestration("typo", "Odrer", "").await.unwrap();
    client.start_orchestration_versioned("early", "Order", "9.0.0", "").await.unwrap();
    until_reasons_are(client, [UnstartedReason::NoHandler; 2]).await;
    let typo = client.explain_unstarted("typo").await.unwrap().unwrap();
    assert_eq!(typo.start.attempt_count, 0, "no node fetched it");
    assert_eq!(typo.to_string(), "'typo' waits for a node with `Odrer`");
    let early = client.explain_unstarted("early").await.unwrap().unwrap();
    assert_eq!(early.to_string(), "'early' waits for a node with `Order` in version 9.0.0");

    // A node that does not report which turns it runs may run them.
    let unknown = WorkerAnnouncement::new("older", Duration::from_secs(3600));
    store.announce_worker(&unknown).await.unwrap();
    until_reasons_are(client, [UnstartedReason::Queued; 2]).await;
    store.withdraw_worker("older").await.unwrap();
    until_reasons_are(client, [UnstartedReason::NoHandler; 2]).await;
    let client = client.clone();
    node.stop().await;

    // A node that runs no turns lacks no code.
    let options = RuntimeOptions { orchestration_concurrency: 0, ..DEFAULT_MODE.options() };
    let worker = Node::on(&store, options, orchestrations(), activities()).await;
    until_reasons_are(&client, [UnstartedReason::Queued; 2]).await;
    worker.stop().await;
}

async fn until_reasons_are(client: &Client, wanted: [UnstartedReason; 2]) {
    within(async {
        loop {
            let listed = client.list_unstarted_instances(10).await.unwrap();
            if listed.iter().map(|it| it.reason).eq(wanted) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn start_if_new_reports_an_existing_instance() {
    let registry = orchestrations().register("Order", echo);
    let node = Node::on(&memory().await, DEFAULT_MODE.options(), registry, activities()).await;
    let client = &node.client;
    let order = || StartRequest::new("order", "Order").with_input("3 apples");
    let mut callers = JoinSet::new();
    for _ in 0..8 {
        let (client, order) = (client.clone(), order());
        callers.spawn(async move { client.start_if_new(order).await.unwrap() });
    }
    let started = callers.join_all().await;
    let new = started.iter().filter(|it| **it == Started::New).count();
    assert_eq!((new, started.len()), (1, 8), "{started:?}");
    let status = client.wait_for_orchestration("order", TIMEOUT).await.unwrap();
    assert!(
        matches!(status, OrchestrationStatus::Completed { output, .. } if output == "3 apples")
    );
    assert_eq!(client.start_if_new(order()).await.unwrap(), Started::Existing, "it has finished");
    client.delete_instance("order", false).await.unwrap();
    assert_eq!(client.start_if_new(order()).await.unwrap(), Started::New, "it was deleted");
    let typed = StartRequest::new("typed", "Order").with_typed_input(&7).unwrap();
    let typed = typed.with_version("1.0.0");
    assert_eq!(client.start_if_new(typed).await.unwrap(), Started::New);
    client.wait_for_orchestration("typed", TIMEOUT).await.unwrap();
    for wrong in [
        StartRequest::new("", "Order"),
        StartRequest::new("a", ""),
        StartRequest::new("a::sub::1", "Order"),
        StartRequest::new("a", "Order").with_version("one"),
    ] {
        let refused = client.start_if_new(wrong).await.unwrap_err();
        assert!(matches!(refused, ClientError::InvalidInput { .. }), "{refused}");
    }
    node.stop().await;
}

/// The failure was just "expected value at line 1 column 1".
#[tokio::test]
async fn a_payload_that_does_not_decode_is_an_error_with_names() {
    async fn sums(ctx: OrchestrationContext, first: u32) -> Result<u32, String> {
        ctx.schedule_activity_typed::<u32, u32>("Double", &first).await
    }
    async fn receives(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        let bad = ctx.try_dequeue_event_typed::<u32>("numbers").await;
        let good = ctx.try_dequeue_event_typed::<u32>("numbers").await?;
        Ok(format!("{good}; {}", bad.unwrap_err()))
    }
    async fn trusts(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        Ok(ctx.dequeue_event_typed::<u32>("numbers").await.to_string())
    }
    let registry = orchestrations()
        .register_typed("Sums", sums)
        .register("Receives", receives)
        .register("Trusts", trusts);
    let doubles = activities()
        .register("Double", |_: ActivityContext, _: String| async { Ok("many".to_owned()) });
    let node = Node::on(&memory().await, DEFAULT_MODE.options(), registry, doubles).await;
    node.start_instance("input", "Sums", "x").await;
    let text = node.failure_text("input").await;
    assert!(text.contains("the input of orchestration 'Sums' as u32"), "{text}");
    node.start_instance("result", "Sums", "2").await;
    let text = node.failure_text("result").await;
    assert!(text.contains("the result of activity 'Double' as u32"), "{text}");
    node.start_instance("queue", "Receives", "").await;
    node.start_instance("trusting", "Trusts", "").await;
    for instance in ["queue", "trusting"] {
        node.wait_for_event(instance, "ExternalSubscribedPersistent").await;
        node.client.enqueue_event(instance, "numbers", "x").await.unwrap();
    }
    node.client.enqueue_event("queue", "numbers", "7").await.unwrap();
    let text = node.output("queue").await;
    let named = "cannot decode queue 'numbers' of orchestration 'Receives' as u32";
    assert!(text.starts_with("7; ") && text.contains(named), "{text}");
    let text = node.failure_text("trusting").await;
    let named = "cannot decode queue 'numbers' of orchestration 'Trusts' as u32";
    assert!(text.contains("decode: ") && text.contains(named), "{text}");
    node.stop().await;
}
