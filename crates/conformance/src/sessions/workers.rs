//! Workers that take activities of sessions.

use std::time::Duration;

use duroxide_core::providers::{SessionFetchConfig, TagFilter, WorkItem};

use crate::ProviderFactory;
use crate::support::{Must, Store, Work, activity, completed};

/// Any store of this category.
pub(super) type AnyStore<'f> = Store<'f, dyn ProviderFactory + 'f>;

/// Longer than anything that a validation lets pass.
pub(super) const FOREVER: Duration = Duration::from_secs(3600);

/// Lengths of the two leases that a fetch takes.
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

/// A store with these activities in its queue: their sessions, or none, numbered from 1.
pub(super) async fn holding<'f>(
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

/// The owner `owner` with a lease of the usual length.
pub(super) fn owner(store: &AnyStore<'_>, owner: &str) -> SessionFetchConfig {
    SessionFetchConfig { owner_id: owner.to_owned(), lock_timeout: store.lease() }
}

/// What `worker` gets now, both leases of the usual length.
pub(super) async fn take(store: &AnyStore<'_>, worker: &str) -> Option<Work> {
    store.try_work_as(Some(&owner(store, worker)), &TagFilter::DefaultOnly).await
}

/// The activity that `worker` must get now.
pub(super) async fn taken(store: &AnyStore<'_>, worker: &str, expected: u64) -> Work {
    let work = take(store, worker).await;
    expect(work, worker, expected)
}

/// The activity that `worker` must get now, with leases of these lengths.
pub(super) async fn taken_for(
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
pub(super) async fn nothing(store: &AnyStore<'_>, worker: &str, why: &str) {
    if let Some(work) = take(store, worker).await {
        panic!("{why}, but {worker} got {:?}", work.item);
    }
}

#[track_caller]
pub(super) fn id(work: &Work) -> u64 {
    let WorkItem::ActivityExecute { id, .. } = &work.item else {
        panic!("the worker queue handed out {:?}", work.item);
    };
    *id
}

pub(super) async fn finish(store: &AnyStore<'_>, work: &Work) {
    let done = completed("worked", id(work));
    store.provider.ack_work_item(&work.token, Some(done)).await.must("finishing an activity");
}

/// How many sessions of these owners are renewed for the usual length.
pub(super) async fn renew(store: &AnyStore<'_>, owners: &[&str], idle: Duration) -> usize {
    let renewed = store.provider.renew_session_lock(owners, store.lease(), idle).await;
    renewed.must("renewing sessions")
}

/// How many sessions are cleaned up.
pub(super) async fn clean(store: &AnyStore<'_>) -> usize {
    store.provider.cleanup_orphaned_sessions(FOREVER).await.must("cleaning up sessions")
}
