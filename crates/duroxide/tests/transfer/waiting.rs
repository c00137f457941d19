//! Instances of every kind of waiting, from SQLite to PostgreSQL and back.

use std::sync::Arc;
use std::time::Duration;

use duroxide::client::StartRequest;
use duroxide::providers::WorkItem;
use duroxide::runtime::OrchestrationRegistry;
use duroxide::{Client, Either2, OrchestrationContext};

use crate::support::{
    Store, assert_same, client, export_all, import, node, output, postgres, sqlite, until,
};

fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("Timer", |ctx: OrchestrationContext, _: String| async move {
            let timer = ctx.schedule_timer(Duration::from_secs(3600));
            match ctx.select2(timer, ctx.schedule_wait("go")).await {
                Either2::First(()) => Ok("late".to_owned()),
                Either2::Second(data) => Ok(data),
            }
        })
        .register("Remote", |ctx: OrchestrationContext, input: String| async move {
            let plain = ctx.schedule_activity("Echo", input.clone()).with_tag("remote");
            let session = ctx.schedule_activity_on_session("Echo", input, "s").with_tag("remote");
            let (plain, session) = ctx.join2(plain, session).await;
            Ok(format!("{} {}", plain?, session?))
        })
        .register("Queue", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_wait("go").await;
            let (one, two) = (ctx.dequeue_event("q").await, ctx.dequeue_event("q").await);
            Ok(format!("{one}{two}"))
        })
        .register("Parent", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_sub_orchestration_with_id("Child", "child", "c").await
        })
        .register("Child", |ctx: OrchestrationContext, input: String| async move {
            Ok(format!("{input}-{}", ctx.schedule_wait("go").await))
        })
        .register("Loop", |ctx: OrchestrationContext, input: String| async move {
            let round: u32 = input.parse().unwrap_or(0);
            ctx.set_kv_value(format!("round-{round}"), input);
            ctx.set_custom_status(format!("round {round}"));
            if round < 3 {
                if round == 1 {
                    ctx.clear_kv_value("round-0");
                }
                return ctx.continue_as_new((round + 1).to_string()).await;
            }
            let is_patched = ctx.patched("newer");
            ctx.set_attribute("round", 3_i64);
            let data = ctx.schedule_wait("go").await;
            let keys = ctx.get_kv_all_keys().len();
            Ok(format!("{data} {keys} {is_patched}"))
        })
        .register("Parked", |ctx: OrchestrationContext, _: String| async move {
            Ok(ctx.dequeue_event("q").await)
        })
        .register("Greet", |_: OrchestrationContext, name: String| async move {
            Ok(format!("hello {name}"))
        })
        .build()
}

const STORED: [&str; 8] =
    ["timer", "remote", "queue", "parent", "child", "loop", "suspended", "done"];
const NOT_STORED: [&str; 2] = ["unstarted", "parked"];

/// Instances that wait in every way, on a store without a node.
async fn fill(store: &Store) {
    let runtime = node(store, orchestrations(), false).await;
    let client = client(store);
    for (instance, name) in
        [("timer", "Timer"), ("queue", "Queue"), ("parent", "Parent"), ("suspended", "Timer")]
    {
        client.start_orchestration(instance, name, "").await.unwrap();
    }
    client.start_orchestration("remote", "Remote", "r").await.unwrap();
    let start = StartRequest::new("loop", "Loop").with_input("0").with_attribute("customer", "Ada");
    client.start_if_new(start).await.unwrap();
    client.start_orchestration("done", "Greet", "you").await.unwrap();
    assert_eq!(output(&client, "done").await, "hello you");
    let early = WorkItem::QueueMessage {
        instance: "parked".to_owned(),
        name: "q".to_owned(),
        data: "early".to_owned(),
    };
    store.enqueue_for_orchestrator(early, None).await.unwrap();
    settle(&client).await;
    runtime.shutdown(None).await;
    client.suspend_instance("suspended", "moving").await.unwrap();
    client.start_orchestration("unstarted", "Greet", "late").await.unwrap();
    for message in ["1", "2"] {
        client.enqueue_event("queue", "q", message).await.unwrap();
    }
    client.raise_event("suspended", "go", "resumed").await.unwrap();
}

/// Waits until every instance waits for what only a test can give it.
async fn settle(client: &Client) {
    let waits = async |instance: &str, kind: &str| {
        let history = client.read_stored_history(instance).await.unwrap();
        history
            .iter()
            .any(|event| event.decoded().is_some_and(|event| event.kind.type_tag() == kind))
    };
    for (instance, kind) in [
        ("timer", "ExternalSubscribed"),
        ("suspended", "ExternalSubscribed"),
        ("queue", "ExternalSubscribed"),
        ("child", "ExternalSubscribed"),
        ("loop", "ExternalSubscribed"),
        ("remote", "ActivityScheduled"),
    ] {
        until(instance, async || waits(instance, kind).await).await;
    }
    until("a parked message", async || !client.list_parked_messages(10).await.unwrap().is_empty())
        .await;
}

/// Runs everything to its end.
async fn finish(store: &Store) {
    let client = client(store);
    let runtime = node(store, orchestrations(), true).await;
    for instance in ["timer", "queue", "child", "loop"] {
        client.raise_event(instance, "go", "on").await.unwrap();
    }
    client.start_orchestration("parked", "Parked", "").await.unwrap();
    assert!(client.resume_instance("suspended").await.unwrap());
    for (instance, expected) in [
        ("timer", "on"),
        ("queue", "12"),
        ("child", "c-on"),
        ("parent", "c-on"),
        ("loop", "on 3 true"),
        ("remote", "r! r!"),
        ("suspended", "resumed"),
        ("unstarted", "hello late"),
        ("parked", "early"),
        ("done", "hello you"),
    ] {
        assert_eq!(output(&client, instance).await, expected, "{instance}");
    }
    runtime.shutdown(None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_sqlite_to_postgres_and_back_nothing_is_lost() {
    let source = sqlite().await;
    fill(&source).await;
    let file = export_all(&source).await;
    let middle = postgres("there_and_back").await;
    let report = import(&middle, &file).await;
    assert_eq!((report.imported, report.skipped, report.without_parent), (10, 0, 0));
    assert_same(&source, &middle, &STORED).await;
    assert_same(&source, &middle, &NOT_STORED).await;
    let target = sqlite().await;
    import(&target, &export_all(&middle).await).await;
    assert_same(&source, &target, &STORED).await;
    assert_same(&source, &target, &NOT_STORED).await;
    let row = client(&target).get_instance_row("loop").await.unwrap().unwrap();
    assert_eq!(row.attributes.len(), 2, "{:?}", row.attributes);
    finish(&middle).await;
    finish(&target).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_from_postgres_goes_on() {
    let source = postgres("goes_on").await;
    fill(&source).await;
    let target = sqlite().await;
    import(&target, &export_all(&source).await).await;
    assert_same(&source, &target, &STORED).await;
    finish(&target).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_at_work_goes_on_with_what_is_imported() {
    let source = sqlite().await;
    fill(&source).await;
    let file = export_all(&source).await;
    let target: Store = Arc::clone(&postgres("at_work").await);
    let runtime = node(&target, orchestrations(), true).await;
    let options = duroxide::transfer::ImportOptions::default().resuming();
    crate::support::try_import(&target, &file, options).await.unwrap();
    let client = client(&target);
    assert_eq!(output(&client, "unstarted").await, "hello late");
    assert_eq!(output(&client, "remote").await, "r! r!");
    assert_eq!(output(&client, "suspended").await, "resumed");
    runtime.shutdown(None).await;
}
