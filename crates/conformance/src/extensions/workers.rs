//! Which workers are live, and which activities wait for one.

use std::time::Duration;

use duroxide_core::providers::{
    AnnouncedTurns, ListCursor, LiveWorker, RegisteredOrchestrations, SemverRange, TagFilter,
    WaitingWork, WaitingWorkQuery, WorkItem, WorkerAnnouncement,
};
use semver::Version;

use crate::ProviderFactory;
use crate::limits::CLOCK_SLACK;
use crate::support::{Must, Store, activity};

fn tagged(id: u64, label: &str) -> WorkItem {
    let mut item = activity("a", id);
    if let WorkItem::ActivityExecute { tag, .. } = &mut item {
        *tag = Some(label.to_owned());
    }
    item
}

impl<F: ProviderFactory + ?Sized> Store<'_, F> {
    async fn announce(&self, node_id: &str, tag_filter: TagFilter, expires_in: Duration) {
        let announcement = WorkerAnnouncement::new(node_id.to_owned(), expires_in)
            .with_tag_filter(tag_filter)
            .with_activities(vec!["B".to_owned(), "A".to_owned()]);
        self.provider.announce_worker(&announcement).await.must("announcing a worker");
    }

    async fn live_workers(&self) -> Vec<LiveWorker> {
        self.admin().list_live_workers().await.must("listing live workers")
    }

    async fn live_names(&self) -> Vec<String> {
        self.live_workers().await.into_iter().map(|worker| worker.node_id).collect()
    }

    async fn waiting_work(
        &self,
        tag: Option<&str>,
        after: Option<&WaitingWork>,
        limit: u32,
    ) -> Vec<WaitingWork> {
        let mut query = WaitingWorkQuery::new(tag.map(str::to_owned), limit);
        query.after = after.map(|work| work.cursor.clone());
        self.admin().list_waiting_work(query).await.must("listing waiting activities")
    }

    async fn waiting_tags(&self, after: Option<&str>, limit: u32) -> Vec<Option<String>> {
        self.admin().list_waiting_tags(after, limit).await.must("listing waiting tags")
    }
}

/// A worker is listed as announced, with every kind of filter.
pub async fn an_announced_worker_is_listed<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let filters = [
        ("any", TagFilter::Any),
        ("both", TagFilter::default_and(["gpu", "it's \"quoted\""])),
        ("default", TagFilter::DefaultOnly),
        ("none", TagFilter::None),
        ("tags", TagFilter::tags(["gpu", "cpu"])),
    ];
    assert!(store.live_workers().await.is_empty());
    for (node_id, filter) in filters.iter().rev() {
        store.announce(node_id, filter.clone(), store.lease() * 10).await;
    }
    let live = store.live_workers().await;
    let listed: Vec<_> =
        live.iter().map(|it| (it.node_id.as_str(), it.tag_filter.clone())).collect();
    assert_eq!(listed, filters, "ordered by name");
    assert!(live.iter().all(|worker| worker.activities == ["A", "B"]), "ascending: {live:?}");
    assert!(live.iter().all(|worker| worker.expires_at_ms > store.now_ms()));
}

/// A node may announce which turns it runs; a later announcement replaces an earlier one.
pub async fn announced_turns_are_listed<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let names = [
        ("A", Version::new(1, 0, 0)),
        ("A", Version::new(2, 0, 0)),
        ("\0'\"", Version::new(1, 0, 0)),
    ];
    let none = AnnouncedTurns::none(Version::new(1, 5, 0));
    let some = none
        .clone()
        .with_replays(vec![SemverRange::default_for_current_build()])
        .with_orchestrations(RegisteredOrchestrations::new(names));
    let lifetime = store.lease() * 10;
    let announce = async |node_id: &str, turns: &AnnouncedTurns| {
        let announcement = WorkerAnnouncement::new(node_id, lifetime).with_turns(turns.clone());
        store.provider.announce_worker(&announcement).await.must("announcing a node");
    };
    let listed = async || -> Vec<Option<AnnouncedTurns>> {
        store.live_workers().await.into_iter().map(|it| it.turns).collect()
    };
    announce("a", &some).await;
    announce("b", &none).await;
    store.announce("c", TagFilter::Any, lifetime).await;
    assert_eq!(listed().await, [Some(some.clone()), Some(none), None]);
    announce("b", &some).await;
    store.announce("a", TagFilter::Any, lifetime).await;
    assert_eq!(listed().await, [None, Some(some), None], "the last announcement counts");
}

