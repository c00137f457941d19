//! Places between the rows of a query, and the pages between them.

use std::cmp::Ordering;

use super::RowError;
use crate::providers::{InstanceOrder, InstancePage, InstanceQuery, ListCursor, PagePlace};
use crate::query::InstanceRow;

/// What rows are sorted by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowKey {
    /// The time of creation; zero if the order is by id.
    pub created_at: u64,
    /// The id.
    pub id: String,
}

impl RowKey {
    /// The key of an instance.
    pub fn new(order: InstanceOrder, created_at: u64, id: impl Into<String>) -> Self {
        let created_at = match order {
            InstanceOrder::Created => created_at,
            InstanceOrder::Id => 0,
        };
        Self { created_at, id: id.into() }
    }

    /// The key of a row.
    pub fn of(order: InstanceOrder, row: &InstanceRow) -> Self {
        Self::new(order, row.created_at_ms, row.instance_id.as_str())
    }
}

/// A place beside a row, in the order of the list. It stays valid when the row is deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowPlace {
    /// The row.
    pub key: RowKey,
    /// Behind the row, or before it.
    pub is_behind: bool,
}

/// How a query goes through the instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowScan {
    /// By what the rows are sorted.
    pub order: InstanceOrder,
    /// Whether the keys grow in the direction of the scan.
    pub is_ascending: bool,
    /// Whether it goes against the order of the list, to the page before.
    pub is_backward: bool,
    /// Where it starts; `None` is the end of the list that it comes from.
    pub from: Option<RowPlace>,
}

impl RowScan {
    /// The scan of a query.
    ///
    /// # Errors
    /// The cursor is of another order or of no query.
    pub fn of(query: &InstanceQuery) -> Result<Self, RowError> {
        let (cursor, is_backward) = match &query.place {
            None => (None, false),
            Some(PagePlace::After(cursor)) => (Some(cursor), false),
            Some(PagePlace::Before(cursor)) => (Some(cursor), true),
        };
        let from = match cursor {
            None => None,
            Some(cursor) => Some(
                decode(cursor, query.order, query.descending)
                    .ok_or_else(|| RowError::UnknownCursor(cursor.clone()))?,
            ),
        };
        let is_ascending = query.descending == is_backward;
        Ok(Self { order: query.order, is_ascending, is_backward, from })
    }

    /// Where the scan starts: the key, and whether the row of that key belongs to it.
    pub fn start(&self) -> Option<(&RowKey, bool)> {
        self.from.as_ref().map(|from| (&from.key, from.is_behind == self.is_backward))
    }

    /// Whether a key lies behind the start of the scan.
    pub fn contains(&self, key: &RowKey) -> bool {
        self.start().is_none_or(|(start, is_included)| match self.compare(start, key) {
            Ordering::Less => true,
            Ordering::Equal => is_included,
            Ordering::Greater => false,
        })
    }

    /// Which of two keys comes first in the scan.
    pub fn compare(&self, one: &RowKey, other: &RowKey) -> Ordering {
        if self.is_ascending { one.cmp(other) } else { other.cmp(one) }
    }

    /// The cursor beside a key that the scan has passed.
    pub fn passed(&self, key: RowKey) -> ListCursor {
        self.cursor(&RowPlace { key, is_behind: !self.is_backward })
    }

    /// The cursor beside a key that the scan has not passed.
    fn ahead(&self, key: RowKey) -> ListCursor {
        self.cursor(&RowPlace { key, is_behind: self.is_backward })
    }

    fn cursor(&self, place: &RowPlace) -> ListCursor {
        let order = order_letter(self.order);
        let direction = if self.is_ascending == self.is_backward { 'd' } else { 'a' };
        let side = if place.is_behind { '>' } else { '<' };
        let RowKey { created_at, id } = &place.key;
        ListCursor::new(format!("{order}{direction}{side}{created_at}:{id}"))
    }

    /// The page of rows that the scan has found, in its direction. If there are more than the
    /// limit, another page follows. `stopped_at` is the last key that it has examined, if it has
    /// stopped before its end.
    pub fn page(
        &self,
        query: &InstanceQuery,
        mut rows: Vec<InstanceRow>,
        stopped_at: Option<RowKey>,
    ) -> InstancePage {
        let has_more = rows.len() > query.limit();
        rows.truncate(query.limit());
        let key = |row: &InstanceRow| RowKey::of(self.order, row);
        let is_partial = !has_more && stopped_at.is_some();
        let far = match rows.last().filter(|_| has_more) {
            Some(last) => Some(self.passed(key(last))),
            None => stopped_at.map(|key| self.passed(key)),
        };
        let near = self.from.as_ref().map(|from| match rows.first() {
            Some(first) => self.ahead(key(first)),
            None => self.cursor(from),
        });
        if self.is_backward {
            rows.reverse();
            return InstancePage { rows, next: near, previous: far, is_partial };
        }
        InstancePage { rows, next: far, previous: near, is_partial }
    }
}

