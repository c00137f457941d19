//! Direct turns that the store refuses because the instance changed in the meantime.

use std::time::Duration;

use crate::ProviderFactory;
use crate::support::{
    Must, Store, Waiting, activity, commit, completed, facts, heard, identified, queued, signal,
    started, timer,
};

/// After a refusal the activities are still leased, and their results go through the queue instead.
async fn goes_through_the_queue<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    waiting: &Waiting,
) {
    store.all_held(&waiting.tokens, "the lease of an activity whose turn was refused").await;
    store.no_work("a refused turn enqueues nothing and leases nothing").await;
    for token in &waiting.tokens {
        let finished = store.provider.ack_work_item(token, Some(completed("a", 2))).await;
        finished.must("completing an activity whose turn was refused");
    }
}

/// A mark that is not exactly the end of the stored history refuses the turn.
pub async fn a_stale_mark_refuses_a_direct_turn<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let waiting = store.waiting("a").await;
    store.direct_must(waiting.turn(vec![waiting.next()]).with_finished_work(vec![])).await;
    let mark = waiting.moved(1, vec![]).mark;
    for (wrong, what) in [
        (waiting.mark, "an older event"),
        (mark.with_event_id(0), "no event"),
        (mark.with_event_id(mark.event_id + 1), "a newer event"),
        (mark.with_event_id(u64::MAX), "an impossible event"),
        (mark.with_execution_id(2), "a later execution"),
        (mark.with_execution_id(0), "an earlier execution"),
        (mark.with_incarnation(mark.incarnation ^ 1), "another incarnation"),
        (mark.with_incarnation(0), "no incarnation"),
    ] {
        // Its events would fit, so that only the mark can refuse it.
        let next = waiting.moved(1, waiting.tokens.clone());
        let turn = next.rich_turn().with_mark(wrong);
        store.direct_refused(turn, what).await;
    }
    goes_through_the_queue(&store, &waiting).await;
    let turn = store.turn_of("a").await;
    assert_eq!(turn.item.messages, vec![completed("a", 2)]);
}

/// A commit of a fetched turn makes an earlier mark stale, and so does an appended event.
pub async fn a_mark_is_stale_after_any_commit<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let waiting = store.waiting("a").await;
    store.send(signal("a", "1")).await;
    let turn = store.turn_of("a").await;
    store.ack(commit(&turn, vec![heard("a", 1, 2)])).await.must("a commit");
    store.direct_refused(waiting.rich_turn(), "another turn was committed").await;
    let waiting = waiting.moved(1, waiting.tokens.clone());
    let appended = store.provider.append_with_execution("a", 1, vec![heard("a", 1, 3)]).await;
    appended.must("appending an event");
    store.direct_refused(waiting.rich_turn(), "an event was appended").await;
    goes_through_the_queue(&store, &waiting).await;
}

/// A mark names the commit that wrote its event: after a restore from a backup, a stored history
/// may be as long as the one that the caller holds, and another.
pub async fn a_mark_of_another_commit_refuses_a_direct_turn<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    let waiting = store.waiting("a").await;
    let unnamed = waiting.rich_turn().with_mark(waiting.mark.with_commit_id(Some(7)));
    store.direct_refused(unnamed, "the stored commit has no id").await;
    let mut first = waiting.turn(vec![waiting.next()]).with_finished_work(vec![]);
    first.commit.commit_id = Some(7);
    store.direct_must(first).await;
    let waiting = waiting.moved(1, waiting.tokens.clone());
    let other = waiting.rich_turn().with_mark(waiting.mark.with_commit_id(Some(8)));
    store.direct_refused(other, "another commit wrote the event").await;
    let own = waiting.turn(vec![waiting.next()]);
    store.direct_must(own.with_mark(waiting.mark.with_commit_id(Some(7)))).await;
}

/// A commit without events does not change what a mark describes.
pub async fn a_turn_without_events_keeps_the_mark_valid<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let waiting = store.waiting("a").await;
    store.send(signal("a", "nothing")).await;
    let turn = store.turn_of("a").await;
    store.ack(commit(&turn, vec![])).await.must("a commit without events");
    store.direct_must(waiting.turn(vec![waiting.next()])).await;
    assert_eq!(facts(&store.history("a").await), facts(&[started("a", 1), waiting.next()]));
}

/// A direct turn for a deleted instance does not apply to its successor with the same id.
pub async fn a_recreated_instance_refuses_a_direct_turn<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let old = store.waiting_for("a", vec![]).await;
    store.admin().delete_instance("a", true).await.must("deleting by force");
    store.direct_refused(old.rich_turn(), "the instance is deleted").await;
    let new = store.waiting("a").await;
    assert_eq!(old.mark.event_id, new.mark.event_id, "only the incarnation differs");
    store.direct_refused(old.rich_turn(), "the incarnation differs").await;
    store.direct_must(new.turn(vec![new.next()])).await;
}

/// The holder of a turn lease has precedence over a direct turn.
pub async fn a_leased_instance_refuses_a_direct_turn<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let waiting = store.waiting("a").await;
    store.send(signal("a", "1")).await;
    let turn = store.turn_of("a").await;
    store.direct_refused(waiting.rich_turn(), "another caller holds the instance").await;
    store.no_turn("a refused turn does not release the lease").await;
    store.ack(commit(&turn, vec![heard("a", 1, 2)])).await.must("the commit of the holder");
    store.no_turn("a refused turn sends no message").await;
    goes_through_the_queue(&store, &waiting).await;
    let next = store.turn_of("a").await;
    assert_eq!(next.item.messages, vec![completed("a", 2)]);
    assert_eq!(next.item.history.len(), 2, "the holder's turn and no other");
}

