//! Which turns no node may fetch.

use duroxide_core::providers::{
    FetchFilter, NeededCode, StrandedTurnQuery, StrandedTurns, WaitingTurn,
};
use semver::Version;

use super::code_filter::{NAME, node, ranges, start_of};
use crate::ProviderFactory;
use crate::support::{Must, Store, commit, ended, heard, signal};

const LIMIT: u32 = 100;

impl<F: ProviderFactory + ?Sized> Store<'_, F> {
    async fn stranded_page(&self, query: StrandedTurnQuery) -> StrandedTurns {
        self.admin().list_stranded_turns(query).await.must("listing stranded turns")
    }

    /// All turns that these nodes may not fetch, by instance, read in pages of this length.
    async fn stranded(&self, nodes: &[FetchFilter], limit: u32) -> Vec<WaitingTurn> {
        let mut query = StrandedTurnQuery::new(nodes.to_vec(), limit);
        let mut turns: Vec<WaitingTurn> = Vec::new();
        for _page in 0..LIMIT {
            let page = self.stranded_page(query.clone()).await;
            assert!(page.turns.len() <= limit as usize, "a page is longer than requested");
            turns.extend(page.turns);
            let Some(next) = page.next else {
                turns.sort_by(|one, other| one.instance_id.cmp(&other.instance_id));
                return turns;
            };
            query = query.with_after(next);
        }
        panic!("the list of stranded turns does not end: {turns:?}");
    }
}

fn ids(turns: &[WaitingTurn]) -> Vec<&str> {
    turns.iter().map(|turn| turn.instance_id.as_str()).collect()
}

/// Turns that none of the nodes may fetch are listed with what they need, each instance once. One
/// node needs all that a turn needs.
pub async fn stranded_turns_are_listed<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let sent_from = store.now_ms();
    store.create("runs").await;
    store.create_pinned("pinned", "2.0.0").await;
    for instance in ["runs", "pinned", "pinned"] {
        store.send(signal(instance, "1")).await;
    }
    store.send(start_of("any", "Other", None)).await;
    store.send(start_of("exact", NAME, Some("2.0.0"))).await;
    let replays = |text: &str, code: &[(&str, &str)]| node(code).with_replays(ranges(text));
    let current = replays("1.0.0", &[(NAME, "1.0.0")]);
    let newer = replays("2.0.0", &[("Other", "1.0.0")]);

    let stranded = store.stranded(std::slice::from_ref(&current), LIMIT).await;
    assert_eq!(ids(&stranded), ["any", "exact", "pinned"]);
    let [any, exact, pinned] = stranded.as_slice() else { unreachable!("there are three") };
    let code = |turn: &WaitingTurn| turn.code.as_ref().map(NeededCode::key);
    assert_eq!(code(any), Some("Other\u{1}\u{1}".to_owned()));
    assert_eq!(code(exact), Some(NeededCode::of_execution(NAME, "2.0.0").key()));
    assert_eq!(code(pinned), Some(NeededCode::of_execution(NAME, "1.0.0").key()));
    let executions = [any, exact, pinned].map(|turn| turn.execution_id);
    assert_eq!(executions, [None, None, Some(1)]);
    let pins = [any, exact, pinned].map(|turn| turn.pin.clone());
    assert_eq!(pins, [None, None, Some(Version::new(2, 0, 0))]);
    for turn in &stranded {
        let since = turn.waiting_since_ms;
        assert!(since >= sent_from && since <= store.now_ms(), "{turn:?}");
    }
    let both = store.stranded(&[current.clone(), newer.clone()], LIMIT).await;
    assert_eq!(ids(&both), ["exact", "pinned"], "no node has both the code and the range");
    let fitting = replays("2.0.0", &[(NAME, "1.0.0"), (NAME, "2.0.0")]);
    assert!(store.stranded(&[newer, fitting], LIMIT).await.is_empty(), "each has a node");
    let all = store.stranded(&[], LIMIT).await;
    assert_eq!(ids(&all), ["any", "exact", "pinned", "runs"], "there is no node");
}

/// The list goes on behind the cursor of each page, whatever its length.
pub async fn stranded_turns_are_listed_page_by_page<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for (instance, name) in [("a", "One"), ("b", "One"), ("c", "Two"), ("d", "One"), ("e", "Two")] {
        store.send(start_of(instance, name, None)).await;
    }
    let nodes = [node(&[(NAME, "1.0.0")])];
    for limit in [1, 2, 3, LIMIT] {
        let stranded = store.stranded(&nodes, limit).await;
        assert_eq!(ids(&stranded), ["a", "b", "c", "d", "e"], "in pages of {limit}");
    }
    let nothing = store.stranded_page(StrandedTurnQuery::new(nodes.to_vec(), 0)).await;
    assert_eq!(nothing, StrandedTurns::default(), "no turn was requested");
}

/// A turn is listed while it is visible and not leased, also after its lease expired.
pub async fn only_turns_that_could_be_fetched_are_stranded<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    let nodes = [node(&[("Other", "1.0.0")])];
    store.create("a").await;
    assert!(store.stranded(&nodes, LIMIT).await.is_empty(), "nothing waits");
    store.send_after(signal("a", "later"), store.lease() * 100).await;
    assert!(store.stranded(&nodes, LIMIT).await.is_empty(), "it is not visible yet");
    store.send(signal("a", "now")).await;
    assert_eq!(ids(&store.stranded(&nodes, LIMIT).await), ["a"]);
    store.turn_of("a").await;
    assert!(store.stranded(&nodes, LIMIT).await.is_empty(), "a node holds it");
    store.expire().await;
    assert_eq!(ids(&store.stranded(&nodes, LIMIT).await), ["a"], "its lease expired");
    let turn = store.turn_of("a").await;
    let ending = commit(&turn, vec![heard("a", 1, 2)]).with_metadata(ended("Completed", "done"));
    store.ack(ending).await.must("the last commit");
    store.send(signal("a", "late")).await;
    assert!(store.stranded(&nodes, LIMIT).await.is_empty(), "its messages are only removed");
    let removed = store.stranded(&[], LIMIT).await;
    assert_eq!((ids(&removed), &removed[0].code), (vec!["a"], &None));
}
