//! Filters as texts that read back as the same filters.

use std::fmt;

use super::filter::{
    AttributeTest, Comparison, Condition, Filter, Term, TextField, TextTest, TextValue, TimeField,
};
use super::point::Length;
use super::words::{ANY, ATTRIBUTE_PREFIX, NONE, quoted};

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, term) in self.terms().iter().enumerate() {
            if place > 0 {
                f.write_str(" ")?;
            }
            write!(f, "{term}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.negated {
            f.write_str("-")?;
        }
        match &self.condition {
            Condition::Text(field, TextTest::OneOf(values)) => {
                write!(f, "{}:", field.word())?;
                list(f, values.iter().map(TextValue::to_string))
            }
            Condition::Text(field, TextTest::Contains(part)) => {
                write!(f, "{}~{}", field.word(), quoted(part))
            }
            Condition::Status(statuses) => {
                f.write_str("status:")?;
                list(f, statuses.iter().map(|status| status.as_str().to_owned()))
            }
            Condition::Category(categories) => {
                f.write_str("category:")?;
                list(f, categories.iter().map(|category| category.as_str().to_owned()))
            }
            Condition::Time(field, comparison, point) => {
                write!(f, "{}{}{point}", field.word(), comparison.sign())
            }
            Condition::Duration(comparison, length) => {
                write!(f, "duration{}{}", comparison.sign(), Length(*length))
            }
            Condition::Executions(comparison, number) => {
                write!(f, "executions{}{number}", comparison.sign())
            }
            Condition::Attribute(name, test) => {
                write!(f, "{ATTRIBUTE_PREFIX}{name}")?;
                attribute(f, test)
            }
            Condition::Anywhere(texts) => {
                f.write_str("text:")?;
                list(f, texts.iter().map(|text| quoted(text)))
            }
        }
    }
}

fn attribute(f: &mut fmt::Formatter<'_>, test: &AttributeTest) -> fmt::Result {
    match test {
        AttributeTest::Present => write!(f, ":{ANY}"),
        AttributeTest::Missing => write!(f, ":{NONE}"),
        AttributeTest::OneOf(literals) => {
            f.write_str("=")?;
            list(f, literals.iter().map(ToString::to_string))
        }
        AttributeTest::Compare(comparison, literal) => write!(f, "{}{literal}", comparison.sign()),
        AttributeTest::Contains(part) => write!(f, "~{}", quoted(part)),
    }
}

fn list(f: &mut fmt::Formatter<'_>, values: impl Iterator<Item = String>) -> fmt::Result {
    for (place, value) in values.enumerate() {
        if place > 0 {
            f.write_str(",")?;
        }
        f.write_str(&value)?;
    }
    Ok(())
}

impl fmt::Display for TextValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str(NONE),
            Self::Present => f.write_str(ANY),
            Self::Like(pattern) => write!(f, "{pattern}"),
        }
    }
}

impl TextField {
    /// Its key.
    pub fn word(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Name => "name",
            Self::Version => "version",
            Self::Parent => "parent",
            Self::CustomStatus => "custom",
            Self::Error => "error",
            Self::Pin => "pin",
        }
    }
}

impl TimeField {
    /// Its key.
    pub fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Ended => "ended",
        }
    }
}

impl Comparison {
    /// Its sign.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}
