//! A fetch takes nothing from a live node of its own process.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use duroxide_core::providers::LeaseHolder;

use crate::ProviderFactory;
use crate::support::{Must, Store, activity, commit, signal, start_item, started};

/// A node that holds the leases that a validation names.
#[derive(Default)]
struct Holder(Mutex<Vec<String>>);

impl Holder {
    fn held(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A live node of the store's process.
    fn of<F: ProviderFactory + ?Sized>(store: &Store<'_, F>) -> Arc<Self> {
        let holder = Arc::new(Self::default());
        let weak: Weak<Self> = Arc::downgrade(&holder);
        store.provider.add_lease_holder(weak);
        holder
    }
}

impl LeaseHolder for Holder {
    fn holds(&self, token: &str) -> bool {
        self.held().iter().any(|held| held == token)
    }

    fn holds_any(&self) -> bool {
        !self.held().is_empty()
    }
}

/// An expired lease that a live node holds is extended, also if more messages have arrived. A node
/// that is gone holds nothing.
pub async fn a_held_turn_is_extended_and_not_claimed<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let holder = Holder::of(&store);
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    holder.held().push(turn.token.clone());
    store.send(signal("a", "1")).await;
    store.send(start_item("b")).await;
    store.expire().await;
    let other = store.turn_of("b").await;
    store.no_turn("a live node holds the turn").await;
    let lease = store.lease();
    let renewed = store.provider.renew_orchestration_item_lock(&turn.token, lease).await;
    renewed.must("renewing the lease that the fetch has extended");
    store.ack(commit(&turn, vec![started("a", 1)])).await.must("the commit of the holder");
    store.ack(commit(&other, vec![started("b", 1)])).await.must("a commit");
    let next = store.turn_of("a").await;
    holder.held().push(next.token.clone());
    drop(holder);
    store.expire().await;
    assert_eq!(store.turn_of("a").await.attempt, 2, "its holder is gone");
}

/// The same for an activity.
pub async fn held_work_is_extended_and_not_claimed<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let holder = Holder::of(&store);
    store.send_work(activity("a", 1)).await;
    store.send_work(activity("a", 2)).await;
    let (held, left) = (store.work().await, store.work().await);
    holder.held().push(held.token.clone());
    store.expire().await;
    assert_eq!(store.work().await.item, left.item, "no node holds the second one");
    store.no_work("a live node holds the first one").await;
    let renewed = store.provider.renew_work_item_lock(&held.token, store.lease()).await;
    renewed.must("renewing the lease that the fetch has extended");
    drop(holder);
    store.expire().await;
    assert_eq!(store.work().await.item, held.item, "its holder is gone");
}
