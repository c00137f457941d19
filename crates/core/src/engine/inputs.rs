//! Whether a recorded and a requested input mean the same, and how they differ if not.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::{self, Write};

use super::json::Json;
use crate::limits::{DIFFERENCES_SHOWN_MAX, DIFFERING_PATH_MAX, DIFFERING_VALUE_MAX};

/// Activities and orchestrations whose inputs are not compared on replay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnoredInputs {
    /// Names of activities.
    pub activities: BTreeSet<String>,
    /// Names of orchestrations, as children and as detached starts.
    pub orchestrations: BTreeSet<String>,
}

/// Whether two texts are the same JSON value.
pub(super) fn same_meaning(recorded: &str, requested: &str) -> bool {
    Json::parse(recorded).is_some_and(|value| Json::parse(requested) == Some(value))
}

/// How two inputs differ: field by field if both are JSON, else from which byte on.
pub(super) fn describe(recorded: &str, requested: &str) -> String {
    let mut report = Report::default();
    match (Json::parse(recorded), Json::parse(requested)) {
        (Some(recorded), Some(requested)) => report.compare("", &recorded, &requested),
        (Some(_) | None, Some(_) | None) => report.compare_texts(recorded, requested),
    }
    report.finish()
}

#[derive(Debug, Default)]
struct Report {
    shown: Vec<String>,
    left_out: usize,
}

impl Report {
    fn compare(&mut self, path: &str, recorded: &Json<'_>, requested: &Json<'_>) {
        match (recorded, requested) {
            (Json::Object(recorded), Json::Object(requested)) => {
                self.compare_fields(path, recorded, requested);
            }
            (Json::List(recorded), Json::List(requested)) => {
                for index in 0..recorded.len().max(requested.len()) {
                    let step = Step { path, name: &index.to_string() };
                    self.compare_elements(step, recorded.get(index), requested.get(index));
                }
            }
            (recorded, requested) if recorded == requested => {}
            (recorded, requested) => self.add(path, Some(recorded), Some(requested)),
        }
    }

    fn compare_fields(&mut self, path: &str, recorded: &[Field<'_>], requested: &[Field<'_>]) {
        let (mut recorded, mut requested) =
            (recorded.iter().peekable(), requested.iter().peekable());
        // Both are sorted by key.
        loop {
            let name = match (recorded.peek(), requested.peek()) {
                (Some((a, _)), Some((b, _))) => a.min(b),
                (Some((name, _)), None) | (None, Some((name, _))) => name,
                (None, None) => return,
            };
            let old = recorded.next_if(|(key, _)| key == name).map(|(_, value)| value);
            let new = requested.next_if(|(key, _)| key == name).map(|(_, value)| value);
            self.compare_elements(Step { path, name }, old, new);
        }
    }

    fn compare_elements(
        &mut self,
        step: Step<'_>,
        recorded: Option<&Json<'_>>,
        requested: Option<&Json<'_>>,
    ) {
        match (recorded, requested) {
            // Only what differs needs a path.
            (Some(recorded), Some(requested)) if recorded == requested => {}
            (Some(recorded), Some(requested)) => self.compare(&step.path(), recorded, requested),
            (_, _) if self.is_full() => self.left_out += 1,
            (recorded, requested) => self.add(&step.path(), recorded, requested),
        }
    }

    fn add(&mut self, path: &str, recorded: Option<&Json<'_>>, requested: Option<&Json<'_>>) {
        if self.is_full() {
            self.left_out += 1;
            return;
        }
        let colon = if path.is_empty() { "" } else { ": " };
        let (recorded, requested) = (shown(recorded), shown(requested));
        self.shown
            .push(format!("{}{colon}{recorded} → {requested}", excerpt(path, DIFFERING_PATH_MAX)));
    }

    fn compare_texts(&mut self, recorded: &str, requested: &str) {
        let equal = recorded.chars().zip(requested.chars()).take_while(|(a, b)| a == b);
        let from = equal.map(|(a, _)| a.len_utf8()).sum::<usize>();
        let rest = |text: &str| format!("{:?}", excerpt(&text[from..], DIFFERING_VALUE_MAX));
        self.shown.push(format!("from byte {from} on: {} → {}", rest(recorded), rest(requested)));
    }

    fn is_full(&self) -> bool {
        self.shown.len() >= DIFFERENCES_SHOWN_MAX
    }

