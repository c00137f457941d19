//! Commands that change something, and how they ask.

use std::time::Duration;

use duroxide::CancelRequest;
use serde_json::json;

use crate::support::{Fixture, PATIENCE, on_both_stores, written};

on_both_stores!(
    an_instance_is_started_once,
    events_and_messages_reach_an_instance,
    instances_are_suspended_and_resumed,
    final_acts_are_confirmed,
    acts_on_many_need_a_filter_and_a_yes,
    a_dry_run_and_a_read_only_run_change_nothing,
    executions_are_pruned,
    a_cancellation_says_what_has_ended,
    code_is_asked_to_end_by_itself,
    an_ended_instance_gets_no_messages,
    a_dry_run_says_what_would_be_refused,
);

fn an_instance_is_started_once(store: &Fixture) {
    let id = store.run(&["start", "Greet", "--input", "\"Ada\""]).ok();
    let id = id.trim_end();
    assert_eq!(id.len(), 36, "{id}");
    let file = written(store.folder.path(), "input.json", b"\"Grace\"");
    let from_file = format!("@{}", file.display());
    for (name, input) in [("a", from_file.as_str()), ("b", "-")] {
        let started = ["start", "Greet", "--id", name, "--input", input, "-o", "json"];
        let started = store.run_with("\"Grace\"", &started).json();
        assert_eq!(started["instance_id"], name);
    }
    let text = ["start", "Greet", "--id", "c", "--input", "Grace", "--text", "--version", "1.0.0"];
    store.run(&text).ok();
    let again = store.run(&["start", "Greet", "--id", "a"]).refused(1);
    assert!(again.contains("exists already"), "{again}");
    let wrong = store.run(&["start", "Greet", "--input", "Grace"]).refused(2);
    assert!(wrong.contains("--text"), "{wrong}");
    store.run(&["start", "Greet", "--input", "@/no/such/file"]).refused(2);
    let version = store.run(&["start", "Greet", "--version", "newest"]).refused(2);
    assert!(version.contains("semantic version"), "{version}");
    store.with_node(async |client| {
        for id in [id, "a", "b", "c"] {
            client.wait_for_orchestration(id, PATIENCE).await.unwrap();
        }
    });
    assert_eq!(store.run(&["wait", "b"]).ok(), "hello \"Grace\"\n");
    assert_eq!(store.run(&["wait", "c"]).ok(), "hello Grace\n");
}

fn events_and_messages_reach_an_instance(store: &Fixture) {
    store.seeded();
    store.run(&["enqueue", "waiting-1", "notes", "\"kept\""]).ok();
    store.run(&["raise", "waiting-1", "approved", "Ada", "--text"]).ok();
    let sent = store.run(&["raise", "waiting-1", "approved", "Ada"]).refused(2);
    assert!(sent.contains("not JSON"), "{sent}");
    for command in ["raise", "enqueue"] {
        let unknown = store.run(&[command, "unknown-1", "approved"]).refused(4);
        assert!(unknown.contains("'unknown-1'"), "{unknown}");
    }
    store.with_node(async |client| {
        client.wait_for_orchestration("waiting-1", PATIENCE).await.unwrap();
    });
    assert_eq!(store.run(&["wait", "waiting-1"]).ok(), "approved by Ada, \"kept\"\n");
}

fn instances_are_suspended_and_resumed(store: &Fixture) {
    store.seeded();
    let suspended = store.run(&["suspend", "waiting-1", "--reason", "moving", "-o", "json"]).json();
    let expected = json!([{ "instance_id": "waiting-1", "result": "suspended", "error": null }]);
    assert_eq!(suspended, expected);
    assert_eq!(store.ids("status:suspended"), ["waiting-1"]);
    assert!(store.run(&["show", "waiting-1"]).ok().contains("moving"));
    assert!(store.run(&["resume", "waiting-1"]).ok().contains("resumed"));
    assert!(store.run(&["resume", "waiting-1"]).ok().contains("not_suspended"));
    assert!(store.ids("status:suspended").is_empty());
    let ended = store.run(&["suspend", "done-1"]).refused(1);
    assert!(!ended.is_empty());
    for command in ["suspend", "resume", "cancel"] {
        store.run(&[command, "unknown-1"]).refused(4);
    }
    store.run(&["cancel", "waiting-1", "--reason", "withdrawn"]).ok();
    store.with_node(async |client| {
        client.wait_for_orchestration("waiting-1", PATIENCE).await.unwrap();
    });
    let failed = store.run(&["wait", "waiting-1"]).refused(5);
    assert!(failed.contains("canceled: withdrawn"), "{failed}");
}

