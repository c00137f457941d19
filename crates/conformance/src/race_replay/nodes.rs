//! Runtimes on the store, and histories as older versions wrote them.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::WorkItem;
use duroxide_core::runtime::{
    ActivityRegistry, OrchestrationRegistry, OrchestrationRegistryBuilder, Runtime, RuntimeOptions,
    UnregisteredBackoffConfig, WarmCacheOptions,
};
use duroxide_core::{Client, Event, EventKind, OrchestrationStatus};
use tokio::time::{sleep, timeout};

use crate::ProviderFactory;
use crate::limits::WAKE_TIME_MAX;
use crate::support::{Must, Store, commit, event, pinned, start_item, started};

/// The orchestration name of seeded instances.
pub(super) const NAME: &str = "TestOrch";

const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(5);
const TICK: Duration = Duration::from_millis(20);
const GRACE_MS: u64 = 5_000;

/// Options of a node with short waits.
pub(super) fn options() -> RuntimeOptions {
    RuntimeOptions {
        dispatcher_min_poll_interval: Duration::from_millis(10),
        dispatcher_long_poll_timeout: Duration::from_millis(500),
        orchestration_concurrency: 2,
        worker_concurrency: 1,
        unregistered_backoff: UnregisteredBackoffConfig {
            base_delay: Duration::from_millis(100),
            max_delay: Duration::from_millis(400),
        },
        ..RuntimeOptions::default()
    }
}

/// Options of a node that caches no execution, so that every turn replays.
pub(super) fn without_cache() -> RuntimeOptions {
    let warm_cache = WarmCacheOptions { enabled: false, ..WarmCacheOptions::default() };
    RuntimeOptions { warm_cache, ..options() }
}

pub(super) fn orchestrations() -> OrchestrationRegistryBuilder {
    OrchestrationRegistry::builder()
}

/// Starts a node on the store.
pub(super) async fn node<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    orchestrations: OrchestrationRegistry,
    options: RuntimeOptions,
) -> Arc<Runtime> {
    let provider = Arc::clone(&store.provider);
    let activities = ActivityRegistry::builder().build();
    Runtime::start_with_options(provider, activities, orchestrations, options).await
}

/// Stops a node after it completes its leased work.
pub(super) async fn stop(node: Arc<Runtime>) {
    node.shutdown(Some(GRACE_MS)).await;
}

pub(super) fn client<F: ProviderFactory + ?Sized>(store: &Store<'_, F>) -> Client {
    Client::new(Arc::clone(&store.provider))
}

/// A message for a queue of any name.
pub(super) fn message(instance: &str, queue: &str, data: &str) -> WorkItem {
    let (instance, name) = (instance.to_owned(), queue.to_owned());
    WorkItem::QueueMessage { instance, name, data: data.to_owned() }
}

/// A signal of any name.
pub(super) fn raised(instance: &str, name: &str, data: &str) -> WorkItem {
    let (instance, name) = (instance.to_owned(), name.to_owned());
    WorkItem::ExternalRaised { instance, name, data: data.to_owned() }
}

/// Waits until the history of an execution satisfies the condition. The clock does not move.
pub(super) async fn history_until<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    of: (&str, u64),
    what: &str,
    arrived: impl Fn(&[Event]) -> bool,
) -> Vec<Event> {
    watch_history(store, of, what, arrived, Duration::ZERO).await
}

/// Waits until the history of an execution satisfies the condition. The clock advances meanwhile.
pub(super) async fn history_later<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    of: (&str, u64),
    what: &str,
    arrived: impl Fn(&[Event]) -> bool,
) -> Vec<Event> {
    watch_history(store, of, what, arrived, TICK).await
}

async fn watch_history<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    (instance, execution_id): (&str, u64),
    what: &str,
    arrived: impl Fn(&[Event]) -> bool,
    tick: Duration,
) -> Vec<Event> {
    let mut history = Vec::new();
    let watching = async {
        loop {
            let read = store.provider.read_with_execution(instance, execution_id).await;
            history = read.must("reading the history of an execution");
            if arrived(&history) {
                return;
            }
            store.pass(tick).await;
            sleep(LOOK_AGAIN_AFTER).await;
        }
    };
    if timeout(WAKE_TIME_MAX, watching).await.is_err() {
        panic!("{what}, but execution {execution_id} of '{instance}' has only {history:#?}");
    }
    history
}

/// Whether the history contains a matching event.
pub(super) fn has(history: &[Event], fits: impl Fn(&EventKind) -> bool) -> bool {
    history.iter().any(|event| fits(&event.kind))
}

/// The number of matching events.
pub(super) fn count(history: &[Event], fits: impl Fn(&EventKind) -> bool) -> usize {
    history.iter().filter(|event| fits(&event.kind)).count()
}

/// The output of an instance that completes without a clock advance.
pub(super) async fn output<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    instance: &str,
) -> String {
    let status = client(store).wait_for_orchestration(instance, WAKE_TIME_MAX).await;
    match status {
        Ok(OrchestrationStatus::Completed { output, .. }) => output,
        other => panic!("'{instance}' must complete, not end with {other:?}"),
    }
}

/// An event with the version stamp of another runtime.
pub(super) fn stamped(mut event: Event, stamp: &str) -> Event {
    stamp.clone_into(&mut event.duroxide_version);
    event
}

/// Stores a running instance of `TestOrch` that was started under version `stamp`.
pub(super) async fn seed<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    instance: &str,
    stamp: &str,
    kinds: Vec<EventKind>,
) {
    store.send(start_item(instance)).await;
    let turn = store.turn_of(instance).await;
    let later = (2..).zip(kinds).map(|(id, kind)| event(instance, 1, id, kind));
    let events = std::iter::once(started(instance, 1)).chain(later);
    let events = events.map(|event| stamped(event, stamp)).collect();
    let seeded = commit(&turn, events).with_metadata(pinned(stamp));
    store.ack(seeded).await.must("a commit of an older runtime");
}
