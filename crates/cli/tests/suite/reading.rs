//! Commands that read.

use duroxide::client::StartRequest;
use serde_json::json;

use crate::support::{Fixture, PATIENCE, on_both_stores, written};

on_both_stores!(
    instances_are_found_and_counted,
    an_instance_is_shown_with_its_time_line,
    an_instance_says_why_it_waits,
    histories_executions_trees_and_keys_are_shown,
    the_cluster_is_described,
    histories_are_checked,
    attributes_are_readable_in_a_history,
    every_instance_is_counted_once,
    a_cursor_of_no_list_is_a_wrong_usage,
);

fn instances_are_found_and_counted(store: &Fixture) {
    store.seeded();
    assert_eq!(store.ids("status:failed"), ["failed-1"]);
    let all = ["child-1", "done-1", "failed-1", "loop-1", "parent-1", "waiting-1"];
    assert_eq!(store.ids(""), all);
    assert_eq!(store.ids("parent:parent-1"), ["child-1"]);
    // Several arguments are one filter.
    let listed = store.run(&["list", "status:running", "parent:none", "-o", "json"]).json();
    assert_eq!(listed.as_array().unwrap().len(), 2, "{listed}");
    let failed = &store.run(&["list", "status:failed", "-o", "json"]).json()[0];
    assert_eq!(failed["orchestration_name"], "Fail");
    assert_eq!(failed["error"]["category"], "application");
    assert_eq!(failed["error"]["message"], "\"no money\"");
    assert!(failed["ended_at_ms"].as_u64() >= failed["created_at_ms"].as_u64());
    let none = store.run(&["list", "status:failed", "name:Greet", "-o", "json"]);
    assert_eq!(none.json(), json!([]));
    let waiting = store.run(&["list", "id:waiting-1", "--waiting", "-o", "jsonl"]).json();
    let waits = waiting["waiting_for"].to_string();
    assert!(waits.contains("approved"), "{waits}");

    assert_eq!(store.run(&["count"]).ok(), "6\n");
    assert_eq!(store.run(&["count", "status:running", "--limit", "2"]).ok(), "more than 2\n");
    let counted = store.run(&["count", "status:failed", "-o", "json"]).json();
    assert_eq!(counted, json!({ "count": 1, "exact": true }));

    // Pages fit together, whatever their size.
    let first = store.run(&["list", "--limit", "4", "-o", "ids"]);
    assert_eq!(first.code, 0, "{first:?}");
    let cursor = first.err.split('\'').nth(1).unwrap().to_owned();
    let second = store.run(&["list", "--after", &cursor, "-o", "ids"]).ok();
    let mut both: Vec<&str> = first.out.lines().chain(second.lines()).collect();
    both.sort_unstable();
    assert_eq!(both, all);
}

fn an_instance_is_shown_with_its_time_line(store: &Fixture) {
    store.seeded();
    let shown = store.run(&["show", "done-1", "-o", "json"]).json();
    assert_eq!(shown["status"], "completed");
    assert_eq!(shown["output"], "hello \"Ada\"");
    assert_eq!(shown["input"], "\"Ada\"");
    assert_eq!(shown["timeline_truncated"], false);
    let line = shown["timeline"].as_array().unwrap();
    let kinds: Vec<_> = line.iter().map(|span| (&span["kind"], &span["state"])).collect();
    assert_eq!(
        kinds,
        [(&json!("activity"), &json!("done")), (&json!("timer"), &json!("done"))],
        "{shown}"
    );
    let text = store.run(&["show", "done-1"]).ok();
    assert!(text.contains("Echo#2"), "{text}");
    assert!(text.contains('┥'), "{text}");
    let mut narrow = store.command(&["show", "done-1"]);
    narrow.env("COLUMNS", "60");
    let narrow = crate::support::finish(narrow, None).ok();
    let bars: Vec<_> = narrow.lines().filter(|line| line.contains('┥')).collect();
    assert!(!bars.is_empty());
    assert!(bars.iter().all(|line| line.chars().count() <= 60), "{narrow}");

    let waiting = store.run(&["show", "waiting-1", "-o", "json"]).json();
    assert_eq!(waiting["custom_status"], "asking");
    assert_eq!(waiting["timeline"][0]["kind"], "event");
    assert_eq!(waiting["timeline"][0]["state"], "open");
    let unstarted = store.run(&["show", "unstarted-1", "-o", "json"]).json();
    assert_eq!(unstarted["status"], "unstarted");
    assert_eq!(unstarted["orchestration_name"], "NoSuchCode");
}

