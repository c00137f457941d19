//! Sessions that a slot owns while it also runs other activities.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use duroxide::providers::Provider;
use duroxide::runtime::RuntimeOptions;
use duroxide::{ActivityContext, OrchestrationContext};
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
