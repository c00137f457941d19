//! A store with transient and permanent errors.

use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::{ClientMessage, Provider, ProviderError, WorkItem};
use duroxide::runtime::{RuntimeOptions, UnregisteredWork};
use duroxide::{ActivityContext, ErrorDetails, OrchestrationContext};
use tokio::sync::Notify;

use crate::faulty::{Faulty, RELEASED};
use crate::support::{
    DEFAULT_MODE, Journal, Mode, Node, activities, eventually, in_every_mode, memory,
    memory_with_clock, orchestrations,
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

fn recorded_work(journal: &Journal) -> duroxide::runtime::registry::ActivityRegistryBuilder {
    let journal = journal.clone();
    activities().register("Work", move |_: ActivityContext, input: String| {
        journal.write(input.clone());
        async move { Ok(input) }
    })
}

async fn transient_errors_of_a_commit_have_no_effect(mode: Mode) {
    let (faulty, store) = faulty_memory().await;
    let journal = Journal::default();
    let registry = orchestrations().register("Work", works);
    faulty.fetched_turns_only();
    let node = Node::on(&store, mode.options(), registry, recorded_work(&journal)).await;
    faulty.hiccup("commit_turn", 3);
    faulty.hiccup("ack_work_item", 3);
    assert_eq!(node.run("order", "Work", "once").await, "once");
    assert_eq!(journal.unread(), ["once"], "the activity ran once");
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
    node.start_instance("alone", "Echo", "").await;
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

/// A long history is not part of the fetch; a turn that cannot read it now waits.
#[tokio::test]
async fn transient_errors_of_a_deferred_read_have_no_effect() {
    let (faulty, store) = faulty_memory().await;
    let registry =
        orchestrations().register("Long", |ctx: OrchestrationContext, _: String| async move {
            for number in 0..400 {
                ctx.set_kv_value("number", number.to_string());
            }
            Ok(ctx.schedule_wait("Go").await)
        });
    let mode = Mode { warm: false, concurrency: 1 };
    let node = Node::on(&store, mode.options(), registry, activities()).await;
    node.start_instance("long", "Long", "").await;
    node.wait_for_event("long", "ExternalSubscribed").await;
    faulty.hiccup("read_turn_state", 3);
    faulty.hiccup("send_message", 1);
    let go = || {
        let (instance, name, data) = ("long".to_owned(), "Go".to_owned(), "now".to_owned());
        ClientMessage::new(WorkItem::ExternalRaised { instance, name, data })
    };
    let refused = node.client.deliver(go()).await;
    assert!(refused.unwrap_err().is_retryable(), "the caller decides whether to send it again");
    node.client.deliver(go()).await.unwrap();
    assert_eq!(node.output("long").await, "now");
    assert_eq!(faulty.calls("read_turn_state"), 1 + 3);
    node.stop().await;
}

async fn a_failed_abandon_is_retried(mode: Mode) {
    let (store, clock) = memory_with_clock().await;
    let faulty = Faulty::new(store);
    let store: Arc<dyn Provider> = faulty.clone();
    let registry = || orchestrations().register("Work", works);
    let options = mode.options().with_unregistered_work(UnregisteredWork::Backoff);
    let node = Node::on(&store, options, registry(), activities()).await;
    faulty.hiccup("abandon_work_item", 2);
    faulty.hiccup("abandon_orchestration_item", 2);
    node.start_instance("order", "Work", "here").await;
    node.start_instance("unknown", "Missing", "").await;
    eventually(|| faulty.calls(RELEASED) == 2).await;
    assert_eq!(faulty.calls("abandon_work_item"), 3);
    assert_eq!(faulty.calls("abandon_orchestration_item"), 3);
    node.runtime.clone().shutdown(None).await;
    let node =
        Node::on(&store, mode.options(), registry(), recorded_work(&Journal::default())).await;
    clock.advance(Duration::from_secs(1));
    assert_eq!(node.output("order").await, "here");
    node.stop().await;
}

in_every_mode! {
    transient_errors_of_a_commit_have_no_effect,
    a_refused_commit_fails_the_instance,
    a_failed_abandon_is_retried,
}

#[tokio::test]
async fn a_child_whose_commit_is_refused_fails_its_parent() {
    let (faulty, store) = faulty_memory().await;
    let registry = orchestrations().register("Echo", echo).register("Call", calls_echo);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry, activities()).await;
    faulty.refuse_commit_of("parent::sub::2");
    node.start_instance("parent", "Call", "").await;
    let text = node.failure_text("parent").await;
    assert_eq!(text, "infrastructure:ack_orchestration_item: refused");
    assert_eq!(node.failure_text("parent::sub::2").await, text);
    node.stop().await;
}

#[tokio::test]
async fn a_turn_that_cannot_be_committed_is_redelivered() {
    let (store, clock) = memory_with_clock().await;
    let faulty = Faulty::new(store);
    let store: Arc<dyn Provider> = faulty.clone();
    let options = RuntimeOptions {
        max_attempts: 1,
        orchestrator_lock_timeout: Duration::from_millis(100),
        ..DEFAULT_MODE.options()
    };
    let registry = orchestrations().register("Echo", echo);
    let node = Node::on(&store, options, registry, activities()).await;
    faulty.hiccup("commit_turn", 20);
    node.start_instance("again", "Echo", "in the end").await;
    // Abandoned after six tries, hidden for a moment, and never poison.
    for round in 1..=3 {
        eventually(|| faulty.calls(RELEASED) == round).await;
        assert_eq!(faulty.calls("commit_turn"), 6 * round);
        clock.advance(Duration::from_secs(1));
    }
    assert_eq!(node.output("again").await, "in the end");
    assert_eq!(faulty.calls("commit_turn"), 21);
    assert_eq!(node.stop_and_count().await.orch_completions, 1);
}

#[tokio::test]
async fn a_refused_result_runs_the_activity_again() {
    let (store, clock) = memory_with_clock().await;
    let faulty = Faulty::new(store);
    let store: Arc<dyn Provider> = faulty.clone();
    let journal = Journal::default();
    let registry = orchestrations().register("Work", works);
    faulty.fetched_turns_only();
    let node = Node::on(&store, DEFAULT_MODE.options(), registry, recorded_work(&journal)).await;
    faulty.fail("ack_work_item", 1, ProviderError::permanent("ack_work_item", "refused"));
    node.start_instance("order", "Work", "again").await;
    eventually(|| faulty.calls(RELEASED) == 1).await;
    clock.advance(Duration::from_millis(100));
    assert_eq!(node.output("order").await, "again");
    assert_eq!(journal.unread(), ["again", "again"]);
    let counts = node.stop_and_count().await;
    assert_eq!((counts.activity_success, counts.activity_infra_errors), (1, 1));
}

/// A node with short leases, whose activity waits until the test releases it.
async fn holding(faulty: &Arc<Faulty>, go: &Arc<Notify>, journal: &Journal) -> Node {
    let store: Arc<dyn Provider> = faulty.clone();
    let options = RuntimeOptions {
        worker_lock_timeout: Duration::from_millis(600),
        worker_lock_renewal_buffer: Duration::ZERO,
        ..DEFAULT_MODE.options()
    };
    let (go, journal) = (go.clone(), journal.clone());
    let activities = activities().register("Work", move |ctx: ActivityContext, _: String| {
        let (go, journal) = (go.clone(), journal.clone());
        async move {
            journal.write("started");
            tokio::select! {
                () = go.notified() => Ok("done".to_owned()),
                () = ctx.cancelled() => {
                    journal.write("cancelled");
                    Ok("cancelled".to_owned())
                }
            }
        }
    });
    Node::on(&store, options, orchestrations().register("Work", works), activities).await
}

#[tokio::test]
async fn transient_errors_of_a_renewal_do_not_cancel_the_activity() {
    let faulty = Faulty::new(memory_with_clock().await.0);
    let (go, journal) = (Arc::new(Notify::new()), Journal::default());
    faulty.hiccup("renew_work_item_lock", 2);
    let node = holding(&faulty, &go, &journal).await;
    node.start_instance("order", "Work", "").await;
    assert_eq!(journal.next().await, "started");
    eventually(|| faulty.calls("renew_work_item_lock") >= 3).await;
    go.notify_one();
    assert_eq!(node.output("order").await, "done");
    assert!(journal.unread().is_empty(), "it was never cancelled");
    node.stop().await;
}

#[tokio::test]
async fn a_lost_lease_cancels_the_activity() {
    let faulty = Faulty::new(memory_with_clock().await.0);
    let (go, journal) = (Arc::new(Notify::new()), Journal::default());
    let lost = ProviderError::permanent("renew_work_item_lock", "lost");
    faulty.fail("renew_work_item_lock", 1, lost);
    let node = holding(&faulty, &go, &journal).await;
    node.start_instance("order", "Work", "").await;
    assert_eq!(journal.next().await, "started");
    assert_eq!(journal.next().await, "cancelled");
    let counts = node.stop_and_count().await;
    assert_eq!((counts.activity_success, counts.activity_infra_errors), (0, 0));
}

#[tokio::test]
async fn a_failed_fetch_is_retried() {
    let (faulty, store) = faulty_memory().await;
    faulty.hiccup("fetch_orchestration_items", 1);
    faulty.fail("fetch_work_items", 1, ProviderError::permanent("fetch_work_item", "no"));
    let registry = orchestrations().register("Work", works);
    let node =
        Node::on(&store, DEFAULT_MODE.options(), registry, recorded_work(&Journal::default()))
            .await;
    assert_eq!(node.run("order", "Work", "in the end").await, "in the end");
    node.stop().await;
}
