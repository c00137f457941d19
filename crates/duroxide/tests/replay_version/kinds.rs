//! The kinds of events, messages and calls that the feature adds.

use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::WorkItem;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{OrchestrationStatus, Runtime};
use duroxide::{Client, EventKind, OrchestrationContext, OrchestrationRegistry};

pub(crate) const WAIT_MAX: Duration = Duration::from_secs(60);

pub(crate) fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("Plain", |ctx: OrchestrationContext, _input: String| async move {
            ctx.set_custom_status("waiting");
            Ok(ctx.schedule_wait("go").await)
        })
        .register("Topics", |ctx: OrchestrationContext, _input: String| async move {
            ctx.set_custom_status("waiting");
            let pears = ctx.schedule_wait2("price", "pears").await;
            ctx.set_custom_status("waiting for plums");
            let plums = ctx.schedule_wait2("price", "plums").await;
            Ok(format!("{pears} {plums}"))
        })
        .build()
}

pub(crate) async fn until_status(client: &Client, instance: &str, wanted: &str) {
    let (mut seen, poll) = (0, Duration::from_millis(10));
    loop {
        match client.wait_for_status_change(instance, seen, poll, WAIT_MAX).await.unwrap() {
            OrchestrationStatus::Running { custom_status, custom_status_version } => {
                if custom_status.as_deref() == Some(wanted) {
                    return;
                }
                seen = custom_status_version;
            }
            ended => panic!("{instance}: {ended:?}"),
        }
    }
}

#[tokio::test]
async fn a_signal_with_a_topic_reaches_the_wait_of_its_name_and_topic() {
    let store = Arc::new(SqliteProvider::new_in_memory().await.unwrap());
    let none = ActivityRegistry::builder().build();
    let runtime = Runtime::start_with_store(store.clone(), none, orchestrations()).await;
    let client = Client::new(store);
    client.start_orchestration("topics", "Topics", "").await.unwrap();
    until_status(&client, "topics", "waiting").await;
    // No wait for this topic is recorded yet: the signal is lost, and leaves no event.
    client.raise_event2("topics", "price", "plums", "early").await.unwrap();
    client.raise_event2("topics", "other", "pears", "never").await.unwrap();
    client.raise_event2("topics", "price", "pears", "3").await.unwrap();
    until_status(&client, "topics", "waiting for plums").await;
    client.raise_event2("topics", "price", "plums", "4").await.unwrap();
    let status = client.wait_for_orchestration("topics", WAIT_MAX).await.unwrap();
    let OrchestrationStatus::Completed { output, .. } = status else { panic!("{status:?}") };
    assert_eq!(output, "3 4");
    let history = client.read_execution_history("topics", 1).await.unwrap();
    let kinds: Vec<&str> = history.iter().map(|event| event.kind.type_tag()).collect();
    let expected = [
        "OrchestrationStarted",
        "CustomStatusUpdated",
        "ExternalSubscribed2",
        "ExternalEvent2",
        "CustomStatusUpdated",
        "ExternalSubscribed2",
        "ExternalEvent2",
        "OrchestrationCompleted",
    ];
    assert_eq!(kinds, expected);
    runtime.shutdown(None).await;
}

#[test]
fn the_added_kinds_have_a_stored_form() {
    let item = WorkItem::ExternalRaised2 {
        instance: "i".to_owned(),
        name: "n".to_owned(),
        topic: "t".to_owned(),
        data: "d".to_owned(),
    };
    let text = r#"{"ExternalRaised2":{"instance":"i","name":"n","topic":"t","data":"d"}}"#;
    assert_eq!(serde_json::to_string(&item).unwrap(), text);
    assert_eq!(serde_json::from_str::<WorkItem>(text).unwrap(), item);
    let kind = EventKind::ExternalEvent2 {
        name: "n".to_owned(),
        topic: "t".to_owned(),
        data: "d".to_owned(),
    };
    let text = r#"{"type":"ExternalEvent2","name":"n","topic":"t","data":"d"}"#;
    assert_eq!(serde_json::to_string(&kind).unwrap(), text);
    assert_eq!(serde_json::from_str::<EventKind>(text).unwrap(), kind);
}
