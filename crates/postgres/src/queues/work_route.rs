//! Which activities a worker may claim, by their tag and their name.

use std::borrow::Cow;
use std::collections::HashSet;

use duroxide_core::providers::{RegisteredActivities, TagFilter};

use crate::schema::stored_text::{stored, to_stored};

/// The stored form of a tag or of none.
pub(crate) fn route(tag: Option<&str>) -> String {
    tag.map_or_else(String::new, |tag| format!("={}", stored(tag)))
}

/// The routes that a filter accepts; `None` means all.
pub(crate) fn routes(filter: &TagFilter) -> Option<Vec<String>> {
    let tagged =
        |tags: &HashSet<String>| tags.iter().map(|tag| route(Some(tag))).collect::<Vec<_>>();
    match filter {
        TagFilter::None => Some(Vec::new()),
        TagFilter::Any => None,
        TagFilter::DefaultOnly => Some(vec![route(None)]),
        TagFilter::Tags(tags) => Some(tagged(tags)),
        TagFilter::DefaultAnd(tags) => {
            Some(std::iter::once(route(None)).chain(tagged(tags)).collect())
        }
    }
}

/// The stored keys of the activities that a worker has, sorted; `None` means all.
pub(crate) fn codes(registered: Option<&RegisteredActivities>) -> Option<Vec<Cow<'_, str>>> {
    let mut codes: Vec<_> = registered?.keys().iter().map(|key| to_stored(key)).collect();
    // The stored form may change the order.
    codes.sort_unstable();
    Some(codes)
}
