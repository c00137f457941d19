//! Custom status and keys that an operator changes.

use duroxide::client::Client;
use duroxide::runtime::registry::OrchestrationRegistryBuilder;
use duroxide::{ClientError, EventKind, InstanceEdit, OrchestrationContext};

use crate::support::{
    Node, Store, TIMEOUT, Workshop, count, is_conflict, options, orchestrations, refusal, within,
};

/// Reads the price whenever it is asked to, and continues as new in between.
async fn pricing(ctx: OrchestrationContext, seen: String) -> Result<String, String> {
    if ctx.execution_id() == 1 {
        ctx.set_kv_value("price", "10");
        ctx.set_kv_value("draft", "yes");
        ctx.set_custom_status("priced");
    }
    ctx.schedule_wait("ask").await;
    let draft = ctx.get_kv_value("draft").unwrap_or_else(|| "no".to_owned());
    let price = ctx.get_kv_value("price").unwrap_or_default();
    let status = ctx.get_custom_status().unwrap_or_default();
    let seen = format!("{seen}[{price} {draft} {status}]");
    ctx.set_kv_value("asked", ctx.execution_id().to_string());
    ctx.schedule_activity("work", seen.clone()).await?;
    if ctx.execution_id() == 2 {
        return Ok(seen);
    }
    ctx.continue_as_new(seen).await
}

fn code() -> OrchestrationRegistryBuilder {
    orchestrations().register("Pricing", pricing)
}

fn edit() -> InstanceEdit {
    InstanceEdit::default().by("mara", "wrong price list")
}

on_every_store!(
    the_code_sees_an_edit_in_every_replay,
    a_suspended_instance_applies_it_when_resumed,
    a_retry_applies_a_later_edit_again,
    edits_that_cannot_be_applied_are_refused,
    an_edit_that_breaks_a_limit_meanwhile_is_dropped,
);

async fn waiting(store: &Store, shop: &Workshop) -> Node {
    let node = Node::start(store, shop, code()).await;
    node.start_instance("i", "Pricing", "").await;
    node.until_event("i", "ExternalSubscribed").await;
    node
}

/// Waits until the edit is recorded.
async fn edited(node: &Node) {
    let is_recorded =
        |history: &[duroxide::Event]| history.iter().any(|event| InstanceEdit::of(event).is_some());
    node.until("i", is_recorded).await;
}

async fn the_code_sees_an_edit_in_every_replay(store: Store) {
    let shop = Workshop::default();
    let node = waiting(&store, &shop).await;
    let edit = edit().with_key("price", "12").with_key_removed("draft").with_custom_status("fixed");
    let planned = node.client.plan_edit("i", &edit).await.unwrap();
    let expected = "i:\n  custom status: \"priced\" → \"fixed\"\n  key draft: \"yes\" → none\n  \
                    key price: \"10\" → \"12\"\n";
    assert_eq!(planned.to_string(), expected);
    assert_eq!(node.client.get_kv_value("i", "price").await.unwrap().as_deref(), Some("10"));
    assert_eq!(node.client.edit_instance("i", &edit).await.unwrap(), planned);
    edited(&node).await;
    assert_eq!(node.client.get_kv_value("i", "price").await.unwrap().as_deref(), Some("12"));
    let history = node.history("i").await;
    let recorded = history.iter().find_map(InstanceEdit::of).unwrap();
    assert_eq!((recorded.by.as_str(), recorded.reason.as_str()), ("mara", "wrong price list"));
    assert_eq!(recorded, edit);
    // Another node replays it.
    node.stop().await;
    let node = Node::start(&store, &shop, code()).await;
    node.client.raise_event("i", "ask", "").await.unwrap();
    node.until("i", |history| {
        matches!(&history[0].kind, EventKind::OrchestrationStarted { input, .. }
            if input == "[12 no fixed]")
            && count(history, "ExternalSubscribed") == 1
    })
    .await;
    node.client.raise_event("i", "ask", "").await.unwrap();
    assert_eq!(node.output("i").await, "[12 no fixed][12 no fixed]");
    let checker = duroxide::check::Checker::new(code().build()).with_finished(true);
    checker.check_store(store.as_ref()).await.unwrap().assert_compatible();
    node.stop().await;
}