/// The messages of an expired lease are visible again and have precedence. The old holder cannot
/// commit any more.
pub async fn messages_of_an_expired_turn_refuse_a_direct_turn<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    let waiting = store.waiting_for("a", vec![]).await;
    store.send(signal("a", "1")).await;
    let lost = store.turn_of("a").await;
    store.expire().await;
    store.direct_refused(waiting.rich_turn(), "the message is visible again").await;
    let again = store.turn_of("a").await;
    assert_eq!((again.item.messages.as_slice(), again.attempt), (&[signal("a", "1")][..], 2));
    store.ack(commit(&again, vec![])).await.must("a commit without events");
    store.direct_must(waiting.turn(vec![waiting.next()])).await;
    let late = store.ack(commit(&lost, vec![heard("a", 1, 3)])).await;
    late.must_fail_for_good("a commit under a lost lease");
}

/// A visible message has precedence over the results of a direct turn.
pub async fn a_visible_message_refuses_a_direct_turn<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let waiting = store.waiting("a").await;
    store.send(signal("a", "first")).await;
    store.direct_refused(waiting.rich_turn(), "a message is visible").await;
    let turn = store.turn_of("a").await;
    assert_eq!((turn.item.messages.as_slice(), turn.attempt), (&[signal("a", "first")][..], 1));
    store.ack(commit(&turn, vec![heard("a", 1, 2)])).await.must("a commit");
    let waiting = waiting.moved(1, waiting.tokens.clone());
    store.direct_must(waiting.turn(vec![waiting.next()])).await;
    let expected = [started("a", 1), heard("a", 1, 2), heard("a", 1, 3)];
    assert_eq!(facts(&store.history("a").await), facts(&expected));
}

/// A hidden message and messages of other instances, known or not, do not refuse a direct turn.
/// Once the hidden message is visible, it has precedence.
pub async fn a_hidden_message_allows_a_direct_turn<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let waiting = store.waiting("a").await;
    store.send(queued("ghost", "early")).await;
    store.no_turn("the message is parked").await;
    store.create("b").await;
    let due = store.now_ms() + u64::try_from(store.lease().as_millis()).expect("a short lease");
    let mut turn = waiting.turn(vec![waiting.next()]);
    turn.commit.outgoing_messages = vec![timer("a", 9, due)];
    turn.commit.activities = vec![(activity("a", 3)).into()];
    store.send_after(signal("a", "later"), store.lease()).await;
    store.send(signal("b", "mine")).await;
    store.direct_must(turn).await;

    let waiting = waiting.moved(1, vec![store.work().await.token]);
    let turn = waiting.turn(vec![waiting.next()]);
    store.direct_must(turn.with_finished_work(vec![])).await;
    let waiting = waiting.moved(1, vec![]);
    store.expire().await;
    store.direct_refused(waiting.rich_turn(), "the timer is due").await;
    assert_eq!(store.turn_of("b").await.item.messages, vec![signal("b", "mine")]);
    let turn = store.turn_of("a").await;
    assert_eq!(turn.item.messages.len(), 2, "both have become visible: {turn:?}");
    assert_eq!(turn.item.history.len(), 3);
}

/// A turn abandoned with a delay hides its messages and holds no lease.
pub async fn an_abandoned_turn_allows_a_direct_turn<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let waiting = store.waiting("a").await;
    store.send(signal("a", "1")).await;
    let turn = store.turn_of("a").await;
    let delay = Some(Duration::from_secs(3600));
    let abandoned = store.provider.abandon_orchestration_item(&turn.token, delay, false).await;
    abandoned.must("abandoning a turn");
    store.direct_must(waiting.turn(vec![waiting.next()])).await;
}

/// A direct turn of an unknown instance is refused, whatever the mark.
pub async fn an_unknown_instance_refuses_a_direct_turn<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let waiting = store.waiting("a").await;
    let seeded = store.provider.append_with_execution("seeded", 1, vec![started("seeded", 1)]);
    seeded.await.must("appending an event");
    for instance in ["ghost", "seeded", ""] {
        for event_id in [0, 1] {
            let mark = waiting.mark.with_event_id(event_id);
            let known = Waiting { instance: instance.to_owned(), mark, ..waiting.clone() };
            store.direct_refused(known.rich_turn(), "the instance is unknown").await;
        }
    }
    assert_eq!(store.history("ghost").await, vec![]);
    goes_through_the_queue(&store, &waiting).await;
}

/// The same direct turn commits once, however often it is sent.
pub async fn a_direct_turn_commits_once<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let waiting = store.waiting("a").await;
    store.create("friend").await;
    let mut turn = waiting.rich_turn();
    turn.commit.cancelled_activities = vec![identified("a", 99)];
    store.direct_must(turn.clone()).await;
    for _ in 0..2 {
        store.direct_refused(turn.clone(), "it was committed already").await;
    }
    assert_eq!(store.history("a").await.len(), 4);
    assert_eq!(store.work().await.item, activity("a", 22));
    store.no_work("the other activity is leased, and none was enqueued twice").await;
    assert_eq!(store.turn_of("friend").await.item.messages, vec![signal("friend", "hello")]);
}
