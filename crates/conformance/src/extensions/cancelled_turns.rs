//! Which cancelled instances no node may fetch.

use std::time::Duration;

use duroxide_core::providers::{FetchFilter, NeededCode, StrandedTurnQuery, WaitingTurn};
use semver::Version;

use super::code_filter::{NAME, node, ranges, start_of};
use crate::ProviderFactory;
use crate::support::{Must, Store, cancellation, commit, ended, heard, signal};

const LIMIT: u32 = 100;

/// More messages than a turn of the bundled providers takes.
const MESSAGES_MANY: usize = 1_030;

impl<F: ProviderFactory + ?Sized> Store<'_, F> {
    /// The cancelled turns that these nodes may not fetch, by instance, read in pages.
    async fn cancelled(&self, nodes: &[FetchFilter], limit: u32) -> Vec<WaitingTurn> {
        let mut query = StrandedTurnQuery::new(nodes.to_vec(), limit);
        let mut turns: Vec<WaitingTurn> = Vec::new();
        for _page in 0..LIMIT {
            let page = self.admin().list_cancelled_turns(query.clone()).await;
            let page = page.must("listing cancelled turns");
            assert!(page.turns.len() <= limit as usize, "a page is longer than requested");
            turns.extend(page.turns);
            let Some(next) = page.next else {
                turns.sort_by(|one, other| one.instance_id.cmp(&other.instance_id));
                return turns;
            };
            query = query.with_after(next);
        }
        panic!("the list of cancelled turns does not end: {turns:?}");
    }
}

fn ids(turns: &[WaitingTurn]) -> Vec<&str> {
    turns.iter().map(|turn| turn.instance_id.as_str()).collect()
}

/// Of the turns that none of the nodes may fetch, those with a cancellation are listed with what
/// they need, each instance once.
pub async fn cancelled_turns_are_listed<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("runs").await;
    for instance in ["lost", "quiet"] {
        store.create_pinned(instance, "2.0.0").await;
    }
    for instance in ["lost", "quiet"] {
        store.send(signal(instance, "1")).await;
    }
    let sent_from = store.now_ms();
    store.pass(Duration::from_millis(5)).await;
    for instance in ["runs", "lost", "lost"] {
        store.send(cancellation(instance, "why")).await;
    }
    store.send(start_of("new", "Other", None)).await;
    store.send(cancellation("new", "why")).await;
    let current = node(&[(NAME, "1.0.0")]).with_replays(ranges("1.0.0"));

    let cancelled = store.cancelled(std::slice::from_ref(&current), LIMIT).await;
    assert_eq!(ids(&cancelled), ["lost", "new"]);
    let [lost, new] = cancelled.as_slice() else { unreachable!("there are two") };
    let code = |turn: &WaitingTurn| turn.code.as_ref().map(NeededCode::key);
    assert_eq!(code(lost), Some(NeededCode::of_execution(NAME, "1.0.0").key()));
    assert_eq!(code(new), Some("Other\u{1}\u{1}".to_owned()));
    assert_eq!((lost.execution_id, new.execution_id), (Some(1), None));
    assert_eq!((lost.pin.clone(), new.pin.clone()), (Some(Version::new(2, 0, 0)), None));
    for turn in &cancelled {
        let since = turn.waiting_since_ms;
        assert!(since > sent_from && since <= store.now_ms(), "{turn:?}");
    }
    let newer = node(&[(NAME, "1.0.0"), ("Other", "1.0.0")]).with_replays(ranges("2.0.0"));
    assert!(store.cancelled(&[current, newer], LIMIT).await.is_empty(), "each has a node");
    assert_eq!(
        ids(&store.cancelled(&[], LIMIT).await),
        ["lost", "new", "runs"],
        "there is no node"
    );
}

/// The list goes on behind the cursor of each page, whatever its length.
pub async fn cancelled_turns_are_listed_page_by_page<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for (instance, name) in [("a", "One"), ("b", NAME), ("c", "Two"), ("d", "One")] {
        store.send(start_of(instance, name, None)).await;
        store.send(cancellation(instance, "why")).await;
    }
    let nodes = [node(&[(NAME, "1.0.0")])];
    for limit in [1, 2, 3, LIMIT] {
        let cancelled = store.cancelled(&nodes, limit).await;
        assert_eq!(ids(&cancelled), ["a", "c", "d"], "in pages of {limit}");
    }
    assert!(store.cancelled(&nodes, 0).await.is_empty(), "no turn was requested");
}

/// A cancellation counts while it is visible and no node holds its instance. One that came before
/// the start was meant for another instance, and an instance that has ended needs no code.
pub async fn only_a_cancellation_that_waits_counts<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let nodes = [node(&[("Other", "1.0.0")])];
    store.create("a").await;
    store.create("b").await;
    store.send_after(cancellation("a", "later"), store.lease() * 100).await;
    store.send(signal("a", "1")).await;
    assert!(store.cancelled(&nodes, LIMIT).await.is_empty(), "it is not visible yet");
    store.send(cancellation("a", "now")).await;
    assert_eq!(ids(&store.cancelled(&nodes, LIMIT).await), ["a"]);
    let turn = store.turn_of("a").await;
    assert!(store.cancelled(&nodes, LIMIT).await.is_empty(), "a node holds it");
    let ending = commit(&turn, vec![heard("a", 1, 2)]).with_metadata(ended("Failed", "why"));
    store.ack(ending).await.must("the last commit");
    store.send(cancellation("a", "too late")).await;
    assert!(store.cancelled(&nodes, LIMIT).await.is_empty(), "its messages are only removed");
    store.turn_of("a").await;
    store.send(cancellation("b", "why")).await;
    store.turn_of("b").await;
    store.send(cancellation("new", "early")).await;
    store.send(start_of("new", NAME, None)).await;
    assert!(store.cancelled(&nodes, LIMIT).await.is_empty(), "it came before the start");
    store.expire().await;
    assert_eq!(ids(&store.cancelled(&nodes, LIMIT).await), ["b"], "its lease expired");
}

/// A cancellation is found behind more messages than a turn takes.
pub async fn many_messages_hide_no_cancellation<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    for _ in 0..MESSAGES_MANY {
        store.send(signal("a", "1")).await;
    }
    store.send(cancellation("a", "why")).await;
    let nodes = [node(&[("Other", "1.0.0")])];
    assert_eq!(ids(&store.cancelled(&nodes, LIMIT).await), ["a"]);
    let held = store.admin().hold_instance("a", store.lease()).await.must("holding an instance");
    assert_eq!(held.cancellations, ["why"]);
}
