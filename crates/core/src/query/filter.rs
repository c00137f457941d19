//! A filter as a value.

use std::str::FromStr;
use std::time::Duration;

use super::error::FilterError;
use super::literal::AttributeLiteral;
use super::matching;
use super::parser;
use super::pattern::Pattern;
use super::point::TimePoint;
use super::row::{ErrorCategory, InstanceRow, RowStatus};

/// Conditions on instances; all of them must hold. Without conditions it selects every instance.
///
/// Its text is what people type, and it prints back as such a text.
///
/// ```
/// # use duroxide_core as duroxide;
/// use duroxide::query::{Filter, InstanceRow, RowStatus};
///
/// let filter = Filter::parse("status:failed,suspended name:Order* -parent:any")?;
/// assert_eq!(filter.to_string(), "status:failed,suspended name:Order* -parent:any");
///
/// let mut row = InstanceRow::new("order-7", "OrderItem", RowStatus::Failed);
/// assert!(filter.matches(&row, 0));
/// row.parent_instance_id = Some("order-6".to_owned());
/// assert!(!filter.matches(&row, 0));
/// # Ok::<(), duroxide::query::FilterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Filter {
    terms: Vec<Term>,
}

impl Filter {
    /// Reads a filter.
    ///
    /// # Errors
    /// The first mistake, with its position.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        parser::parse(text)
    }

    /// The filter that selects every instance.
    pub fn all() -> Self {
        Self::default()
    }

    /// The filter that selects the instance of this id.
    pub fn of_id(id: impl Into<String>) -> Self {
        let value = TextValue::Like(Pattern::exact(id));
        Self::all().and(Condition::Text(TextField::Id, TextTest::OneOf(vec![value])))
    }

    pub(super) fn of_terms(terms: Vec<Term>) -> Self {
        Self { terms }
    }

    /// This filter and one more condition.
    #[must_use = "returns the changed filter"]
    pub fn and(mut self, term: impl Into<Term>) -> Self {
        self.terms.push(term.into());
        self
    }

    /// The conditions.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Whether it selects every instance.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether it selects an instance in a query at `now_ms`, milliseconds since the Unix epoch.
    pub fn matches(&self, row: &InstanceRow, now_ms: u64) -> bool {
        self.terms.iter().all(|term| matching::matches(term, row, now_ms))
    }
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        Self::parse(text)
    }
}

/// One condition, or its opposite.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Term {
    /// Whether the condition must not hold.
    pub negated: bool,
    /// The condition.
    pub condition: Condition,
}

impl Term {
    /// The condition must hold.
    pub fn new(condition: Condition) -> Self {
        Self { negated: false, condition }
    }

    /// The condition must not hold.
    pub fn not(condition: Condition) -> Self {
        Self { negated: true, condition }
    }
}

impl From<Condition> for Term {
    fn from(condition: Condition) -> Self {
        Self::new(condition)
    }
}

/// A condition on one fact of an instance.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Condition {
    /// A text of the instance.
    Text(TextField, TextTest),
    /// Its status is one of these.
    Status(Vec<RowStatus>),
    /// It failed with an error of one of these categories.
    Category(Vec<ErrorCategory>),
    /// A time of the instance. An instance that has not ended has no end to compare.
    Time(TimeField, Comparison, TimePoint),
    /// From its creation until its end, or until now.
    Duration(Comparison, Duration),
    /// The number of its current execution.
    Executions(Comparison, u64),
    /// An attribute by its name.
    Attribute(String, AttributeTest),
    /// One of these occurs in its id, name, custom status, error or a text attribute, whatever
    /// their case.
    Anywhere(Vec<String>),
}

/// A text of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TextField {
    /// Its id.
    Id,
    /// The name of its orchestration.
    Name,
    /// The version of its orchestration.
    Version,
    /// The id of its parent.
    Parent,
    /// Its custom status.
    CustomStatus,
    /// The text of its error.
    Error,
    /// The version of Duroxide that it is pinned to.
    Pin,
}

/// What a text must be.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextTest {
    /// One of these.
    OneOf(Vec<TextValue>),
    /// It contains this, whatever the case.
    Contains(String),
}

/// What a text is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextValue {
    /// There is no text.
    Missing,
    /// There is a text.
    Present,
    /// It matches.
    Like(Pattern),
}

/// A time of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TimeField {
    /// When it was created.
    Created,
    /// When its last turn was committed.
    Updated,
    /// When it completed or failed.
    Ended,
}

/// How two values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Comparison {
    /// Both are equal.
    Equal,
    /// The fact is less than the given value.
    Less,
    /// The fact is less than the given value, or equal.
    LessOrEqual,
    /// The fact is greater than the given value.
    Greater,
    /// The fact is greater than the given value, or equal.
    GreaterOrEqual,
}

/// What an attribute must be.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AttributeTest {
    /// The instance has it.
    Present,
    /// The instance lacks it.
    Missing,
    /// It is one of these.
    OneOf(Vec<AttributeLiteral>),
    /// It compares so with this value.
    Compare(Comparison, AttributeLiteral),
    /// It is a text that contains this, whatever the case.
    Contains(String),
}
