//! Instances move to a store of the other kind.

use crate::support::{Fixture, PATIENCE, on_both_stores, written};

on_both_stores!(instances_move_to_the_other_store, exports_are_refused, imports_are_refused,);

/// A store of the other kind.
fn other(store: &Fixture) -> Fixture {
    match store.is_sqlite() {
        true => Fixture::postgres(),
        false => Fixture::sqlite(),
    }
}

fn instances_move_to_the_other_store(store: &Fixture) {
    store.seeded();
    let file = store.folder.path().join("all.jsonl").display().to_string();
    let all = ["export", "--all", "--running", "hold", "--file", &file, "-o", "json"];
    let exported = store.run(&all).json();
    assert_eq!((&exported["instances"], &exported["running"]), (&7.into(), &4.into()));
    assert_eq!(exported["missing_children_count"], 0);
    let target = other(store);
    let checked = target.run(&["import", &file, "--dry-run", "-o", "json"]).json();
    assert_eq!(checked["imported"], 7);
    assert!(target.ids("").is_empty(), "a dry run imports nothing");
    let imported = target.run(&["import", &file, "--verify", "-o", "json"]).json();
    assert_eq!((&imported["imported"], &imported["different"]), (&7.into(), &0.into()));
    assert_eq!(target.ids(""), store.ids(""));
    assert_eq!(target.content(), store.content());
    // Through a pipe, and back.
    let piped = target.run(&["export", "--where", "status:failed"]).ok();
    let back = Fixture::sqlite();
    back.run_with(&piped, &["import", "-", "--verify"]).ok();
    assert_eq!(back.ids(""), ["failed-1"]);
    target.with_node(async |client| {
        for instance in ["waiting-1", "child-1"] {
            client.raise_event(instance, "approved", "Ada").await.unwrap();
            client.enqueue_event(instance, "notes", "n").await.unwrap();
        }
        client.wait_for_orchestration("parent-1", PATIENCE).await.unwrap();
    });
    assert_eq!(target.run(&["wait", "waiting-1"]).ok(), "approved by Ada, n\n");
    assert_eq!(target.run(&["wait", "parent-1"]).ok(), "approved by Ada, n\n");
}

fn exports_are_refused(store: &Fixture) {
    store.seeded();
    let unknown = store.run(&["export", "unknown-1"]).refused(4);
    assert!(unknown.contains("'unknown-1'"), "{unknown}");
    let running = store.run(&["export", "waiting-1"]).refused(1);
    assert!(running.contains("duroxide suspend"), "{running}");
    let file = written(store.folder.path(), "there.jsonl", b"").display().to_string();
    let there = store.run(&["export", "done-1", "--file", &file]).refused(1);
    assert!(there.contains("is not replaced"), "{there}");
    assert_eq!(std::fs::read(&file).unwrap(), b"");
    let gone = store.folder.path().join("no/such/file").display().to_string();
    store.run(&["export", "done-1", "--file", &gone]).refused(1);
    let filter = store.run(&["export", "--where", "status:"]).refused(2);
    assert!(filter.contains("at byte 7"), "{filter}");
    store.run(&["export", "done-1", "--running", "hold", "--read-only"]).refused(2);
    let alone = store.run(&["export", "parent-1", "--running", "snapshot"]);
    assert!(alone.err.contains("1 children of exported instances are not exported: child-1"));
    assert_eq!(alone.code, 0);
    let suspended = store.run(&["suspend", "waiting-1", "--reason", "moving"]);
    assert_eq!(suspended.code, 0, "{suspended:?}");
    let lines = store.run(&["export", "waiting-1", "--read-only"]).ok();
    assert!(lines.contains("\"reason\":\"moving\""), "{lines}");
}

fn imports_are_refused(store: &Fixture) {
    store.seeded();
    let lines = store.run(&["export", "done-1", "failed-1"]).ok();
    let before = store.content();
    let again = store.run_with(&lines, &["import", "-"]).refused(1);
    assert!(again.contains("line 2: instance 'done-1' exists"), "{again}");
    let skipped = store.run_with(&lines, &["import", "-", "--skip-existing", "-o", "json"]);
    assert_eq!(skipped.json()["skipped"], 2);
    assert_eq!(store.content(), before);
    let target = other(store);
    let missing = target.run(&["import", "no-such-file"]).refused(2);
    assert!(missing.contains("no-such-file cannot be read"), "{missing}");
    let file = written(store.folder.path(), "bad.jsonl", b"hello").display().to_string();
    let bad = target.run(&["import", &file]).refused(1);
    assert!(bad.contains("line 1: not a file of instances"), "{bad}");
    target.run_with(&lines, &["import", "-", "--read-only"]).refused(2);
    let snapshot = store.run(&["export", "waiting-1", "--running", "snapshot"]).ok();
    let refused = target.run_with(&snapshot, &["import", "-"]).refused(1);
    assert!(refused.contains("snapshot"), "{refused}");
    assert!(target.ids("").is_empty());
    let half: Vec<&str> = lines.lines().collect();
    let cut = target.run_with(&half[..half.len() - 1].join("\n"), &["import", "-"]).refused(1);
    assert!(cut.contains("ends within instance 'failed-1'"), "{cut}");
    target.run_with(&lines, &["import", "-", "--skip-existing", "--verify"]).ok();
    assert_eq!(target.ids(""), ["done-1", "failed-1"]);
}