fn final_acts_are_confirmed(store: &Fixture) {
    store.seeded();
    let before = store.content();
    for command in ["terminate", "delete"] {
        let refused = store.run(&[command, "waiting-1"]);
        assert_eq!(refused.code, 8, "{refused:?}");
        assert!(refused.err.contains("--yes"), "{refused:?}");
    }
    assert_eq!(store.content(), before);
    store.run(&["terminate", "waiting-1", "--reason", "its code is gone", "--yes"]).ok();
    let failed = store.run(&["wait", "waiting-1"]).refused(5);
    assert!(failed.contains("its code is gone"), "{failed}");
    store.run(&["terminate", "unstarted-1", "--yes"]).ok();
    store.run(&["terminate", "unknown-1", "--yes"]).refused(4);
    let running = store.run(&["delete", "parent-1", "--yes"]).refused(1);
    assert!(running.contains("--force"), "{running}");
    let child = store.run(&["delete", "child-1", "--yes"]).refused(1);
    assert!(child.contains("root"), "{child}");
    store.run(&["delete", "parent-1", "--yes", "--force"]).ok();
    store.run(&["delete", "done-1", "--yes"]).ok();
    store.run(&["delete", "done-1", "--yes"]).refused(4);
    assert_eq!(store.ids(""), ["failed-1", "loop-1", "unstarted-1", "waiting-1"]);
}

fn acts_on_many_need_a_filter_and_a_yes(store: &Fixture) {
    store.seeded();
    let nothing = store.run(&["cancel"]);
    assert_eq!(nothing.code, 2, "{nothing:?}");
    let unconfirmed = store.run(&["cancel", "--where", "status:running"]);
    assert_eq!(unconfirmed.code, 8, "{unconfirmed:?}");
    assert!(unconfirmed.err.contains("3 instances"), "{unconfirmed:?}");
    let piped = store.run_with("waiting-1\n", &["cancel", "-"]);
    assert_eq!(piped.code, 8, "{piped:?}");
    let filtered = ["suspend", "--where", "status:running", "--yes", "-o", "ids"];
    let mut suspended: Vec<String> = store.run(&filtered).ok().lines().map(str::to_owned).collect();
    suspended.sort_unstable();
    assert_eq!(suspended, ["child-1", "parent-1", "waiting-1"]);
    // The output of one command is the input of another.
    let resumed = store.run_with(&suspended.join("\n"), &["resume", "-", "--yes", "-o", "json"]);
    assert_eq!(resumed.json().as_array().unwrap().len(), 3);
    // What fails does not keep the others back.
    let mixed = store.run_with("unknown-1\nwaiting-1\n", &["suspend", "-", "--yes", "-o", "json"]);
    assert_eq!(mixed.code, 4, "{mixed:?}");
    let rows: serde_json::Value = serde_json::from_str(&mixed.out).unwrap();
    assert_eq!(rows[0]["result"], "not_found");
    assert_eq!(rows[1]["result"], "suspended");
    let mixed = store.run(&["suspend", "done-1", "parent-1"]);
    assert_eq!(mixed.code, 1, "{mixed:?}");
    let none = store.run(&["cancel", "--where", "name:Nothing", "--yes"]);
    assert_eq!((none.code, none.out.as_str()), (0, ""), "{none:?}");
    let none = store.run(&["cancel", "--where", "name:Nothing", "--yes", "-o", "json"]);
    assert_eq!(none.json(), json!([]));
    // A variable that is not set selects nothing, and certainly not everything.
    for empty in ["", "  "] {
        let unset = store.run(&["delete", "--where", empty, "--yes", "--force"]).refused(2);
        assert!(unset.contains("--all"), "{unset}");
    }
    let all = store.run(&["delete", "--all", "--yes", "--force"]);
    // Children go with their roots, or are refused.
    assert!(all.code == 0, "{all:?}");
    // What is left are the records of the acts.
    assert!(store.ids("id:* -name:duroxide.*").is_empty());
    assert!(!store.ids("name:duroxide.bulk").is_empty());
}