fn an_instance_says_why_it_waits(store: &Fixture) {
    store.seeded();
    let why = store.run(&["why", "waiting-1", "-o", "json"]).json();
    assert_eq!(why["cause"]["kind"], "event", "{why}");
    assert!(store.run(&["why", "waiting-1"]).ok().contains("approved"));
    let child = store.run(&["why", "parent-1", "-o", "json"]).json();
    assert_eq!(child["cause"]["kind"], "child", "{child}");
    assert_eq!(store.run(&["why", "unstarted-1"]).code, 0);
}

fn histories_executions_trees_and_keys_are_shown(store: &Fixture) {
    store.seeded();
    let history = store.run(&["history", "done-1", "-o", "json"]).json();
    let types: Vec<&str> =
        history.as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(types.first(), Some(&"OrchestrationStarted"));
    assert_eq!(types.last(), Some(&"OrchestrationCompleted"));
    assert!(history[0]["undecodable"].is_null());
    let table = store.run(&["history", "done-1"]).ok();
    assert!(table.contains("Echo(\"Ada\")"), "{table}");
    // It has ended, so that there is nothing to follow.
    assert_eq!(store.run(&["history", "done-1", "--follow"]).ok(), table);

    let executions = store.run(&["executions", "loop-1", "-o", "json"]).json();
    let statuses: Vec<_> =
        executions.as_array().unwrap().iter().map(|row| row["status"].clone()).collect();
    assert_eq!(statuses, ["continuedasnew", "continuedasnew", "completed"]);
    let first = store.run(&["history", "loop-1", "--execution", "1", "-o", "jsonl"]).ok();
    assert!(first.contains("\"type\":\"OrchestrationContinuedAsNew\""), "{first}");
    let missing = store.run(&["history", "loop-1", "--execution", "9"]).refused(4);
    assert!(missing.contains("no execution 9"), "{missing}");

    let tree = store.run(&["tree", "parent-1", "-o", "json"]).json();
    assert_eq!(tree[1]["instance_id"], "child-1");
    assert_eq!((&tree[0]["depth"], &tree[1]["depth"]), (&json!(0), &json!(1)));
    assert!(store.run(&["tree", "parent-1"]).ok().contains("└─ child-1"));

    let keys = store.run(&["kv", "waiting-1", "-o", "json"]).json();
    let expected = json!([{ "key": "price", "value": "12" }, { "key": "step", "value": "asked" }]);
    assert_eq!(keys, expected);
    assert_eq!(store.run(&["kv", "waiting-1", "price"]).ok(), "12\n");
    assert!(store.run(&["kv", "waiting-1", "cost"]).refused(4).contains("no key 'cost'"));
}

fn the_cluster_is_described(store: &Fixture) {
    store.seeded();
    let stats = store.run(&["stats", "-o", "json"]).json();
    assert_eq!(stats["instances"], 6);
    assert_eq!(stats["failed"], 1);
    assert_eq!(stats["running"], 3);
    let queues = store.run(&["queues", "-o", "json"]).json();
    assert_eq!(queues["ready_messages"], 1, "{queues}");
    let stranded = store.run(&["stranded", "-o", "json"]).json();
    assert_eq!(stranded[0]["instance_id"], "unstarted-1");
    assert_eq!(stranded[0]["reason"], "no_node");
    assert_eq!(store.run(&["nodes", "-o", "json"]).json(), json!([]));
    store.with_node(async |client| {
        while client.list_live_nodes().await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        let nodes = store.run(&["nodes", "-o", "json"]).json();
        let names: Vec<_> = nodes[0]["orchestrations"].as_array().unwrap().iter().collect();
        assert!(names.iter().any(|entry| entry["name"] == "Greet"), "{nodes}");
        assert!(nodes[0]["activities"].as_array().unwrap().contains(&json!("Echo")), "{nodes}");
        assert!(store.run(&["nodes"]).ok().contains("Greet"));
    });
    let info = store.run(&["store", "info", "-o", "json"]).json();
    assert_eq!(info["schema_version"], info["schema_version_known"]);
    assert!(info["size_bytes"].as_u64() > Some(0), "{info}");
}

