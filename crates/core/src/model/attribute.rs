//! Search attributes: small typed values by which instances are found.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

use super::utc::Utc;
use crate::limits::{MAX_ATTRIBUTE_NAME_BYTES, MAX_ATTRIBUTE_VALUE_BYTES, MAX_ATTRIBUTES};

/// The attributes of an instance by their names.
pub type Attributes = BTreeMap<String, AttributeValue>;

/// A typed value of a search attribute.
///
/// As JSON, a time is a string such as `"2026-01-31T12:00:00Z"`; the others are what they are.
///
/// ```
/// # use duroxide_core as duroxide;
/// use duroxide::AttributeValue;
///
/// assert_eq!(AttributeValue::from(42), AttributeValue::Integer(42));
/// assert_eq!(AttributeValue::from("red").to_string(), "red");
/// assert_eq!(AttributeValue::Time(0).to_string(), "1970-01-01T00:00:00Z");
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AttributeValue {
    /// A text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// Milliseconds since the Unix epoch.
    Time(u64),
}

impl AttributeValue {
    /// The word for its type.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Integer(_) => "integer",
            Self::Float(_) => "float",
            Self::Bool(_) => "bool",
            Self::Time(_) => "time",
        }
    }
}

/// Why an attribute is refused, if it is: its name has other characters than letters, digits, `_`,
/// `.` and `-`, or it is too long, or no number.
pub(crate) fn refuse_attribute(name: &str, value: &AttributeValue) -> Option<String> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_allowed) {
        return Some(format!(
            "attribute name '{name}' is refused: it has letters, digits, '_', '.' and '-'"
        ));
    }
    let too_long = |what: &str, length: usize, limit: usize| {
        format!("Attribute {what} size ({length} bytes) exceeds limit ({limit} bytes)")
    };
    if name.len() > MAX_ATTRIBUTE_NAME_BYTES {
        return Some(too_long("name", name.len(), MAX_ATTRIBUTE_NAME_BYTES));
    }
    match value {
        AttributeValue::Text(text) if text.len() > MAX_ATTRIBUTE_VALUE_BYTES => {
            Some(too_long(&format!("'{name}'"), text.len(), MAX_ATTRIBUTE_VALUE_BYTES))
        }
        AttributeValue::Text(text) if text.contains('\0') => {
            Some(format!("attribute '{name}' is refused: its text has a zero character"))
        }
        AttributeValue::Float(number) if !number.is_finite() => {
            Some(format!("attribute '{name}' is refused: {number} is no number"))
        }
        AttributeValue::Text(_)
        | AttributeValue::Integer(_)
        | AttributeValue::Float(_)
        | AttributeValue::Bool(_)
        | AttributeValue::Time(_) => None,
    }
}

/// Why the attributes of an instance are refused together, if they are.
pub(crate) fn refuse_count(count: usize) -> Option<String> {
    (count > MAX_ATTRIBUTES)
        .then(|| format!("Attribute count ({count}) exceeds limit ({MAX_ATTRIBUTES})"))
}

impl fmt::Display for AttributeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Float(number) => write!(f, "{number}"),
            Self::Bool(is_true) => write!(f, "{is_true}"),
            Self::Time(ms) => write!(f, "{}", Utc(*ms)),
        }
    }
}

impl Serialize for AttributeValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Integer(number) => serializer.serialize_i64(*number),
            Self::Float(number) => serializer.serialize_f64(*number),
            Self::Bool(is_true) => serializer.serialize_bool(*is_true),
            Self::Time(ms) => serializer.collect_str(&Utc(*ms)),
        }
    }
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for AttributeValue {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<i32> for AttributeValue {
    fn from(number: i32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<u32> for AttributeValue {
    fn from(number: u32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<f64> for AttributeValue {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<bool> for AttributeValue {
    fn from(is_true: bool) -> Self {
        Self::Bool(is_true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_index_could_not_hold_is_refused() {
        let refused = |name: &str, value: AttributeValue| refuse_attribute(name, &value);
        assert_eq!(refused("order.region_2-x", "eu".into()), None);
        assert_eq!(refused("x", "é".repeat(128).into()), None);
        for (name, value, part) in [
            ("", true.into(), "refused"),
            ("a b", true.into(), "refused"),
            ("é", true.into(), "refused"),
            (&*"x".repeat(65), true.into(), "65 bytes"),
            ("x", "é".repeat(129).into(), "258 bytes"),
            ("x", "a\0b".into(), "zero character"),
            ("x", f64::NAN.into(), "no number"),
        ] {
            let refusal = refused(name, value).expect(part);
            assert!(refusal.contains(part), "{refusal}");
        }
        assert_eq!(refuse_count(32), None);
        assert!(refuse_count(33).unwrap().contains("limit (32)"));
    }

    #[test]
    fn values_are_plain_json() {
        let values = [
            (AttributeValue::from("a\"b"), r#""a\"b""#, "text"),
            (AttributeValue::from(-7), "-7", "integer"),
            (AttributeValue::from(1.5), "1.5", "float"),
            (AttributeValue::from(true), "true", "bool"),
            (AttributeValue::Time(1_769_860_800_001), r#""2026-01-31T12:00:00.001Z""#, "time"),
        ];
        for (value, json, kind) in values {
            assert_eq!(serde_json::to_string(&value).unwrap(), json);
            assert_eq!(value.kind(), kind);
        }
    }
}
