//! What a client sends, reads and waits for. Time is tokio's paused clock: nothing really waits.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::{Client, ClientError};
use crate::model::{ErrorDetails, EventKind, OrchestrationStatus, WorkItem};
use crate::providers::ProviderError;
use crate::providers::fake::FakeProvider;

const MINUTE: Duration = Duration::from_secs(60);

fn client(provider: &Arc<FakeProvider>) -> Client {
    Client::new(Arc::clone(provider) as Arc<dyn crate::providers::Provider>)
}

fn both() -> [Arc<FakeProvider>; 2] {
    [FakeProvider::watching(), FakeProvider::without_watch()]
}

fn start_of(instance: &str, version: Option<&str>, input: &str) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: instance.to_owned(),
        orchestration: "Pay".to_owned(),
        input: input.to_owned(),
        version: version.map(str::to_owned),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        execution_id: 1,
    }
}

#[test]
fn a_client_can_be_shared_between_threads() {
    fn assert_shared<T: Clone + Send + Sync + 'static>() {}
    assert_shared::<Client>();
}

#[tokio::test]
async fn a_start_is_a_message_of_the_first_execution_without_parent() {
    let provider = FakeProvider::watching();
    let client = client(&provider);
    client.start_orchestration("a", "Pay", "7").await.unwrap();
    client.start_orchestration_versioned("b", "Pay", "1.0.0-rc.1", "7").await.unwrap();
    client.start_orchestration_typed("c", "Pay", vec![1, 2]).await.unwrap();
    client.start_orchestration_versioned_typed("d", "Pay", "2.0.0", "text").await.unwrap();
    let expected = [
        start_of("a", None, "7"),
        start_of("b", Some("1.0.0-rc.1"), "7"),
        start_of("c", None, "[1,2]"),
        start_of("d", Some("2.0.0"), "text"),
    ];
    assert_eq!(provider.state().sent, expected);
}

#[tokio::test]
async fn root_ids_with_the_child_marker_are_refused() {
    let provider = FakeProvider::watching();
    let client = client(&provider);
    for id in ["sub::1", "a::sub::1"] {
        let refusals = [
            client.start_orchestration(id, "Pay", "").await,
            client.start_orchestration_versioned(id, "Pay", "1.0.0", "").await,
            client.start_orchestration_typed(id, "Pay", 1).await,
            client.start_orchestration_versioned_typed(id, "Pay", "1.0.0", 1).await,
        ];
        for refusal in refusals {
            assert!(matches!(refusal, Err(ClientError::InvalidInput { .. })), "{id}");
        }
    }
    client.start_orchestration("a::b", "Pay", "").await.unwrap();
    assert_eq!(provider.state().sent.len(), 1);
}

/// They were stored although no instance can receive them.
#[tokio::test]
async fn a_message_without_an_instance_or_a_name_is_refused() {
    let provider = FakeProvider::watching();
    let client = client(&provider);
    for (instance, name) in [("", "go"), ("a", "")] {
        let refusals = [
            client.raise_event(instance, name, "").await,
            client.raise_event_typed(instance, name, &1).await,
            client.enqueue_event(instance, name, "").await,
            client.enqueue_event_typed(instance, name, &1).await,
        ];
        for refusal in refusals {
            assert!(matches!(refusal, Err(ClientError::InvalidInput { .. })), "{refusal:?}");
        }
    }
    assert!(provider.state().sent.is_empty());
}

/// They were stored, no node could run them, and minutes later they failed without a reason.
#[tokio::test]
async fn a_start_that_no_node_can_run_is_refused() {
    let provider = FakeProvider::watching();
    let client = client(&provider);
    for (refused, named) in [
        (client.start_orchestration("", "Pay", "").await, "id"),
        (client.start_orchestration("a", "", "").await, "names no orchestration"),
        (client.start_orchestration_versioned("a", "Pay", "1.0", "").await, "'1.0'"),
        (client.start_orchestration_versioned_typed("a", "Pay", "latest", 1).await, "'latest'"),
    ] {
        let error = refused.unwrap_err();
        assert!(matches!(error, ClientError::InvalidInput { .. }), "{error}");
        assert!(error.to_string().contains(named), "{error}");
    }
    assert!(provider.state().sent.is_empty());
}

