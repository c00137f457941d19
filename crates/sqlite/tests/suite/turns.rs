//! Fetching and committing turns.

use std::time::Duration;

use duroxide_core::EventKind;
use duroxide_core::providers::{
    InstanceOutcome, Provider, ProviderAdmin, ScheduledActivityIdentifier, WorkItem,
};

use crate::support::*;

#[tokio::test]
async fn the_first_turn_gets_its_identity_from_the_start_message() {
    let store = Store::new().await;
    store.provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    assert!(store.provider.list_instances().await.unwrap().is_empty());
    let turn = turn(&*store.provider).await;
    assert_eq!(turn.item.orchestration_name, "Test");
    assert_eq!(turn.item.version, "1.0.0");
    assert_eq!(turn.item.execution_id, 1);
    assert!(turn.item.history.is_empty());
    assert_eq!(turn.attempt_count, 1);
}

#[tokio::test]
async fn a_batch_leases_several_instances_with_their_messages_in_order() {
    let store = Store::new().await;
    for instance in ["a", "b", "c"] {
        store.provider.enqueue_for_orchestrator(start(instance), None).await.unwrap();
        store.provider.enqueue_for_orchestrator(signal(instance, "1"), None).await.unwrap();
        store.provider.enqueue_for_orchestrator(signal(instance, "2"), None).await.unwrap();
    }
    let turns = store.provider.fetch_orchestration_items(wish(2)).await.unwrap();
    let names: Vec<_> = turns.iter().map(|turn| turn.item.instance.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let expected = vec![start("a"), signal("a", "1"), signal("a", "2")];
    assert_eq!(turns[0].item.messages, expected);
    let rest = store.provider.fetch_orchestration_items(wish(9)).await.unwrap();
    assert_eq!(rest.len(), 1);
}

#[tokio::test]
async fn a_commit_changes_everything_together() {
    let store = Store::new().await;
    store.provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    let first = turn(&*store.provider).await;
    let answer = store
        .provider
        .store_turn(
            commit(&first.lock_token, vec![started("a", 1), heard("a", 2)])
                .with_activities(vec![activity("a", 2), activity("a", 3)])
                .with_outgoing_messages(vec![timer("a", 4, 1), signal("a", "x"), activity("a", 9)])
                .with_cancelled_activities(vec![ScheduledActivityIdentifier {
                    instance: "a".to_owned(),
                    execution_id: 1,
                    activity_id: 3,
                }]),
        )
        .await
        .unwrap();
    assert!(answer.incarnation.is_some_and(|incarnation| incarnation > 0));
    assert_eq!(store.provider.read("a").await.unwrap().len(), 2);
    assert_eq!(store.count("SELECT count(*) FROM worker_queue"), 1);
    let second = turn(&*store.provider).await;
    assert_eq!(second.item.messages, vec![timer("a", 4, 1), signal("a", "x")]);
    assert_eq!(second.item.history.len(), 2);
}

#[tokio::test]
async fn an_event_that_is_already_stored_undoes_the_commit_and_keeps_the_lease() {
    let store = Store::new().await;
    create(&*store.provider, "a").await;
    store.provider.enqueue_for_orchestrator(signal("a", "x"), None).await.unwrap();
    let held = turn(&*store.provider).await;
    let error = store
        .provider
        .store_turn(
            commit(&held.lock_token, vec![heard("a", 2), started("a", 1)])
                .with_activities(vec![activity("a", 2)]),
        )
        .await
        .unwrap_err();
    assert!(!error.is_retryable());
    assert!(error.message.contains("Failed to append history"), "{error}");
    assert_eq!(store.provider.read("a").await.unwrap().len(), 1);
    assert_eq!(store.count("SELECT count(*) FROM worker_queue"), 0);
    assert!(try_turn(&*store.provider).await.is_none());
    store.provider.store_turn(commit(&held.lock_token, vec![heard("a", 2)])).await.unwrap();
}

#[tokio::test]
async fn messages_that_arrive_under_the_lease_belong_to_the_next_turn() {
    let store = Store::new().await;
    create(&*store.provider, "a").await;
    store.provider.enqueue_for_orchestrator(signal("a", "1"), None).await.unwrap();
    let held = turn(&*store.provider).await;
    store.provider.enqueue_for_orchestrator(signal("a", "2"), None).await.unwrap();
    assert!(try_turn(&*store.provider).await.is_none());
    store.provider.store_turn(commit(&held.lock_token, vec![heard("a", 2)])).await.unwrap();
    assert_eq!(turn(&*store.provider).await.item.messages, vec![signal("a", "2")]);
}

#[tokio::test]
async fn a_timer_is_hidden_until_its_time() {
    let store = Store::new().await;
    store.provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    let first = turn(&*store.provider).await;
    let fire_at = BEGIN_MS + 1000;
    let with_timer = commit(&first.lock_token, vec![started("a", 1)])
        .with_outgoing_messages(vec![timer("a", 2, fire_at)]);
    store.provider.store_turn(with_timer).await.unwrap();
    assert!(try_turn(&*store.provider).await.is_none());
    store.clock.advance(Duration::from_millis(999));
    assert!(try_turn(&*store.provider).await.is_none());
    store.clock.advance(Duration::from_millis(1));
    assert_eq!(turn(&*store.provider).await.item.messages, vec![timer("a", 2, fire_at)]);
}

#[tokio::test]
async fn unreadable_rows_are_reported_and_do_not_block() {
    let store = Store::new().await;
    create(&*store.provider, "a").await;
    store.provider.enqueue_for_orchestrator(signal("a", "1"), None).await.unwrap();
    store.provider.enqueue_for_orchestrator(signal("a", "2"), None).await.unwrap();
    let damage = "UPDATE orchestrator_queue SET work_item = '{'
         WHERE id = (SELECT min(id) FROM orchestrator_queue)";
    assert_eq!(store.sql().execute(damage, []).unwrap(), 1);
    store.sql().execute("UPDATE history SET event_data = 'broken'", []).unwrap();
    let turn = turn(&*store.provider).await;
    assert_eq!(turn.item.messages, vec![signal("a", "2")]);
    assert!(turn.item.history.is_empty());
    assert!(turn.item.history_error.is_some());
    assert!(store.provider.read("a").await.is_err());
    assert!(store.provider.read_with_execution("a", 1).await.is_err());
    // The commit removes the unreadable message with the rest.
    store.provider.store_turn(commit(&turn.lock_token, vec![])).await.unwrap();
    assert_eq!(store.count("SELECT count(*) FROM orchestrator_queue"), 0);
}

#[tokio::test]
async fn an_activity_is_refused_by_the_orchestrator_queue() {
    let store = Store::new().await;
    let refused = store.provider.enqueue_for_orchestrator(activity("a", 1), None).await;
    let error = refused.unwrap_err();
    assert!(!error.is_retryable());
    assert!(error.message.contains("Invalid work item type"), "{error}");
}

#[tokio::test]
async fn the_outcome_is_read_without_the_whole_history() {
    let store = Store::new().await;
    let provider = &*store.provider;
    assert_eq!(provider.read_outcome("a").await.unwrap(), InstanceOutcome::NotFound);
    assert!(provider.read_start_event("a").await.unwrap().is_none());
    create(provider, "a").await;
    assert_eq!(provider.read_outcome("a").await.unwrap(), InstanceOutcome::Running);
    assert_eq!(provider.read_start_event("a").await.unwrap().unwrap().event_id, 1);
    provider.enqueue_for_orchestrator(signal("a", "1"), None).await.unwrap();
    let last = turn(provider).await;
    let done = event("a", 1, 2, EventKind::OrchestrationCompleted { output: "out".to_owned() });
    let breadcrumb = event(
        "a",
        1,
        3,
        EventKind::ActivityCancelRequested { reason: "orchestration_terminal".to_owned() },
    );
    let end =
        commit(&last.lock_token, vec![done.clone(), breadcrumb]).with_metadata(ended("Completed"));
    provider.store_turn(end).await.unwrap();
    let outcome = provider.read_outcome("a").await.unwrap();
    assert_eq!(outcome, InstanceOutcome::Ended(Box::new(done)));
}

#[tokio::test]
async fn continue_as_new_moves_to_the_next_execution() {
    let store = Store::new().await;
    let provider = &*store.provider;
    create(provider, "a").await;
    let next = WorkItem::ContinueAsNew {
        instance: "a".to_owned(),
        orchestration: "Test".to_owned(),
        input: "2".to_owned(),
        version: None,
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: Vec::new(),
        initial_custom_status: None,
    };
    provider.enqueue_for_orchestrator(next, None).await.unwrap();
    let held = turn(provider).await;
    let begin = commit(&held.lock_token, vec![started("a", 2)]).with_execution_id(2);
    provider.store_turn(begin).await.unwrap();
    assert_eq!(provider.latest_execution_id("a").await.unwrap(), 2);
    assert_eq!(provider.list_executions("a").await.unwrap(), [1, 2]);
    assert_eq!(provider.read("a").await.unwrap()[0].execution_id, 2);
    assert_eq!(provider.read_with_execution("a", 1).await.unwrap()[0].execution_id, 1);
}

#[tokio::test]
async fn times_are_real_and_listings_newest_first() {
    let store = Store::new().await;
    let provider = &*store.provider;
    create(provider, "a").await;
    create(provider, "b").await;
    store.clock.advance(Duration::from_secs(1));
    create(provider, "c").await;
    store.clock.advance(Duration::from_secs(1));
    step(provider, "a", vec![heard("a", 2)]).await;
    assert_eq!(provider.list_instances().await.unwrap(), ["c", "b", "a"]);
    assert_eq!(provider.list_instances_by_status("Running").await.unwrap(), ["c", "b", "a"]);
    let info = provider.get_instance_info("a").await.unwrap();
    assert_eq!((info.created_at, info.updated_at), (BEGIN_MS, BEGIN_MS + 2000));
    assert_eq!(provider.get_execution_info("c", 1).await.unwrap().started_at, BEGIN_MS + 1000);
    let error = provider.get_instance_info("x").await.unwrap_err();
    assert_eq!(error.message, "Instance x not found");
    let error = provider.get_execution_info("a", 7).await.unwrap_err();
    assert_eq!(error.message, "Execution 7 not found for instance a");
}

#[tokio::test]
async fn a_child_commits_after_its_parent_was_deleted() {
    let store = Store::new().await;
    let provider = &*store.provider;
    let mut metadata = named();
    metadata.parent_instance_id = Some("never-there".to_owned());
    create_with(provider, "child", metadata).await;
    assert_eq!(provider.get_parent_id("child").await.unwrap(), None);
}

#[tokio::test]
async fn custom_status_counts_once_per_commit() {
    let store = Store::new().await;
    let provider = &*store.provider;
    create(provider, "a").await;
    assert_eq!(provider.get_custom_status("a", 0).await.unwrap(), None);
    let set = |id, status: Option<&str>| {
        event("a", 1, id, EventKind::CustomStatusUpdated { status: status.map(str::to_owned) })
    };
    step(provider, "a", vec![set(2, Some("one")), set(3, Some("two"))]).await;
    let seen = provider.get_custom_status("a", 0).await.unwrap();
    assert_eq!(seen, Some((Some("two".to_owned()), 1)));
    assert_eq!(provider.get_custom_status("a", 1).await.unwrap(), None);
    step(provider, "a", vec![heard("a", 4)]).await;
    assert_eq!(provider.get_custom_status("a", 1).await.unwrap(), None);
    step(provider, "a", vec![set(5, None)]).await;
    assert_eq!(provider.get_custom_status("a", 1).await.unwrap(), Some((None, 2)));
}

#[tokio::test]
async fn queue_depths_count_every_waiting_row() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    let held = turn(provider).await;
    provider.abandon_orchestration_item(&held.lock_token, Some(LEASE), false).await.unwrap();
    provider.enqueue_for_worker(activity("a", 1)).await.unwrap();
    let depths = provider.get_queue_depths().await.unwrap();
    assert_eq!((depths.orchestrator_queue, depths.worker_queue, depths.timer_queue), (1, 1, 0));
}

#[tokio::test]
async fn a_turn_starts_any_number_of_children() {
    const CHILDREN: usize = 20_000;
    let store = Store::new().await;
    let provider = &*store.provider;
    create(provider, "parent").await;
    provider.enqueue_for_orchestrator(signal("parent", "go"), None).await.unwrap();
    let held = turn(provider).await;
    let children = (0..CHILDREN).map(|number| start(&format!("child-{number}"))).collect();
    let next = commit(&held.lock_token, vec![heard("parent", 2)]).with_outgoing_messages(children);
    provider.store_turn(next).await.unwrap();
    let queued = usize::try_from(store.count("SELECT count(*) FROM orchestrator_queue")).unwrap();
    assert_eq!(queued, CHILDREN);
}
