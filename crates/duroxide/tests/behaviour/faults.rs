//! A store that fails from time to time (2.11, 4.8, decisions 8 and 9).

use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::{Provider, ProviderError};
use duroxide::runtime::RuntimeOptions;
use duroxide::{ActivityContext, ErrorDetails, OrchestrationContext};
use tokio::sync::Notify;

use crate::faulty::{Faulty, GIVEN_BACK};
use crate::support::{
    Diary, Mode, Node, USUAL, activities, in_every_mode, memory, memory_with_clock, orchestrations,
    until,
};

async fn works(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    ctx.schedule_activity("Work", input).await
}

async fn echo(_: OrchestrationContext, input: String) -> Result<String, String> {
    Ok(input)
}

async fn calls_echo(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    ctx.schedule_sub_orchestration("Echo", input).await
}

async fn faulty_memory() -> (Arc<Faulty>, Arc<dyn Provider>) {
    let faulty = Faulty::new(memory().await);
    (faulty.clone(), faulty)
}

fn noted_work(diary: &Diary) -> duroxide::runtime::registry::ActivityRegistryBuilder {
    let diary = diary.clone();
    activities().register("Work", move |_: ActivityContext, input: String| {
        diary.write(input.clone());
        async move { Ok(input) }
    })
}

async fn passing_trouble_of_a_commit_is_not_seen_by_anybody(mode: Mode) {
    let (faulty, store) = faulty_memory().await;
    let diary = Diary::default();
    let registry = orchestrations().register("Work", works);
    faulty.fetched_turns_only();
    let node = Node::on(&store, mode.options(), registry, noted_work(&diary)).await;
    faulty.hiccup("commit_turn", 3);
    faulty.hiccup("ack_work_item", 3);
    assert_eq!(node.run("order", "Work", "once").await, "once");
    assert_eq!(diary.unread(), ["once"], "the activity ran once");
    assert_eq!(faulty.calls("commit_turn"), 2 + 3);
    assert_eq!(faulty.calls("ack_work_item"), 1 + 3);
    let counts = node.stop_and_count().await;
    assert_eq!((counts.orch_starts, counts.orch_completions, counts.orch_failures), (1, 1, 0));
    assert_eq!((counts.activity_success, counts.activity_infra_errors), (1, 0));
}

async fn a_refused_commit_fails_the_instance(mode: Mode) {
    let (faulty, store) = faulty_memory().await;
    let registry = orchestrations().register("Echo", echo);
    let node = Node::on(&store, mode.options(), registry, activities()).await;
    faulty.fail("commit_turn", 1, ProviderError::permanent("ack_orchestration_item", "refused"));
    node.begin("alone", "Echo", "").await;
    match node.failure("alone").await {
        ErrorDetails::Infrastructure { operation, message, retryable: false } => {
            assert_eq!(
                (operation.as_str(), message.as_str()),
                ("ack_orchestration_item", "refused")
            );
        }
        other => panic!("{other:?}"),
    }
    let counts = node.stop_and_count().await;
    assert_eq!((counts.orch_starts, counts.orch_completions, counts.orch_failures), (1, 1, 1));
    assert_eq!(counts.orch_infrastructure_errors, 1);
}

async fn a_failed_abandon_is_repeated(mode: Mode) {
    let (store, clock) = memory_with_clock().await;
    let faulty = Faulty::new(store);
    let store: Arc<dyn Provider> = faulty.clone();
    let registry = || orchestrations().register("Work", works);
    let node = Node::on(&store, mode.options(), registry(), activities()).await;
    faulty.hiccup("abandon_work_item", 2);
    faulty.hiccup("abandon_orchestration_item", 2);
    node.begin("order", "Work", "here").await;
    node.begin("unknown", "Missing", "").await;
    until(|| faulty.calls(GIVEN_BACK) == 2).await;
    assert_eq!(faulty.calls("abandon_work_item"), 3);
    assert_eq!(faulty.calls("abandon_orchestration_item"), 3);
    node.runtime.clone().shutdown(None).await;
    let node = Node::on(&store, mode.options(), registry(), noted_work(&Diary::default())).await;
    clock.advance(Duration::from_secs(1));
    assert_eq!(node.output("order").await, "here");
    node.stop().await;
}

in_every_mode! {
    passing_trouble_of_a_commit_is_not_seen_by_anybody,
    a_refused_commit_fails_the_instance,
    a_failed_abandon_is_repeated,
}

#[tokio::test]
async fn a_child_whose_commit_is_refused_fails_its_parent() {
    let (faulty, store) = faulty_memory().await;
    let registry = orchestrations().register("Echo", echo).register("Call", calls_echo);
    let node = Node::on(&store, USUAL.options(), registry, activities()).await;
    faulty.refuse_commit_of("parent::sub::2");
    node.begin("parent", "Call", "").await;
    let text = node.failure_text("parent").await;
    assert_eq!(text, "infrastructure:ack_orchestration_item: refused");
    assert_eq!(node.failure_text("parent::sub::2").await, text);
    node.stop().await;
}

