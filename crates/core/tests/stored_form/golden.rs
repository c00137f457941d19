//! Compares values with a table of names and texts, in both directions.

use std::fmt::Debug;

use serde::{Serialize, de::DeserializeOwned};

pub(crate) const EVENTS: &str = include_str!("testdata/events.txt");
pub(crate) const WORK_ITEMS: &str = include_str!("testdata/work_items.txt");
pub(crate) const ERRORS: &str = include_str!("testdata/errors.txt");

/// The rows of a table: name of the case and text.
pub(crate) fn rows(table: &str) -> Vec<(&str, &str)> {
    table
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_once(" | ").expect("a row is 'name | text'"))
        .collect()
}

/// Asserts that each value encodes to the text of its row, and that each text decodes to the value.
pub(crate) fn assert_golden<T>(table: &str, values: &[(&str, T)])
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    let rows = rows(table);
    let names: Vec<&str> = rows.iter().map(|(name, _)| *name).collect();
    let expected: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, expected, "the table and the values list different cases");
    for ((name, text), (_, value)) in rows.iter().zip(values) {
        assert_eq!(serde_json::to_string(value).unwrap(), *text, "encoding {name}");
        assert_eq!(&serde_json::from_str::<T>(text).unwrap(), value, "decoding {name}");
    }
}
