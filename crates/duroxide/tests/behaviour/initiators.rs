//! What metrics and logs say about the initiator of an instance.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use duroxide::{EventKind, OrchestrationContext};
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use crate::support::{DEFAULT_MODE, Mode, Node, activities, orchestrations};

/// The logged initiators by instance and execution, on this thread only.
#[derive(Clone, Default)]
struct Initiators(Arc<Mutex<BTreeMap<String, String>>>);

/// The fields of one log line.
#[derive(Default)]
struct Line(BTreeMap<&'static str, String>);

impl<S: tracing::Subscriber> Layer<S> for Initiators {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let mut line = Line::default();
        event.record(&mut line);
        if let Some(initiator) = line.0.remove("initiated_by") {
            let execution = format!("{}/{}", line.0["instance_id"], line.0["execution_id"]);
            self.0.lock().unwrap().insert(execution, initiator);
        }
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}").replace('"', ""));
    }
}

async fn root(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    if ctx.execution_id() == 1 {
        return ctx.continue_as_new("").await;
    }
    ctx.schedule_orchestration("Leaf", "detached", "");
    ctx.schedule_orchestration("Missing", "unregistered", "");
    ctx.schedule_sub_orchestration_with_id("Leaf", "child", "").await
}

async fn leaf(_: OrchestrationContext, _: String) -> Result<String, String> {
    Ok("leaf".to_owned())
}

async fn run(mode: Mode) {
    let registry = orchestrations().register("Root", root).register("Leaf", leaf);
    let options = duroxide::runtime::RuntimeOptions {
        max_attempts: 1,
        unregistered_backoff: crate::support::short_backoff(),
        ..mode.options()
    };
    let store = crate::support::memory().await;
    let node = Node::on(&store, options, registry, activities()).await;
    node.run("root", "Root", "").await;
    assert_eq!(node.output("detached").await, "leaf");
    node.failure("unregistered").await;
    match &node.history("detached").await[0].kind {
        EventKind::OrchestrationStarted {
            parent_instance: None,
            parent_id: None,
            parent_execution_id: None,
            ..
        } => {}
        other => panic!("a detached instance has no parent: {other:?}"),
    }
    node.stop().await;
}

#[test]
fn every_start_names_its_initiator() {
    for mode in [DEFAULT_MODE, Mode { warm: false, ..DEFAULT_MODE }] {
        let seen = Initiators::default();
        let _here =
            tracing::subscriber::set_default(tracing_subscriber::registry().with(seen.clone()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(run(mode));
        let seen = seen.0.lock().unwrap();
        let seen: Vec<_> = seen.iter().map(|(of, by)| (of.as_str(), by.as_str())).collect();
        let expected = [
            ("child/1", "subOrchestration"),
            ("detached/1", "detached"),
            ("root/1", "client"),
            ("root/2", "continueAsNew"),
            ("unregistered/1", "detached"),
        ];
        assert_eq!(seen, expected, "{mode:?}");
    }
}
