//! The search itself: chooses where to read keys, reads rows in parts, and stops at its bound.

use std::collections::HashMap;

use super::super::{RowKey, RowScan};
use super::facts::{Facts, Needs, cheap_part};
use super::{InstanceSet, InstanceSource, KeyRequest, KeySource};
use crate::limits::{
    QUERY_EXAMINED_MAX, QUERY_NAMES_EXAMINED_MAX, QUERY_NAMES_MAX, QUERY_PART_FIRST_MIN,
    QUERY_PART_MAX, QUERY_SET_MAX, QUERY_SORTED_MAX,
};
use crate::model::ExecutionStatus;
use crate::providers::{
    CountedInstances, InstanceCountQuery, InstanceOrder, InstancePage, InstanceQuery, PagePlace,
    ProviderError,
};
use crate::query::{Filter, InstanceRow, Pattern};

/// Instances that a search examines in their order before it may turn to a set: fewer say too
/// little about how many fit.
const PROBED_MIN: usize = 1000;

/// Answers a query from the indexes of a store.
///
/// # Errors
/// The store failed, or the cursor is of another list.
pub async fn query_by_index(
    source: &dyn InstanceSource,
    query: &InstanceQuery,
) -> Result<InstancePage, ProviderError> {
    let scan = RowScan::of(query).map_err(|error| error.during("query_instances"))?;
    let wanted = query.limit() + 1;
    let mut search = Search::begin(source, &query.filter, scan, wanted).await?;
    let mut rows = Vec::new();
    let mut stopped_at = None;
    while rows.len() < wanted {
        let Some(part) = search.next_part().await? else { break };
        rows.extend(part);
        if let Some(set) = search.better_set(rows.len(), wanted) {
            rows = search.examine_whole(set, wanted).await?;
            break;
        }
        if rows.len() < wanted && search.has_examined_enough() {
            stopped_at = search.passed.clone();
            break;
        }
    }
    rows.truncate(wanted);
    let Search { scan, needs, .. } = search;
    if !needs.categories {
        source.add_categories(&mut rows).await?;
    }
    if !needs.attributes {
        source.add_attributes(&mut rows).await?;
    }
    Ok(scan.page(query, rows, stopped_at))
}

/// Counts from the indexes of a store.
///
/// # Errors
/// The store failed, or the cursor is of another list.
pub async fn count_by_index(
    source: &dyn InstanceSource,
    query: &InstanceCountQuery,
) -> Result<CountedInstances, ProviderError> {
    let mut search = begin_count(source, query).await?;
    let mut count = 0;
    loop {
        let found = match query.filter.is_empty() {
            true => search.next_keys().await?.map(|keys| keys.len()),
            false => search.next_part().await?.map(|rows| rows.len()),
        };
        let Some(found) = found else { return Ok(CountedInstances::new(count, None)) };
        count += found as u64;
        if count >= query.limit || search.has_examined_enough() {
            let next = search.passed.clone().map(|key| search.scan.passed(key));
            return Ok(CountedInstances::new(count, next));
        }
    }
}

/// The order of a count does not matter: a set that is small enough is read by id, which needs no
/// times. A count that goes on keeps the order of its cursor.
async fn begin_count<'a>(
    source: &'a dyn InstanceSource,
    query: &'a InstanceCountQuery,
) -> Result<Search<'a>, ProviderError> {
    let scan = |order| {
        let mut listed = InstanceQuery::new(query.filter.clone()).sorted_by(order);
        listed.place = query.after.clone().map(PagePlace::After);
        RowScan::of(&listed)
    };
    let by_id = scan(InstanceOrder::Id).ok();
    if let Some(scan) = by_id {
        let search = Search::begin(source, &query.filter, scan, QUERY_PART_MAX).await?;
        let is_short = matches!(search.keys, KeySource::Set(_) | KeySource::IdPrefix(_));
        if is_short || query.after.is_some() {
            return Ok(search);
        }
    }
    let scan = scan(InstanceOrder::Created).map_err(|error| error.during("count_instances"))?;
    Search::begin(source, &query.filter, scan, QUERY_PART_MAX).await
}

struct Search<'a> {
    source: &'a dyn InstanceSource,
    filter: &'a Filter,
    /// What can be decided by what is read first.
    cheap: Filter,
    needs: Needs,
    now: u64,
    scan: RowScan,
    keys: KeySource,
    /// A set that contains all, too large to be sorted, and its size.
    unsorted: Option<(InstanceSet, usize)>,
    created: (u64, u64),
    excluded: Vec<ExecutionStatus>,
    /// Keys that are read and not examined, in reverse.
    waiting: Vec<RowKey>,
    /// There are no more keys.
    is_over: bool,
    part: usize,
    examined: usize,
    /// The last key that was examined.
    passed: Option<RowKey>,
}

