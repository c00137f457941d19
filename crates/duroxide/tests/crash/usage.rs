//! How the quickstart reports wrong arguments.

use std::process::Stdio;

use crate::child::spawn;

fn refused(args: &[&str]) -> (Option<i32>, String) {
    let output = spawn(args, Stdio::piped()).wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_wrong_argument_is_named_and_the_usage_is_shown() {
    for (args, wrong) in [
        (vec!["sing"], "'sing' is not understood"),
        (vec!["--store"], "--store needs a value"),
        (vec!["--store", ":memory:"], "must name a file"),
        (vec!["--answer", "perhaps"], "none of approve, reject, none"),
        (vec!["--pace-ms", "fast"], "must be a number of milliseconds"),
    ] {
        let (code, text) = refused(&args);
        assert_eq!(code, Some(2), "{args:?}: {text}");
        assert!(text.contains(wrong), "{args:?}: {text}");
        assert!(text.contains("usage: cargo run --example quickstart"), "{args:?}: {text}");
    }
}

#[test]
fn an_unusable_store_is_an_error_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("nowhere").join("orders.db");
    let (code, text) = refused(&["--store", missing.to_str().unwrap()]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("does not exist; create it first"), "{text}");
}

#[test]
fn approving_without_an_open_order_says_how_to_start_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("orders.db");
    let (code, text) = refused(&["approve", "--store", store.to_str().unwrap()]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("begin one with"), "{text}");
}

/// A mistyped path must not cost the user a file of another program.
#[test]
fn a_reset_leaves_files_alone_that_are_no_store() {
    let folder = tempfile::tempdir().unwrap();
    let letter = folder.path().join("letter.txt");
    std::fs::write(&letter, "dear reader").unwrap();
    let foreign = folder.path().join("foreign.db");
    let tables = rusqlite::Connection::open(&foreign).unwrap();
    tables.execute_batch("CREATE TABLE letters (text TEXT)").unwrap();
    drop(tables);
    for file in [letter, foreign] {
        let before = std::fs::read(&file).unwrap();
        let (code, text) = refused(&["reset", "--store", file.to_str().unwrap()]);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains("is not removed"), "{text}");
        assert_eq!(std::fs::read(&file).unwrap(), before);
    }
}