/// One failed read ended a wait of minutes.
#[tokio::test(start_paused = true)]
async fn a_wait_goes_on_through_trouble_that_passes() {
    for provider in both() {
        provider.record_start("a");
        let busy = ProviderError::retryable("read", "busy");
        provider.state().read_error = Some(busy.clone());
        provider.state().custom_status_error = Some(busy);
        let client = client(&provider);
        let recover = async {
            tokio::time::sleep(MINUTE / 2).await;
            provider.state().read_error = None;
            provider.state().custom_status_error = None;
            provider.record_completion("a", "done");
        };
        let pause = Duration::from_millis(10);
        let (ended, changed, ()) = tokio::join!(
            client.wait_for_orchestration("a", MINUTE),
            client.wait_for_status_change("a", 0, pause, MINUTE),
            recover
        );
        assert!(ended.unwrap().is_terminal());
        assert!(changed.unwrap().is_terminal());
    }
}

#[tokio::test(start_paused = true)]
async fn trouble_that_does_not_pass_ends_a_wait_at_its_deadline_and_a_permanent_error_at_once() {
    for provider in both() {
        let client = client(&provider);
        provider.state().read_error = Some(ProviderError::retryable("read", "busy"));
        let begin = Instant::now();
        let outcome = client.wait_for_orchestration("a", MINUTE).await;
        assert!(matches!(outcome, Err(ClientError::Timeout)), "{outcome:?}");
        assert_eq!(begin.elapsed(), MINUTE);
        provider.state().read_error = Some(ProviderError::permanent("read", "closed"));
        let outcome = client.wait_for_orchestration("a", MINUTE).await;
        assert!(matches!(outcome, Err(ClientError::Provider(_))), "{outcome:?}");
        assert_eq!(begin.elapsed(), MINUTE);
    }
}

#[tokio::test]
async fn values_that_cannot_be_encoded_are_refused() {
    let client = client(&FakeProvider::watching());
    let keys_must_be_text = std::collections::HashMap::from([((1, 2), 3)]);
    let error = client.start_orchestration_typed("a", "Pay", keys_must_be_text).await.unwrap_err();
    assert!(error.to_string().starts_with("Invalid input: encode: "), "{error}");
}

#[tokio::test]
async fn signals_become_messages() {
    let provider = FakeProvider::watching();
    let client = client(&provider);
    client.raise_event("a", "go", "now").await.unwrap();
    client.raise_event_typed("a", "go", &3).await.unwrap();
    client.enqueue_event("a", "mail", "x").await.unwrap();
    client.enqueue_event_typed("a", "mail", &"y").await.unwrap();
    client.cancel_instance("a", "late").await.unwrap();
    let raised = |data: &str| WorkItem::ExternalRaised {
        instance: "a".to_owned(),
        name: "go".to_owned(),
        data: data.to_owned(),
    };
    let queued = |data: &str| WorkItem::QueueMessage {
        instance: "a".to_owned(),
        name: "mail".to_owned(),
        data: data.to_owned(),
    };
    let cancel = WorkItem::CancelInstance { instance: "a".to_owned(), reason: "late".to_owned() };
    let expected = [raised("now"), raised("3"), queued("x"), queued("y"), cancel];
    assert_eq!(provider.state().sent, expected);
}

