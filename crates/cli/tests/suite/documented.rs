//! The JSON has exactly the keys that `docs/cli.md` lists.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::{Fixture, on_both_stores};

on_both_stores!(every_key_is_documented);

/// The names in code marks of the row of a command.
fn documented(command: &str) -> BTreeSet<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let mut rows = rows.filter_map(|line| line[1..].split_once('|'));
    let marked = |text: &str| -> BTreeSet<String> {
        text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let (_, keys) = rows
        .find(|(commands, _)| marked(commands).contains(command))
        .unwrap_or_else(|| panic!("docs/cli.md does not document the JSON of {command}"));
    let mut keys = marked(keys);
    if keys.remove("list") {
        keys.extend(documented("list"));
    }
    keys
}

/// Keys at every depth, apart from those of free maps.
fn keys_of(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(all) => all.iter().for_each(|value| keys_of(value, found)),
        Value::Object(all) => {
            for (key, value) in all {
                found.insert(key.clone());
                if !["attributes", "running_by_pin"].contains(&key.as_str()) {
                    keys_of(value, found);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn every_key_is_documented(store: &Fixture) {
    store.seeded();
    let file = store.folder.path().join("done.jsonl").display().to_string();
    store.run(&["enqueue", "waiting-1", "notes"]).ok();
    for (command, arguments) in [
        ("list", &["list"][..]),
        ("count", &["count"]),
        ("show", &["show", "done-1"]),
        ("show", &["show", "unstarted-1"]),
        ("tree", &["tree", "parent-1"]),
        ("executions", &["executions", "loop-1"]),
        ("kv", &["kv", "waiting-1"]),
        ("watch", &["watch", "done-1"]),
        ("wait", &["wait", "done-1"]),
        ("start", &["start", "Greet"]),
        ("retry", &["retry", "failed-1", "--dry-run"]),
        ("fork", &["fork", "failed-1", "fork-1", "--to", "first"]),
        ("suspend", &["suspend", "--where", "id:waiting-1", "--yes"]),
        ("edit", &["edit", "parent-1", "--set", "a=b"]),
        ("bulk list", &["bulk", "list"]),
        ("retention", &["retention", "--rule", "keep:1d"]),
        ("queues", &["queues"]),
        ("nodes", &["nodes"]),
        ("stranded", &["stranded"]),
        ("stats", &["stats"]),
        ("store info", &["store", "info"]),
        ("store check", &["store", "check"]),
        ("store migrate", &["store", "migrate"]),
        ("check-histories", &["check-histories"]),
        ("export", &["export", "done-1", "--file", &file]),
        ("import", &["import", &file, "--skip-existing", "--verify"]),
    ] {
        let json = store.run(&[arguments, &["-o", "json"]].concat()).json();
        let mut found = BTreeSet::new();
        keys_of(&json, &mut found);
        let documented = documented(command);
        let missing: Vec<_> = found.difference(&documented).collect();
        assert!(missing.is_empty(), "{command}: docs/cli.md lacks {missing:?}");
        if command == "nodes" {
            assert!(json.as_array().unwrap().is_empty());
        } else {
            assert!(!found.is_empty(), "{command}: {json}");
        }
    }
}
