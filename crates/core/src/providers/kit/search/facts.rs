//! What a filter says about the instances that it selects, as far as indexes help.

use super::InstanceSet;
use super::attribute_ranges::attribute_set;
use crate::model::ExecutionStatus;
use crate::query::{
    Comparison, Condition, Filter, Pattern, RowStatus, Term, TextField, TextTest, TextValue,
    TimeField,
};

/// What holds for every instance that a filter selects.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) statuses: Vec<RowStatus>,
    /// The earliest and the latest creation.
    pub(super) created: (u64, u64),
    /// Patterns of which the name matches one.
    pub(super) names: Option<Vec<Pattern>>,
    /// How every id begins.
    pub(super) id_prefix: Option<String>,
    /// Sets that contain all of them.
    pub(super) sets: Vec<InstanceSet>,
}

impl Facts {
    pub(super) fn of(filter: &Filter, now_ms: u64) -> Self {
        let mut facts = Self {
            statuses: RowStatus::ALL.to_vec(),
            created: (0, u64::MAX),
            names: None,
            id_prefix: None,
            sets: Vec::new(),
        };
        for term in filter.terms() {
            facts.note(term, now_ms);
        }
        facts.add_status_set();
        if facts.created.0 > 0 {
            facts.sets.push(InstanceSet::Created(facts.created.0, facts.created.1));
        }
        facts
    }

    fn note(&mut self, term: &Term, now_ms: u64) {
        match &term.condition {
            Condition::Status(statuses) => {
                self.statuses.retain(|status| statuses.contains(status) != term.negated);
            }
            // The opposite of a condition leaves too many.
            _ if term.negated => {}
            Condition::Time(TimeField::Created, comparison, point) => {
                self.note_created(*comparison, point.at(now_ms));
            }
            Condition::Text(field, TextTest::OneOf(values)) => self.note_text(*field, values),
            Condition::Category(_) => self.statuses.retain(|it| *it == RowStatus::Failed),
            Condition::Time(TimeField::Ended, ..) => self.statuses.retain(|it| it.is_terminal()),
            Condition::Text(TextField::Error, TextTest::Contains(_)) => {
                self.statuses.retain(|it| *it == RowStatus::Failed);
            }
            Condition::Text(..)
            | Condition::Time(..)
            | Condition::Duration(..)
            | Condition::Executions(..)
            | Condition::Anywhere(_) => {}
            Condition::Attribute(name, test) => self.sets.extend(attribute_set(name, test, now_ms)),
        }
    }

    fn note_created(&mut self, comparison: Comparison, at: u64) {
        let (earliest, latest) = &mut self.created;
        match comparison {
            Comparison::Equal => {
                *earliest = at.max(*earliest);
                *latest = at.min(*latest);
            }
            Comparison::Less => *latest = at.saturating_sub(1).min(*latest),
            Comparison::LessOrEqual => *latest = at.min(*latest),
            Comparison::Greater => *earliest = at.saturating_add(1).max(*earliest),
            Comparison::GreaterOrEqual => *earliest = at.max(*earliest),
        }
    }

    fn note_text(&mut self, field: TextField, values: &[TextValue]) {
        let patterns: Option<Vec<&Pattern>> = values.iter().map(pattern_of).collect();
        let exact: Option<Vec<String>> = patterns.as_ref().and_then(|patterns| {
            patterns.iter().map(|it| it.as_exact().map(str::to_owned)).collect()
        });
        match (field, patterns.as_deref(), exact) {
            (TextField::Id, _, Some(ids)) => self.sets.push(InstanceSet::Ids(ids)),
            (TextField::Id, Some([only]), None) if !only.prefix().is_empty() => {
                self.id_prefix = Some(only.prefix().to_owned());
                self.sets.push(InstanceSet::IdPrefix(only.prefix().to_owned()));
            }
            (TextField::Parent, _, Some(parents)) => {
                if let [parent] = parents.as_slice() {
                    self.sets.push(InstanceSet::ChildrenOf(parent.clone()));
                }
            }
            (TextField::Name, Some(patterns), exact) => {
                self.names = Some(patterns.iter().map(|it| (*it).clone()).collect());
                if let Some([name]) = exact.as_deref() {
                    self.sets.push(InstanceSet::Named(name.clone()));
                }
            }
            (TextField::Error, ..) if !values.contains(&TextValue::Missing) => {
                self.statuses.retain(|it| *it == RowStatus::Failed);
            }
            _not_indexed => {}
        }
    }

    fn add_status_set(&mut self) {
        let has = |status| self.statuses.contains(&status);
        if has(RowStatus::Completed) {
            return;
        }
        let unended = has(RowStatus::Running) || has(RowStatus::Suspended);
        let failed = has(RowStatus::Failed);
        let set = match self.statuses.as_slice() {
            [RowStatus::Suspended] => InstanceSet::Suspended,
            [] => InstanceSet::Ids(Vec::new()),
            _several if failed && unended => InstanceSet::NotCompleted,
            _several if failed => InstanceSet::Failed,
            _several => InstanceSet::Unended,
        };
        self.sets.push(set);
    }

    /// Statuses under which no selected instance is listed.
    pub(super) fn excluded(&self) -> Vec<ExecutionStatus> {
        let has = |status| self.statuses.contains(&status);
        let mut excluded = Vec::new();
        if !has(RowStatus::Completed) {
            excluded.extend([ExecutionStatus::Completed, ExecutionStatus::ContinuedAsNew]);
        }
        if !has(RowStatus::Failed) {
            excluded.push(ExecutionStatus::Failed);
        }
        if !has(RowStatus::Running) && !has(RowStatus::Suspended) {
            excluded.push(ExecutionStatus::Running);
        }
        excluded
    }
}

fn pattern_of(value: &TextValue) -> Option<&Pattern> {
    match value {
        TextValue::Like(pattern) => Some(pattern),
        TextValue::Missing | TextValue::Present => None,
    }
}

/// What a filter needs to know of a row besides what is read first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Needs {
    pub(super) categories: bool,
    pub(super) attributes: bool,
}

impl Needs {
    pub(super) fn of(filter: &Filter) -> Self {
        let conditions = || filter.terms().iter().map(|term| &term.condition);
        let is_text =
            |it: &&Condition| matches!(it, Condition::Attribute(..) | Condition::Anywhere(_));
        Self {
            categories: conditions().any(|it| matches!(it, Condition::Category(_))),
            attributes: conditions().find(is_text).is_some(),
        }
    }
}

/// The conditions that can be decided by what is read first.
pub(super) fn cheap_part(filter: &Filter) -> Filter {
    let is_cheap = |term: &&Term| match term.condition {
        Condition::Category(_) | Condition::Attribute(..) | Condition::Anywhere(_) => false,
        Condition::Text(..)
        | Condition::Status(_)
        | Condition::Time(..)
        | Condition::Duration(..)
        | Condition::Executions(..) => true,
    };
    filter.terms().iter().filter(is_cheap).cloned().fold(Filter::all(), Filter::and)
}