impl<'a> Search<'a> {
    async fn begin(
        source: &'a dyn InstanceSource,
        filter: &'a Filter,
        scan: RowScan,
        wanted: usize,
    ) -> Result<Self, ProviderError> {
        let now = source.now_ms();
        let facts = Facts::of(filter, now);
        let Choice { keys, unsorted } = choose(source, &facts, scan.order).await?;
        let is_over = facts.created.0 > facts.created.1;
        Ok(Self {
            source,
            filter,
            cheap: cheap_part(filter),
            needs: Needs::of(filter),
            now,
            scan,
            keys,
            unsorted,
            created: facts.created,
            excluded: facts.excluded(),
            waiting: Vec::new(),
            is_over,
            // Without conditions, one part fills the page.
            part: match filter.is_empty() {
                true => wanted,
                false => wanted.max(QUERY_PART_FIRST_MIN),
            }
            .min(QUERY_PART_MAX),
            examined: 0,
            passed: None,
        })
    }

    fn has_examined_enough(&self) -> bool {
        // A set would be read again as a whole.
        let most = match self.keys {
            KeySource::Set(_) => QUERY_SET_MAX,
            KeySource::All | KeySource::Names(_) | KeySource::IdPrefix(_) => QUERY_EXAMINED_MAX,
        };
        self.examined >= most && !(self.is_over && self.waiting.is_empty())
    }

    /// The set that is better than to go on, as so few of what was examined fit that the page
    /// needs more instances than the set has.
    fn better_set(&mut self, found: usize, wanted: usize) -> Option<InstanceSet> {
        let (_, size) = self.unsorted.as_ref()?;
        let needed = self.examined.saturating_mul(wanted) / found.max(1);
        let is_better =
            found < wanted && self.examined >= PROBED_MIN && needed > size.saturating_add(size / 2);
        self.unsorted.take_if(|_| is_better).map(|(set, _)| set)
    }

    /// The first rows of a set, in order. Reads all its members by their ids, so that their times
    /// need not be read before.
    async fn examine_whole(
        &self,
        set: InstanceSet,
        wanted: usize,
    ) -> Result<Vec<InstanceRow>, ProviderError> {
        let keys = KeySource::Set(set);
        let mut from: Option<RowKey> = None;
        let mut found: Vec<InstanceRow> = Vec::new();
        loop {
            let request = KeyRequest {
                source: &keys,
                order: InstanceOrder::Id,
                is_ascending: true,
                from: from.as_ref(),
                created: self.created,
                limit: QUERY_SET_MAX,
            };
            let members = self.source.keys(request).await?;
            for part in members.chunks(QUERY_PART_MAX) {
                let ids: Vec<String> = part
                    .iter()
                    .filter(|key| Some(*key) != from.as_ref())
                    .map(|key| key.id.clone())
                    .collect();
                let mut rows = self.select(&ids).await?;
                rows.retain(|row| self.scan.contains(&self.key(row)));
                found.append(&mut rows);
                found.sort_by(|one, other| self.scan.compare(&self.key(one), &self.key(other)));
                found.truncate(wanted);
            }
            if members.len() < QUERY_SET_MAX {
                return Ok(found);
            }
            // It has grown since its size was read.
            from = members.into_iter().next_back();
        }
    }

    fn key(&self, row: &InstanceRow) -> RowKey {
        RowKey::of(self.scan.order, row)
    }

    /// The rows among the next keys that the filter selects, in order; `None` at the end.
    async fn next_part(&mut self) -> Result<Option<Vec<InstanceRow>>, ProviderError> {
        let Some(keys) = self.next_keys().await? else { return Ok(None) };
        let ids: Vec<String> = keys.into_iter().map(|key| key.id).collect();
        let mut rows = self.select(&ids).await?;
        let places: HashMap<&str, usize> =
            ids.iter().enumerate().map(|(place, id)| (id.as_str(), place)).collect();
        rows.sort_by_key(|row| places.get(row.instance_id.as_str()).copied());
        Ok(Some(rows))
    }

    /// The rows among these that the filter selects, in any order.
    async fn select(&self, ids: &[String]) -> Result<Vec<InstanceRow>, ProviderError> {
        let mut rows = self.source.rows(ids, &self.excluded).await?;
        rows.retain(|row| self.cheap.matches(row, self.now));
        if self.needs.categories {
            self.source.add_categories(&mut rows).await?;
        }
        if self.needs.attributes {
            self.source.add_attributes(&mut rows).await?;
        }
        rows.retain(|row| self.filter.matches(row, self.now));
        Ok(rows)
    }