fn histories_are_checked(store: &Fixture) {
    store.seeded();
    let checked = store.run(&["check-histories", "--finished", "-o", "json"]).json();
    assert_eq!(checked["compatible"], true);
    assert_eq!(checked["executions"], 8, "{checked}");
    let exported = store.folder.path().join("exported.jsonl");
    store.on_store(async |client| {
        let mut events = client.read_execution_history("done-1", 1).await.unwrap();
        events[0].duroxide_version = "0.1.3".to_owned();
        let begins = |instance: &str, events: usize| {
            let execution = json!({ "instance": instance, "execution_id": 1, "events": events });
            json!({ "execution": execution }).to_string()
        };
        let mut lines = vec![
            json!({ "duroxide_histories": 1, "written_by": "0.1.3" }).to_string(),
            begins("old-1", events.len()),
        ];
        lines.extend(events.iter().map(|event| serde_json::to_string(event).unwrap()));
        lines.push(begins("new-1", 1));
        lines.push(json!({ "type": "Unknown" }).to_string());
        std::fs::write(&exported, lines.join("\n")).unwrap();
    });
    let path = exported.to_str().unwrap();
    let refused = store.run(&["check-histories", path, "--finished", "-o", "json"]);
    assert_eq!(refused.code, 7, "{refused:?}");
    let checked: serde_json::Value = serde_json::from_str(&refused.out).unwrap();
    let kinds: Vec<_> = checked["problems"].as_array().unwrap().iter().collect();
    assert_eq!(kinds.len(), 2, "{checked}");
    let kind_of = |id: &str| {
        kinds.iter().find(|problem| problem["instance_id"] == id).map(|it| it["kind"].clone())
    };
    assert_eq!(kind_of("old-1"), Some(json!("version_unsupported")));
    assert_eq!(kind_of("new-1"), Some(json!("undecodable")));
    let other = written(store.folder.path(), "other.jsonl", b"no histories\n");
    let line = store.run(&["check-histories", other.to_str().unwrap()]).refused(1);
    assert!(line.contains("not a file of histories"), "{line}");
}

fn attributes_are_readable_in_a_history(store: &Fixture) {
    store.with_node(async |client| {
        let start = StartRequest::new("order-1", "Greet")
            .with_input("\"Ada\"")
            .with_attribute("region", "eu-west")
            .with_attribute("amount", 42)
            .with_attribute("paid", true);
        client.start_with(start).await.unwrap();
        client.wait_for_orchestration("order-1", PATIENCE).await.unwrap();
    });
    let history = store.run(&["history", "order-1"]).ok();
    for text in ["attribute region = eu-west", "attribute amount = 42", "attribute paid = true"] {
        assert!(history.contains(text), "{history}");
    }
    assert!(!history.contains("__duroxide"), "{history}");
    // Its JSON is the stored form.
    assert!(store.run(&["history", "order-1", "-o", "json"]).ok().contains("__duroxide_attribute"));
}

/// Suspended instances were counted as running, too.
fn every_instance_is_counted_once(store: &Fixture) {
    store.seeded();
    store.run(&["suspend", "waiting-1"]).ok();
    let stats = store.run(&["stats", "-o", "json"]).json();
    for status in ["running", "suspended", "completed", "failed"] {
        let listed = store.ids(&format!("status:{status}")).len();
        assert_eq!(stats[status], listed, "{status}: {stats}");
    }
}

fn a_cursor_of_no_list_is_a_wrong_usage(store: &Fixture) {
    let refused = store.run(&["list", "--after", "garbage"]).refused(2);
    assert!(refused.contains("garbage"), "{refused}");
}
