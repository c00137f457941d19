//! Direct turns that fail store nothing, not even in part.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{HistoryMark, SessionFetchConfig, TagFilter, WorkItem};

use crate::ProviderFactory;
use crate::support::{
    Must, Store, Waiting, activity, commit, completed, facts, heard, identified, signal,
    start_item, started,
};

/// An instance with two leased activities, of which the second will be lost.
async fn two<F: ProviderFactory + ?Sized>(store: &Store<'_, F>) -> Waiting {
    store.waiting_for("a", vec![activity("a", 2), activity("a", 3)]).await
}

/// After a failure the first activity is still leased, and nothing was enqueued.
async fn nothing_happened<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, waiting: &Waiting) {
    assert_eq!(facts(&store.history("a").await), facts(&[started("a", 1)]));
    store.all_held(&waiting.tokens[..1], "the lease of the other activity of the turn").await;
    store.no_work("a failed turn enqueues nothing").await;
    store.no_turn("a failed turn sends no message").await;
    let finished = store.provider.ack_work_item(&waiting.tokens[0], Some(completed("a", 2))).await;
    finished.must("completing the other activity through the queue");
    assert_eq!(store.turn_of("a").await.item.messages, vec![completed("a", 2)]);
}

/// An unknown token fails the turn.
pub async fn an_unknown_activity_fails_a_direct_turn<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let waiting = two(&store).await;
    for wrong in ["no-such-token", ""] {
        let mut turn = waiting.rich_turn();
        turn.finished_work[1] = wrong.to_owned();
        store.direct_failed(turn, "an unknown token").await;
    }
    nothing_happened(&store, &waiting).await;
}

/// An activity whose lease expired fails the turn, even before another worker claims it.
pub async fn an_expired_lease_fails_a_direct_turn<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let waiting = two(&store).await;
    let renewed = store.provider.renew_work_item_lock(&waiting.tokens[0], store.lease() * 9).await;
    renewed.must("renewing one of them");
    store.expire().await;
    store.direct_failed(waiting.rich_turn(), "the lease of one activity expired").await;
    let again = store.work().await;
    assert_eq!(
        (&again.item, again.attempt),
        (&activity("a", 3), 2),
        "the activity is delivered again"
    );
    store.direct_failed(waiting.rich_turn(), "another worker holds the activity").await;
    nothing_happened(&store, &waiting).await;
    store.all_held(&[again.token], "the lease of the worker that claimed it").await;
}

/// An activity that is completed, abandoned or cancelled fails the turn.
pub async fn a_lost_activity_fails_a_direct_turn<F: ProviderFactory + ?Sized>(factory: &F) {
    for lost in ["finished", "abandoned", "cancelled"] {
        let store = Store::open(factory).await;
        let waiting = two(&store).await;
        let token = &waiting.tokens[1];
        match lost {
            "finished" => store.provider.ack_work_item(token, None).await.must(lost),
            "abandoned" => {
                let delay = Some(Duration::from_secs(3600));
                store.provider.abandon_work_item(token, delay, true).await.must(lost);
            }
            _cancelled => {
                store.send(signal("a", "stop")).await;
                let turn = store.turn_of("a").await;
                let cancelled_activities = vec![identified("a", 3)];
                let stop = commit(&turn, vec![]).with_cancelled_activities(cancelled_activities);
                store.ack(stop).await.must(lost);
            }
        }
        store.direct_failed(waiting.rich_turn(), lost).await;
        nothing_happened(&store, &waiting).await;
    }
}

/// An activity completes once, also within one turn.
pub async fn an_activity_named_twice_fails_a_direct_turn<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let waiting = two(&store).await;
    let mut turn = waiting.rich_turn();
    turn.finished_work[1] = turn.finished_work[0].clone();
    store.direct_failed(turn, "an activity is named twice").await;
    nothing_happened(&store, &waiting).await;
}

