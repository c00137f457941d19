//! The search finds what a filter selects, whatever index it uses.

use std::collections::{BTreeSet, HashSet};
use std::sync::Mutex;

use async_trait::async_trait;
use proptest::prelude::*;

use super::super::{RowKey, RowScan};
use super::*;
use crate::limits::QUERY_EXAMINED_MAX;
use crate::model::stored_attribute::{attribute_key, encode_attribute};
use crate::model::{AttributeValue, Attributes, ExecutionStatus};
use crate::providers::{
    InstanceCountQuery, InstanceOrder, InstancePage, InstanceQuery, ProviderError,
};
use crate::query::{ErrorCategory, Filter, InstanceFailure, InstanceRow, RowStatus};

const NOW: u64 = 1_000_000;

/// Instances in memory. The rows have everything; it hides what a store reads later.
struct Memory {
    rows: Vec<InstanceRow>,
    used: Mutex<Vec<KeySource>>,
    /// The last set whose members were read.
    set: Mutex<Option<InstanceSet>>,
}

impl Memory {
    fn of(rows: Vec<InstanceRow>) -> Self {
        Self { rows, used: Mutex::default(), set: Mutex::default() }
    }

    /// Where keys were read since the last call, without repetitions, and the last set that was.
    fn used(&self) -> (Vec<KeySource>, Option<InstanceSet>) {
        let mut used = std::mem::take(&mut *self.used.lock().unwrap());
        used.dedup();
        (used, self.set.lock().unwrap().take())
    }
}

fn is_in(set: &InstanceSet, row: &InstanceRow) -> bool {
    match set {
        InstanceSet::Ids(ids) => ids.contains(&row.instance_id),
        InstanceSet::IdPrefix(prefix) => row.instance_id.starts_with(prefix.as_str()),
        InstanceSet::ChildrenOf(parent) => row.parent_instance_id.as_ref() == Some(parent),
        InstanceSet::Named(name) => row.orchestration_name == *name,
        InstanceSet::Created(from, to) => (*from..=*to).contains(&row.created_at_ms),
        InstanceSet::Attribute { key, ranges } => row.attributes.iter().any(|(name, value)| {
            let stored = encode_attribute(value);
            attribute_key(name) == *key
                && ranges.iter().any(|(from, to)| *from <= stored && stored < *to)
        }),
        InstanceSet::Suspended => row.status == RowStatus::Suspended,
        InstanceSet::Unended => !row.status.is_terminal(),
        InstanceSet::Failed => row.status == RowStatus::Failed,
        InstanceSet::NotCompleted => row.status != RowStatus::Completed,
    }
}

fn stored(status: RowStatus) -> ExecutionStatus {
    match status {
        RowStatus::Running | RowStatus::Suspended => ExecutionStatus::Running,
        RowStatus::Completed => ExecutionStatus::Completed,
        RowStatus::Failed => ExecutionStatus::Failed,
    }
}

#[async_trait]
impl InstanceSource for Memory {
    fn now_ms(&self) -> u64 {
        NOW
    }

    async fn members(
        &self,
        set: &InstanceSet,
        max: usize,
    ) -> Result<Option<Vec<String>>, ProviderError> {
        let members = self.rows.iter().filter(|row| is_in(set, row));
        let ids: Vec<String> = members.map(|row| row.instance_id.clone()).collect();
        let found = Some(ids).filter(|ids| ids.len() <= max);
        if found.is_some() {
            *self.set.lock().unwrap() = Some(set.clone());
        }
        Ok(found)
    }

    async fn names(&self, prefix: &str, max: usize) -> Result<Option<Vec<String>>, ProviderError> {
        let names = self.rows.iter().map(|row| row.orchestration_name.clone());
        let names: BTreeSet<String> = names.filter(|name| name.starts_with(prefix)).collect();
        Ok(Some(names.into_iter().collect::<Vec<_>>()).filter(|names| names.len() <= max))
    }