#[tokio::test]
async fn a_turn_that_cannot_be_committed_is_taken_again() {
    let (store, _clock) = memory_with_clock().await;
    let faulty = Faulty::new(store);
    let store: Arc<dyn Provider> = faulty.clone();
    let options =
        RuntimeOptions { orchestrator_lock_timeout: Duration::from_millis(100), ..USUAL.options() };
    let registry = orchestrations().register("Echo", echo);
    let node = Node::on(&store, options, registry, activities()).await;
    faulty.hiccup("commit_turn", 8);
    assert_eq!(node.run("again", "Echo", "in the end").await, "in the end");
    assert_eq!(faulty.calls("commit_turn"), 9);
    assert!(faulty.calls(GIVEN_BACK) >= 1, "given back after the first six");
    assert_eq!(node.stop_and_count().await.orch_completions, 1);
}

#[tokio::test]
async fn a_refused_result_runs_the_activity_again() {
    let (store, clock) = memory_with_clock().await;
    let faulty = Faulty::new(store);
    let store: Arc<dyn Provider> = faulty.clone();
    let diary = Diary::default();
    let registry = orchestrations().register("Work", works);
    faulty.fetched_turns_only();
    let node = Node::on(&store, USUAL.options(), registry, noted_work(&diary)).await;
    faulty.fail("ack_work_item", 1, ProviderError::permanent("ack_work_item", "refused"));
    node.begin("order", "Work", "again").await;
    until(|| faulty.calls(GIVEN_BACK) == 1).await;
    clock.advance(Duration::from_millis(100));
    assert_eq!(node.output("order").await, "again");
    assert_eq!(diary.unread(), ["again", "again"]);
    let counts = node.stop_and_count().await;
    assert_eq!((counts.activity_success, counts.activity_infra_errors), (1, 1));
}

/// A node whose activity waits until the test lets it go; its lease is short.
async fn holding(faulty: &Arc<Faulty>, go: &Arc<Notify>, diary: &Diary) -> Node {
    let store: Arc<dyn Provider> = faulty.clone();
    let options = RuntimeOptions {
        worker_lock_timeout: Duration::from_millis(600),
        worker_lock_renewal_buffer: Duration::ZERO,
        ..USUAL.options()
    };
    let (go, diary) = (go.clone(), diary.clone());
    let activities = activities().register("Work", move |ctx: ActivityContext, _: String| {
        let (go, diary) = (go.clone(), diary.clone());
        async move {
            diary.write("began");
            tokio::select! {
                () = go.notified() => Ok("done".to_owned()),
                () = ctx.cancelled() => {
                    diary.write("cancelled");
                    Ok("cancelled".to_owned())
                }
            }
        }
    });
    Node::on(&store, options, orchestrations().register("Work", works), activities).await
}

#[tokio::test]
async fn passing_trouble_of_a_renewal_is_no_cancellation() {
    let faulty = Faulty::new(memory_with_clock().await.0);
    let (go, diary) = (Arc::new(Notify::new()), Diary::default());
    faulty.hiccup("renew_work_item_lock", 2);
    let node = holding(&faulty, &go, &diary).await;
    node.begin("order", "Work", "").await;
    assert_eq!(diary.next().await, "began");
    until(|| faulty.calls("renew_work_item_lock") >= 3).await;
    go.notify_one();
    assert_eq!(node.output("order").await, "done");
    assert!(diary.unread().is_empty(), "it was never cancelled");
    node.stop().await;
}

#[tokio::test]
async fn a_lost_lease_cancels_the_activity() {
    let faulty = Faulty::new(memory_with_clock().await.0);
    let (go, diary) = (Arc::new(Notify::new()), Diary::default());
    let lost = ProviderError::permanent("renew_work_item_lock", "lost");
    faulty.fail("renew_work_item_lock", 1, lost);
    let node = holding(&faulty, &go, &diary).await;
    node.begin("order", "Work", "").await;
    assert_eq!(diary.next().await, "began");
    assert_eq!(diary.next().await, "cancelled");
    let counts = node.stop_and_count().await;
    assert_eq!((counts.activity_success, counts.activity_infra_errors), (0, 0));
}

#[tokio::test]
async fn a_failed_fetch_is_repeated() {
    let (faulty, store) = faulty_memory().await;
    faulty.hiccup("fetch_orchestration_items", 1);
    faulty.fail("fetch_work_items", 1, ProviderError::permanent("fetch_work_item", "no"));
    let registry = orchestrations().register("Work", works);
    let node = Node::on(&store, USUAL.options(), registry, noted_work(&Diary::default())).await;
    assert_eq!(node.run("order", "Work", "in the end").await, "in the end");
    node.stop().await;
}
