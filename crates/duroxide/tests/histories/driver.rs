//! Runs every recorded orchestration once. The same source is compiled against this project and
//! against the published 0.1.32, so that both record the same shapes.

use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::Provider;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{OrchestrationStatus, Runtime, RuntimeOptions};
use duroxide::{ActivityContext, Client, TagFilter};

use crate::code::orchestrations;

const WAIT_MAX: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(5);

/// Runs all of them on a store and stops the node while some still wait.
pub(crate) async fn run_all(store: Arc<dyn Provider>) {
    let options = RuntimeOptions {
        worker_tag_filter: TagFilter::default_and(["gpu"]),
        worker_concurrency: 32,
        ..RuntimeOptions::default()
    };
    let node = Arc::clone(&store);
    let runtime = Runtime::start_with_options(node, activities(), orchestrations(), options).await;
    let driver = Driver(Client::new(store));
    driver.finish_without_messages().await;
    driver.finish_with_messages().await;
    driver.cancel().await;
    driver.leave_running().await;
    runtime.shutdown(Some(200)).await;
}

fn activities() -> ActivityRegistry {
    ActivityRegistry::builder()
        .register("echo", |_ctx: ActivityContext, input: String| async move { Ok(input) })
        .register("fail", |_ctx: ActivityContext, input: String| async move {
            Err(format!("failed: {input}"))
        })
        .register_typed("double", |_ctx: ActivityContext, input: u64| async move { Ok(input * 2) })
        .register("slow", |ctx: ActivityContext, input: String| async move {
            ctx.cancelled().await;
            Ok(input)
        })
        .build()
}

struct Driver(Client);

impl Driver {
    async fn start(&self, instance: &str, orchestration: &str, input: &str) {
        self.0.start_orchestration(instance, orchestration, input).await.unwrap();
    }

    async fn finished(&self, instance: &str) {
        self.0.wait_for_orchestration(instance, WAIT_MAX).await.unwrap();
    }

    async fn until_status(&self, instance: &str, wanted: &str) {
        let mut seen = 0;
        loop {
            let changed = self.0.wait_for_status_change(instance, seen, POLL, WAIT_MAX).await;
            match changed.unwrap() {
                OrchestrationStatus::Running { custom_status, custom_status_version } => {
                    if custom_status.as_deref() == Some(wanted) {
                        return;
                    }
                    seen = custom_status_version;
                }
                ended => panic!("{instance} never reached '{wanted}': {ended:?}"),
            }
        }
    }

    async fn finish_without_messages(&self) {
        for name in ["basics", "routes", "children", "keys", "races", "fails", "panics"] {
            self.start(name, name, "pears").await;
        }
        self.0.start_orchestration_versioned("two", "leaf", "2.0.0", "pears").await.unwrap();
        for name in ["basics", "routes", "children", "keys", "races", "fails", "panics", "two"] {
            self.finished(name).await;
        }
        self.finished("children-detached").await;
    }

    async fn finish_with_messages(&self) {
        let client = &self.0;
        self.start("signals", "signals", "").await;
        self.until_status("signals", "waiting").await;
        client.raise_event("signals", "go", "first").await.unwrap();
        self.until_status("signals", "again").await;
        client.raise_event("signals", "nobody waits", "lost").await.unwrap();
        client.raise_event("signals", "stop", "third").await.unwrap();
        client.raise_event("signals", "go", "second").await.unwrap();
        self.finished("signals").await;

        self.start("queues", "queues", "").await;
        self.until_status("queues", "waiting").await;
        for text in ["one", "two", "three"] {
            client.enqueue_event("queues", "inbox", text).await.unwrap();
        }
        self.finished("queues").await;

        self.start("rounds", "rounds", "1").await;
        self.until_status("rounds", "waiting").await;
        for text in ["1", "22", "333", "4444"] {
            client.enqueue_event("rounds", "inbox", text).await.unwrap();
        }
        client.raise_event("rounds", "go", "").await.unwrap();
        self.finished("rounds").await;
    }

    async fn cancel(&self) {
        let client = &self.0;
        self.start("cancelled", "cancelled", "pears").await;
        self.until_status("cancelled", "waiting").await;
        client.cancel_instance("cancelled", "as asked").await.unwrap();
        self.finished("cancelled").await;
        // The cancellation arrives at some moment of the steps that the signal causes.
        for n in 0..4 {
            let instance = format!("cancel-race-{n}");
            self.start(&instance, "cancelled", "pears").await;
            self.until_status(&instance, "waiting").await;
            client.raise_event(instance.as_str(), "go", "now").await.unwrap();
            tokio::time::sleep(Duration::from_millis(4 * n)).await;
            client.cancel_instance(instance.as_str(), "too late?").await.unwrap();
            self.finished(&instance).await;
        }
        self.start("cancelled-parent", "patient_parent", "pears").await;
        self.until_status("cancelled-parent", "waiting").await;
        client.cancel_instance("cancelled-parent", "as asked").await.unwrap();
        self.finished("cancelled-parent").await;
    }

    async fn leave_running(&self) {
        self.start("patient", "patient", "pears").await;
        self.until_status("patient", "waiting").await;
        self.start("patient-parent", "patient_parent", "pears").await;
        self.until_status("patient-parent", "waiting").await;
        self.until_status("patient-parent-named", "waiting").await;
        self.start("patient-signals", "signals", "").await;
        self.until_status("patient-signals", "waiting").await;
        self.start("patient-rounds", "rounds", "1").await;
        self.until_status("patient-rounds", "waiting").await;
        for text in ["1", "22"] {
            self.0.enqueue_event("patient-rounds", "inbox", text).await.unwrap();
        }
        self.0.raise_event("patient-rounds", "go", "").await.unwrap();
        self.until_status("patient-rounds", "after round 2").await;
    }
}
