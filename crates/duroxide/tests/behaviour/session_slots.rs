//! Sessions that a slot owns while it also runs other activities.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use duroxide::providers::{FetchedWork, Provider, ProviderError, WorkFetch};
use duroxide::runtime::RuntimeOptions;
use duroxide::{ActivityContext, OrchestrationContext, OrchestrationStatus};
use tokio::sync::Notify;

use crate::faulty::Faulty;
use crate::support::{DEFAULT_MODE, Journal, Node, activities, eventually, memory, orchestrations};

/// Much less than the time that a fetch waits for work.
const SOON: Duration = Duration::from_secs(10);

/// Releases the activities of chosen instances.
#[derive(Clone, Default)]
struct Gates(Arc<Mutex<HashMap<String, Arc<Notify>>>>);

impl Gates {
    fn of(&self, instance: &str) -> Arc<Notify> {
        self.0.lock().unwrap().entry(instance.to_owned()).or_default().clone()
    }
}

// A fetch that started while the owner of a session was busy with another activity left that slot
// out: the next activity of the session waited until the long poll returned, half a minute.
#[tokio::test]
async fn a_slot_that_is_free_again_serves_its_session_at_once() {
    let (journal, gates) = (Journal::default(), Gates::default());
    let (written, waited) = (journal.clone(), gates.clone());
    let handlers = activities()
        .register("Where", |ctx: ActivityContext, _: String| async move {
            Ok(ctx.worker_id().to_owned())
        })
        .register("Held", move |ctx: ActivityContext, _: String| {
            let (journal, gate) = (written.clone(), waited.of(ctx.instance_id()));
            async move {
                journal.write(format!("{} {}", ctx.instance_id(), ctx.worker_id()));
                gate.notified().await;
                Ok(String::new())
            }
        });
    let registry = orchestrations()
        .register("Held", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("Held", "").await
        })
        .register("Session", |ctx: OrchestrationContext, _: String| async move {
            let first = ctx.schedule_activity_on_session("Where", "", "s").await?;
            ctx.schedule_wait("Go").await;
            let second = ctx.schedule_activity_on_session("Where", "", "s").await?;
            Ok(format!("{first} {second}"))
        });
    let faulty = Faulty::new(memory().await);
    let store: Arc<dyn Provider> = faulty.clone();
    let options = RuntimeOptions { worker_concurrency: 2, ..DEFAULT_MODE.options() };
    let node = Node::on(&store, options, registry, handlers).await;
    node.start_instance("session", "Session", "").await;
    node.wait_for_event("session", "ExternalSubscribed").await;
    // Both slots are busy with other activities.
    let mut by_slot = HashMap::new();
    for instance in ["a", "b"] {
        node.start_instance(instance, "Held", "").await;
        let entry = journal.next().await;
        let (instance, worker) = entry.split_once(' ').unwrap();
        by_slot.insert(worker.to_owned(), instance.to_owned());
    }
    let session = node.history("session").await;
    let owner = session.iter().find_map(|event| match &event.kind {
        duroxide::EventKind::ActivityCompleted { result } => Some(result.clone()),
        _other => None,
    });
    let owner = owner.unwrap();
    let busy_owner = by_slot.remove(&owner).expect("both slots are busy");
    let other = by_slot.into_values().next().expect("both slots are busy");
    // The other slot is free, and a fetch waits for that slot only.
    let fetches = faulty.calls("fetch_work_items");
    gates.of(&other).notify_one();
    node.output(&other).await;
    eventually(|| faulty.calls("fetch_work_items") > fetches).await;
    // Now the owner is free, too.
    gates.of(&busy_owner).notify_one();
    node.output(&busy_owner).await;
    node.client.raise_event("session", "Go", "").await.unwrap();
    let status = node.client.wait_for_orchestration("session", SOON).await.unwrap();
    match status {
        duroxide::OrchestrationStatus::Completed { output, .. } => {
            assert_eq!(output, format!("{owner} {owner}"));
        }
        other => panic!("{other:?}"),
    }
    node.stop().await;
}

/// Holds the first activity of a session between its lease and the dispatcher.
struct HeldFetch {
    inner: Arc<dyn Provider>,
    /// Fetches that started since the activity of the session was fetched.
    fetches: AtomicUsize,
    fetched: Notify,
    let_go: Notify,
}

#[async_trait]
impl Provider for HeldFetch {
    fn inner(&self) -> Option<&dyn Provider> {
        Some(self.inner.as_ref())
    }

    async fn fetch_work_items(
        &self,
        request: WorkFetch<'_>,
    ) -> Result<Vec<FetchedWork>, ProviderError> {
        if self.fetches.load(Ordering::SeqCst) > 0 {
            self.fetches.fetch_add(1, Ordering::SeqCst);
        }
        let work = self.inner.fetch_work_items(request).await?;
        if !work.is_empty() && self.fetches.load(Ordering::SeqCst) == 0 {
            self.fetches.store(1, Ordering::SeqCst);
            self.fetched.notify_one();
            self.let_go.notified().await;
        }
        Ok(work)
    }

    duroxide::providers::forward_provider! { this => this.inner }
}

// The slot was not known to own the session: nothing had run there. The fetch that waited for the
// other slot was not repeated when it became free, and the activity waited for the long poll.
#[tokio::test]
async fn a_session_whose_slot_was_lost_after_the_fetch_is_served_when_it_is_free() {
    let gates = Gates::default();
    let waited = gates.clone();
    let handlers = activities()
        .register("Where", |ctx: ActivityContext, _: String| async move {
            Ok(ctx.worker_id().to_owned())
        })
        .register("Held", move |ctx: ActivityContext, _: String| {
            let gate = waited.of(ctx.instance_id());
            async move {
                gate.notified().await;
                Ok(String::new())
            }
        });
    let registry = orchestrations()
        .register("Held", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("Held", "").await
        })
        .register("Session", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity_on_session("Where", "", "s").await
        });
    let held = Arc::new(HeldFetch {
        inner: memory().await,
        fetches: AtomicUsize::new(0),
        fetched: Notify::new(),
        let_go: Notify::new(),
    });
    let store: Arc<dyn Provider> = held.clone();
    let options = RuntimeOptions { worker_concurrency: 2, ..DEFAULT_MODE.options() };
    let node = Node::on(&store, options, registry, handlers).await;
    node.start_instance("session", "Session", "").await;
    held.fetched.notified().await;
    // The commit of this turn leases its activity for the slot that the session was fetched for.
    node.start_instance("other", "Held", "").await;
    node.wait_for_event("other", "ActivityScheduled").await;
    held.let_go.notify_one();
    // The activity of the session is released, and the next fetch waits for the other slot.
    eventually(|| held.fetches.load(Ordering::SeqCst) > 1).await;
    gates.of("other").notify_one();
    let served = node.client.wait_for_orchestration("session", SOON).await;
    assert!(matches!(served, Ok(OrchestrationStatus::Completed { .. })), "{served:?}");
    node.stop().await;
}
