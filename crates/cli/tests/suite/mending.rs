//! Instances that failed are retried, reset and forked.

use crate::support::{Fixture, PATIENCE, on_both_stores, written};

on_both_stores!(
    failed_instances_are_retried,
    an_instance_goes_back_to_an_event,
    a_copy_goes_on_under_another_id,
    wrong_calls_change_nothing,
    mending_by_a_filter_is_recorded,
    a_plan_says_that_no_keys_are_left,
);

/// Orders whose payment fails while the bank is closed; the path of the file that opens it.
fn failed_orders(store: &Fixture, ids: &[&str]) -> std::path::PathBuf {
    let bank = store.folder.path().join("bank-is-open");
    store.with_node(async |client| {
        for id in ids {
            client.start_orchestration(*id, "Order", bank.display().to_string()).await.unwrap();
            client.wait_for_orchestration(id, PATIENCE).await.unwrap();
        }
    });
    bank
}

fn open_bank(store: &Fixture) {
    written(store.folder.path(), "bank-is-open", b"");
}

/// Lets nodes go on until these instances have ended.
fn finish(store: &Fixture, ids: &[&str]) {
    store.with_node(async |client| {
        for id in ids {
            client.wait_for_orchestration(id, PATIENCE).await.unwrap();
        }
    });
}

fn failed_instances_are_retried(store: &Fixture) {
    failed_orders(store, &["order-1", "order-2", "order-3"]);
    let before = store.content();
    let planned = store.run(&["retry", "order-1", "--dry-run"]).ok();
    assert!(
        planned.starts_with("order-1 continues as execution 2: the call of event"),
        "{planned}"
    );
    assert!(planned.contains("runs again: activity Pay of event"), "{planned}");
    let filter = "status:failed name:Order";
    let planned = store.run(&["retry", "--where", filter, "--dry-run", "-o", "json"]).json();
    assert_eq!(planned.as_array().unwrap().len(), 3, "{planned}");
    assert_eq!(planned[0]["result"], "would_retry");
    assert_eq!(planned[0]["plan"]["run_again"][0]["name"], "Pay");
    assert_eq!(store.content(), before);

    let unconfirmed = store.run(&["retry", "--where", filter]);
    assert_eq!(unconfirmed.code, 8, "{unconfirmed:?}");
    assert!(unconfirmed.err.contains("3 instances"), "{unconfirmed:?}");
    open_bank(store);
    let named = store.run(&["retry", "order-1", "--reason", "the bank is open"]).ok();
    assert!(named.contains("retried"), "{named}");
    let retried = store.run_with("order-2\norder-3\n", &["retry", "-", "--yes", "-o", "json"]);
    let retried = retried.json();
    assert_eq!(
        (&retried[0]["result"], &retried[1]["result"]),
        (&"retried".into(), &"retried".into())
    );
    finish(store, &["order-1", "order-2", "order-3"]);
    assert_eq!(store.run(&["wait", "order-2"]).ok(), "paid\n");
    assert!(store.run(&["history", "order-1"]).ok().contains("the bank is open"));
    let none = store.run(&["retry", "--where", filter, "--yes", "-o", "json"]);
    assert_eq!((none.code, none.out.trim()), (0, "[]"), "{none:?}");
}

fn an_instance_goes_back_to_an_event(store: &Fixture) {
    failed_orders(store, &["order-1"]);
    open_bank(store);
    let planned = store.run(&["reset", "order-1", "--to", "first", "--dry-run", "-o", "json"]);
    let planned = planned.json();
    assert_eq!(
        (&planned[0]["result"], &planned[0]["plan"]["kept"]),
        (&"would_reset".into(), &1.into())
    );
    let unconfirmed = store.run(&["reset", "order-1", "--to", "first"]);
    assert_eq!(unconfirmed.code, 8, "{unconfirmed:?}");
    let reset = ["reset", "order-1", "--to", "first", "--messages", "drop", "--yes", "-o", "json"];
    assert_eq!(store.run(&reset).json()[0]["result"], "reset");
    finish(store, &["order-1"]);
    assert_eq!(store.run(&["wait", "order-1"]).ok(), "paid\n");
    let other_code = ["reset", "order-1", "--to", "2", "--version", "9.0.0", "--yes"];
    store.run(&other_code).ok();
    let row = store.run(&["show", "order-1", "-o", "json"]).json();
    assert_eq!((&row["orchestration_version"], &row["executions"]), (&"9.0.0".into(), &3.into()));
}

fn a_copy_goes_on_under_another_id(store: &Fixture) {
    failed_orders(store, &["order-1"]);
    open_bank(store);
    let fork = ["fork", "order-1", "copy-1", "--to", "last-failed"];
    let planned = store.run(&[&fork[..], &["--dry-run"]].concat()).ok();
    assert!(planned.starts_with("order-1 is forked as copy-1: "), "{planned}");
    assert_eq!(store.ids(""), ["order-1"]);
    let forked = store.run(&[&fork[..], &["-o", "json"]].concat()).json();
    assert_eq!(
        (&forked["instance_id"], &forked["forked_from"]),
        (&"copy-1".into(), &"order-1".into())
    );
    let again = store.run(&fork).refused(1);
    assert!(again.contains("exists"), "{again}");
    finish(store, &["copy-1"]);
    assert_eq!(store.run(&["wait", "copy-1"]).ok(), "paid\n");
    assert!(store.run(&["wait", "order-1"]).refused(5).contains("the bank is closed"));
}

