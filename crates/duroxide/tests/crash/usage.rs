//! What a person sees who gives the quickstart strange arguments.

use std::process::Stdio;

use crate::child::spawn;

fn refused(args: &[&str]) -> (Option<i32>, String) {
    let output = spawn(args, Stdio::piped()).wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn bad_arguments_are_named_and_the_usage_is_shown() {
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
fn a_store_that_cannot_be_used_is_an_error_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("nowhere").join("orders.db");
    let (code, text) = refused(&["--store", missing.to_str().unwrap()]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("does not exist; create it first"), "{text}");
}

#[test]
fn an_answer_without_an_open_order_says_how_to_begin_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("orders.db");
    let (code, text) = refused(&["approve", "--store", store.to_str().unwrap()]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("begin one with"), "{text}");
}
