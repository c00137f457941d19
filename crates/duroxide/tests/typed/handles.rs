//! Handles of instances, signals and queues.

use duroxide::prelude::*;
use serde::{Deserialize, Serialize};

use crate::support::node;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Approval {
    by: String,
}

const APPROVED: Signal<Approval> = Signal::new("approved");
const NUMBERS: Queue<u32> = Queue::new("numbers");

#[orchestration]
async fn approval(ctx: OrchestrationContext, count: u32) -> Result<String, String> {
    let mut sum = 0;
    for _ in 0..count {
        sum += ctx.receive(NUMBERS).await?;
    }
    let approved = ctx.wait(APPROVED);
    ctx.set_custom_status("waiting");
    Ok(format!("{sum} approved by {}", approved.await?.by))
}

async fn waiting(client: &Client, id: &str) {
    let limit = Duration::from_secs(60);
    let status = client.wait_for_status_change(id, 0, limit / 1000, limit).await.unwrap();
    assert!(matches!(status, OrchestrationStatus::Running { .. }), "{status:?}");
}

#[tokio::test]
async fn a_handle_sends_typed_messages_and_returns_the_typed_result() {
    let (runtime, client) = node(DuroxideRuntime::builder().register(approval)).await;
    let instance = client.start(approval, "approval", 2).await.unwrap();
    assert_eq!(instance.instance_id(), "approval");
    instance.enqueue(NUMBERS, 40).await.unwrap();
    instance.enqueue(NUMBERS, &2).await.unwrap();
    waiting(&client, "approval").await;
    assert!(matches!(instance.status().await, Ok(OrchestrationStatus::Running { .. })));
    let late = instance.result_within(Duration::from_millis(1)).await;
    assert_eq!(late, Err(CallError::TimedOut));
    instance.raise(APPROVED, Approval { by: "Ada".to_owned() }).await.unwrap();
    assert_eq!(instance.result().await, Ok("42 approved by Ada".to_owned()));
    // Another process finds it by its id.
    let attached = client.attach(approval, "approval").result().await;
    assert_eq!(attached, Ok("42 approved by Ada".to_owned()));
    runtime.shutdown(None).await;
}

#[tokio::test]
async fn a_payload_of_another_type_is_an_error_that_names_it() {
    let (runtime, client) = node(DuroxideRuntime::builder().register(approval)).await;
    let instance = client.start(approval, "wrong", 0).await.unwrap();
    waiting(&client, "wrong").await;
    client.raise_event("wrong", "approved", "yes").await.unwrap();
    match instance.result().await {
        Err(CallError::App(text)) => assert!(text.contains("signal 'approved'"), "{text}"),
        other => panic!("{other:?}"),
    }
    runtime.shutdown(None).await;
}

#[tokio::test]
async fn a_cancelled_instance_and_a_cancelled_child_say_so() {
    #[orchestration]
    async fn parent(ctx: OrchestrationContext) -> Result<String, String> {
        match ctx.child_with_id(approval, "child", 0).await {
            Err(CallError::Cancelled { reason }) => Ok(reason),
            other => Err(format!("{other:?}")),
        }
    }
    let builder = DuroxideRuntime::builder().register(parent).register(approval);
    let (runtime, client) = node(builder).await;
    let parent = client.start(parent, "parent", ()).await.unwrap();
    waiting(&client, "child").await;
    let child = client.attach(approval, "child");
    child.cancel("no longer needed").await.unwrap();
    let reason = "no longer needed".to_owned();
    assert_eq!(child.result().await, Err(CallError::Cancelled { reason: reason.clone() }));
    assert_eq!(parent.result().await, Ok(reason));
    runtime.shutdown(None).await;
}

#[tokio::test]
async fn a_handle_asks_its_instance_to_end() {
    #[orchestration]
    async fn patient(ctx: OrchestrationContext) -> Result<(), String> {
        ctx.set_custom_status("waiting");
        let request = ctx.cancelled().await;
        Err(format!("cleaned up: {}", request.reason))
    }
    let (runtime, client) = node(DuroxideRuntime::builder().register(patient)).await;
    let grace = Duration::from_secs(600);
    let unknown = client.attach(patient, "unknown").request_cancellation("stop", grace).await;
    assert!(matches!(unknown, Err(ClientError::InstanceNotFound { .. })), "{unknown:?}");
    let instance = client.start(patient, "patient", ()).await.unwrap();
    waiting(&client, "patient").await;
    instance.request_cancellation("stop", grace).await.unwrap();
    assert_eq!(instance.result().await, Err(CallError::App("cleaned up: stop".to_owned())));
    runtime.shutdown(None).await;
}
