//! Sub-orchestrations and detached starts.

use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::{Provider, WorkItem};
use duroxide::runtime::RuntimeOptions;
use duroxide::{ErrorDetails, EventKind, OrchestrationContext};

use crate::faulty::{Faulty, RELEASED};
use crate::support::{
    DEFAULT_MODE, Database, Mode, Node, activities, count, eventually, in_every_mode, kinds,
    memory, orchestrations, short_backoff,
};

async fn echo(_: OrchestrationContext, input: String) -> Result<String, String> {
    match input.strip_prefix("fail ") {
        Some(reason) => Err(reason.to_owned()),
        None => Ok(input),
    }
}

async fn waits(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    Ok(ctx.schedule_wait("Go").await)
}

async fn parent(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    match ctx.schedule_sub_orchestration("Echo", input).await {
        Ok(output) => Ok(format!("ok {output}")),
        Err(error) => Ok(format!("err {error}")),
    }
}

async fn grandparent(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    ctx.schedule_sub_orchestration("Parent", input).await
}

/// Starts a child with a given id and returns its result.
async fn calls_by_id(ctx: OrchestrationContext, id: String) -> Result<String, String> {
    match ctx.schedule_sub_orchestration_with_id("Wait", id, "").await {
        Ok(output) => Ok(format!("ok {output}")),
        Err(error) => Ok(format!("err {error}")),
    }
}

async fn a_parent_gets_the_result_of_its_child(mode: Mode) {
    let registry = orchestrations()
        .register("Echo", echo)
        .register("Parent", parent)
        .register("Grandparent", grandparent);
    let node = Node::start(mode, registry, activities()).await;
    assert_eq!(node.run("good", "Parent", "hello").await, "ok hello");
    assert_eq!(node.run("bad", "Parent", "fail sorry").await, "err sorry");
    assert_eq!(node.run("root", "Grandparent", "deep").await, "ok deep");
    let tree = node.client.get_instance_tree("root").await.unwrap();
    assert_eq!(tree.all_ids, ["root", "root::sub::2", "root::sub::2::sub::2"]);
    match &node.history("root::sub::2::sub::2").await[0].kind {
        EventKind::OrchestrationStarted {
            parent_instance, parent_id, parent_execution_id, ..
        } => {
            assert_eq!(parent_instance.as_deref(), Some("root::sub::2"));
            assert_eq!((*parent_id, *parent_execution_id), (Some(2), Some(1)));
        }
        other => panic!("{other:?}"),
    }
    let known = node.runtime.get_orchestration_descriptor("root::sub::2").await.unwrap();
    assert_eq!((known.name.as_str(), known.version.as_str()), ("Parent", "1.0.0"));
    assert_eq!((known.parent_instance.as_deref(), known.parent_id), (Some("root"), Some(2)));
    node.stop().await;
}

async fn an_explicit_id_that_exists_is_refused(mode: Mode) {
    let registry = orchestrations().register("Wait", waits).register("Call", calls_by_id);
    let node = Node::start(mode, registry, activities()).await;
    node.start_instance("first", "Call", "child").await;
    node.wait_for_event("child", "ExternalSubscribed").await;
    assert_eq!(
        node.run("second", "Call", "child").await,
        "err sub-orchestration instance id 'child' already exists"
    );
    node.client.raise_event("child", "Go", "done").await.unwrap();
    assert_eq!(node.output("first").await, "ok done");
    assert_eq!(
        node.run("third", "Call", "child").await,
        "err sub-orchestration instance id 'child' already exists and is terminal"
    );
    let refused = node.run("fourth", "Call", "sub::2").await;
    assert!(
        refused.starts_with(
            "err sub-orchestration instance id 'sub::2' starts with the reserved marker 'sub::'"
        ),
        "{refused}"
    );
    let history = node.history("fourth").await;
    assert_eq!(kinds(&history), ["OrchestrationStarted", "OrchestrationCompleted"]);
    node.stop().await;
}

async fn a_child_of_a_later_execution_has_an_id_of_its_own(mode: Mode) {
    async fn again(ctx: OrchestrationContext, so_far: String) -> Result<String, String> {
        let output = ctx.schedule_sub_orchestration("Echo", so_far + "x").await?;
        match ctx.execution_id() {
            3 => Ok(output),
            _earlier => ctx.continue_as_new(output).await,
        }
    }
    let registry = orchestrations().register("Again", again).register("Echo", echo);
    let node = Node::start(mode, registry, activities()).await;
    assert_eq!(node.run("again", "Again", "").await, "xxx");
    let mut ids = node.client.get_instance_tree("again").await.unwrap().all_ids;
    ids.sort();
    assert_eq!(ids, ["again", "again::sub::2", "again::sub::2_2", "again::sub::3_2"]);
    node.stop().await;
}