async fn a_suspended_instance_applies_it_when_resumed(store: Store) {
    let shop = Workshop::default();
    let node = waiting(&store, &shop).await;
    node.client.suspend_instance("i", "look").await.unwrap();
    let plan = node.client.edit_instance("i", &edit().with_key("price", "11")).await.unwrap();
    assert!(plan.is_suspended && plan.to_string().contains("until it is resumed"));
    assert_eq!(node.client.get_kv_value("i", "price").await.unwrap().as_deref(), Some("10"));
    assert!(node.client.resume_instance("i").await.unwrap());
    edited(&node).await;
    assert_eq!(node.client.get_kv_value("i", "price").await.unwrap().as_deref(), Some("11"));
    node.stop().await;
}

async fn a_retry_applies_a_later_edit_again(store: Store) {
    let shop = Workshop::default();
    let held =
        orchestrations().register("Held", |ctx: OrchestrationContext, _: String| async move {
            let held = ctx.schedule_activity("hold", "x");
            held.await?;
            Ok(ctx.get_kv_value("k").unwrap_or_default())
        });
    shop.break_input("x", "broken");
    let node = Node::start(&store, &shop, held).await;
    node.start_instance("i", "Held", "").await;
    node.until_event("i", "ActivityScheduled").await;
    node.client.edit_instance("i", &edit().with_key("k", "v")).await.unwrap();
    edited(&node).await;
    shop.release();
    assert_eq!(node.failure("i").await, "broken");
    shop.repair();
    // The edit stands before the failure, and is kept.
    node.retry("i").await;
    assert_eq!(node.output("i").await, "v");
    // Of an earlier point it is repeated.
    let first = duroxide::client::MendPoint::First;
    let plan = node.client.reset_instance("i", first, &options()).await.unwrap();
    let names: Vec<_> = plan.reapplied.iter().filter_map(|event| event.name.as_deref()).collect();
    assert_eq!(names, ["__duroxide_syscall:edited"]);
    assert_eq!(node.output("i").await, "v");
    node.stop().await;
}

async fn edits_that_cannot_be_applied_are_refused(store: Store) {
    let client = Client::new(store.clone());
    let edit = edit().with_key("k", "v");
    let unknown = client.edit_instance("i", &edit).await;
    assert!(matches!(unknown, Err(ClientError::InstanceNotFound { .. })), "{unknown:?}");
    let reserved = refusal(client.enqueue_event("i", "__duroxide_edit", "{}").await);
    assert!(reserved.contains("reserved"), "{reserved}");
    let shop = Workshop::default();
    let node = waiting(&store, &shop).await;
    let long = InstanceEdit::default().with_key("k", "v".repeat(70_000));
    assert!(refusal(client.plan_edit("i", &long).await).contains("exceeds limit"));
    assert!(refusal(client.edit_instance("i", &InstanceEdit::default()).await).contains("nothing"));
    client.terminate_instance("i", "over").await.unwrap();
    let ended = client.edit_instance("i", &edit).await;
    assert!(is_conflict(&ended), "{ended:?}");
    assert!(!node.history("i").await.iter().any(|event| InstanceEdit::of(event).is_some()));
    node.stop().await;
}

/// Each edit fits when it is sent, and all of them together do not.
async fn an_edit_that_breaks_a_limit_meanwhile_is_dropped(store: Store) {
    let shop = Workshop::default();
    let node = waiting(&store, &shop).await;
    node.client.suspend_instance("i", "collect").await.unwrap();
    for part in ["a", "b"] {
        let keys = (0..100).map(|key| format!("{part}{key}"));
        let edit = keys.fold(edit(), |edit, key| edit.with_key(key, "1"));
        node.client.edit_instance("i", &edit).await.unwrap();
    }
    node.client.resume_instance("i").await.unwrap();
    node.client.raise_event("i", "ask", "").await.unwrap();
    let asked = node.client.wait_for_kv_value("i", "asked", TIMEOUT);
    assert_eq!(within(asked).await.unwrap(), "1");
    let keys = node.client.get_kv_all_values("i").await.unwrap();
    assert_eq!(keys.len(), 103, "the second edit would have broken the instance");
    assert!(keys.contains_key("a99") && !keys.contains_key("b0"));
    node.stop().await;
}
