//! Activities without a live lease, for the management side.

use std::collections::BTreeSet;

use duroxide_core::providers::kit::activity_name;
use duroxide_core::providers::{WaitingWork, WaitingWorkQuery};

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
pub(crate) fn work(store: &Store, now: u64, query: &WaitingWorkQuery) -> Vec<WaitingWork> {
    let behind = store.work.range(query.after.saturating_add(1)..);
    let waiting = behind.filter(|(_, work)| !work.is_leased(now) && work.tag == query.tag);
    let limit = usize::try_from(query.limit).unwrap_or(usize::MAX);
    waiting.take(limit).map(|(number, work)| listed(*number, work)).collect()
}

fn listed(position: u64, work: &Work) -> WaitingWork {
    WaitingWork::new(work.identifier(), activity_name(&work.text))
        .with_position(position)
        .with_tag(work.tag.clone())
        .with_session_id(work.session.clone())
        .with_waiting_since_ms(work.enqueued_at)
}
