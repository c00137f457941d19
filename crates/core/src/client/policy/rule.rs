//! One rule of a retention policy.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::model::syscall::BUILTIN_CODE;
use crate::query::{
    Comparison, Condition, Filter, Pattern, RowStatus, Term, TextField, TextTest, TextValue,
    TimeField, TimePoint,
};

/// How long instances of some orchestrations are kept after their end, and how many executions.
///
/// It can be written as a text: `name:Order* status:completed keep:30d last:10`.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
/// use std::time::Duration;
///
/// use duroxide::client::RetentionRule;
///
/// let month = Duration::from_secs(30 * 24 * 60 * 60);
/// let rule = RetentionRule::named("Order*").completed().keep_for(month).keep_last(10);
/// assert_eq!(rule, "name:Order* status:completed keep:30d last:10".parse()?);
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetentionRule {
    /// The names of the orchestrations; `*` stands for any characters.
    pub name: String,
    /// Only instances that ended so; `None` for both ends.
    pub status: Option<RowStatus>,
    /// Deletes root instances, with their children, that ended longer ago than this.
    pub keep: Option<Duration>,
    /// Keeps this many of the latest executions of each instance, the current one included.
    pub executions: Option<u32>,
}

impl RetentionRule {
    /// A rule for orchestrations whose name matches, which deletes nothing yet.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), status: None, keep: None, executions: None }
    }

    /// A rule for all orchestrations.
    pub fn all() -> Self {
        Self::named("*")
    }

    /// Only for completed instances.
    #[must_use = "returns the changed rule"]
    pub fn completed(mut self) -> Self {
        self.status = Some(RowStatus::Completed);
        self
    }

    /// Only for failed instances.
    #[must_use = "returns the changed rule"]
    pub fn failed(mut self) -> Self {
        self.status = Some(RowStatus::Failed);
        self
    }

    /// Deletes instances that ended longer ago than this.
    #[must_use = "returns the changed rule"]
    pub fn keep_for(mut self, length: Duration) -> Self {
        self.keep = Some(length);
        self
    }

    /// Keeps this many of the latest executions; at least one.
    #[must_use = "returns the changed rule"]
    pub fn keep_last(mut self, executions: u32) -> Self {
        self.executions = Some(executions.max(1));
        self
    }

    /// Whether it is about instances of this name and end.
    pub(super) fn covers(&self, name: &str, status: RowStatus) -> bool {
        Pattern::new(&self.name).matches(name) && self.status.is_none_or(|only| only == status)
    }

    /// Finds what it may delete: root instances that ended before a time.
    pub(super) fn expired(&self, before_ms: u64) -> Filter {
        let before = |field| Condition::Time(field, Comparison::Less, TimePoint::At(before_ms));
        let ends = self
            .status
            .map_or_else(|| vec![RowStatus::Completed, RowStatus::Failed], |status| vec![status]);
        self.of_name()
            .and(Condition::Status(ends))
            .and(before(TimeField::Ended))
            // What ended before was created before, and that has an index.
            .and(before(TimeField::Created))
            .and(Condition::Text(TextField::Parent, TextTest::OneOf(vec![TextValue::Missing])))
    }

    /// Finds instances with more executions than this.
    pub(super) fn with_more_executions(&self, than: u32) -> Filter {
        self.of_name().and(Condition::Executions(Comparison::Greater, than.into()))
    }

    fn of_name(&self) -> Filter {
        let like = |text: &str| {
            let value = TextValue::Like(Pattern::new(text));
            Condition::Text(TextField::Name, TextTest::OneOf(vec![value]))
        };
        let builtin = Term::not(like(&format!("{BUILTIN_CODE}*")));
        match self.name.as_str() {
            "*" => Filter::all().and(builtin),
            name => Filter::all().and(like(name)).and(builtin),
        }
    }
}

impl fmt::Display for RetentionRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "name:{}", self.name)?;
        if let Some(status) = self.status {
            write!(f, " status:{}", status.as_str())?;
        }
        if let Some(keep) = self.keep {
            // A time of a filter prints a length in the same words.
            write!(f, " keep:{}", TimePoint::In(keep).to_string().trim_start_matches('+'))?;
        }
        match self.executions {
            Some(executions) => write!(f, " last:{executions}"),
            None => Ok(()),
        }
    }
}

impl FromStr for RetentionRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut rule = Self::all();
        for word in text.split_whitespace() {
            let Some((key, value)) = word.split_once(':').filter(|(_, value)| !value.is_empty())
            else {
                return Err(format!("'{word}' is no part of a rule: {FORM}"));
            };
            match key {
                "name" => rule.name = value.to_owned(),
                "status" => rule.status = end(value)?,
                "keep" => rule.keep = Some(length(value)?),
                "last" => match value.parse::<u32>() {
                    Ok(count) if count > 0 => rule.executions = Some(count),
                    Ok(_) | Err(_) => {
                        return Err(format!("'{value}' is no number of executions: {FORM}"));
                    }
                },
                _unknown => return Err(format!("'{key}' is no part of a rule: {FORM}")),
            }
        }
        if rule.keep.is_none() && rule.executions.is_none() {
            return Err(format!("the rule '{text}' deletes nothing: {FORM}"));
        }
        Ok(rule)
    }
}

const FORM: &str = "write one like 'name:Order* status:completed keep:30d last:10'";

fn end(word: &str) -> Result<Option<RowStatus>, String> {
    match RowStatus::parse(word) {
        Some(status @ (RowStatus::Completed | RowStatus::Failed)) => Ok(Some(status)),
        Some(RowStatus::Running | RowStatus::Suspended) | None => {
            Err(format!("'{word}' is not the end of an instance: use completed or failed"))
        }
    }
}

/// A length as filters write it.
fn length(text: &str) -> Result<Duration, String> {
    let wrong = || format!("'{text}' is no length of time: {FORM}");
    let filter = Filter::parse(&format!("created<-{text}")).map_err(|_| wrong())?;
    match filter.terms().first().map(|term| &term.condition) {
        Some(Condition::Time(_, _, TimePoint::Ago(length))) => Ok(*length),
        _other => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_back() {
        for text in [
            "name:Order* status:completed keep:4w2d last:10",
            "name:* keep:1h30m",
            "name:Loop last:3",
            "name:* status:failed keep:1w",
        ] {
            let rule: RetentionRule = text.parse().unwrap();
            assert_eq!(rule.to_string(), text);
        }
        for (text, part) in [
            ("", "deletes nothing"),
            ("name:Order*", "deletes nothing"),
            ("keep:soon", "no length of time"),
            ("keep:", "no part of a rule"),
            ("status:running keep:1d", "not the end"),
            ("last:0", "no number of executions"),
            ("color:red keep:1d", "'color'"),
        ] {
            let error = text.parse::<RetentionRule>().unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_rule_never_finds_what_runs_or_belongs_to_the_runtime() {
        let rule = RetentionRule::all().keep_for(Duration::from_secs(1));
        let text = rule.expired(1_700_000_000_000).to_string();
        for part in ["-name:duroxide.*", "status:completed,failed", "parent:none", "ended<"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(rule.covers("Any", RowStatus::Failed));
        assert!(!RetentionRule::named("A*").completed().covers("Ab", RowStatus::Failed));
    }
}
