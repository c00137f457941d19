//! Which activities a worker takes.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::limits::MAX_WORKER_TAGS;

/// Selects activities by their routing tag. Tags are compared exactly.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_filter_takes_its_activities() {
        let seen = |filter: TagFilter| {
            [None, Some("gpu"), Some("cpu"), Some("GPU")].map(|tag| filter.matches(tag))
        };
        assert_eq!(seen(TagFilter::default()), [true, false, false, false]);
        assert_eq!(seen(TagFilter::default_only()), [true, false, false, false]);
        assert_eq!(seen(TagFilter::tags(["gpu"])), [false, true, false, false]);
        assert_eq!(seen(TagFilter::default_and(["gpu"])), [true, true, false, false]);
        assert_eq!(seen(TagFilter::any()), [true; 4]);
        assert_eq!(seen(TagFilter::none()), [false; 4]);
    }

    #[test]
    fn equal_tags_count_once_and_five_are_allowed() {
        let TagFilter::Tags(tags) = TagFilter::tags(["a", "b", "c", "d", "e", "a"]) else {
            panic!("tags makes a filter of tags");
        };
        assert_eq!(tags.len(), 5);
    }

    #[test]
    #[should_panic(expected = "requires at least one tag")]
    fn a_filter_of_no_tags_panics() {
        TagFilter::tags(Vec::<String>::new());
    }

    #[test]
    #[should_panic(expected = "Worker can subscribe to at most 5 tags, got 6")]
    fn a_sixth_tag_panics() {
        TagFilter::default_and(["a", "b", "c", "d", "e", "f"]);
    }
}
