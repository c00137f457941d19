//! Mistakes of callers: each is named where it can be seen.

use duroxide::runtime::RuntimeOptions;
use duroxide::{ActivityContext, ClientError, OrchestrationContext};

use crate::support::{DEFAULT_MODE, Node, activities, memory, orchestrations, short_backoff};

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