#[tokio::test]
async fn status_follows_the_history() {
    let provider = FakeProvider::watching();
    let client = client(&provider);
    let status = async || client.get_orchestration_status("a").await.unwrap();
    assert_eq!(status().await, OrchestrationStatus::NotFound);

    provider.record_start("a");
    let running = OrchestrationStatus::Running { custom_status: None, custom_status_version: 0 };
    assert_eq!(status().await, running);

    provider.set_custom_status("a", "half", 2);
    provider.record_completion("a", "done");
    let completed = OrchestrationStatus::Completed {
        output: "done".to_owned(),
        custom_status: Some("half".to_owned()),
        custom_status_version: 2,
    };
    assert_eq!(status().await, completed);
}

#[tokio::test]
async fn an_unreadable_custom_status_is_left_out_and_an_unreadable_history_is_an_error() {
    let provider = FakeProvider::watching();
    let client = client(&provider);
    provider.record_start("a");
    provider.set_custom_status("a", "half", 2);
    provider.state().custom_status_error = Some(ProviderError::retryable("status", "busy"));
    let running = OrchestrationStatus::Running { custom_status: None, custom_status_version: 0 };
    assert_eq!(client.get_orchestration_status("a").await.unwrap(), running);

    provider.state().read_error = Some(ProviderError::permanent("read", "corrupt"));
    let error = client.get_orchestration_status("a").await.unwrap_err();
    assert_eq!(error.to_string(), "read: corrupt");
    let error = client.wait_for_orchestration("a", MINUTE).await.unwrap_err();
    assert_eq!(error.to_string(), "read: corrupt");
}