fn a_dry_run_and_a_read_only_run_change_nothing(store: &Fixture) {
    store.seeded();
    let before = store.content();
    for act in ["cancel", "terminate", "suspend", "resume", "delete"] {
        let force = if act == "delete" { &["--force"][..] } else { &[] };
        let dry = [&["--dry-run", "--read-only", "-o", "json"], force].concat();
        let planned = store.run(&[&[act, "--where", "status:running"], &dry[..]].concat()).json();
        // Children are deleted with their roots.
        let count = if act == "delete" { 2 } else { 3 };
        assert_eq!(planned.as_array().unwrap().len(), count, "{act}: {planned}");
        let word = if act == "resume" { "not_suspended" } else { &format!("would_{act}") };
        assert_eq!(planned[0]["result"], word);
        store.run(&[act, "unknown-1", "--dry-run"]).refused(4);
        store.run(&[&[act, "waiting-1"], &dry[..]].concat()).ok();
        let refused = store.run(&[act, "waiting-1", "--yes", "--read-only"]).refused(2);
        assert!(refused.contains("--read-only"), "{refused}");
    }
    for act in [
        &["start", "Greet", "--read-only"][..],
        &["raise", "waiting-1", "approved", "--read-only"],
        &["enqueue", "waiting-1", "notes", "--read-only"],
        &["prune", "loop-1", "--keep-last", "1", "--yes", "--read-only"],
    ] {
        store.run(act).refused(2);
    }
    assert_eq!(store.content(), before);
    for read in ["list", "count", "stats", "queues", "nodes", "stranded"] {
        store.run(&[read, "--read-only"]).ok();
    }
}

fn executions_are_pruned(store: &Fixture) {
    store.seeded();
    let no_rule = store.run(&["prune", "loop-1", "--yes"]);
    assert_eq!(no_rule.code, 2, "{no_rule:?}");
    store.run(&["prune", "loop-1", "--older-than", "1d", "--yes"]).ok();
    assert_eq!(executions(store), [1, 2, 3]);
    store.run(&["prune", "loop-1", "--keep-last", "2", "--yes"]).ok();
    assert_eq!(executions(store), [2, 3]);
    store.run(&["prune", "--where", "name:Loop", "--keep-last", "1", "--yes"]).ok();
    assert_eq!(executions(store), [3]);
    store.run(&["prune", "unknown-1", "--keep-last", "1", "--yes"]).refused(4);
}

fn executions(store: &Fixture) -> Vec<u64> {
    let rows = store.run(&["executions", "loop-1", "-o", "json"]).json();
    rows.as_array().unwrap().iter().map(|row| row["execution_id"].as_u64().unwrap()).collect()
}

fn a_cancellation_says_what_has_ended(store: &Fixture) {
    store.seeded();
    for id in ["done-1", "failed-1"] {
        for grace in [&[][..], &["--grace", "1m"]] {
            let ended = store.run(&[&["cancel", id, "-o", "json"], grace].concat()).json();
            assert_eq!(ended[0]["result"], "has_ended", "{ended}");
        }
    }
    let filter = ["cancel", "--where", "id:done-1,waiting-1", "--yes", "-o", "json"];
    let mut rows = store.run(&filter).json();
    let rows = rows.as_array_mut().unwrap();
    rows.sort_by_key(|row| row["instance_id"].to_string());
    assert_eq!(rows[0]["result"], "has_ended");
    assert_eq!(rows[1]["result"], "cancelling");
    // Nothing waits for an instance that has ended.
    let queues = store.run(&["queues", "-o", "json"]).json();
    assert_eq!(queues["ready_messages"], 2, "the start and the cancellation: {queues}");
}

