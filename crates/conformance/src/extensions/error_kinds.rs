//! Refused calls report the kind of their error. The client and the runtime match on it.

use std::sync::Arc;

use duroxide_core::EventKind;
use duroxide_core::limits::{MAX_ID_BYTES, MAX_KV_KEY_BYTES};
use duroxide_core::providers::{ProviderError, ProviderErrorKind, TurnCommit};

use crate::ProviderFactory;
use crate::support::{
    End, Must, Store, activity, commit, completed, heard, signal, start_item, started,
};

const UNKNOWN_TOKEN: &str = "no-such-token";

/// `what` must have failed permanently with this kind.
#[track_caller]
fn must_be<T>(kind: ProviderErrorKind, result: Result<T, ProviderError>, what: &str) {
    let error = result.must_fail_for_good(what);
    assert_eq!(error.kind, kind, "{what} must fail with another kind: {error}");
}

#[track_caller]
fn must_be_lost<T>(result: Result<T, ProviderError>, what: &str) {
    must_be(ProviderErrorKind::LostLease, result, what);
}

/// Deleting an unknown instance fails as `NotFound`, forced or not.
pub async fn deleting_an_unknown_instance_is_not_found<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for force in [false, true] {
        let refused = store.admin().delete_instance("unknown", force).await;
        must_be(ProviderErrorKind::NotFound, refused, "deleting an unknown instance");
    }
}

/// Deleting a tree in which an instance runs fails as `StillRunning`.
pub async fn deleting_a_running_instance_is_still_running<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.create("root").await;
    store.create_child("child", "root").await;
    let refused = store.admin().delete_instance("root", false).await;
    must_be(ProviderErrorKind::StillRunning, refused, "deleting a running instance");
    let ids = ["root".to_owned(), "child".to_owned()];
    let refused = store.admin().delete_instances_atomic(&ids, false).await;
    must_be(ProviderErrorKind::StillRunning, refused, "deleting a list of running instances");
    store.complete("root", "done").await;
    let refused = store.admin().delete_instance("root", false).await;
    must_be(ProviderErrorKind::StillRunning, refused, "deleting the root of a running child");
}

/// Deleting a child without its root fails as `NotRoot`, running or not, forced or not.
pub async fn deleting_a_child_is_not_root<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("root").await;
    store.create_child("child", "root").await;
    let refused = store.admin().delete_instance("child", false).await;
    must_be(ProviderErrorKind::NotRoot, refused, "deleting a running child");
    store.complete("child", "done").await;
    for force in [false, true] {
        let refused = store.admin().delete_instance("child", force).await;
        must_be(ProviderErrorKind::NotRoot, refused, "deleting a finished child");
    }
}

/// Both forms of a commit must report a lost lease.
async fn commits_must_be_lost<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    commit: &TurnCommit,
    what: &str,
) {
    must_be_lost(store.ack(commit.clone()).await, what);
    must_be_lost(store.provider.commit_turn(Arc::new(commit.clone())).await, what);
}

/// A commit under an unknown, expired, reclaimed or used token fails as `LostLease`.
pub async fn a_commit_without_its_lease_is_a_lost_lease<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let old = commit(&store.turn_of("a").await, vec![started("a", 1)]);
    let unknown = old.clone().with_lock_token(UNKNOWN_TOKEN.to_owned());
    commits_must_be_lost(&store, &unknown, "a commit under an unknown token").await;
    store.expire().await;
    commits_must_be_lost(&store, &old, "a commit after its lease expired").await;
    let new = commit(&store.turn_of("a").await, vec![started("a", 1)]);
    commits_must_be_lost(&store, &old, "a commit of a turn that another caller holds").await;
    store.ack(new.clone()).await.must("a commit under a live lease");
    commits_must_be_lost(&store, &new, "the same commit again").await;
}

/// Renewing a turn under an unknown, expired, reclaimed or used token fails as `LostLease`.
pub async fn a_renewal_of_a_lost_turn_is_a_lost_lease<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let renew = |token: String| {
        let (provider, lease) = (Arc::clone(&store.provider), store.lease());
        async move { provider.renew_orchestration_item_lock(&token, lease).await }
    };
    must_be_lost(renew(UNKNOWN_TOKEN.to_owned()).await, "renewing an unknown turn");
    store.send(start_item("a")).await;
    let old = store.turn_of("a").await;
    store.expire().await;
    must_be_lost(renew(old.token.clone()).await, "renewing a turn whose lease expired");
    let new = store.turn_of("a").await;
    must_be_lost(renew(old.token).await, "renewing a turn that another caller holds");
    let committed = store.ack(commit(&new, vec![started("a", 1)])).await;
    committed.must("a commit under a live lease");
    must_be_lost(renew(new.token).await, "renewing a turn that is committed");
}

