//! Which activities a worker takes.

use std::collections::HashSet;

use crate::runtime::limits::MAX_WORKER_TAGS;

/// Selects activities by their routing tag. Tags are compared exactly.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TagFilter {
    /// Only activities without a tag.
    #[default]
    DefaultOnly,
    /// Only activities with one of these tags.
    Tags(HashSet<String>),
    /// Activities without a tag or with one of these.
    DefaultAnd(HashSet<String>),
    /// Every activity.
    Any,
    /// No activity.
    None,
}

impl TagFilter {
    /// Only activities with one of these tags.
    ///
    /// # Panics
    /// When there is no tag or more than [`MAX_WORKER_TAGS`].
    pub fn tags<I, S>(tags: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        Self::Tags(checked("tags", tags))
    }

    /// Activities without a tag or with one of these.
    ///
    /// # Panics
    /// When there is no tag or more than [`MAX_WORKER_TAGS`].
    pub fn default_and<I, S>(tags: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        Self::DefaultAnd(checked("default_and", tags))
    }

    /// Only activities without a tag.
    pub fn default_only() -> Self {
        Self::DefaultOnly
    }

    /// No activity.
    pub fn none() -> Self {
        Self::None
    }

    /// Every activity.
    pub fn any() -> Self {
        Self::Any
    }

    /// Whether an activity with this tag is taken.
    pub fn matches(&self, tag: Option<&str>) -> bool {
        match self {
            Self::DefaultOnly => tag.is_none(),
            Self::Tags(tags) => tag.is_some_and(|tag| tags.contains(tag)),
            Self::DefaultAnd(tags) => tag.is_none_or(|tag| tags.contains(tag)),
            Self::Any => true,
            Self::None => false,
        }
    }
}

fn checked<I, S>(constructor: &str, tags: I) -> HashSet<String>
where
    I: IntoIterator<Item = S>,
    S: Into<String>,
{
    let tags: HashSet<String> = tags.into_iter().map(Into::into).collect();
    assert!(!tags.is_empty(), "TagFilter::{constructor} requires at least one tag");
    assert!(
        tags.len() <= MAX_WORKER_TAGS,
        "Worker can subscribe to at most {MAX_WORKER_TAGS} tags, got {}",
        tags.len()
    );
    tags
}
