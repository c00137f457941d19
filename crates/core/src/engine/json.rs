//! JSON texts as values: what an input means, whatever its key order, spacing and number form.
//!
//! `serde_json::Value` would not do: it rounds numbers that do not fit its types and keeps the last
//! of two equal keys, so that different inputs could appear equal.

use std::borrow::Cow;

use crate::limits::{JSON_COMPARED_BYTES_MAX, JSON_DEPTH_MAX};

/// A parsed text. Borrows from it where it can.
#[derive(Debug)]
pub(super) enum Json<'a> {
    /// `null`, `true` or `false`.
    Literal(&'a str),
    /// A number as it is written.
    Number(&'a str),
    Text(Cow<'a, str>),
    List(Vec<Self>),
    /// Fields in the order of their keys. No key occurs twice.
    Object(Vec<(Cow<'a, str>, Self)>),
}

impl<'a> Json<'a> {
    /// Parses a text. `None` if it is not JSON, or has no certain meaning (an object has a key
    /// twice), or is too large or too deep.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        if text.len() > JSON_COMPARED_BYTES_MAX {
            return None;
        }
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(0)?;
        reader.skip_space();
        (reader.at == text.len()).then_some(value)
    }
}

impl PartialEq for Json<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Literal(a), Self::Literal(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => same_number(a, b),
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::List(a), Self::List(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => a == b,
            (
                Self::Literal(_)
                | Self::Number(_)
                | Self::Text(_)
                | Self::List(_)
                | Self::Object(_),
                _,
            ) => false,
        }
    }
}

/// Whether two numbers are exactly equal: `1`, `1.0` and `10e-1` are.
fn same_number(a: &str, b: &str) -> bool {
    a == b || Decimal::of(a).is_some_and(|a| Decimal::of(b) == Some(a))
}

/// A number in its only normal form: `digits` without zeros at both ends, times ten to `exponent`.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// `None` if the exponent is beyond any number: such numbers are compared as texts.
    fn of(number: &str) -> Option<Self> {
        let (negative, number) = match number.strip_prefix('-') {
            Some(positive) => (true, positive),
            None => (false, number),
        };
        let (mantissa, exponent) = match number.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
            None => (number, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let leading = all.trim_start_matches('0');
        let digits = leading.trim_end_matches('0');
        if digits.is_empty() {
            return Some(Self { negative: false, digits: String::new(), exponent: 0 });
        }
        let shift = i64::try_from(leading.len() - digits.len()).ok()?;
        let point = i64::try_from(fraction.len()).ok()?;
        let exponent = exponent.checked_sub(point)?.checked_add(shift)?;
        Some(Self { negative, digits: digits.to_owned(), exponent })
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: usize) -> Option<Json<'a>> {
        if depth > JSON_DEPTH_MAX {
            return None;
        }
        self.skip_space();
        match self.peek()? {
            b'{' => self.object(depth),
            b'[' => self.list(depth),
            b'"' => self.string().map(Json::Text),
            b'-' | b'0'..=b'9' => self.number(),
            _ => ["null", "true", "false"].into_iter().find_map(|word| self.literal(word)),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Json<'a>> {
        let mut fields = Vec::new();
        self.elements(b'}', |reader| {
            reader.skip_space();
            let key = reader.string()?;
            reader.skip_space();
            reader.take(b':').then_some(())?;
            fields.push((key, reader.value(depth + 1)?));
            Some(())
        })?;
        fields.sort_by(|(a, _), (b, _)| a.cmp(b));
        let repeated = fields.windows(2).any(|pair| pair[0].0 == pair[1].0);
        (!repeated).then_some(Json::Object(fields))
    }

    fn list(&mut self, depth: usize) -> Option<Json<'a>> {
        let mut items = Vec::new();
        self.elements(b']', |reader| {
            items.push(reader.value(depth + 1)?);
            Some(())
        })?;
        Some(Json::List(items))
    }

    /// Reads what is between an opening bracket and the closing one, separated by commas.
    fn elements(
        &mut self,
        close: u8,
        mut element: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.at += 1;
        self.skip_space();
        if self.take(close) {
            return Some(());
        }
        loop {
            element(self)?;
            self.skip_space();
            if self.take(close) {
                return Some(());
            }
            self.take(b',').then_some(())?;
        }
    }

    fn string(&mut self) -> Option<Cow<'a, str>> {
        let start = self.at;
        self.take(b'"').then_some(())?;
        let mut escaped = false;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => {
                    escaped = true;
                    self.at += 2;
                }
                0..=0x1f => return None,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        let quoted = self.text.get(start..self.at)?;
        match escaped {
            true => serde_json::from_str(quoted).ok().map(Cow::Owned),
            false => Some(Cow::Borrowed(&quoted[1..quoted.len() - 1])),
        }
    }

    fn number(&mut self) -> Option<Json<'a>> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _sign = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        self.text.get(start..self.at).map(Json::Number)
    }

    /// At least one digit.
    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    fn literal(&mut self, word: &'static str) -> Option<Json<'a>> {
        self.text.get(self.at..)?.starts_with(word).then(|| {
            self.at += word.len();
            Json::Literal(word)
        })
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn same(a: &str, b: &str) -> bool {
        Json::parse(a).is_some_and(|a| Json::parse(b) == Some(a))
    }

    #[test]
    fn numbers_are_equal_if_they_are_exactly_equal() {
        for number in ["1", "1.0", "1e0", "1E+0", "10e-1", "0.1e1", "1.000"] {
            assert!(same("1", number), "{number}");
        }
        assert!(same("0", "-0.0") && same("0e99999", "0"));
        assert!(same("1000000000000000000000", "1e21"));
        // Equal as floating-point numbers, and different all the same.
        assert!(!same("9007199254740993", "9007199254740992.0"));
        assert!(!same("18446744073709551616", "18446744073709551617"));
        assert!(!same("0.1", "0.10000000000000000001"));
        assert!(!same("1", "-1") && !same("1e400", "1e401"));
        assert!(same("1e99999999999999999999", "1e99999999999999999999"));
        assert!(!same("1e99999999999999999999", "10e99999999999999999998"));
    }

    #[test]
    fn objects_are_equal_in_any_order_and_spacing() {
        assert!(same(r#"{"a":1,"b":[true,null]}"#, " {\"b\" : [ true,\tnull ],\n\"a\":1.0} "));
        assert!(same(r#"{"\u0061":"\u00e9"}"#, r#"{"a":"é"}"#));
        assert!(!same(r#"{"a":1}"#, r#"{"a":1,"b":null}"#));
        assert!(!same("[1,2]", "[2,1]") && !same("\"1\"", "1") && !same("[]", "{}"));
    }

    #[test]
    fn a_text_without_a_certain_meaning_is_no_value() {
        let deep = "[".repeat(JSON_DEPTH_MAX + 2) + &"]".repeat(JSON_DEPTH_MAX + 2);
        let large = format!("[{}]", " ".repeat(JSON_COMPARED_BYTES_MAX));
        let texts = ["", "x", "01", "1.", "1e", "-", "[1,]", "{\"a\":1,\"a\":1}", "\"\\ud800\""];
        for text in texts.into_iter().chain([deep.as_str(), large.as_str(), "\"\n\"", "1 2"]) {
            assert!(Json::parse(text).is_none(), "{}", &text[..text.len().min(20)]);
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,6}".prop_map(Value::from),
        ];
        scalar.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(".{0,3}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_value_equals_itself_in_another_form(value in json()) {
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            prop_assert!(same(&value.to_string(), &pretty));
        }

        #[test]
        fn two_values_are_equal_exactly_if_their_texts_are(a in json(), b in json()) {
            // Both are written by the same code, with sorted keys, so only 1 and 1.0 could differ.
            prop_assert_eq!(same(&a.to_string(), &b.to_string()), a == b);
        }

        #[test]
        fn only_what_serde_reads_is_a_value(text in "[\\[\\]{}\":,0-9.eE+\\- a-fn-u\\\\]{0,12}") {
            let read = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            // An object with a key twice is read by serde, and a lone surrogate is skipped by it.
            prop_assert!(read || Json::parse(&text).is_none(), "{}", text);
            if Json::parse(&text).is_none() && !text.contains(['"', '{']) {
                prop_assert!(!read, "{}", text);
            }
        }
    }
}