async fn a_child_that_continues_as_new_still_notifies_its_parent(mode: Mode) {
    async fn counts(ctx: OrchestrationContext, number: String) -> Result<String, String> {
        match number.parse::<u32>().unwrap() {
            0 => Ok(format!("after {} executions", ctx.execution_id())),
            left => ctx.continue_as_new((left - 1).to_string()).await,
        }
    }
    let registry = orchestrations().register("Echo", counts).register("Parent", parent);
    let node = Node::start(mode, registry, activities()).await;
    assert_eq!(node.run("parent", "Parent", "4").await, "ok after 5 executions");
    node.stop().await;
}

async fn a_poisoned_child_fails_its_parent(mode: Mode) {
    let options =
        RuntimeOptions { max_attempts: 1, unregistered_backoff: short_backoff(), ..mode.options() };
    let registry = orchestrations().register("Parent", parent);
    let node = Node::on(&memory().await, options, registry, activities()).await;
    node.start_instance("parent", "Parent", "x").await;
    let text = node.failure_text("parent").await;
    let expected = "poison: orchestration parent::sub::2 exceeded 2 attempts (max 1): ";
    assert!(text.starts_with(expected), "{text}");
    assert!(matches!(node.failure("parent::sub::2").await, ErrorDetails::Poison { .. }));
    node.stop().await;
}

in_every_mode! {
    a_parent_gets_the_result_of_its_child,
    an_explicit_id_that_exists_is_refused,
    a_child_of_a_later_execution_has_an_id_of_its_own,
    a_child_that_continues_as_new_still_notifies_its_parent,
    a_poisoned_child_fails_its_parent,
}

#[tokio::test]
async fn a_redelivered_start_of_the_same_call_is_ignored() {
    let registry = orchestrations().register("Wait", waits).register("Call", calls_by_id);
    let node = Node::start(DEFAULT_MODE, registry, activities()).await;
    node.start_instance("parent", "Call", "child").await;
    node.wait_for_event("child", "ExternalSubscribed").await;
    let again = WorkItem::StartOrchestration {
        instance: "child".to_owned(),
        orchestration: "Wait".to_owned(),
        input: String::new(),
        version: None,
        parent_instance: Some("parent".to_owned()),
        parent_id: Some(2),
        parent_execution_id: Some(1),
        execution_id: 1,
    };
    node.store.enqueue_for_orchestrator(again, None).await.unwrap();
    node.client.raise_event("child", "Go", "once").await.unwrap();
    assert_eq!(node.output("parent").await, "ok once");
    node.stop().await;
}

#[tokio::test]
async fn a_child_with_an_undecodable_history_fails_its_parent() {
    let file = Database::new();
    let (store, clock) = file.open().await;
    let faulty = Faulty::new(store);
    let store: Arc<dyn Provider> = faulty.clone();
    let options = RuntimeOptions { max_attempts: 1, ..DEFAULT_MODE.options() };
    let registry = || orchestrations().register("Wait", waits).register("Call", calls_by_id);
    let node = Node::on(&store, options.clone(), registry(), activities()).await;
    node.start_instance("parent", "Call", "child").await;
    node.wait_for_event("child", "ExternalSubscribed").await;
    node.runtime.clone().shutdown(None).await;
    file.execute("UPDATE history SET event_data = '{' WHERE instance_id = 'child'");
    node.client.raise_event("child", "Go", "").await.unwrap();
    let node = Node::on(&store, options, registry(), activities()).await;
    eventually(|| faulty.calls(RELEASED) == 1).await;
    clock.advance(Duration::from_secs(1));
    let text = node.failure_text("parent").await;
    assert!(
        text.starts_with("poison: orchestration child history deserialization failed after 2"),
        "{text}"
    );
    node.stop().await;
}

