//! How typed values become text: strings unchanged, everything else as compact JSON.

use std::collections::BTreeMap;

use duroxide_core::model::codec::{decode, encode};
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    number: u64,
    items: Vec<String>,
    note: Option<String>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Reply {
    Yes,
    No { why: String },
}

#[test]
fn strings_are_stored_unchanged() {
    assert_eq!(encode("hello"), Ok("hello".into()));
    assert_eq!(encode(&String::from("")), Ok("".into()));
    assert_eq!(encode("a \"b\" \n c"), Ok("a \"b\" \n c".into()));
}

#[test]
fn other_values_are_stored_as_compact_json() {
    assert_eq!(encode(&123), Ok("123".into()));
    assert_eq!(encode(&true), Ok("true".into()));
    assert_eq!(encode(&()), Ok("null".into()));
    assert_eq!(encode(&None::<String>), Ok("null".into()));
    assert_eq!(encode(&vec![1, 2]), Ok("[1,2]".into()));
    let order = Order { number: 1, items: vec!["a".into()], note: None };
    let stored = encode(&order).unwrap();
    assert!(!stored.contains(' '), "{stored}");
    assert_eq!(decode::<Order>(&stored), Ok(order));
}

#[test]
fn values_that_encode_to_json_strings_are_stored_without_quotes() {
    assert_eq!(encode(&Reply::Yes), Ok("Yes".into()));
    assert_eq!(encode(&Some("x")), Ok("x".into()));
    assert_eq!(decode::<Reply>("Yes"), Ok(Reply::Yes));
    let no = Reply::No { why: "late".into() };
    assert_eq!(decode::<Reply>(&encode(&no).unwrap()), Ok(no));
}

#[test]
fn a_string_that_looks_like_json_decodes_as_a_string() {
    assert_eq!(decode::<String>("123"), Ok("123".into()));
    assert_eq!(decode::<String>("null"), Ok("null".into()));
    assert_eq!(decode::<String>("{\"a\":1}"), Ok("{\"a\":1}".into()));
    assert_eq!(decode::<String>(""), Ok("".into()));
    assert_eq!(decode::<i64>("123"), Ok(123));
}

#[test]
fn a_quoted_string_decodes_as_json_first() {
    assert_eq!(decode::<String>("\"quoted\""), Ok("quoted".into()));
}

#[test]
fn text_that_decodes_neither_as_json_nor_as_a_string_is_an_error() {
    assert!(decode::<i64>("twelve").is_err());
    assert!(decode::<Order>("{\"number\":1}").unwrap_err().contains("items"));
}

#[test]
fn values_without_a_json_form_are_an_error() {
    let keyed_by_list = BTreeMap::from([(vec![1], 2)]);
    assert!(encode(&keyed_by_list).is_err());
}