/// Completing an activity under an unknown, expired, reclaimed or used token fails as `LostLease`.
pub async fn a_completion_without_its_lease_is_a_lost_lease<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    let complete = |token: String| {
        let provider = Arc::clone(&store.provider);
        async move { provider.ack_work_item(&token, Some(completed("a", 2))).await }
    };
    must_be_lost(complete(UNKNOWN_TOKEN.to_owned()).await, "completing an unknown activity");
    store.send_work(activity("a", 2)).await;
    let old = store.work().await;
    store.expire().await;
    must_be_lost(complete(old.token.clone()).await, "completing after the lease expired");
    let new = store.work().await;
    must_be_lost(complete(old.token).await, "completing what another worker holds");
    complete(new.token.clone()).await.must("completing under a live lease");
    must_be_lost(complete(new.token).await, "completing twice");
}

/// Renewing an activity under an unknown, expired, reclaimed or used token fails as `LostLease`.
pub async fn a_renewal_of_lost_work_is_a_lost_lease<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let renew = |token: String| {
        let (provider, lease) = (Arc::clone(&store.provider), store.lease());
        async move { provider.renew_work_item_lock(&token, lease).await }
    };
    must_be_lost(renew(UNKNOWN_TOKEN.to_owned()).await, "renewing an unknown activity");
    store.send_work(activity("a", 2)).await;
    let old = store.work().await;
    store.expire().await;
    must_be_lost(renew(old.token.clone()).await, "renewing an activity whose lease expired");
    let new = store.work().await;
    must_be_lost(renew(old.token).await, "renewing what another worker holds");
    let done = store.provider.ack_work_item(&new.token, Some(completed("a", 2))).await;
    done.must("completing under a live lease");
    must_be_lost(renew(new.token).await, "renewing a completed activity");
}

/// An event id that is already stored, or occurs twice in a call, fails as `Conflict`.
pub async fn a_duplicate_event_is_a_conflict<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.send(signal("a", "1")).await;
    let turn = store.turn_of("a").await;
    for events in [vec![started("a", 1)], vec![heard("a", 1, 2), heard("a", 1, 2)]] {
        let duplicate = commit(&turn, events.clone());
        let refused = store.ack(duplicate.clone()).await;
        must_be(ProviderErrorKind::Conflict, refused, "acknowledging a duplicate event");
        let refused = store.provider.commit_turn(Arc::new(duplicate)).await;
        must_be(ProviderErrorKind::Conflict, refused, "committing a duplicate event");
        let refused = store.provider.append_with_execution("a", 1, events).await;
        must_be(ProviderErrorKind::Conflict, refused, "appending a duplicate event");
    }
}

/// The start of an instance whose id is too long to index fails as `TooLarge` and stores nothing.
/// An id and a key of exactly the limits work, although they cannot be compressed.
pub async fn an_id_that_is_too_long_is_too_large<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for bytes in [MAX_ID_BYTES + 1, 2800, 100_000] {
        let start = start_item(&incompressible(bytes));
        let refused = store.provider.enqueue_for_orchestrator(start, None).await;
        must_be(ProviderErrorKind::TooLarge, refused, "starting an instance with a long id");
    }
    store.no_turn("a refused start stores nothing").await;
    let (id, key) = (incompressible(MAX_ID_BYTES), incompressible(MAX_KV_KEY_BYTES));
    store.create(&id).await;
    let set = EventKind::KeyValueSet {
        key: key.clone(),
        value: "v".to_owned(),
        last_updated_at_ms: store.now_ms(),
    };
    store.end_with(&id, End::Completed("done"), vec![set]).await;
    let value = store.provider.get_kv_value(&id, &key).await;
    assert_eq!(value.must("reading a value with a long key"), Some("v".to_owned()));
}

/// A text that no compression makes shorter.
fn incompressible(bytes: usize) -> String {
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'0' + u8::try_from(state % 75).unwrap_or_default())
    };
    (0..bytes).map(|_| next()).collect()
}
