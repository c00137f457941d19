//! Whether an instance meets a condition.

use std::cmp::Ordering;

use super::filter::{
    AttributeTest, Comparison, Condition, Term, TextField, TextTest, TextValue, TimeField,
};
use super::point::millis;
use super::row::InstanceRow;
use crate::model::AttributeValue;

pub(super) fn matches(term: &Term, row: &InstanceRow, now_ms: u64) -> bool {
    holds(&term.condition, row, now_ms) != term.negated
}

fn holds(condition: &Condition, row: &InstanceRow, now_ms: u64) -> bool {
    match condition {
        Condition::Text(field, test) => text_fits(test, text_of(row, *field)),
        Condition::Status(statuses) => statuses.contains(&row.status),
        Condition::Category(categories) => row
            .error
            .as_ref()
            .and_then(|error| error.category)
            .is_some_and(|category| categories.contains(&category)),
        Condition::Time(field, comparison, point) => {
            time_of(row, *field).is_some_and(|time| comparison.holds(time.cmp(&point.at(now_ms))))
        }
        Condition::Duration(comparison, length) => {
            comparison.holds(row.duration_ms.cmp(&millis(*length)))
        }
        Condition::Executions(comparison, number) => comparison.holds(row.executions.cmp(number)),
        Condition::Attribute(name, test) => attribute_fits(test, row.attributes.get(name), now_ms),
        Condition::Anywhere(texts) => texts.iter().any(|text| occurs_anywhere(text, row)),
    }
}

impl Comparison {
    /// Whether a fact that compares so with the given value fits.
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }
}

fn text_of(row: &InstanceRow, field: TextField) -> Option<&str> {
    match field {
        TextField::Id => Some(&row.instance_id),
        TextField::Name => Some(&row.orchestration_name),
        TextField::Version => Some(&row.orchestration_version),
        TextField::Parent => row.parent_instance_id.as_deref(),
        TextField::CustomStatus => row.custom_status.as_deref(),
        TextField::Error => row.error.as_ref().map(|error| error.message.as_str()),
        TextField::Pin => row.pin.as_deref(),
    }
}

fn time_of(row: &InstanceRow, field: TimeField) -> Option<u64> {
    match field {
        TimeField::Created => Some(row.created_at_ms),
        TimeField::Updated => Some(row.updated_at_ms),
        TimeField::Ended => row.ended_at_ms,
    }
}

fn text_fits(test: &TextTest, text: Option<&str>) -> bool {
    match test {
        TextTest::OneOf(values) => values.iter().any(|value| match value {
            TextValue::Missing => text.is_none(),
            TextValue::Present => text.is_some(),
            TextValue::Like(pattern) => text.is_some_and(|text| pattern.matches(text)),
        }),
        TextTest::Contains(part) => text.is_some_and(|text| contains(text, part)),
    }
}

fn attribute_fits(test: &AttributeTest, value: Option<&AttributeValue>, now_ms: u64) -> bool {
    let Some(value) = value else { return matches!(test, AttributeTest::Missing) };
    match test {
        AttributeTest::Present => true,
        AttributeTest::Missing => false,
        AttributeTest::OneOf(literals) => {
            literals.iter().any(|literal| literal.means(value, now_ms))
        }
        AttributeTest::Compare(comparison, literal) => {
            literal.order_of(value, now_ms).is_some_and(|order| comparison.holds(order))
        }
        AttributeTest::Contains(part) => text_in(value).is_some_and(|text| contains(text, part)),
    }
}

fn occurs_anywhere(part: &str, row: &InstanceRow) -> bool {
    let fields = [TextField::Id, TextField::Name, TextField::CustomStatus, TextField::Error];
    let facts = fields.into_iter().filter_map(|field| text_of(row, field));
    facts.chain(row.attributes.values().filter_map(text_in)).any(|text| contains(text, part))
}

fn text_in(value: &AttributeValue) -> Option<&str> {
    match value {
        AttributeValue::Text(text) => Some(text),
        AttributeValue::Integer(_)
        | AttributeValue::Float(_)
        | AttributeValue::Bool(_)
        | AttributeValue::Time(_) => None,
    }
}

/// Whether `part` occurs in `text`, whatever the case of the letters.
fn contains(text: &str, part: &str) -> bool {
    text.contains(part) || text.to_lowercase().contains(&part.to_lowercase())
}
