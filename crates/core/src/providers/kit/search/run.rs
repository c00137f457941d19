//! The search itself: chooses where to read keys, reads rows in parts, and stops at its bound.

use std::collections::{HashMap, HashSet};

use super::super::{RowKey, RowScan};
use super::facts::{Facts, Needs, cheap_part};
use super::{InstanceSet, InstanceSource, KeyRequest, KeySource};
use crate::limits::{
    QUERY_EXAMINED_MAX, QUERY_NAMES_EXAMINED_MAX, QUERY_NAMES_MAX, QUERY_PART_FIRST_MIN,
    QUERY_PART_MAX, QUERY_PROBED_MIN, QUERY_SET_MAX, QUERY_SORTED_MAX,
};
use crate::model::ExecutionStatus;
use crate::providers::{
    CountedInstances, InstanceCountQuery, InstanceOrder, InstancePage, InstanceQuery, PagePlace,
    ProviderError,
};
use crate::query::{Filter, InstanceRow, Pattern};

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
        if let Some(members) = search.better_whole(rows.len(), wanted) {
            rows = search.examine_whole(members, wanted).await?;
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
        let is_short = matches!(search.keys, KeySource::Ids(_) | KeySource::IdPrefix(_));
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
    /// Others among the keys are passed over.
    members: Option<HashSet<String>>,
    created: (u64, u64),
    excluded: Vec<ExecutionStatus>,
    /// Keys that are read and not examined, in reverse.
    waiting: Vec<RowKey>,
    /// The last key that was read, and how many were.
    read_to: Option<RowKey>,
    walked: usize,
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
        let Choice { keys, members, waiting } = choose(source, &facts, &scan).await?;
        let is_over = facts.created.0 > facts.created.1 || waiting.is_some();
        Ok(Self {
            source,
            filter,
            cheap: cheap_part(filter),
            needs: Needs::of(filter),
            now,
            scan,
            keys,
            members,
            created: facts.created,
            excluded: facts.excluded(),
            waiting: waiting.unwrap_or_default(),
            read_to: None,
            walked: 0,
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
        // Known members are all examined: the next call would read them all again.
        let is_known = self.members.is_some() || matches!(self.keys, KeySource::Ids(_));
        let most = if is_known { QUERY_SET_MAX } else { QUERY_EXAMINED_MAX };
        self.examined >= most && !(self.is_over && self.waiting.is_empty())
    }

    /// The members, if it is better to examine all of them than to go on in order: so few of what
    /// was examined fit that the page needs more.
    fn better_whole(&mut self, found: usize, wanted: usize) -> Option<HashSet<String>> {
        let size = self.members.as_ref()?.len();
        let needed = self.examined.saturating_mul(wanted) / found.max(1);
        let is_better =
            found < wanted && self.examined >= QUERY_PROBED_MIN && needed > size + size / 2;
        self.members.take_if(|_| is_better)
    }

    /// The first rows of all members, in order.
    async fn examine_whole(
        &self,
        members: HashSet<String>,
        wanted: usize,
    ) -> Result<Vec<InstanceRow>, ProviderError> {
        let ids: Vec<String> = members.into_iter().collect();
        let mut found: Vec<InstanceRow> = Vec::new();
        for part in ids.chunks(QUERY_PART_MAX) {
            let mut rows = self.select(part).await?;
            rows.retain(|row| self.scan.contains(&self.key(row)));
            found.append(&mut rows);
            found.sort_by(|one, other| self.scan.compare(&self.key(one), &self.key(other)));
            found.truncate(wanted);
        }
        Ok(found)
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
        while self.waiting.is_empty() && !self.is_over {
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
        self.sort_members_if_far_apart();
        let from = match &self.read_to {
            Some(read_to) => Some((read_to, false)),
            None => self.scan.start(),
        };
        // One more, because the first may be the one that has been passed.
        let limit = 1 + match (&self.keys, &self.members) {
            // They are sorted as a whole, so that they are read as a whole.
            (KeySource::Ids(ids), _) => ids.len(),
            // Few keys are of members.
            (_, Some(_)) => (self.walked * 2).clamp(QUERY_PART_MAX, QUERY_SET_MAX),
            (_, None) => self.part,
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
        self.walked += keys.len();
        if let Some(last) = keys.last() {
            self.read_to = Some(last.clone());
        }
        if let Some(members) = &self.members {
            keys.retain(|key| members.contains(&key.id));
        }
        keys.reverse();
        self.waiting = keys;
        Ok(())
    }

    /// To read a key in order takes a tenth of the time that a key by its id takes. If so many
    /// were read that all members could have been sorted, they are.
    fn sort_members_if_far_apart(&mut self) {
        let is_far = |members: &mut HashSet<String>| self.walked >= members.len() * 10;
        if let Some(members) = self.members.take_if(is_far) {
            self.keys = KeySource::Ids(members.into_iter().collect());
        }
    }
}

/// Where a search looks.
struct Choice {
    keys: KeySource,
    members: Option<HashSet<String>>,
    /// All keys, in reverse, if they are known.
    waiting: Option<Vec<RowKey>>,
}

/// Where the keys are read: from a set that is small enough, or by the names, or from all; then
/// those of a larger set are passed over that are no members.
async fn choose(
    source: &dyn InstanceSource,
    facts: &Facts,
    scan: &RowScan,
) -> Result<Choice, ProviderError> {
    let members = members(source, facts, scan.order).await?;
    if scan.order == InstanceOrder::Id
        && let Some(members) = members
    {
        let key = |id| RowKey { created_at: 0, id };
        let mut waiting: Vec<RowKey> = members.into_iter().map(key).collect();
        waiting.retain(|key| scan.contains(key));
        waiting.sort_by(|one, other| scan.compare(other, one));
        let keys = KeySource::Ids(Vec::new());
        return Ok(Choice { keys, members: None, waiting: Some(waiting) });
    }
    let keys = match (scan.order, &facts.names) {
        (InstanceOrder::Created, Some(patterns)) => {
            names(source, patterns).await?.map_or(KeySource::All, KeySource::Names)
        }
        (InstanceOrder::Created, None) => KeySource::All,
        (InstanceOrder::Id, _) => {
            facts.id_prefix.clone().map_or(KeySource::All, KeySource::IdPrefix)
        }
    };
    Ok(match members {
        Some(few) if few.len() <= QUERY_SORTED_MAX => {
            let keys = KeySource::Ids(few.into_iter().collect());
            Choice { keys, members: None, waiting: None }
        }
        members => Choice { keys, members, waiting: None },
    })
}

/// Instances outside of which the filter selects none, unless they are too many. If one set has
/// few members, the others are not read.
async fn members(
    source: &dyn InstanceSource,
    facts: &Facts,
    order: InstanceOrder,
) -> Result<Option<HashSet<String>>, ProviderError> {
    let sets: Vec<&InstanceSet> =
        facts.sets.iter().filter(|set| !is_in_order(set, order)).collect();
    for set in &sets {
        if let Some(few) = source.members(set, QUERY_PART_FIRST_MIN).await? {
            return Ok(Some(few.into_iter().collect()));
        }
    }
    let mut common: Option<HashSet<String>> = None;
    for set in sets {
        if let Some(ids) = source.members(set, QUERY_SET_MAX).await? {
            common = Some(match common {
                Some(common) => ids.into_iter().filter(|id| common.contains(id)).collect(),
                None => ids.into_iter().collect(),
            });
        }
    }
    Ok(common)
}

/// An index returns these in the order, however many there are.
fn is_in_order(set: &InstanceSet, order: InstanceOrder) -> bool {
    match (set, order) {
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
    }
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
