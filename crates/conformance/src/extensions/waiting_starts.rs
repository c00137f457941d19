//! Which starts wait for their first turn.

use duroxide_core::providers::{WaitingStart, WaitingStartQuery};

use crate::ProviderFactory;
use crate::support::{Must, Store, child_start_item, commit, named, queued, start_item, started};

impl<F: ProviderFactory + ?Sized> Store<'_, F> {
    async fn waiting_starts(&self, query: WaitingStartQuery) -> Vec<WaitingStart> {
        self.admin().list_waiting_starts(query).await.must("listing waiting starts")
    }
}

fn ids(starts: &[WaitingStart]) -> Vec<&str> {
    starts.iter().map(|start| start.instance_id.as_str()).collect()
}

/// Starts are listed by instance, each once and page by page, until the instance exists. They show
/// how often they were fetched and when they become visible.
pub async fn waiting_starts_are_listed<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("b").await;
    let sent_from = store.now_ms();
    for item in [start_item("a"), start_item("a"), start_item("b"), child_start_item("c", "b")] {
        store.send(item).await;
    }
    store.send_after(start_item("d"), store.lease() * 100).await;
    store.send(queued("e", "no start")).await;
    let all = store.waiting_starts(WaitingStartQuery::new(10)).await;
    assert_eq!(ids(&all), ["a", "c", "d"], "'b' exists");
    let first = store.waiting_starts(WaitingStartQuery::new(2)).await;
    assert_eq!(ids(&first), ["a", "c"]);
    let rest = WaitingStartQuery::new(2).with_after(first[1].cursor.clone());
    assert_eq!(ids(&store.waiting_starts(rest).await), ["d"]);
    let a = &first[0];
    assert_eq!(a.orchestration_name, "TestOrch");
    assert_eq!((a.attempt_count, a.parent_instance_id.as_deref()), (0, None));
    assert!(a.waiting_since_ms >= sent_from && a.waiting_since_ms <= store.now_ms());
    assert!(a.visible_at_ms <= store.now_ms());
    assert_eq!(first[1].parent_instance_id.as_deref(), Some("b"));
    let one = store.waiting_starts(WaitingStartQuery::of("c")).await;
    assert_eq!(ids(&one), ["c"]);
    assert!(store.waiting_starts(WaitingStartQuery::of("b")).await.is_empty(), "it exists");
    assert!(store.waiting_starts(WaitingStartQuery::of("e")).await.is_empty(), "it has no start");

    let turn = store.turn_of("a").await;
    let delay = Some(store.lease() * 100);
    let released = store.provider.abandon_orchestration_item(&turn.token, delay, false).await;
    released.must("abandoning a turn");
    let one = store.waiting_starts(WaitingStartQuery::of("a")).await;
    assert_eq!((ids(&one), one[0].attempt_count), (vec!["a"], 1), "it was fetched");
    assert!(one[0].visible_at_ms > store.now_ms(), "it is hidden");
    let turn = store.turn_of("b").await;
    store.ack(commit(&turn, vec![])).await.must("a commit");
    let turn = store.turn_of("c").await;
    let begin = commit(&turn, vec![started("c", 1)]).with_metadata(named());
    store.ack(begin).await.must("the first commit");
    let all = store.waiting_starts(WaitingStartQuery::new(10)).await;
    assert_eq!(ids(&all), ["a", "d"], "'c' exists now");
}
