//! Commands that wait.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Fixture, PATIENCE, on_both_stores};

on_both_stores!(a_wait_ends_with_the_instance, changes_and_events_are_followed);

fn a_wait_ends_with_the_instance(store: &Fixture) {
    store.seeded();
    let done = store.run(&["wait", "done-1", "-o", "json"]).json();
    assert_eq!(done["status"], "completed");
    assert_eq!(done["output"], "hello \"Ada\"");
    let failed = store.run(&["wait", "failed-1", "-o", "json"]);
    assert_eq!(failed.code, 5, "{failed:?}");
    let failed: Value = serde_json::from_str(&failed.out).unwrap();
    assert_eq!((&failed["status"], &failed["category"]), (&json!("failed"), &json!("application")));
    for id in ["waiting-1", "unstarted-1"] {
        let late = store.run(&["wait", id, "--timeout", "50ms"]).refused(6);
        assert!(late.contains("duroxide why"), "{late}");
    }
    store.run(&["wait", "unknown-1"]).refused(4);
    // It ends while the command waits.
    let mut waiting = store.command(&["wait", "waiting-1"]);
    let waiting = waiting.stdout(Stdio::piped()).spawn().unwrap();
    store.with_node(async |client| {
        client.raise_event("waiting-1", "approved", "Ada").await.unwrap();
        client.enqueue_event("waiting-1", "notes", "kept").await.unwrap();
        client.wait_for_orchestration("waiting-1", PATIENCE).await.unwrap();
    });
    let output = waiting.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "approved by Ada, kept\n");
}

fn changes_and_events_are_followed(store: &Fixture) {
    store.seeded();
    let follow = |arguments: &[&str]| {
        let mut command = store.command(arguments);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        (child, lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap()))
    };
    let (mut watch, mut moments) = follow(&["watch", "waiting-1", "-o", "jsonl"]);
    let (mut history, events) = follow(&["history", "waiting-1", "--follow", "-o", "jsonl"]);
    let first = moments.next().unwrap();
    assert_eq!((&first["status"], &first["custom_status"]), (&json!("running"), &json!("asking")));
    store.with_node(async |client| {
        client.raise_event("waiting-1", "approved", "Ada").await.unwrap();
        client.enqueue_event("waiting-1", "notes", "kept").await.unwrap();
        client.wait_for_orchestration("waiting-1", PATIENCE).await.unwrap();
    });
    let last = moments.last().unwrap();
    assert_eq!(last["status"], "completed");
    assert!(watch.wait().unwrap().success());
    let last = events.last().unwrap();
    assert_eq!(last["type"], "OrchestrationCompleted");
    assert!(history.wait().unwrap().success());
    store.run(&["watch", "unknown-1"]).refused(4);
}