fn code_is_asked_to_end_by_itself(store: &Fixture) {
    store.seeded();
    let ask = ["cancel", "waiting-1", "--grace", "1h", "--reason", "withdrawn", "-o", "json"];
    assert_eq!(store.run(&ask).json()[0]["result"], "asked_to_end");
    let filter = ["cancel", "--where", "id:parent-1", "--grace", "0s", "--yes", "-o", "json"];
    assert_eq!(store.run(&filter).json()[0]["result"], "asked_to_end");
    let acts = store.run(&["bulk", "list", "-o", "json"]).json();
    assert_eq!((&acts[0]["act"], &acts[0]["done"]), (&json!("cancel"), &json!(1)));
    store.run(&["cancel", "unknown-1", "--grace", "1h"]).refused(4);
    assert_eq!(store.run(&["cancel", "waiting-1", "--grace", "soon"]).code, 2);
    store.with_node(async |client| {
        // It has no time left.
        client.wait_for_orchestration("parent-1", PATIENCE).await.unwrap();
        let asked = async {
            let events = async || client.read_execution_history("waiting-1", 1).await.unwrap();
            while !events().await.iter().any(|event| CancelRequest::of(event).is_some()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, asked).await.unwrap();
    });
    let failed = store.run(&["wait", "parent-1"]).refused(5);
    assert!(failed.contains("canceled"), "{failed}");
    // The other may go on until its time is over, and knows of it.
    assert_eq!(store.ids("status:running id:waiting-1"), ["waiting-1"]);
    let history = store.run(&["history", "waiting-1"]).ok();
    assert!(history.contains("asked to end by 2"), "{history}");
    assert!(history.contains(": withdrawn"), "{history}");
}

/// What is sent to an instance that has ended was lost without a word.
fn an_ended_instance_gets_no_messages(store: &Fixture) {
    store.seeded();
    for id in ["done-1", "failed-1"] {
        let before = store.run(&["show", id, "-o", "json"]).json();
        for command in ["raise", "enqueue"] {
            let refused = store.run(&[command, id, "approved"]).refused(1);
            assert!(refused.contains("would be lost") && refused.contains(id), "{refused}");
        }
        assert_eq!(store.run(&["show", id, "-o", "json"]).json(), before);
    }
    // Rather a variable of a script that is not set.
    for command in ["raise", "enqueue"] {
        assert_eq!(store.run(&[command, "waiting-1", ""]).code, 2);
    }
    // One that has not started keeps them.
    store.run(&["enqueue", "unstarted-1", "notes"]).ok();
}

/// A dry run promised what the act itself refuses.
fn a_dry_run_says_what_would_be_refused(store: &Fixture) {
    store.seeded();
    for (arguments, reason) in [
        (&["delete", "waiting-1"][..], "still runs"),
        (&["delete", "child-1", "--force"], "is a child"),
        (&["delete", "--where", "id:waiting-1"], "still runs"),
        (&["terminate", "done-1"], "has ended"),
        (&["suspend", "--where", "id:failed-1"], "has ended"),
    ] {
        let planned = store.run(&[arguments, &["--dry-run", "-o", "json"]].concat());
        assert_eq!(planned.code, 1, "{planned:?}");
        let rows: serde_json::Value = serde_json::from_str(&planned.out).unwrap();
        assert_eq!(rows[0]["result"], "failed", "{rows}");
        assert!(rows[0]["error"].as_str().unwrap().contains(reason), "{rows}");
        let acted = store.run(&[arguments, &["--yes", "-o", "json"]].concat());
        assert_eq!(acted.code, 1, "{acted:?}");
        let words = format!("{}{}", acted.out, acted.err);
        // Operators do not know the methods of a store.
        assert!(!words.contains("hold_instance"), "{words}");
    }
    let forced = store.run(&["delete", "waiting-1", "--force", "--dry-run", "-o", "json"]).json();
    assert_eq!(forced[0]["result"], "would_delete");
    let left = store.run(&["cancel", "done-1", "--dry-run", "-o", "json"]).json();
    assert_eq!(left[0]["result"], "has_ended");
    // One unknown id does not hide the others.
    let mixed = store.run(&["cancel", "waiting-1", "unknown-1", "--dry-run", "-o", "json"]);
    assert_eq!(mixed.code, 4, "{mixed:?}");
    let rows: serde_json::Value = serde_json::from_str(&mixed.out).unwrap();
    assert_eq!(
        (&rows[0]["result"], &rows[1]["result"]),
        (&"would_cancel".into(), &"not_found".into())
    );
}
