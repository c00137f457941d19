//! Queries over instances and search attributes, through the client.

use std::time::Duration;

use duroxide::client::StartRequest;
use duroxide::providers::{InstanceCount, InstanceQuery};
use duroxide::query::{Filter, RowStatus};
use duroxide::{AttributeValue, Client, ClientError, OrchestrationContext};

use crate::support::{
    DEFAULT_MODE, Mode, Node, activities, count, in_every_mode, kinds, orchestrations,
};

fn filter(text: &str) -> Filter {
    Filter::parse(text).unwrap()
}

async fn found(client: &Client, text: &str) -> Vec<String> {
    let page = client.query_instances(InstanceQuery::new(filter(text))).await.unwrap();
    let mut ids: Vec<String> = page.rows.into_iter().map(|row| row.instance_id).collect();
    ids.sort();
    ids
}

async fn ships(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let region = ctx.get_attributes().get("region").map(ToString::to_string).unwrap_or_default();
    // Keys beside attributes, whose times must not mix.
    ctx.set_kv_value("seen", &region);
    if ctx.execution_id() == 1 {
        ctx.set_attribute("state", "packing");
        ctx.schedule_wait("Packed").await;
        ctx.set_attribute("state", "sent");
        ctx.set_attribute("weight", 1.5);
        return ctx.continue_as_new("").await;
    }
    ctx.clear_all_kv_values();
    ctx.schedule_wait("Arrived").await;
    ctx.clear_attribute("weight");
    let names: Vec<String> = ctx.get_attributes().into_keys().collect();
    Ok(format!("{region} {names:?} {}", ctx.get_kv_length()))
}