    async fn keys(&self, request: KeyRequest<'_>) -> Result<Vec<RowKey>, ProviderError> {
        self.used.lock().unwrap().push(request.source.clone());
        let is_wanted = |row: &&InstanceRow| match request.source {
            KeySource::All => true,
            KeySource::Names(names) => names.contains(&row.orchestration_name),
            KeySource::IdPrefix(prefix) => row.instance_id.starts_with(prefix.as_str()),
            KeySource::Ids(ids) => ids.contains(&row.instance_id),
        };
        let mut keys: Vec<RowKey> = self
            .rows
            .iter()
            .filter(is_wanted)
            .map(|row| RowKey::of(request.order, row))
            .filter(|key| {
                request.from.is_none_or(|from| match request.is_ascending {
                    true => key >= from,
                    false => key <= from,
                })
            })
            .collect();
        keys.sort();
        if !request.is_ascending {
            keys.reverse();
        }
        keys.truncate(request.limit);
        Ok(keys)
    }

    async fn rows(
        &self,
        ids: &[String],
        excluded: &[ExecutionStatus],
    ) -> Result<Vec<InstanceRow>, ProviderError> {
        let ids: HashSet<&String> = ids.iter().collect();
        let is_wanted = |row: &&InstanceRow| {
            ids.contains(&row.instance_id) && !excluded.contains(&stored(row.status))
        };
        let bare = |row: &InstanceRow| {
            let mut row = row.clone();
            row.attributes = Attributes::new();
            row.error = row.error.map(|error| InstanceFailure::new(None, error.message));
            row
        };
        Ok(self.rows.iter().filter(is_wanted).map(bare).collect())
    }

    async fn add_categories(&self, rows: &mut [InstanceRow]) -> Result<(), ProviderError> {
        for row in rows {
            let full = self.rows.iter().find(|full| full.instance_id == row.instance_id);
            row.error = full.and_then(|full| full.error.clone());
        }
        Ok(())
    }

    async fn add_attributes(&self, rows: &mut [InstanceRow]) -> Result<(), ProviderError> {
        for row in rows {
            let full = self.rows.iter().find(|full| full.instance_id == row.instance_id);
            row.attributes = full.map(|full| full.attributes.clone()).unwrap_or_default();
        }
        Ok(())
    }
}

fn row(number: u64) -> InstanceRow {
    let status = RowStatus::ALL[usize::try_from(number * 7 % 4).unwrap()];
    let name = ["Order", "OrderItem", "Pay", "Ship"][usize::try_from(number % 3).unwrap()];
    let mut row = InstanceRow::new(format!("i{}", number * 13 % 50), name, status).with_times(
        number / 3 * 1000,
        number * 1000,
        Some(number * 1000),
        NOW,
    );
    row.parent_instance_id = number.is_multiple_of(5).then(|| "i13".to_owned());
    if status == RowStatus::Failed {
        let category = ErrorCategory::ALL[usize::try_from(number % 5).unwrap()];
        row.error = Some(InstanceFailure::new(Some(category), format!("error {number}")));
    }
    let whole = i64::try_from(number).unwrap();
    row.attributes.insert("n".to_owned(), AttributeValue::from(whole - 10));
    let mixed = match number % 5 {
        0 => AttributeValue::Text(format!("{number}")),
        1 => AttributeValue::from(whole),
        2 => AttributeValue::from(f64::from(u32::try_from(number).unwrap()) / 2.0),
        3 => AttributeValue::from(number.is_multiple_of(2)),
        _ => AttributeValue::Time(NOW - number * 1000),
    };
    row.attributes.insert("mixed".to_owned(), mixed);
    row
}

fn expected(rows: &[InstanceRow], query: &InstanceQuery) -> InstancePage {
    let scan = RowScan::of(query).unwrap();
    let key = |row: &InstanceRow| RowKey::of(scan.order, row);
    let is_wanted = |row: &&InstanceRow| scan.contains(&key(row)) && query.filter.matches(row, NOW);
    let mut found: Vec<InstanceRow> = rows.iter().filter(is_wanted).cloned().collect();
    found.sort_by(|one, other| scan.compare(&key(one), &key(other)));
    scan.page(query, found, None)
}

