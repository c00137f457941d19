//! A value that an attribute is compared with. The type of the attribute decides what it means.

use std::cmp::Ordering;
use std::fmt;

use super::pattern::Pattern;
use super::point::TimePoint;
use super::words::quoted;
use crate::model::AttributeValue;

/// A value that an attribute is compared with.
///
/// `42` is the text "42", the whole number and the float; `"42"` in quotes is only the text.
#[derive(Debug, Clone, PartialEq)]
pub struct AttributeLiteral {
    pattern: Pattern,
    /// Without quotes and wildcards: it may mean something else than a text.
    bare: Option<String>,
}

impl AttributeLiteral {
    pub(super) fn new(pattern: Pattern, bare: Option<String>) -> Self {
        Self { pattern, bare }
    }

    /// A literal that means exactly this value, and what else the same characters mean.
    pub fn of(value: &AttributeValue) -> Self {
        let text = value.to_string();
        let bare = match value {
            AttributeValue::Text(_) => None,
            AttributeValue::Integer(_)
            | AttributeValue::Float(_)
            | AttributeValue::Bool(_)
            | AttributeValue::Time(_) => Some(text.clone()),
        };
        Self { pattern: Pattern::exact(text), bare }
    }

    /// The texts that it means.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// The whole number that it means.
    pub fn integer(&self) -> Option<i64> {
        self.bare.as_ref()?.parse().ok()
    }

    /// The number that it means.
    pub fn float(&self) -> Option<f64> {
        let text = self.bare.as_ref()?;
        // The words for infinity and the like are texts.
        let is_number =
            text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first));
        text.parse().ok().filter(|number: &f64| is_number && number.is_finite())
    }

    /// Whether it means true or false.
    pub fn boolean(&self) -> Option<bool> {
        self.bare.as_ref()?.parse().ok()
    }

    /// The time that it means.
    pub fn time(&self) -> Option<TimePoint> {
        TimePoint::parse(self.bare.as_ref()?)
    }

    /// Whether a value is one of those that it means.
    pub(super) fn means(&self, value: &AttributeValue, now_ms: u64) -> bool {
        match value {
            AttributeValue::Text(text) => self.pattern.matches(text),
            AttributeValue::Integer(_)
            | AttributeValue::Float(_)
            | AttributeValue::Bool(_)
            | AttributeValue::Time(_) => self.order_of(value, now_ms) == Some(Ordering::Equal),
        }
    }

    /// How a value compares with it; `None` if it means nothing of the value's type.
    pub(super) fn order_of(&self, value: &AttributeValue, now_ms: u64) -> Option<Ordering> {
        match value {
            AttributeValue::Text(text) => Some(text.as_str().cmp(self.pattern.as_exact()?)),
            AttributeValue::Integer(number) => match self.integer() {
                Some(literal) => Some(number.cmp(&literal)),
                None => as_float(*number).partial_cmp(&self.float()?),
            },
            AttributeValue::Float(number) => number.partial_cmp(&self.float()?),
            AttributeValue::Bool(is_true) => Some(is_true.cmp(&self.boolean()?)),
            AttributeValue::Time(ms) => Some(ms.cmp(&self.time()?.at(now_ms))),
        }
    }
}

impl fmt::Display for AttributeLiteral {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.bare, self.pattern.as_exact()) {
            (Some(bare), _) => f.write_str(bare),
            // Without quotes it could be read as a number.
            (None, Some(exact)) if quoted(exact) == exact => write!(f, "\"{exact}\""),
            (None, _) => write!(f, "{}", self.pattern),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a fraction cannot equal so large a number")]
fn as_float(number: i64) -> f64 {
    number as f64
}