async fn attributes_are_found_from_the_start_to_the_end(mode: Mode) {
    let node = Node::start(mode, orchestrations().register("Ship", ships), activities()).await;
    let start = StartRequest::new("a", "Ship")
        .with_attribute("customer", 42)
        .with_attribute("region", "eu-west")
        .with_attribute("due", AttributeValue::Time(1_700_000_000_000));
    node.client.start_with(start.clone()).await.unwrap();
    node.client.start_orchestration("b", "Ship", "").await.unwrap();
    for instance in ["a", "b"] {
        node.wait_for_event(instance, "ExternalSubscribed").await;
    }
    // The code sees them from its first line on.
    let seen = node.client.get_kv_value("a", "seen").await.unwrap();
    assert_eq!(seen.as_deref(), Some("eu-west"));
    assert_eq!(found(&node.client, "attr.customer=42").await, ["a"]);
    assert_eq!(found(&node.client, "attr.state=packing").await, ["a", "b"]);
    assert_eq!(found(&node.client, "attr.due<2024-01-01 attr.region:eu-*").await, ["a"]);
    assert_eq!(found(&node.client, "attr.customer:none").await, ["b"]);
    // A second start changes nothing.
    node.client.start_with(start.with_attribute("customer", 43)).await.unwrap();
    node.client.raise_event("a", "Packed", "").await.unwrap();
    let row = loop {
        let row = node.client.get_instance_row("a").await.unwrap().unwrap();
        if row.executions == 2 && row.waiting_for == Some(vec!["event Arrived".to_owned()]) {
            break row;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let names: Vec<&str> = row.attributes.keys().map(String::as_str).collect();
    assert_eq!(names, ["customer", "due", "region", "state", "weight"]);
    assert_eq!(row.attributes["customer"], AttributeValue::Integer(42));
    assert_eq!(found(&node.client, "attr.state=sent attr.weight>1").await, ["a"]);
    assert!(node.client.get_kv_all_values("a").await.unwrap().is_empty());
    node.client.raise_event("a", "Arrived", "").await.unwrap();
    let output = node.output("a").await;
    assert_eq!(output, "eu-west [\"customer\", \"due\", \"region\", \"state\"] 0");
    assert_eq!(found(&node.client, "status:completed attr.region~WEST").await, ["a"]);
    node.client.delete_instance("a", false).await.unwrap();
    assert!(found(&node.client, "attr.customer:any").await.is_empty());
    node.stop().await;
}

in_every_mode! {
    attributes_are_found_from_the_start_to_the_end,
}

#[tokio::test]
async fn attributes_of_a_start_are_recorded_behind_it() {
    async fn waits(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        ctx.schedule_wait("Go").await;
        Ok(String::new())
    }
    let code = || orchestrations().register("Wait", waits);
    let node = Node::start(DEFAULT_MODE, code(), activities()).await;
    let start = StartRequest::new("a", "Wait").with_attribute("n", 1).with_attribute("m", 2);
    node.client.start_with(start).await.unwrap();
    node.wait_for_event("a", "ExternalSubscribed").await;
    let history = node.history("a").await;
    let expected = ["OrchestrationStarted", "KeyValueSet", "KeyValueSet", "ExternalSubscribed"];
    assert_eq!(kinds(&history), expected);
    assert_eq!(history[1].source_event_id, Some(1), "the start asked for it, not the code");
    assert_eq!(history[3].source_event_id, None);
    node.stop().await;
}

#[tokio::test]
async fn a_query_sees_every_status() {
    async fn does(ctx: OrchestrationContext, what: String) -> Result<String, String> {
        match what.as_str() {
            "fail" => Err("Connection timeout".to_owned()),
            "wait" => {
                ctx.schedule_wait("Go").await;
                Ok(what)
            }
            _done => Ok(what),
        }
    }
    let code = orchestrations().register("Do", does);
    let node = Node::start(DEFAULT_MODE, code, activities()).await;
    for (instance, what) in [("f", "fail"), ("w", "wait"), ("s", "wait"), ("d", "done")] {
        node.client.start_orchestration(instance, "Do", what).await.unwrap();
    }
    node.failure_text("f").await;
    node.output("d").await;
    node.wait_for_event("w", "ExternalSubscribed").await;
    node.wait_for_event("s", "ExternalSubscribed").await;
    node.client.suspend_instance("s", "not now").await.unwrap();
    for (text, expected) in [
        ("status:failed error~TIMEOUT", vec!["f"]),
        ("status:running", vec!["w"]),
        ("status:suspended", vec!["s"]),
        ("-status:completed,failed", vec!["s", "w"]),
        ("name:D* -category:application", vec!["d", "s", "w"]),
        ("pin:any created>-1h ended<=now", vec!["d", "f"]),
    ] {
        assert_eq!(found(&node.client, text).await, expected, "{text}");
    }
    let all = node.client.count_instances(&Filter::all()).await.unwrap();
    assert_eq!(all, InstanceCount::Exactly(4));
    let more = node.client.count_instances_up_to(&Filter::all(), 2).await.unwrap();
    assert_eq!(more.to_string(), "more than 2");
    let query = InstanceQuery::new(filter("id:w")).with_waiting();
    let page = node.client.query_instances(query).await.unwrap();
    assert_eq!(page.rows[0].waiting_for, Some(vec!["event Go".to_owned()]));
    assert_eq!(page.rows[0].status, RowStatus::Running);
    assert_eq!(node.client.get_instance_row("nobody").await.unwrap(), None);
    node.stop().await;
}

#[tokio::test]
async fn attributes_beyond_the_limits_are_refused() {
    async fn sets(ctx: OrchestrationContext, what: String) -> Result<String, String> {
        match what.as_str() {
            "many" => (0..33).for_each(|n| ctx.set_attribute(&format!("a{n}"), n)),
            "long" => ctx.set_attribute("text", "x".repeat(257)),
            _name => ctx.set_attribute("a b", 1),
        }
        ctx.schedule_timer(Duration::ZERO).await;
        Ok(String::new())
    }
    let node =
        Node::start(DEFAULT_MODE, orchestrations().register("Set", sets), activities()).await;
    for (what, failure) in [
        ("many", "Attribute count (33) exceeds limit (32)"),
        ("long", "Attribute 'text' size (257 bytes) exceeds limit (256 bytes)"),
        ("name", "attribute name 'a b' is refused: it has letters, digits, '_', '.' and '-'"),
    ] {
        node.start_instance(what, "Set", what).await;
        assert_eq!(node.failure_text(what).await, failure);
        assert_eq!(count(&node.history(what).await, "KeyValueSet"), 0);
    }
    let refused = |error: ClientError| match error {
        ClientError::InvalidInput { message } => message,
        other => panic!("{other}"),
    };
    let start = || StartRequest::new("x", "Set");
    let many = (0..33).fold(start(), |start, n| start.with_attribute(&format!("a{n}"), n));
    let message = refused(node.client.start_with(many).await.unwrap_err());
    assert_eq!(message, "Attribute count (33) exceeds limit (32)");
    let long = start().with_attribute("text", "x".repeat(257));
    let message = refused(node.client.start_if_new(long).await.unwrap_err());
    assert!(message.contains("257 bytes"), "{message}");
    let reserved = node.client.enqueue_event("many", "__duroxide_attributes", "{}").await;
    assert!(refused(reserved.unwrap_err()).contains("reserved"));
    node.stop().await;
}