    fn finish(self) -> String {
        let mut text = self.shown.join(", ");
        if self.left_out > 0 {
            text += &format!(", and {} more", self.left_out);
        }
        text
    }
}

type Field<'a> = (Cow<'a, str>, Json<'a>);

/// An element of an object or a list.
#[derive(Clone, Copy)]
struct Step<'a> {
    path: &'a str,
    name: &'a str,
}

impl Step<'_> {
    /// A JSON pointer (RFC 6901).
    fn path(self) -> String {
        format!(
            "{}/{}",
            self.path,
            excerpt(self.name, DIFFERING_VALUE_MAX).replace('~', "~0").replace('/', "~1")
        )
    }
}

fn shown(value: Option<&Json<'_>>) -> String {
    match value {
        None => "absent".to_owned(),
        Some(Json::Literal(text) | Json::Number(text)) => {
            excerpt(text, DIFFERING_VALUE_MAX).into_owned()
        }
        Some(Json::Text(text)) => format!("{:?}", excerpt(text, DIFFERING_VALUE_MAX)),
        Some(Json::List(items)) => format!("a list of {}", items.len()),
        Some(Json::Object(fields)) => format!("an object of {} fields", fields.len()),
    }
}

fn excerpt(text: &str, max: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// The debug form of a value, cut at `max` bytes: the texts of errors are stored.
pub(super) fn bounded_debug(value: &impl fmt::Debug, max: usize) -> String {
    struct Bounded {
        text: String,
        max: usize,
    }
    impl Write for Bounded {
        fn write_str(&mut self, part: &str) -> fmt::Result {
            let mut end = part.len().min(self.max - self.text.len());
            while !part.is_char_boundary(end) {
                end -= 1;
            }
            self.text.push_str(&part[..end]);
            if end < part.len() { Err(fmt::Error) } else { Ok(()) }
        }
    }
    let mut out = Bounded { text: String::new(), max };
    if write!(out, "{value:?}").is_err() {
        out.text.push('…');
    }
    out.text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_names_the_field_and_both_values() {
        let recorded = r#"{"items":[{},{},{},{"price":10,"a/b~":"x"}],"to":"home","gone":[1]}"#;
        let requested = r#"{"to":"work","items":[{},{},{},{"a/b~":"y","price":12}],"new":null}"#;
        let expected = "/gone: a list of 1 → absent, /items/3/a~1b~0: \"x\" → \"y\", \
                        /items/3/price: 10 → 12, /new: absent → null, /to: \"home\" → \"work\"";
        assert_eq!(describe(recorded, requested), expected);
        assert_eq!(describe("1", "2"), "1 → 2");
        assert_eq!(describe("[1]", "[1,{}]"), "/1: absent → an object of 0 fields");
    }

    #[test]
    fn texts_that_are_not_json_show_where_they_part() {
        assert_eq!(describe("grün 1", "grün 2"), "from byte 6 on: \"1\" → \"2\"");
        assert_eq!(describe("{\"a\":1}", "a"), "from byte 0 on: \"{\\\"a\\\":1}\" → \"a\"");
        assert_eq!(describe("ab", "abc"), "from byte 2 on: \"\" → \"c\"");
    }

    #[test]
    fn the_description_of_any_difference_is_short() {
        let list = |item: &str| format!("[{}]", vec![item; 100_000].join(","));
        let shown = describe(&list("1"), &list("2"));
        assert!(shown.starts_with("/0: 1 → 2, /1: 1 → 2, "), "{shown}");
        assert!(shown.ends_with(", and 99992 more") && shown.len() < 200, "{shown}");
        let key = "k".repeat(100_000);
        let object = |value: &str| format!("{{\"{key}\":\"{}\"}}", value.repeat(100_000));
        assert!(describe(&object("a"), &object("b")).len() < 1000);
        assert!(describe(&"a".repeat(100_000), &"é".repeat(100_000)).len() < 1000);
        let nested = |end| format!("{}{end}{}", "{\"key\":".repeat(100), "}".repeat(100));
        assert!(describe(&nested(1), &nested(2)).len() < 1000);
        let debug = bounded_debug(&"é".repeat(1000), 100);
        assert!(debug.len() <= 103 && debug.ends_with("é…"), "{debug}");
        assert_eq!(bounded_debug(&Some(1), 100), "Some(1)");
    }
}