/// A worker that does not announce itself again expires; one that does stays listed.
pub async fn an_announcement_expires<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let lifetime = store.lease();
    store.announce("dies", TagFilter::Any, lifetime).await;
    store.announce("stays", TagFilter::Any, lifetime).await;
    store.pass(lifetime / 2).await;
    store.announce("stays", TagFilter::DefaultOnly, lifetime).await;
    assert_eq!(store.live_names().await, ["dies", "stays"]);
    store.pass(lifetime / 2 + CLOCK_SLACK).await;
    let live = store.live_workers().await;
    let [stays] = live.as_slice() else { panic!("one worker has expired: {live:?}") };
    assert_eq!((stays.node_id.as_str(), &stays.tag_filter), ("stays", &TagFilter::DefaultOnly));
}

/// A withdrawn worker is no longer listed; withdrawing twice is not an error.
pub async fn a_withdrawn_worker_is_not_listed<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.announce("a", TagFilter::Any, store.lease() * 10).await;
    store.announce("b", TagFilter::Any, store.lease() * 10).await;
    for _ in 0..2 {
        store.provider.withdraw_worker("a").await.must("withdrawing a worker");
        assert_eq!(store.live_names().await, ["b"]);
    }
}

/// Tags of activities that are not leased are listed in order, page by page.
pub async fn waiting_tags_are_listed_in_order<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    assert!(store.waiting_tags(None, 10).await.is_empty());
    for item in [tagged(1, "gpu"), activity("a", 2), tagged(3, "cpu"), tagged(4, "gpu")] {
        store.send_work(item).await;
    }
    let tag = |text: &str| Some(text.to_owned());
    assert_eq!(store.waiting_tags(None, 10).await, [None, tag("cpu"), tag("gpu")]);
    assert_eq!(store.waiting_tags(None, 2).await, [None, tag("cpu")]);
    assert_eq!(store.waiting_tags(Some("cpu"), 2).await, [tag("gpu")]);
    assert!(store.waiting_tags(Some("gpu"), 2).await.is_empty());

    store.work().await;
    let leased = store.try_work_as(None, &TagFilter::tags(["cpu"])).await;
    leased.expect("an activity must be fetchable");
    assert_eq!(store.waiting_tags(None, 10).await, [tag("gpu")], "the other activities are leased");
    store.expire().await;
    let all = store.waiting_tags(None, 10).await;
    assert_eq!(all, [None, tag("cpu"), tag("gpu")], "their leases expired");
}

/// Activities that are not leased are listed oldest first, page by page, including hidden ones and
/// those whose lease expired.
pub async fn waiting_work_is_listed_oldest_first<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let sent_from = store.now_ms();
    for item in [tagged(1, "gpu"), activity("a", 2), activity("a", 3), activity("a", 4)] {
        store.send_work(item).await;
    }
    let ids = |work: &[WaitingWork]| work.iter().map(|it| it.activity_id).collect::<Vec<_>>();
    let first = store.waiting_work(None, None, 2).await;
    assert_eq!(ids(&first), [2, 3]);
    let second = store.waiting_work(None, Some(&first[1]), 2).await;
    assert_eq!(ids(&second), [4]);
    let listed = &first[0];
    assert_eq!((listed.instance_id.as_str(), listed.execution_id), ("a", 1));
    assert_eq!((listed.activity_name.as_str(), &listed.tag), ("TestActivity", &None));
    assert!(listed.waiting_since_ms >= sent_from && listed.waiting_since_ms <= store.now_ms());
    let gpu = store.waiting_work(Some("gpu"), None, 10).await;
    assert_eq!((ids(&gpu), gpu[0].tag.as_deref()), (vec![1], Some("gpu")));

    store.work().await;
    let hidden = store.work().await;
    assert_eq!(
        ids(&store.waiting_work(None, None, 10).await),
        [4],
        "the other activities are leased"
    );
    let delay = Some(store.lease() * 100);
    let abandoned = store.provider.abandon_work_item(&hidden.token, delay, false).await;
    abandoned.must("abandoning an activity");
    assert_eq!(
        ids(&store.waiting_work(None, None, 10).await),
        [3, 4],
        "a hidden activity is listed too"
    );
    store.expire().await;
    let all = ids(&store.waiting_work(None, None, 10).await);
    assert_eq!(all, [2, 3, 4], "an activity whose lease expired is listed");
}

/// A page behind a cursor that the store never returned is refused, for good.
pub async fn a_cursor_that_no_page_returned_is_refused<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 2)).await;
    let query = WaitingWorkQuery::new(None, 2).with_after(ListCursor::new("no such cursor"));
    let refused = store.admin().list_waiting_work(query).await;
    let error = refused.expect_err("an unknown cursor must be refused");
    assert!(!error.is_retryable(), "a retry cannot help: {error}");
}