/// An event that is stored already, has no position or is given twice fails the turn, and so does a
/// message for the wrong queue. The activities stay leased.
pub async fn a_direct_turn_is_all_or_nothing<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let waiting = two(&store).await;
    for (event, what) in [
        (started("a", 1), "an event that is stored"),
        (heard("a", 1, 0), "an event without a position"),
        (heard("a", 1, 2), "an event that is given twice"),
    ] {
        let mut turn = waiting.rich_turn();
        turn.commit.history_delta.push(event);
        store.direct_failed(turn, what).await;
    }
    let mut turn = waiting.rich_turn();
    turn.commit.activities.push((signal("a", "no activity")).into());
    store.direct_failed(turn, "a message for the worker queue").await;
    store.all_held(&waiting.tokens, "the leases of both activities").await;
    nothing_happened(&store, &waiting).await;
}

/// A turn that does not continue the stored history is refused, not failed, even if leases are
/// lost, so that the caller fetches the turn again.
pub async fn a_refusal_comes_before_a_failure<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let waiting = two(&store).await;
    store.send(signal("a", "first")).await;
    let mut turn = waiting.rich_turn();
    turn.finished_work[1] = "no-such-token".to_owned();
    store.direct_refused(turn, "a message is visible").await;
}

// A session used STEP ago is not idle; one used twice as long ago is.
const STEP: Duration = Duration::from_millis(400);
const IDLE: Duration = Duration::from_millis(600);
const FOREVER: Duration = Duration::from_secs(3600);

/// A leased activity of a session that "x" owns.
async fn of_session<F: ProviderFactory + ?Sized>(store: &Store<'_, F>) -> Waiting {
    let mut bound = activity("a", 2);
    if let WorkItem::ActivityExecute { session_id, .. } = &mut bound {
        *session_id = Some("s".to_owned());
    }
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    let first = commit(&turn, vec![started("a", 1)]).with_activities(vec![bound]);
    let committed = store.provider.commit_turn(Arc::new(first)).await.must("a first commit");
    let incarnation = committed.incarnation.expect("direct turns need an incarnation");
    let owner = SessionFetchConfig { owner_id: "x".to_owned(), lock_timeout: FOREVER };
    let tags = TagFilter::DefaultOnly;
    let fetch = store.provider.fetch_work_item(FOREVER, Duration::ZERO, Some(&owner), &tags);
    let (_, token, _) = fetch.await.must("a fetch").expect("an activity must be fetchable");
    let mark = HistoryMark::new(incarnation).with_execution_id(1).with_event_id(1);
    Waiting { instance: "a".to_owned(), mark, tokens: vec![token] }
}

/// A direct turn that completes an activity of a session counts as a use of the session, if it
/// commits.
pub async fn a_direct_turn_uses_the_session<F: ProviderFactory + ?Sized>(factory: &F) {
    for commits in [true, false] {
        let store = Store::open(factory).await;
        let waiting = of_session(&store).await;
        store.pass(STEP).await;
        let mut turn = waiting.turn(vec![waiting.next()]);
        if commits {
            store.direct_must(turn).await;
        } else {
            turn.finished_work.push("no-such-token".to_owned());
            store.direct_failed(turn, "an unknown token").await;
        }
        store.pass(STEP).await;
        let renewed = store.provider.renew_session_lock(&["x"], FOREVER, IDLE).await;
        assert_eq!(renewed.must("renewing sessions"), usize::from(commits), "used: {commits}");
    }
}

/// A session keeps its owner after a direct turn completes its activity.
pub async fn a_direct_turn_keeps_the_session<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let waiting = of_session(&store).await;
    let mut turn = waiting.turn(vec![waiting.next()]);
    let mut next = activity("a", 3);
    if let WorkItem::ActivityExecute { session_id, .. } = &mut next {
        *session_id = Some("s".to_owned());
    }
    turn.commit.activities = vec![(next.clone()).into()];
    store.direct_must(turn).await;
    let as_owner = |owner: &str| SessionFetchConfig {
        owner_id: owner.to_owned(),
        lock_timeout: store.lease(),
    };
    let stranger = store.try_work_as(Some(&as_owner("y")), &TagFilter::DefaultOnly).await;
    assert!(stranger.is_none(), "x owns the session: {stranger:?}");
    let own = store.try_work_as(Some(&as_owner("x")), &TagFilter::DefaultOnly).await;
    assert_eq!(own.map(|work| work.item), Some(next));
}