const FILTERS: [&str; 37] = [
    "",
    "status:failed",
    "-status:completed",
    "status:suspended",
    "status:running -status:running",
    "name:Order",
    "name:Order*",
    "name:*e*,Pay",
    "id:i13,i26,unknown",
    "id:i1*",
    "parent:i13",
    "parent:none",
    "created>-999s",
    "created>-995s created<=-985s",
    "created>now",
    "category:poison,application",
    "error~\"error 2\"",
    "error:none",
    "attr.n>20",
    "attr.n<=-3",
    "attr.n<0.5",
    "attr.n:any",
    "attr.n:none",
    "-attr.n=5",
    "attr.mixed=10,11,12",
    "attr.mixed=11.0",
    "attr.mixed=\"10\"",
    "attr.mixed:1*",
    "attr.mixed~1",
    "attr.mixed>=3.5",
    "attr.mixed<7",
    "attr.mixed:true",
    "attr.mixed>-20s",
    "attr.mixed<now",
    "text:order",
    "executions:1 duration>0s",
    "ended>-980s name:Order*",
];

#[tokio::test]
async fn every_page_has_what_the_filter_selects() {
    let memory = Memory::of((0..50).map(row).collect());
    for text in FILTERS {
        let filter = Filter::parse(text).unwrap();
        for order in InstanceOrder::ALL {
            for descending in [true, false] {
                let mut query = InstanceQuery::new(filter.clone()).sorted_by(order).with_limit(4);
                query.descending = descending;
                let mut pages = 0;
                loop {
                    let page = query_by_index(&memory, &query).await.unwrap();
                    assert_eq!(page, expected(&memory.rows, &query), "{text} {query:?}");
                    if let Some(previous) = page.previous {
                        let back = query.clone().with_before(previous);
                        let page = query_by_index(&memory, &back).await.unwrap();
                        assert_eq!(page, expected(&memory.rows, &back), "{text} {back:?}");
                    }
                    let Some(next) = page.next else { break };
                    query = query.with_after(next);
                    pages += 1;
                    assert!(pages < 20, "{text} ends");
                }
            }
        }
        let selected = memory.rows.iter().filter(|row| filter.matches(row, NOW)).count() as u64;
        let counted =
            count_by_index(&memory, &InstanceCountQuery::new(filter, 1000)).await.unwrap();
        assert_eq!((counted.count, counted.next), (selected, None), "{text}");
    }
}

#[tokio::test]
async fn a_small_set_is_searched() {
    let memory = Memory::of((0..50).map(row).collect());
    let text = |text: &str| text.to_owned();
    let attribute = InstanceSet::Attribute {
        key: attribute_key("n"),
        ranges: vec![
            (text("t3"), text("t3\u{1}")),
            (text("i8000000000000003"), text("i8000000000000003\u{1}")),
            (text("fc008000000000000"), text("fc008000000000000\u{1}")),
        ],
    };
    let created = InstanceSet::Created(NOW - 999_000 + 1, u64::MAX);
    for (filter, order, set) in [
        ("status:failed id:i1*", InstanceOrder::Created, InstanceSet::IdPrefix(text("i1"))),
        ("status:failed parent:i13", InstanceOrder::Id, InstanceSet::ChildrenOf(text("i13"))),
        ("status:suspended", InstanceOrder::Id, InstanceSet::Suspended),
        ("error~x", InstanceOrder::Created, InstanceSet::Failed),
        ("name:Pay", InstanceOrder::Id, InstanceSet::Named(text("Pay"))),
        ("attr.n=3", InstanceOrder::Created, attribute),
        ("created>-999s", InstanceOrder::Id, created),
    ] {
        let query = InstanceQuery::new(Filter::parse(filter).unwrap()).sorted_by(order);
        query_by_index(&memory, &query).await.unwrap();
        let (used, used_set) = memory.used();
        assert_eq!(used_set, Some(set), "{filter}");
        // The order of ids needs no keys.
        let is_fit = match used.as_slice() {
            [] => order == InstanceOrder::Id,
            [only] => matches!(only, KeySource::Ids(_)) && order == InstanceOrder::Created,
            _several => false,
        };
        assert!(is_fit, "{filter}: {used:?}");
    }
}

