//! Activities without a live lease, for the management side.

use std::collections::{BTreeMap, BTreeSet};

use duroxide_core::providers::kit::{
    RowError, activity_name, cursor_at, number_behind, waiting_start,
};
use duroxide_core::providers::{WaitingStart, WaitingStartQuery, WaitingWork, WaitingWorkQuery};

use super::store::{Store, Work};

/// Tags of activities without a live lease, ascending, with no tag first.
pub(crate) fn tags(
    store: &Store,
    now: u64,
    after: Option<&str>,
    limit: usize,
) -> Vec<Option<String>> {
    let waiting = store.work.values().filter(|work| !work.is_leased(now));
    let tags: BTreeSet<Option<String>> = waiting.map(|work| work.tag.clone()).collect();
    let wanted = tags.into_iter();
    let wanted = wanted.filter(|tag| after.is_none_or(|after| tag.as_deref() > Some(after)));
    wanted.take(limit).collect()
}

/// Activities of one tag without a live lease, oldest first.
pub(crate) fn work(
    store: &Store,
    now: u64,
    query: &WaitingWorkQuery,
) -> Result<Vec<WaitingWork>, RowError> {
    let after = number_behind(query.after.as_ref())?;
    let behind = store.work.range(after.saturating_add(1)..);
    let waiting = behind.filter(|(_, work)| !work.is_leased(now) && work.tag == query.tag);
    let limit = usize::try_from(query.limit).unwrap_or(usize::MAX);
    Ok(waiting.take(limit).map(|(number, work)| listed(*number, work)).collect())
}

/// Starts of instances that do not exist yet, by instance.
pub(crate) fn starts(store: &Store, query: &WaitingStartQuery) -> Vec<WaitingStart> {
    let mut starts: BTreeMap<String, WaitingStart> = BTreeMap::new();
    for message in store.messages.values() {
        let Some(start) = waiting_start(&message.text) else { continue };
        let wanted = query.instance.as_ref().is_none_or(|wanted| *wanted == start.instance_id);
        let is_behind =
            query.after.as_ref().is_none_or(|after| start.instance_id.as_str() > after.as_str());
        if wanted && is_behind && !store.records.contains_key(&start.instance_id) {
            let start = start
                .with_times(message.enqueued_at, message.visible_at)
                .with_attempts(message.attempt_count);
            starts.entry(start.instance_id.clone()).or_insert(start);
        }
    }
    let limit = usize::try_from(query.limit).unwrap_or(usize::MAX);
    starts.into_values().take(limit).collect()
}

fn listed(number: u64, work: &Work) -> WaitingWork {
    WaitingWork::new(cursor_at(number), work.identifier(), activity_name(&work.text))
        .with_tag(work.tag.clone())
        .with_session_id(work.session.clone())
        .with_waiting_since_ms(work.enqueued_at)
}
