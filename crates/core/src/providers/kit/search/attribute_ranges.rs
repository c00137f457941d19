//! Ranges of stored attributes that contain what a condition selects.

use super::{InstanceSet, prefix_end};
use crate::model::AttributeValue;
use crate::model::stored_attribute::{attribute_key, encode_attribute};
use crate::query::{AttributeLiteral, AttributeTest, Comparison};

/// From a text on, up to another, which is excluded.
type Range = (String, String);

/// The instances that may fit; `None` if most do.
pub(super) fn attribute_set(name: &str, test: &AttributeTest, now_ms: u64) -> Option<InstanceSet> {
    let ranges = match test {
        AttributeTest::Missing => return None,
        AttributeTest::Present => vec![all_of('a'..'{')],
        // Only texts contain something.
        AttributeTest::Contains(_) => vec![all_of('t'..'u')],
        AttributeTest::OneOf(literals) => {
            literals.iter().flat_map(|literal| equal(literal, now_ms)).collect()
        }
        AttributeTest::Compare(comparison, literal) => compared(*comparison, literal, now_ms),
    };
    Some(InstanceSet::Attribute { key: attribute_key(name), ranges })
}

/// Everything whose type is one of these letters.
fn all_of(types: std::ops::Range<char>) -> Range {
    (types.start.to_string(), types.end.to_string())
}

/// The stored text alone; what is behind its own copies with a zero character does no harm.
fn only(stored: String) -> Range {
    let end = format!("{stored}\u{1}");
    (stored, end)
}

fn equal(literal: &AttributeLiteral, now_ms: u64) -> Vec<Range> {
    let pattern = literal.pattern();
    let text = match pattern.as_exact() {
        Some(exact) => only(encode_attribute(&exact.into())),
        None => {
            let from = encode_attribute(&pattern.prefix().into());
            let end = prefix_end(&from).unwrap_or_else(|| "u".to_owned());
            (from, end)
        }
    };
    let others = meanings(literal, now_ms).into_iter().map(|value| only(encode_attribute(&value)));
    std::iter::once(text).chain(others).chain(whole_numbers(literal)).collect()
}

/// A whole number may equal or compare with what is no whole number, such as 2.0: all of them are
/// examined.
fn whole_numbers(literal: &AttributeLiteral) -> Option<Range> {
    let is_fraction = literal.integer().is_none() && literal.float().is_some();
    is_fraction.then(|| all_of('i'..'j'))
}

fn compared(comparison: Comparison, literal: &AttributeLiteral, now_ms: u64) -> Vec<Range> {
    let mut values = meanings(literal, now_ms);
    values.extend(literal.pattern().as_exact().map(AttributeValue::from));
    let range = |value: AttributeValue| {
        let stored = encode_attribute(&value);
        let kind = stored.chars().next().unwrap_or('t');
        let (from, end) = (kind.to_string(), prefix_end(&kind.to_string()).unwrap_or_default());
        match comparison {
            Comparison::Equal => only(stored),
            Comparison::Less | Comparison::LessOrEqual => (from, only(stored).1),
            Comparison::Greater | Comparison::GreaterOrEqual => (stored, end),
        }
    };
    values.into_iter().map(range).chain(whole_numbers(literal)).collect()
}

/// What a literal means besides a text.
fn meanings(literal: &AttributeLiteral, now_ms: u64) -> Vec<AttributeValue> {
    let time = literal.time().map(|point| AttributeValue::Time(point.at(now_ms)));
    let values = [
        literal.integer().map(AttributeValue::Integer),
        literal.float().map(AttributeValue::Float),
        literal.boolean().map(AttributeValue::Bool),
        time,
    ];
    values.into_iter().flatten().collect()
}