#[tokio::test]
async fn keys_come_in_order_where_no_set_is_small() {
    let memory = Memory::of((0..50).map(row).collect());
    let text = |text: &str| text.to_owned();
    let orders = KeySource::Names(vec![text("Order"), text("OrderItem")]);
    for (filter, order, source) in [
        ("", InstanceOrder::Created, KeySource::All),
        ("id:i1*", InstanceOrder::Id, KeySource::IdPrefix(text("i1"))),
        ("name:Order*", InstanceOrder::Created, orders),
        ("status:completed", InstanceOrder::Created, KeySource::All),
        ("-name:Order", InstanceOrder::Created, KeySource::All),
    ] {
        let query = InstanceQuery::new(Filter::parse(filter).unwrap()).sorted_by(order);
        query_by_index(&memory, &query).await.unwrap();
        assert_eq!(memory.used(), (vec![source], None), "{filter}");
    }
}

#[tokio::test]
async fn a_search_stops_at_its_bound_and_goes_on() {
    let many = QUERY_EXAMINED_MAX * 3;
    let memory = Memory::of(
        (0..many as u64)
            .map(|number| {
                InstanceRow::new(format!("i{number:06}"), "N", RowStatus::Completed).with_times(
                    number / 10,
                    0,
                    Some(number),
                    NOW,
                )
            })
            .collect(),
    );
    // The oldest is the only one, and no index finds it.
    let filter = Filter::parse("version:none,\"\" id:*000000").unwrap();
    let mut query = InstanceQuery::new(filter.clone());
    let mut calls = 0;
    let found = loop {
        let page = query_by_index(&memory, &query).await.unwrap();
        calls += 1;
        let Some(next) = page.next else { break page.rows };
        assert!(page.is_partial && page.rows.is_empty());
        query = query.with_after(next);
    };
    assert_eq!((found.len(), calls), (1, 3));
    let mut count = InstanceCountQuery::new(filter, 1000);
    let mut total = 0;
    loop {
        let part = count_by_index(&memory, &count).await.unwrap();
        total += part.count;
        let Some(next) = part.next else { break };
        count = count.with_after(next);
    }
    assert_eq!(total, 1);
}

const FAILED: u64 = 6000;

/// A third of very many instances failed: too many to be sorted by their times at once.
fn many_failed() -> Memory {
    failed_among(FAILED * 3, |number| number.is_multiple_of(3))
}

fn failed_among(many: u64, is_failed: impl Fn(u64) -> bool) -> Memory {
    let row = |number: u64| {
        let status = if is_failed(number) { RowStatus::Failed } else { RowStatus::Completed };
        let text = if number == 0 { "rare" } else { "frequent" };
        let mut row = InstanceRow::new(format!("i{number:06}"), "N", status);
        row.error =
            (status == RowStatus::Failed).then(|| InstanceFailure::new(None, text.to_owned()));
        row.with_times(number, 0, Some(number), NOW)
    };
    Memory::of((0..many).map(row).collect())
}

#[tokio::test]
async fn members_of_a_large_set_are_found_in_the_order_of_the_list() {
    let memory = many_failed();
    for (text, found) in [("status:failed", 100), ("error~rare", 1), ("error~unknown", 0)] {
        for ascending in [false, true] {
            let query = InstanceQuery::new(Filter::parse(text).unwrap());
            let query = if ascending { query.ascending() } else { query };
            let page = query_by_index(&memory, &query).await.unwrap();
            assert_eq!((page.rows.len(), page.is_partial), (found, false), "{text}");
            assert_eq!(page.next.is_some(), found == 100, "{text}");
            assert_eq!(memory.used(), (vec![KeySource::All], Some(InstanceSet::Failed)), "{text}");
        }
        let by_id = InstanceQuery::new(Filter::parse(text).unwrap()).sorted_by(InstanceOrder::Id);
        let page = query_by_index(&memory, &by_id).await.unwrap();
        assert_eq!((page.rows.len(), page.is_partial), (found, false), "{text}");
        assert_eq!(memory.used(), (Vec::new(), Some(InstanceSet::Failed)), "{text}");
    }
}

