//! One query over all instances: what is asked, and a page of the result.

use std::fmt;

use super::ListCursor;
use crate::limits;
use crate::query::{Filter, InstanceRow};

/// By what a query sorts. Instances that are equal in it are sorted by their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum InstanceOrder {
    /// By the time at which they were created.
    #[default]
    Created,
    /// By their ids, byte by byte.
    Id,
}

impl InstanceOrder {
    /// Every order.
    pub const ALL: [Self; 2] = [Self::Created, Self::Id];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Id => "id",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.as_str() == word)
    }
}

/// A request for a page of instances.
///
/// ```
/// # use duroxide_core as duroxide;
/// use duroxide::providers::{InstanceOrder, InstanceQuery};
/// use duroxide::query::Filter;
///
/// let filter = Filter::parse("status:failed created>-1h")?;
/// let newest = InstanceQuery::new(filter.clone()).with_limit(20);
/// let by_id = InstanceQuery::new(filter).sorted_by(InstanceOrder::Id).ascending();
/// assert!(newest.descending && !by_id.descending);
/// # Ok::<(), duroxide::query::FilterError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct InstanceQuery {
    /// Which instances.
    pub filter: Filter,
    /// By what they are sorted.
    pub order: InstanceOrder,
    /// Newest first, or the last id first.
    pub descending: bool,
    /// How many rows at the most, from 1 to [`MAX_QUERY_ROWS`](crate::limits::MAX_QUERY_ROWS).
    pub limit: u32,
    /// Where the page is; `None` is the first page.
    pub place: Option<PagePlace>,
    /// Whether the rows say what the instances wait for, which reads their histories. Only the
    /// client does that; a provider leaves it out.
    pub with_waiting: bool,
}

/// Where a page of a query is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PagePlace {
    /// Behind a cursor.
    After(ListCursor),
    /// Before a cursor.
    Before(ListCursor),
}

impl InstanceQuery {
    /// The first page, newest instances first.
    pub fn new(filter: Filter) -> Self {
        Self {
            filter,
            order: InstanceOrder::Created,
            descending: true,
            limit: limits::QUERY_ROWS_DEFAULT,
            place: None,
            with_waiting: false,
        }
    }

    /// Sorts by this. Cursors of another order are refused.
    #[must_use]
    pub fn sorted_by(mut self, order: InstanceOrder) -> Self {
        self.order = order;
        self
    }

    /// Oldest first, or the first id first.
    #[must_use]
    pub fn ascending(mut self) -> Self {
        self.descending = false;
        self
    }

    /// Newest first, or the last id first.
    #[must_use]
    pub fn descending(mut self) -> Self {
        self.descending = true;
        self
    }

    /// At most this many rows. A number out of range is brought into it.
    #[must_use]
    pub fn with_limit(mut self, limit: u32) -> Self {
        self.limit = limit.clamp(1, limits::MAX_QUERY_ROWS);
        self
    }

    /// The page behind the `next` of another.
    #[must_use]
    pub fn with_after(mut self, cursor: ListCursor) -> Self {
        self.place = Some(PagePlace::After(cursor));
        self
    }

    /// The page before the `previous` of another.
    #[must_use]
    pub fn with_before(mut self, cursor: ListCursor) -> Self {
        self.place = Some(PagePlace::Before(cursor));
        self
    }

    /// Says in each row what the instance waits for.
    #[must_use]
    pub fn with_waiting(mut self) -> Self {
        self.with_waiting = true;
        self
    }

    /// How many rows at the most, within the bounds, whatever the field says.
    pub fn limit(&self) -> usize {
        let limit = self.limit.clamp(1, limits::MAX_QUERY_ROWS);
        usize::try_from(limit).unwrap_or(usize::MAX)
    }
}

/// A page of instances.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct InstancePage {
    /// The rows, in the order of the query.
    pub rows: Vec<InstanceRow>,
    /// Where the next page starts; `None` at the end of the list.
    pub next: Option<ListCursor>,
    /// Where the page before ends; `None` at the beginning of the list.
    pub previous: Option<ListCursor>,
    /// Whether the search stopped because it had examined enough instances. The page is then
    /// short, or even empty, although more may follow: continue with its cursor.
    pub is_partial: bool,
}

/// A request for the number of instances that a filter selects.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct InstanceCountQuery {
    /// Which instances.
    pub filter: Filter,
    /// Only those behind the `next` of an earlier count.
    pub after: Option<ListCursor>,
    /// Where to stop.
    pub limit: u64,
}

impl InstanceCountQuery {
    /// Counts from the beginning, and stops at `limit`.
    pub fn new(filter: Filter, limit: u64) -> Self {
        Self { filter, after: None, limit }
    }

    /// Goes on behind an earlier count.
    #[must_use]
    pub fn with_after(mut self, after: ListCursor) -> Self {
        self.after = Some(after);
        self
    }
}

/// A part of a count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CountedInstances {
    /// How many this part found.
    pub count: u64,
    /// Where to go on; `None` if all are counted.
    pub next: Option<ListCursor>,
}

impl CountedInstances {
    /// A part of a count.
    pub fn new(count: u64, next: Option<ListCursor>) -> Self {
        Self { count, next }
    }
}

/// How many instances a filter selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstanceCount {
    /// Exactly so many.
    Exactly(u64),
    /// So many were found before the count stopped.
    AtLeast(u64),
}

impl InstanceCount {
    /// The number that was counted.
    pub fn counted(self) -> u64 {
        match self {
            Self::Exactly(count) | Self::AtLeast(count) => count,
        }
    }
}

impl fmt::Display for InstanceCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(count) => write!(f, "{count}"),
            Self::AtLeast(0) => f.write_str("at least 0"),
            Self::AtLeast(count) => write!(f, "more than {}", count - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_stays_within_its_bounds() {
        let query = InstanceQuery::new(Filter::all());
        assert_eq!(query.clone().with_limit(0).limit(), 1);
        assert_eq!(query.clone().with_limit(u32::MAX).limit(), 1000);
        let mut set = query;
        set.limit = 0;
        assert_eq!(set.limit(), 1);
    }

    #[test]
    fn a_count_says_whether_there_are_more() {
        assert_eq!(InstanceCount::Exactly(7).to_string(), "7");
        assert_eq!(InstanceCount::AtLeast(10_001).to_string(), "more than 10000");
        assert_eq!(InstanceCount::AtLeast(0).to_string(), "at least 0");
    }

    #[test]
    fn an_order_is_found_by_its_word() {
        for order in InstanceOrder::ALL {
            assert_eq!(InstanceOrder::parse(order.as_str()), Some(order));
        }
        assert_eq!(InstanceOrder::parse("colour"), None);
    }
}