fn wrong_calls_change_nothing(store: &Fixture) {
    store.seeded();
    failed_orders(store, &["order-1"]);
    let before = store.content();
    for (arguments, code, text) in [
        (&["retry", "unknown-1"][..], 4, "'unknown-1'"),
        (&["retry", "done-1"], 1, "has not failed"),
        (&["retry", "done-1", "--dry-run"], 1, "has not failed"),
        (&["retry", "order-1", "--version", "newest"], 2, "semantic version"),
        (&["retry", "order-1", "--read-only"], 2, "--read-only"),
        (&["reset", "order-1", "--to", "99", "--yes"], 2, "no such event"),
        (&["reset", "unknown-1", "--to", "first", "--yes"], 4, "'unknown-1'"),
        (&["reset", "order-1", "--to", "first", "--yes", "--read-only"], 2, "--read-only"),
        (&["fork", "order-1", "order-1", "--to", "first"], 2, "id of its own"),
        (&["fork", "order-1", "done-1", "--to", "first"], 1, "exists"),
        (&["fork", "unknown-1", "copy-1", "--to", "first"], 4, "'unknown-1'"),
        (&["fork", "order-1", "copy-1", "--to", "first", "--read-only"], 2, "--read-only"),
    ] {
        let refused = store.run(arguments).refused(code);
        assert!(refused.contains(text), "{arguments:?}: {refused}");
    }
    let nowhere = store.run(&["reset", "order-1", "--to", "somewhere", "--yes"]);
    assert_eq!(nowhere.code, 2, "{nowhere:?}");
    assert!(nowhere.err.contains("last-failed, first or the number of an event"), "{nowhere:?}");
    // What fails does not keep the others back, and a dry run says so.
    let mixed = store.run(&["retry", "done-1", "order-1", "--dry-run", "-o", "json"]);
    assert_eq!(mixed.code, 1, "{mixed:?}");
    let rows: serde_json::Value = serde_json::from_str(&mixed.out).unwrap();
    assert_eq!((&rows[0]["result"], &rows[1]["result"]), (&"failed".into(), &"would_retry".into()));
    assert_eq!(store.content(), before);
}

fn mending_by_a_filter_is_recorded(store: &Fixture) {
    failed_orders(store, &["order-1", "order-2"]);
    let filter = ["--where", "status:failed name:Order"];
    let before = store.content();
    for command in [&["retry"][..], &["reset", "--to", "first"]] {
        let options = ["--messages", "drop", "--yes"];
        let refused = store.run(&[command, &filter, &options].concat()).refused(2);
        assert!(refused.contains("duroxide list 'status:failed name:Order' --all"), "{refused}");
        assert!(refused.contains(&format!("duroxide {} - --messages", command[0])), "{refused}");
    }
    assert_eq!(store.content(), before);
    open_bank(store);
    let retry = [&["retry"], &filter[..], &["--yes", "--by", "mara", "-o", "json"]].concat();
    let retried = store.run(&[&retry[..], &["--reason", "the bank is open"]].concat()).json();
    assert_eq!(retried[0]["result"], "retried", "{retried}");
    assert_eq!(retried.as_array().unwrap().len(), 2, "{retried}");
    finish(store, &["order-1", "order-2"]);
    let reset = ["reset", "--to", "first", "--where", "name:Order", "--yes", "-o", "json"];
    let reset = store.run(&reset).json();
    assert_eq!((&reset[0]["result"], &reset[1]["result"]), (&"reset".into(), &"reset".into()));
    finish(store, &["order-1", "order-2"]);
    let acts = store.run(&["bulk", "list", "-o", "json"]).json();
    let field = |place: usize, field: &str| acts[place][field].clone();
    assert_eq!((field(1, "act"), field(1, "by")), ("retry".into(), "mara".into()), "{acts}");
    assert_eq!((field(1, "reason"), field(1, "done")), ("the bank is open".into(), 2.into()));
    assert_eq!((field(0, "act"), field(0, "done")), ("reset".into(), 2.into()), "{acts}");
    let act = field(1, "act_id");
    let outcomes = store.run(&["bulk", "outcomes", act.as_str().unwrap(), "-o", "json"]).json();
    assert_eq!(outcomes[0]["result"], "continues as execution 2", "{outcomes}");
    let row = store.run(&["show", "order-1", "-o", "json"]).json();
    assert_eq!((&row["executions"], &row["status"]), (&3.into(), &"completed".into()), "{row}");
    assert!(store.run(&["history", "order-1", "--execution", "2"]).ok().contains("the bank is"));
}

/// The line ended behind its colon.
fn a_plan_says_that_no_keys_are_left(store: &Fixture) {
    store.seeded();
    let plan = store.run(&["reset", "waiting-1", "--to", "first", "--dry-run"]).ok();
    assert!(plan.contains("keys as before execution 1: none\n"), "{plan}");
}