fn order_letter(order: InstanceOrder) -> char {
    match order {
        InstanceOrder::Created => 'c',
        InstanceOrder::Id => 'i',
    }
}

fn decode(cursor: &ListCursor, order: InstanceOrder, descending: bool) -> Option<RowPlace> {
    let rest = cursor.as_str().strip_prefix(order_letter(order))?;
    let rest = rest.strip_prefix(if descending { 'd' } else { 'a' })?;
    let is_behind = rest.starts_with('>');
    let (created_at, id) = rest.strip_prefix(['>', '<'])?.split_once(':')?;
    let key = RowKey { created_at: created_at.parse().ok()?, id: id.to_owned() };
    Some(RowPlace { key, is_behind })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{Filter, RowStatus};

    /// The page of a list of numbered rows, as a store would find it.
    fn page(rows: &[u64], query: &InstanceQuery) -> InstancePage {
        let scan = RowScan::of(query).unwrap();
        let mut found: Vec<InstanceRow> = rows
            .iter()
            .map(|number| {
                InstanceRow::new(format!("i{number}"), "N", RowStatus::Running).with_times(
                    number / 2,
                    0,
                    None,
                    0,
                )
            })
            .filter(|row| scan.contains(&RowKey::of(scan.order, row)))
            .collect();
        found.sort_by(|one, other| {
            scan.compare(&RowKey::of(scan.order, one), &RowKey::of(scan.order, other))
        });
        scan.page(query, found, None)
    }

    fn ids(page: &InstancePage) -> Vec<&str> {
        page.rows.iter().map(|row| row.instance_id.as_str()).collect()
    }

    #[test]
    fn pages_go_forth_and_back_through_every_order() {
        let all: Vec<u64> = (0..7).collect();
        for order in InstanceOrder::ALL {
            for descending in [false, true] {
                let mut query = InstanceQuery::new(Filter::all()).sorted_by(order).with_limit(3);
                query.descending = descending;
                let first = page(&all, &query);
                let second = page(&all, &query.clone().with_after(first.next.clone().unwrap()));
                let third = page(&all, &query.clone().with_after(second.next.clone().unwrap()));
                let mut expected: Vec<String> = all.iter().map(|it| format!("i{it}")).collect();
                if descending {
                    expected.reverse();
                }
                assert_eq!([ids(&first), ids(&second), ids(&third)].concat(), expected);
                assert_eq!((first.previous.clone(), third.next.clone()), (None, None));
                let back = query.clone().with_before(third.previous.clone().unwrap());
                assert_eq!(ids(&page(&all, &back)), ids(&second));
                let back = query.clone().with_before(second.previous.clone().unwrap());
                let begin = page(&all, &back);
                assert_eq!((ids(&begin), begin.previous.clone()), (ids(&first), None));
                assert_eq!(page(&all, &query.with_after(begin.next.unwrap())), second);
            }
        }
    }

    #[test]
    fn a_place_outlives_its_row() {
        let query = InstanceQuery::new(Filter::all()).ascending().with_limit(2);
        let first = page(&[0, 1, 2, 3], &query);
        let after = query.clone().with_after(first.next.unwrap());
        assert_eq!(ids(&page(&[0, 2, 3], &after)), ["i2", "i3"]);
        let none_left = page(&[0], &after);
        assert_eq!((none_left.rows.len(), &none_left.next), (0, &None));
        // From an empty page, the way back leads to all that is before it.
        let back = query.with_before(none_left.previous.unwrap());
        assert_eq!(ids(&page(&[0, 1], &back)), ["i0", "i1"]);
    }

    #[test]
    fn a_search_that_stops_goes_on_where_it_stopped() {
        let query = InstanceQuery::new(Filter::all()).with_limit(3);
        let scan = RowScan::of(&query).unwrap();
        let page = scan.page(&query, Vec::new(), Some(RowKey::new(scan.order, 9, "i18")));
        assert!(page.is_partial && page.previous.is_none());
        let after = RowScan::of(&query.with_after(page.next.unwrap())).unwrap();
        assert!(!after.contains(&RowKey::new(scan.order, 9, "i18")));
        assert!(after.contains(&RowKey::new(scan.order, 9, "i17")));
    }

    #[test]
    fn a_cursor_of_another_list_is_refused() {
        let query = InstanceQuery::new(Filter::all());
        for text in ["", "7", "id>0:a", "ca>1:a", "cd>x:a", "cd1:a", "cd>1"] {
            let cursor = ListCursor::new(text);
            let error = RowScan::of(&query.clone().with_after(cursor)).unwrap_err();
            assert!(error.to_string().contains("Invalid cursor"), "{text}");
        }
        RowScan::of(&query.with_after(ListCursor::new("cd>1:a:b"))).unwrap();
    }
}
