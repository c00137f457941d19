//! Acts that the store records, edits, and retention.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Fixture, PATIENCE, on_both_stores};

on_both_stores!(
    an_act_on_a_filter_is_recorded,
    an_edit_is_applied_by_the_next_turn,
    retention_shows_and_deletes,
);

fn an_act_on_a_filter_is_recorded(store: &Fixture) {
    store.seeded();
    let act = ["suspend", "--where", "status:running", "--yes", "--by", "mara", "--why", "moving"];
    let rows = store.run(&[&act[..], &["--rate", "50", "-o", "json"]].concat()).json();
    assert_eq!(rows.as_array().unwrap().len(), 3, "{rows}");
    assert_eq!(rows[0]["result"], "suspended");
    let acts = store.run(&["bulk", "list", "-o", "json"]).json();
    let listed = &acts.as_array().unwrap()[0];
    assert_eq!((&listed["by"], &listed["reason"]), (&"mara".into(), &"moving".into()));
    assert_eq!((&listed["act"], &listed["phase"]), (&"suspend".into(), &"finished".into()));
    assert_eq!((&listed["frozen"], &listed["done"]), (&3.into(), &3.into()));
    let id = listed["act_id"].as_str().unwrap();
    let outcomes = store.run(&["bulk", "outcomes", id, "-o", "ids"]).ok();
    assert_eq!(outcomes, "child-1\nparent-1\nwaiting-1\n");
    store.run(&["bulk", "outcomes", "done-1"]).refused(4);
    assert_eq!(store.run(&["bulk", "resume", "-o", "json"]).json(), serde_json::json!([]));
    assert!(store.run(&["show", "waiting-1"]).ok().contains("moving"));
    let by_user = store.run(&["resume", "--where", "status:suspended", "--yes", "-o", "ids"]);
    assert_eq!(by_user.ok().lines().count(), 3);
}

fn an_edit_is_applied_by_the_next_turn(store: &Fixture) {
    store.seeded();
    let edit = ["edit", "waiting-1", "--set", "step=a=b", "--status", "edited", "--reason", "test"];
    let planned = store.run(&[&edit[..], &["--dry-run"]].concat()).ok();
    assert!(planned.contains("custom status: \"asking\" → \"edited\""), "{planned}");
    assert!(planned.contains("→ \"a=b\""), "{planned}");
    store.run(&edit).ok();
    store.with_node(async |client| {
        let applied = async {
            while client.get_kv_value("waiting-1", "step").await.unwrap().as_deref() != Some("a=b")
            {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, applied).await.unwrap();
    });
    assert_eq!(store.run(&["kv", "waiting-1", "step"]).ok(), "a=b\n");
    store.run(&["edit", "unknown-1", "--set", "a=b"]).refused(4);
    let ended = store.run(&["edit", "done-1", "--set", "a=b"]).refused(1);
    assert!(ended.contains("has ended"), "{ended}");
    let wrong = store.run(&["edit", "waiting-1", "--set", "a"]).refused(2);
    assert!(wrong.contains("KEY=VALUE"), "{wrong}");
    assert_eq!(store.run(&["edit", "waiting-1"]).code, 2);
}

fn retention_shows_and_deletes(store: &Fixture) {
    store.seeded();
    let before = store.content();
    let keep = ["retention", "--rule", "keep:1d"];
    let plan = store.run(&[&keep[..], &["-o", "json"]].concat()).json();
    assert_eq!(plan[0]["instances"], 0, "{plan}");
    let none = ["retention", "--rule", "name:Greet keep:0s", "--rule", "name:Loop last:1"];
    let plan = store.run(&[&none[..], &["-o", "json"]].concat()).json();
    assert_eq!((&plan[0]["instances"], &plan[1]["pruned_instances"]), (&1.into(), &1.into()));
    assert_eq!(store.content(), before);
    let file = store.folder.path().join("archive.jsonl");
    let file = file.to_str().unwrap();
    let apply = [&none[..], &["--apply", "--archive", file]].concat();
    assert_eq!(store.run(&apply).code, 8);
    assert_eq!(store.content(), before);
    let done = store.run(&[&apply[..], &["--yes", "-o", "json"]].concat()).json();
    assert_eq!((&done["instances_deleted"], &done["archived"]), (&1.into(), &1.into()), "{done}");
    assert_eq!(done["executions_deleted"], 2, "{done}");
    let archived = std::fs::read_to_string(file).unwrap();
    assert!(archived.contains("done-1") && archived.contains("loop-1"), "{archived}");
    store.run(&["show", "done-1"]).refused(4);
    store.run(&["show", "failed-1"]).ok();
    let wrong = store.run(&["retention", "--rule", "keep:soon"]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
}

/// The process is killed in the middle; the next one goes on.
#[test]
fn a_killed_act_is_resumed() {
    let store = Fixture::sqlite();
    store.on_store(async |client| {
        for number in 0..20 {
            let id = format!("i{number:02}");
            client.start_orchestration(id, "NoSuchCode", "").await.unwrap();
        }
    });
    // They get a row of their own.
    store.run_with(&ids(), &["terminate", "-", "--yes"]).ok();
    let act = ["delete", "--where", "name:NoSuchCode", "--yes", "--rate", "4"];
    let mut command = store.command(&act);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let started = Instant::now();
    while store.ids("name:NoSuchCode").len() > 17 {
        assert!(started.elapsed() < PATIENCE, "the act does nothing");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let left = store.run(&["bulk", "list", "-o", "json"]).json();
    assert_eq!(left[0]["phase"], "applying", "{left}");
    let resumed = store.run(&["bulk", "resume", "-o", "json"]).json();
    assert_eq!((&resumed[0]["phase"], &resumed[0]["done"]), (&"finished".into(), &20.into()));
    assert!(store.ids("name:NoSuchCode").is_empty());
}

fn ids() -> String {
    (0..20).map(|number| format!("i{number:02}\n")).collect()
}