/// The id of the failure event was taken, the refusal was dropped, and both waited for ever.
#[tokio::test]
async fn an_unreadable_long_history_fails_and_notifies_the_parent() {
    let file = Database::new();
    let (store, clock) = file.open().await;
    let faulty = Faulty::new(store);
    let store: Arc<dyn Provider> = faulty.clone();
    let registry = || orchestrations().register("Wait", waits).register("Call", calls_by_id);
    let options = RuntimeOptions { max_attempts: 1, ..DEFAULT_MODE.options() };
    let node = Node::on(&store, options.clone(), registry(), activities()).await;
    node.start_instance("parent", "Call", "child").await;
    node.wait_for_event("child", "ExternalSubscribed").await;
    node.runtime.clone().shutdown(None).await;
    file.execute(
        "INSERT INTO history (instance_id, execution_id, event_id, event_type, event_data,
             created_at) VALUES ('child', 1, 99999, 'ExternalEvent', '{', 0)",
    );
    node.client.raise_event("child", "Go", "").await.unwrap();
    let node = Node::on(&store, options, registry(), activities()).await;
    eventually(|| faulty.calls(RELEASED) == 1).await;
    clock.advance(Duration::from_secs(1));
    let text = node.failure_text("parent").await;
    assert!(text.contains("history deserialization failed"), "{text}");
    let info = node.client.get_instance_info("child").await.unwrap();
    assert_eq!(info.status, "Failed");
    node.stop().await;
}

/// A parent that gave up its start of an existing id cancelled the instance that has it.
#[tokio::test]
async fn giving_up_a_child_does_not_cancel_an_unrelated_instance_of_its_id() {
    async fn gives_up(ctx: OrchestrationContext, id: String) -> Result<String, String> {
        drop(ctx.schedule_sub_orchestration_with_id("Wait", id, ""));
        Ok("gave up".to_owned())
    }
    async fn gives_up_later(ctx: OrchestrationContext, id: String) -> Result<String, String> {
        let child = ctx.schedule_sub_orchestration_with_id("Wait", id, "");
        ctx.select2(child, ctx.schedule_timer(Duration::ZERO)).await;
        ctx.schedule_wait("End").await;
        Ok("gave up".to_owned())
    }
    let registry = orchestrations()
        .register("GiveUp", gives_up)
        .register("GiveUpLater", gives_up_later)
        .register("Wait", waits);
    let node = Node::start(DEFAULT_MODE, registry, activities()).await;
    node.start_instance("shared", "Wait", "").await;
    node.wait_for_event("shared", "ExternalSubscribed").await;
    assert_eq!(node.run("now", "GiveUp", "shared").await, "gave up");
    node.start_instance("later", "GiveUpLater", "shared").await;
    node.wait_for_event("later", "ExternalSubscribed").await;
    node.client.raise_event("later", "End", "").await.unwrap();
    assert_eq!(node.output("later").await, "gave up");
    node.wait_until_drained().await;
    node.client.raise_event("shared", "Go", "alive").await.unwrap();
    assert_eq!(node.output("shared").await, "alive");
    node.stop().await;
}

#[tokio::test]
async fn a_reserved_root_id_is_refused() {
    async fn detaches(ctx: OrchestrationContext, id: String) -> Result<String, String> {
        ctx.schedule_orchestration("Echo", id, "");
        Ok("started".to_owned())
    }
    let registry = orchestrations().register("Detach", detaches).register("Echo", echo);
    let node = Node::start(DEFAULT_MODE, registry, activities()).await;
    assert_eq!(node.run("fine", "Detach", "a::b").await, "started");
    assert_eq!(node.output("a::b").await, "");
    node.start_instance("refused", "Detach", "a::sub::2").await;
    let text = node.failure_text("refused").await;
    assert!(text.contains("uses the reserved sub-orchestration marker"), "{text}");
    let refused = node.client.start_orchestration("sub::1", "Echo", "").await.unwrap_err();
    assert!(refused.to_string().starts_with("Invalid input: "), "{refused}");
    assert_eq!(count(&node.history("refused").await, "OrchestrationChained"), 0);
    node.stop().await;
}

#[tokio::test]
async fn typed_children_encode_input_and_decode_output() {
    async fn double(_: OrchestrationContext, number: u64) -> Result<u64, String> {
        Ok(number * 2)
    }
    async fn typed(ctx: OrchestrationContext, number: u64) -> Result<u64, String> {
        let first: u64 = ctx.schedule_sub_orchestration_typed("Double", &number).await?;
        ctx.schedule_sub_orchestration_with_id_typed("Double", "second", &first).await
    }
    let registry = orchestrations().register_typed("Double", double).register_typed("Typed", typed);
    let node = Node::start(DEFAULT_MODE, registry, activities()).await;
    assert_eq!(node.run("typed", "Typed", "10").await, "40");
    node.stop().await;
}