#[tokio::test(start_paused = true)]
async fn a_wait_is_woken_by_the_change_itself() {
    let provider = FakeProvider::watching();
    let begin = Instant::now();
    let waiting = tokio::spawn({
        let client = client(&provider);
        async move { client.wait_for_orchestration("a", MINUTE).await }
    });
    tokio::task::yield_now().await;
    provider.record_completion("a", "done");
    let status = waiting.await.unwrap().unwrap();
    assert!(status.is_terminal());
    assert_eq!(begin.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_lost_wake_up_costs_a_moment_and_not_the_answer() {
    let provider = FakeProvider::watching();
    let waiting = tokio::spawn({
        let client = client(&provider);
        async move { client.wait_for_orchestration("a", Duration::MAX).await }
    });
    tokio::task::yield_now().await;
    let kind = EventKind::OrchestrationCompleted { output: String::new() };
    let event = crate::model::Event::new("a", 1, None, kind);
    // Written behind the hub's back.
    provider.state().histories.insert("a".to_owned(), vec![event]);
    assert!(waiting.await.unwrap().unwrap().is_terminal());
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_cannot_tell_is_asked_with_growing_pauses() {
    let provider = FakeProvider::without_watch();
    let begin = Instant::now();
    let timeout = Duration::from_millis(400);
    let error = client(&provider).wait_for_orchestration("a", timeout).await.unwrap_err();
    assert!(matches!(error, ClientError::Timeout));
    assert_eq!(begin.elapsed(), timeout);
    // At 0, 5, 15, 35, 75, 155, 255 and 355 ms, and once more at the deadline.
    assert_eq!(provider.state().reads, 9);
}

#[tokio::test(start_paused = true)]
async fn waits_end_at_their_deadline() {
    for provider in both() {
        provider.record_start("a");
        let client = client(&provider);
        let begin = Instant::now();
        assert!(matches!(
            client.wait_for_orchestration("a", MINUTE).await,
            Err(ClientError::Timeout)
        ));
        assert!(matches!(
            client.wait_for_kv_value("a", "k", MINUTE).await,
            Err(ClientError::Timeout)
        ));
        assert!(matches!(
            client.wait_for_status_change("unknown", 0, Duration::from_secs(7), MINUTE).await,
            Err(ClientError::Timeout)
        ));
        assert_eq!(begin.elapsed(), MINUTE * 3);
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_without_time_still_looks_once() {
    for provider in both() {
        provider.record_completion("a", "done");
        let status = client(&provider).wait_for_orchestration("a", Duration::ZERO).await.unwrap();
        assert!(status.is_terminal());
    }
}

#[tokio::test(start_paused = true)]
async fn the_longest_duration_can_be_waited_for() {
    for provider in both() {
        provider.set_value("a", "k", "v");
        let value = client(&provider).wait_for_kv_value("a", "k", Duration::MAX).await.unwrap();
        assert_eq!(value, "v");
    }
}

#[tokio::test(start_paused = true)]
async fn a_newer_custom_status_or_the_end_ends_the_wait_for_a_status_change() {
    for provider in both() {
        provider.record_start("a");
        provider.set_custom_status("a", "one", 1);
        let client = client(&provider);
        let wait = |seen| client.wait_for_status_change("a", seen, MINUTE, MINUTE);
        let running = OrchestrationStatus::Running {
            custom_status: Some("one".to_owned()),
            custom_status_version: 1,
        };
        assert_eq!(wait(0).await.unwrap(), running);

        provider.record_completion("a", "done");
        assert!(wait(1).await.unwrap().is_terminal());
    }
}

#[tokio::test]
async fn a_typed_wait_tells_output_failure_and_misfit_apart() {
    let provider = FakeProvider::watching();
    let client = client(&provider);
    provider.record_completion("number", "7");
    provider.record_completion("text", "seven");
    let details = ErrorDetails::orchestration_failed("no money");
    provider.record("failed", EventKind::OrchestrationFailed { details });

    let wait = |id| client.wait_for_orchestration_typed::<u32>(id, MINUTE);
    assert_eq!(wait("number").await.unwrap(), Ok(7));
    assert_eq!(wait("failed").await.unwrap(), Err("no money".to_owned()));
    let error = wait("text").await.unwrap_err().to_string();
    assert!(error.starts_with("Invalid input: decode failed: "), "{error}");
}

#[tokio::test]
async fn values_are_read_as_text_or_as_json() {
    let provider = FakeProvider::watching();
    let client = client(&provider);
    provider.set_value("a", "k", "7");
    assert_eq!(client.get_kv_value("a", "k").await.unwrap().as_deref(), Some("7"));
    assert_eq!(client.get_kv_value("a", "missing").await.unwrap(), None);
    assert_eq!(client.get_kv_value_typed::<u32>("a", "k").await.unwrap(), Some(7));
    assert_eq!(client.wait_for_kv_value_typed::<u32>("a", "k", MINUTE).await.unwrap(), 7);
    assert_eq!(client.get_kv_all_values("a").await.unwrap().len(), 1);
    assert!(client.get_kv_all_values("unknown").await.unwrap().is_empty());
    let error = client.get_kv_value_typed::<String>("a", "k").await.unwrap_err().to_string();
    assert!(error.starts_with("Invalid input: KV deserialization error: "), "{error}");
}

#[tokio::test]
async fn without_a_management_side_every_management_call_says_so() {
    let client = client(&FakeProvider::watching());
    assert!(!client.has_management_capability());
    let texts = [
        client.list_all_instances().await.err(),
        client.list_instances_by_status("Running").await.err(),
        client.get_instance_info("a").await.err(),
        client.get_execution_info("a", 1).await.err(),
        client.list_executions("a").await.err(),
        client.read_execution_history("a", 1).await.err(),
        client.get_system_metrics().await.err(),
        client.get_queue_depths().await.err(),
        client.get_instance_tree("a").await.err(),
        client.get_running_duroxide_version_spread().await.err(),
        client.get_running_handler_version_spread().await.err(),
        client.list_parked_messages(1).await.err(),
        client.delete_instance("a", true).await.err(),
        client.delete_instance_bulk(Default::default()).await.err(),
        client.prune_executions("a", Default::default()).await.err(),
        client.prune_executions_bulk(Default::default(), Default::default()).await.err(),
    ];
    for error in texts {
        assert!(matches!(error, Some(ClientError::ManagementNotAvailable)));
    }
    assert_eq!(client.get_orchestration_stats("a").await.unwrap(), None);
}
