//! Workers that claim sessions.

use std::time::Duration;

use duroxide_core::providers::{SessionFetchConfig, TagFilter, WorkItem};

use crate::ProviderFactory;
use crate::support::{Must, Store, Work, activity, completed};

/// The store type of this category.
pub(super) type AnyStore<'f> = Store<'f, dyn ProviderFactory + 'f>;

/// Longer than the time that passes in any validation.
pub(super) const FOREVER: Duration = Duration::from_secs(3600);

/// The lengths of the two leases of a fetch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leases {
    pub(super) activity: Duration,
    pub(super) session: Duration,
}

/// An activity of a session.
pub(super) fn of_session(id: u64, session: &str) -> WorkItem {
    let mut item = activity("worked", id);
    if let WorkItem::ActivityExecute { session_id, .. } = &mut item {
        *session_id = Some(session.to_owned());
    }
    item
}

/// A store with one queued activity for each session or `None`, numbered from 1.
pub(super) async fn store_with<'f>(
    factory: &'f dyn ProviderFactory,
    sessions: &[Option<&str>],
) -> AnyStore<'f> {
    let store = Store::open(factory).await;
    for (id, session) in (1..).zip(sessions) {
        let item = session.map_or_else(|| activity("worked", id), |name| of_session(id, name));
        store.send_work(item).await;
    }
    store
}

/// The owner `owner` with a session lease of the default length.
pub(super) fn owner(store: &AnyStore<'_>, owner: &str) -> SessionFetchConfig {
    SessionFetchConfig { owner_id: owner.to_owned(), lock_timeout: store.lease() }
}

/// The activity that `worker` gets now, with both leases of the default length.
pub(super) async fn try_claim(store: &AnyStore<'_>, worker: &str) -> Option<Work> {
    store.try_work_as(Some(&owner(store, worker)), &TagFilter::DefaultOnly).await
}

/// The activity that `worker` must get now.
pub(super) async fn claim(store: &AnyStore<'_>, worker: &str, expected: u64) -> Work {
    let work = try_claim(store, worker).await;
    expect(work, worker, expected)
}

/// The activity that `worker` must get now, with leases of these lengths.
pub(super) async fn claim_for(
    store: &AnyStore<'_>,
    worker: &str,
    expected: u64,
    leases: Leases,
) -> Work {
    let session = SessionFetchConfig { owner_id: worker.to_owned(), lock_timeout: leases.session };
    let tags = TagFilter::DefaultOnly;
    let fetched =
        store.provider.fetch_work_item(leases.activity, Duration::ZERO, Some(&session), &tags);
    let fetched = fetched.await.must("fetching an activity");
    let work = fetched.map(|(item, token, attempt)| Work { item, token, attempt });
    expect(work, worker, expected)
}

#[track_caller]
fn expect(work: Option<Work>, worker: &str, expected: u64) -> Work {
    let work = work.unwrap_or_else(|| panic!("{worker} must get activity {expected}, not nothing"));
    assert_eq!(id(&work), expected, "{worker} got another activity");
    work
}

/// `worker` must get nothing now; `why` says which promise forbids it.
pub(super) async fn claims_nothing(store: &AnyStore<'_>, worker: &str, why: &str) {
    if let Some(work) = try_claim(store, worker).await {
        panic!("{why}, but {worker} got {:?}", work.item);
    }
}

#[track_caller]
pub(super) fn id(work: &Work) -> u64 {
    let WorkItem::ActivityExecute { id, .. } = &work.item else {
        panic!("the worker queue returned {:?}", work.item);
    };
    *id
}

pub(super) async fn finish(store: &AnyStore<'_>, work: &Work) {
    let done = completed("worked", id(work));
    store.provider.ack_work_item(&work.token, Some(done)).await.must("completing an activity");
}

/// Renews the sessions of these owners for the default length and returns how many.
pub(super) async fn renew(store: &AnyStore<'_>, owners: &[&str], idle: Duration) -> usize {
    let renewed = store.provider.renew_session_lock(owners, store.lease(), idle).await;
    renewed.must("renewing sessions")
}

/// Removes orphaned sessions and returns how many.
pub(super) async fn clean(store: &AnyStore<'_>) -> usize {
    store.provider.cleanup_orphaned_sessions(FOREVER).await.must("cleaning up sessions")
}
