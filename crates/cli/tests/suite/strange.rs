//! Ids and texts that a terminal, a shell or a pipe would misread.

use crate::support::{Fixture, PATIENCE, on_both_stores};

on_both_stores!(
    stored_control_codes_do_not_reach_a_terminal,
    an_id_that_a_line_cannot_hold_is_not_listed_as_ids,
    a_list_goes_on_behind_any_id,
    an_instance_of_a_later_release_is_shown,
);

const RED: &str = "\x1b[31m";

fn with_ids(store: &Fixture, name: &str, input: &str, ids: &[&str]) {
    store.with_node(async |client| {
        for id in ids {
            client.start_orchestration(*id, name, input).await.unwrap();
            client.wait_for_orchestration(id, PATIENCE).await.unwrap();
        }
    });
}

fn stored_control_codes_do_not_reach_a_terminal(store: &Fixture) {
    let id = "a\nb\x1b[31m";
    with_ids(store, "Fail", RED, &[id, "next"]);
    for arguments in [
        &["list"][..],
        &["list", "--limit", "1", "--ascending"],
        &["list", "-o", "wide"],
        &["show", id],
        &["why", id],
        &["wait", id],
        &["watch", id],
        &["history", id],
        &["tree", id],
        &["executions", id, "-o", "wide"],
        &["raise", id, RED],
        &["cancel", id, "unknown\x1b[31m"],
        &["delete", id],
        &["delete", id, "--dry-run"],
        &["show", "unknown\x1b[31m"],
        &["list", "\x1b[31m:x"],
        &["\x1b[31m"],
    ] {
        let ran = store.run(arguments);
        assert!(!ran.out.contains('\x1b') && !ran.err.contains('\x1b'), "{arguments:?}: {ran:?}");
        assert!(!ran.out.is_empty() || !ran.err.is_empty(), "{arguments:?}");
    }
}

fn an_id_that_a_line_cannot_hold_is_not_listed_as_ids(store: &Fixture) {
    with_ids(store, "Greet", "x", &["a\nb", "a", "b", "c\r"]);
    let listed = store.run(&["list", "-o", "ids"]);
    assert_eq!(listed.out, "b\na\n");
    // They are not dropped silently.
    assert!(listed.err.contains("'a\\nb'") && listed.err.contains("'c\\r'"), "{listed:?}");
    assert_eq!(store.run(&["list", "-o", "json"]).json().as_array().unwrap().len(), 4);
}

fn a_list_goes_on_behind_any_id(store: &Fixture) {
    with_ids(store, "Greet", "x", &["last", "it's\n\\1"]);
    let first = store.run(&["list", "--limit", "1"]);
    let word = first.err.trim_end().split_once("--after ").unwrap().1;
    // A shell reads the word as it stands there.
    let mut shell = std::process::Command::new("bash");
    let printed = shell.arg("-c").arg(format!("printf %s {word}")).output().unwrap();
    let cursor = String::from_utf8(printed.stdout).unwrap();
    let rest = store.run(&["list", "--after", &cursor, "-o", "ids"]).ok();
    assert_eq!(rest, "last\n");
}

/// The last event of `failed-1` has a form that only a later release knows, and `done-1` has lost
/// its history.
fn an_instance_of_a_later_release_is_shown(store: &Fixture) {
    store.seeded();
    let later = "SET event_data = '{\"type\":\"OrchestrationPaused\"}' \
                 WHERE instance_id = 'failed-1' AND event_type = 'OrchestrationFailed'";
    let lost = "WHERE instance_id = 'done-1'";
    match store.is_sqlite() {
        true => rusqlite::Connection::open(store.file())
            .unwrap()
            .execute_batch(&format!("UPDATE history {later}; DELETE FROM history {lost};"))
            .unwrap(),
        false => store.sql(&format!(
            "UPDATE {{schema}}.history {later}; DELETE FROM {{schema}}.history {lost};"
        )),
    }
    let shown = store.run(&["show", "failed-1", "-o", "json"]).json();
    assert_eq!(shown["status"], "failed", "{shown}");
    assert_eq!(shown["timeline"][0]["name"], "Charge", "{shown}");
    let lost = store.run(&["show", "done-1", "-o", "json"]).json();
    assert_eq!((&lost["status"], &lost["input"]), (&"completed".into(), &serde_json::Value::Null));
    store.run(&["kv", "failed-1"]).ok();
    store.run(&["delete", "failed-1", "--dry-run"]).ok();
    let watched = store.run(&["watch", "failed-1"]).refused(1);
    assert!(watched.contains("cannot be read"), "{watched}");
}

#[test]
fn a_width_that_no_terminal_has_is_cut() {
    let store = Fixture::sqlite();
    store.seeded();
    let mut show = store.command(&["show", "done-1"]);
    show.env("COLUMNS", "99999999999");
    let shown = crate::support::finish(show, None).ok();
    assert!(shown.contains("Echo#2"), "{}", shown.len());
}