    /// The next keys, in order; `None` at the end.
    async fn next_keys(&mut self) -> Result<Option<Vec<RowKey>>, ProviderError> {
        if self.waiting.is_empty() && !self.is_over {
            self.read_keys().await?;
        }
        // One more is no part of its own.
        let count = match self.waiting.len() {
            waiting if waiting <= self.part + 1 => waiting,
            _many => self.part,
        };
        let mut keys = self.waiting.split_off(self.waiting.len() - count);
        keys.reverse();
        let Some(last) = keys.last() else { return Ok(None) };
        self.passed = Some(last.clone());
        self.examined += keys.len();
        // Few instances fit: the next part is larger.
        self.part = (self.part * 4).min(QUERY_PART_MAX);
        Ok(Some(keys))
    }

    async fn read_keys(&mut self) -> Result<(), ProviderError> {
        let from = match &self.passed {
            Some(passed) => Some((passed, false)),
            None => self.scan.start(),
        };
        // A set is sorted as a whole, so that it is read as a whole. One more, because the first
        // may be the one that has been passed.
        let limit = match self.keys {
            KeySource::Set(_) => QUERY_SET_MAX + 1,
            KeySource::All | KeySource::Names(_) | KeySource::IdPrefix(_) => self.part + 1,
        };
        let request = KeyRequest {
            source: &self.keys,
            order: self.scan.order,
            is_ascending: self.scan.is_ascending,
            from: from.map(|(key, _)| key),
            created: self.created,
            limit,
        };
        let mut keys = self.source.keys(request).await?;
        self.is_over = keys.len() < limit;
        if let Some((from, false)) = from
            && keys.first() == Some(from)
        {
            keys.remove(0);
        }
        keys.reverse();
        self.waiting = keys;
        Ok(())
    }
}

/// Where a search looks.
struct Choice {
    keys: KeySource,
    unsorted: Option<(InstanceSet, usize)>,
}

/// Where the keys are read: from the smallest set that is small enough, or by the names, or from
/// all.
async fn choose(
    source: &dyn InstanceSource,
    facts: &Facts,
    order: InstanceOrder,
) -> Result<Choice, ProviderError> {
    let sorted_max = match order {
        InstanceOrder::Created => QUERY_SORTED_MAX,
        InstanceOrder::Id => QUERY_SET_MAX,
    };
    let unsorted = match smallest(source, facts, order).await? {
        Some((set, size)) if size <= sorted_max => {
            return Ok(Choice { keys: KeySource::Set(set), unsorted: None });
        }
        larger_or_none => larger_or_none,
    };
    let keys = match order {
        InstanceOrder::Created => {
            let names = match &facts.names {
                Some(patterns) => names(source, patterns).await?,
                None => None,
            };
            names.map_or(KeySource::All, KeySource::Names)
        }
        InstanceOrder::Id => facts.id_prefix.clone().map_or(KeySource::All, KeySource::IdPrefix),
    };
    Ok(Choice { keys, unsorted })
}

/// The smallest set with its size, unless all are too large to be examined.
async fn smallest(
    source: &dyn InstanceSource,
    facts: &Facts,
    order: InstanceOrder,
) -> Result<Option<(InstanceSet, usize)>, ProviderError> {
    let is_sorted = |set: &InstanceSet| match (set, order) {
        // An index returns these in order, however many there are.
        (InstanceSet::Named(_) | InstanceSet::Created(..), InstanceOrder::Created)
        | (InstanceSet::IdPrefix(_), InstanceOrder::Id) => true,
        (
            InstanceSet::Ids(_)
            | InstanceSet::IdPrefix(_)
            | InstanceSet::ChildrenOf(_)
            | InstanceSet::Named(_)
            | InstanceSet::Created(..)
            | InstanceSet::Suspended
            | InstanceSet::Attribute { .. }
            | InstanceSet::Unended
            | InstanceSet::Failed
            | InstanceSet::NotCompleted,
            InstanceOrder::Created | InstanceOrder::Id,
        ) => false,
    };
    let sets: Vec<InstanceSet> = facts.sets.iter().filter(|set| !is_sorted(set)).cloned().collect();
    if sets.is_empty() {
        return Ok(None);
    }
    let sizes = source.sizes(&sets, QUERY_SET_MAX + 1).await?;
    let sized = sets.into_iter().zip(sizes).filter(|(_, size)| *size <= QUERY_SET_MAX);
    Ok(sized.min_by_key(|(_, size)| *size))
}

/// The names that match; `None` if there are too many.
async fn names(
    source: &dyn InstanceSource,
    patterns: &[Pattern],
) -> Result<Option<Vec<String>>, ProviderError> {
    let mut names = Vec::new();
    for pattern in patterns {
        if let Some(exact) = pattern.as_exact() {
            names.push(exact.to_owned());
            continue;
        }
        let found = source.names(pattern.prefix(), QUERY_NAMES_EXAMINED_MAX).await?;
        let Some(found) = found else { return Ok(None) };
        names.extend(found.into_iter().filter(|name| pattern.matches(name)));
    }
    names.sort_unstable();
    names.dedup();
    Ok(Some(names).filter(|names| names.len() <= QUERY_NAMES_MAX))
}