/// Through the newest instances alone a search would go for long.
#[tokio::test]
async fn members_that_are_far_away_are_sorted() {
    let memory = failed_among(30_000, |number| number < 600);
    let mut query = InstanceQuery::new(Filter::parse("status:failed").unwrap()).with_limit(250);
    let mut found = Vec::new();
    loop {
        let page = query_by_index(&memory, &query).await.unwrap();
        let (used, _) = memory.used();
        match found.is_empty() {
            true => assert!(matches!(used.as_slice(), [KeySource::All, KeySource::Ids(_)])),
            // The next page begins where members are.
            false => assert_eq!(used, [KeySource::All]),
        }
        assert!(!page.is_partial);
        found.extend(page.rows.into_iter().map(|row| row.created_at_ms));
        let Some(next) = page.next else { break };
        query = query.with_after(next);
    }
    assert_eq!(found, (0..600).rev().collect::<Vec<u64>>());
}

#[tokio::test]
async fn of_two_sets_the_common_members_are_examined() {
    let mut memory = many_failed();
    for (number, row) in (0..).zip(&mut memory.rows) {
        row.attributes.insert("half".to_owned(), AttributeValue::from(number < FAILED / 10));
    }
    for order in InstanceOrder::ALL {
        let filter = Filter::parse("status:failed attr.half:true").unwrap();
        let query = InstanceQuery::new(filter).sorted_by(order).with_limit(300);
        let page = query_by_index(&memory, &query).await.unwrap();
        assert_eq!((page.rows.len() as u64, page.next), (FAILED / 30, None));
        let (used, _) = memory.used();
        let read: usize = used
            .iter()
            .map(|source| {
                let KeySource::Ids(ids) = source else { panic!("{source:?}") };
                ids.len()
            })
            .sum();
        assert!(read as u64 <= FAILED / 30, "{read} keys");
    }
}

#[tokio::test]
async fn a_page_of_a_set_that_is_examined_as_a_whole_is_in_order_and_goes_on() {
    let memory = many_failed();
    let filter = Filter::parse("status:failed id:*00").unwrap();
    let expected: Vec<String> = memory
        .rows
        .iter()
        .rev()
        .filter(|row| filter.matches(row, NOW))
        .map(|row| row.instance_id.clone())
        .collect();
    let mut query = InstanceQuery::new(filter).with_limit(50);
    let mut found = Vec::new();
    loop {
        let page = query_by_index(&memory, &query).await.unwrap();
        assert!(!page.is_partial && page.rows.len() <= 50);
        found.extend(page.rows.into_iter().map(|row| row.instance_id));
        let Some(next) = page.next else { break };
        query = query.with_after(next);
    }
    assert_eq!(found, expected);
    assert!(found.len() > 50, "it has several pages");
}

#[tokio::test]
async fn the_members_of_a_set_are_counted_in_one_call() {
    let memory = many_failed();
    for (text, count) in [("status:failed", FAILED), ("error~rare", 1)] {
        let query = InstanceCountQuery::new(Filter::parse(text).unwrap(), 10_000);
        let counted = count_by_index(&memory, &query).await.unwrap();
        assert_eq!((counted.count, counted.next), (count, None), "{text}");
    }
    // A count that stops goes on where it was.
    let filter = Filter::parse("status:failed").unwrap();
    let mut query = InstanceCountQuery::new(filter, 2500);
    let mut total = 0;
    loop {
        let part = count_by_index(&memory, &query).await.unwrap();
        total += part.count;
        let Some(next) = part.next else { break };
        query = query.with_after(next);
    }
    assert_eq!(total, FAILED);
}

proptest! {
    #[test]
    fn the_end_of_a_prefix_is_the_next_text(
        prefix in "[a-c\u{d7ff}\u{10ffff}]{0,3}",
        rest in "[a-z\u{10ffff}]{0,3}",
    ) {
        let longer = format!("{prefix}{rest}");
        match prefix_end(&prefix) {
            Some(end) => prop_assert!(longer < end && prefix < end),
            None => prop_assert!(prefix.chars().all(|character| character == char::MAX)),
        }
    }
}
