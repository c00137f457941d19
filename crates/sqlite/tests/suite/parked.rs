//! Messages for instances that do not exist.

use std::time::Duration;

use duroxide_core::providers::{Provider, ProviderAdmin};

use crate::support::*;

#[tokio::test]
async fn a_message_for_an_unknown_instance_is_parked_until_its_start() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_orchestrator(queued("ghost", "1"), None).await.unwrap();
    provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    assert_eq!(turn(provider).await.item.instance, "a");
    assert!(try_turn(provider).await.is_none());
    let parked = provider.list_parked_messages(10).await.unwrap();
    assert_eq!(parked.len(), 1);
    assert_eq!(parked[0].instance_id, "ghost");
    assert_eq!(parked[0].kind, "QueueMessage");
    assert_eq!(parked[0].enqueued_at, BEGIN_MS);
    assert_eq!(provider.get_queue_depths().await.unwrap().orchestrator_queue, 2);

    provider.enqueue_for_orchestrator(start("ghost"), None).await.unwrap();
    assert!(provider.list_parked_messages(10).await.unwrap().is_empty());
    let woken = turn(provider).await;
    assert_eq!(woken.item.messages, vec![queued("ghost", "1"), start("ghost")]);
    assert_eq!(woken.attempt_count, 1, "waiting is not an attempt");
}

#[tokio::test]
async fn a_start_by_another_instance_unparks_messages() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_orchestrator(queued("child", "1"), None).await.unwrap();
    assert!(try_turn(provider).await.is_none());
    provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    let parent = turn(provider).await;
    let commit = commit(&parent.lock_token, vec![started("a", 1)])
        .with_outgoing_messages(vec![start("child")]);
    provider.store_turn(commit).await.unwrap();
    assert_eq!(turn(provider).await.item.messages, vec![queued("child", "1"), start("child")]);
}

#[tokio::test]
async fn messages_that_are_useless_later_are_dropped() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_orchestrator(signal("ghost", "1"), None).await.unwrap();
    assert!(try_turn(provider).await.is_none());
    assert_eq!(store.count("SELECT count(*) FROM orchestrator_queue"), 0);
    create(provider, "a").await;
    provider.enqueue_for_orchestrator(queued("a", "1"), None).await.unwrap();
    assert_eq!(turn(provider).await.item.messages, vec![queued("a", "1")]);
}

/// A start that was released with a delay is hidden. What is sent meanwhile must neither be
/// dropped nor be parked: the instance is about to exist.
#[tokio::test]
async fn messages_wait_for_a_hidden_start() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    let held = turn(provider).await;
    let delay = Duration::from_secs(1);
    provider.abandon_orchestration_item(&held.lock_token, Some(delay), false).await.unwrap();
    provider.enqueue_for_orchestrator(queued("a", "1"), None).await.unwrap();
    assert!(try_turn(provider).await.is_none());
    assert!(provider.list_parked_messages(10).await.unwrap().is_empty());
    store.clock.advance(delay);
    assert_eq!(turn(provider).await.item.messages, vec![start("a"), queued("a", "1")]);
}

#[tokio::test]
async fn deleting_an_id_removes_its_parked_messages() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_orchestrator(queued("ghost", "1"), None).await.unwrap();
    assert!(try_turn(provider).await.is_none());
    let deleted = provider.delete_instance("ghost", false).await.unwrap();
    assert_eq!((deleted.instances_deleted, deleted.queue_messages_deleted), (0, 1));
    assert!(provider.list_parked_messages(10).await.unwrap().is_empty());
    let error = provider.delete_instance("ghost", false).await.unwrap_err();
    assert!(!error.is_retryable());
    assert!(error.message.contains("not found"));
}

#[tokio::test]
async fn one_fetch_parks_the_messages_of_many_unknown_instances() {
    let store = Store::new().await;
    let provider = &*store.provider;
    for number in 0..300 {
        let ghost = format!("ghost-{number}");
        provider.enqueue_for_orchestrator(queued(&ghost, "1"), None).await.unwrap();
    }
    provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    assert_eq!(turn(provider).await.item.instance, "a");
    assert_eq!(provider.list_parked_messages(1000).await.unwrap().len(), 300);
}
