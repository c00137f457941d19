//! A panic of user code fails its call, and nothing else.

use std::panic::panic_any;
use std::time::Duration;

use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::{ActivityRegistryBuilder, OrchestrationRegistryBuilder};
use duroxide::{ActivityContext, OrchestrationContext};

use crate::support::{
    DEFAULT_MODE, Journal, Mode, Node, activities, in_every_mode, memory, orchestrations,
};

/// Panics when it is dropped.
struct PanicsOnDrop(&'static str);

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        // A panic while another one unwinds would abort the process.
        if !std::thread::panicking() {
            panic!("{}", self.0);
        }
    }
}

/// A payload that panics when it is dropped, with a payload that panics when it is dropped.
struct PanickingPayload(u32);

impl Drop for PanickingPayload {
    fn drop(&mut self) {
        if self.0 > 0 && !std::thread::panicking() {
            panic_any(PanickingPayload(self.0 - 1));
        }
    }
}

/// Every way to panic, named by the input.
fn panicking() -> ActivityRegistryBuilder {
    activities()
        .register("Panic", |_: ActivityContext, how: String| async move {
            let _dropped_after_return = (how == "drop").then(|| PanicsOnDrop("in drop"));
            match how.as_str() {
                "text" => panic!("a text"),
                "string" => panic!("a {}", "string"),
                "number" => panic_any(7_u32),
                "bomb" => panic_any(PanickingPayload(2)),
                "later" => {
                    tokio::task::yield_now().await;
                    panic!("later");
                }
                "drop" => Ok("ignored".to_owned()),
                other => Ok(other.to_owned()),
            }
        })
        .register("Before", |_: ActivityContext, _: String| {
            panic!("before there is a future");
            #[allow(unreachable_code, reason = "a future is needed for the type")]
            async {
                Ok(String::new())
            }
        })
}

async fn calls(ctx: OrchestrationContext, how: String) -> Result<String, String> {
    let name = if how == "before" { "Before" } else { "Panic" };
    match ctx.schedule_activity(name, how).await {
        Ok(value) => Ok(value),
        Err(error) => Ok(format!("caught: {error}")),
    }
}

async fn a_panic_of_an_activity_is_an_error_of_its_call(mode: Mode) {
    let node = Node::start(mode, orchestrations().register("Call", calls), panicking()).await;
    for (how, text) in [
        ("text", "panicked with message \"a text\""),
        ("string", "panicked with message \"a string\""),
        ("number", "panicked"),
        ("bomb", "panicked"),
        ("later", "panicked with message \"later\""),
        ("drop", "panicked with message \"in drop\""),
        ("before", "panicked with message \"before there is a future\""),
    ] {
        let output = node.run(how, "Call", how).await;
        assert!(output.starts_with("caught: task ") && output.ends_with(text), "{how}: {output}");
        assert_eq!(node.run(&format!("after {how}"), "Call", "fine").await, "fine");
    }
    let counted = node.stop_and_count().await;
    assert_eq!((counted.activity_app_errors, counted.activity_infra_errors), (7, 0));
}

/// Every way to panic, named by the input.
fn panicking_code() -> OrchestrationRegistryBuilder {
    orchestrations().register("Panic", |ctx: OrchestrationContext, how: String| async move {
        let _dropped_after_return = (how == "drop").then(|| PanicsOnDrop("in drop"));
        ctx.schedule_activity("Panic", "step").await?;
        match how.as_str() {
            "text" => panic!("a text"),
            "number" => panic_any(7_u32),
            "bomb" => panic_any(PanickingPayload(2)),
            "drop" => Ok("ignored".to_owned()),
            other => Ok(other.to_owned()),
        }
    })
}

async fn a_panic_of_an_orchestration_fails_its_instance(mode: Mode) {
    let node = Node::start(mode, panicking_code(), panicking()).await;
    for (how, text) in [
        ("text", "orchestration panicked: a text"),
        ("number", "orchestration panicked: orchestration panicked"),
        ("bomb", "orchestration panicked: orchestration panicked"),
        ("drop", "orchestration panicked: in drop"),
    ] {
        node.start_instance(how, "Panic", how).await;
        assert_eq!(node.failure_text(how).await, text, "{how}");
        assert_eq!(node.run(&format!("after {how}"), "Panic", "fine").await, "fine");
    }
    node.stop().await;
}

in_every_mode! {
    a_panic_of_an_activity_is_an_error_of_its_call,
    a_panic_of_an_orchestration_fails_its_instance,
}

/// The code of a waiting instance is dropped when the node evicts it or stops.
#[tokio::test]
async fn a_panic_in_code_that_is_dropped_between_turns_is_contained() {
    let registry = || {
        orchestrations().register("Wait", |ctx: OrchestrationContext, _: String| async move {
            let _dropped_with_the_code = PanicsOnDrop("dropped between turns");
            let data = ctx.schedule_wait("Go").await;
            std::mem::forget(_dropped_with_the_code);
            Ok(data)
        })
    };
    let store = memory().await;
    let mut options = DEFAULT_MODE.options();
    options.warm_cache.instances_max = 1;
    let node = Node::on(&store, options, registry(), activities()).await;
    for instance in ["evicted", "kept"] {
        node.start_instance(instance, "Wait", "").await;
        node.wait_for_event(instance, "ExternalSubscribed").await;
    }
    node.stop().await;
    let node = Node::on(&store, DEFAULT_MODE.options(), registry(), activities()).await;
    for instance in ["evicted", "kept"] {
        node.client.raise_event(instance, "Go", instance).await.unwrap();
        assert_eq!(node.output(instance).await, instance);
    }
    node.stop().await;
}

/// Aborting a handler after its grace period drops it, which may panic.
#[tokio::test]
async fn a_panic_in_an_aborted_handler_frees_its_slot() {
    let journal = Journal::default();
    let written = journal.clone();
    let activities = activities().register("Stubborn", move |ctx: ActivityContext, _: String| {
        let journal = written.clone();
        async move {
            let _dropped_by_the_abort = PanicsOnDrop("dropped by the abort");
            journal.write(ctx.instance_id());
            std::future::pending::<()>().await;
            Ok(String::new())
        }
    });
    let registry =
        orchestrations().register("Call", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("Stubborn", "").await
        });
    let options = RuntimeOptions {
        worker_concurrency: 1,
        activity_cancellation_grace_period: Duration::from_millis(10),
        ..DEFAULT_MODE.options()
    };
    let node = Node::on(&memory().await, options, registry, activities).await;
    for instance in ["first", "second", "third"] {
        node.start_instance(instance, "Call", "").await;
        assert_eq!(journal.next().await, instance, "the only slot is free again");
        node.client.cancel_instance(instance, "enough").await.unwrap();
        assert_eq!(node.failure_text(instance).await, "canceled: enough");
    }
    // The shutdown aborts the last one.
    node.runtime.shutdown(Some(0)).await;
}
