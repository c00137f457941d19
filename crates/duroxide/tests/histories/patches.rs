//! The checker says which patches the running executions still need.

use std::sync::Arc;
use std::time::Duration;

use duroxide::check::{CheckReport, Checker, PatchUse};
use duroxide::providers::Provider;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{OrchestrationRegistry, Runtime};
use duroxide::{ActivityContext, Client, OrchestrationContext};

use crate::support::waiting_orders;

const WAIT_MAX: Duration = Duration::from_secs(60);

/// How the code treats the step that the patch adds.
#[derive(Clone, Copy)]
enum Call {
    Patched,
    Deprecated,
    None,
}

/// `order` with a step more.
fn order_with(call: Call) -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("Order", move |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_activity("Charge", input.clone()).await?;
            let packs = match call {
                Call::Patched => ctx.patched("pack"),
                Call::Deprecated => {
                    ctx.deprecate_patch("pack");
                    true
                }
                Call::None => true,
            };
            if packs {
                ctx.schedule_activity("Pack", input.clone()).await?;
            }
            ctx.schedule_activity("Ship", input).await?;
            ctx.set_custom_status("shipped");
            Ok(ctx.schedule_wait("received").await)
        })
        .build()
}

async fn run(store: &Arc<dyn Provider>, then: impl AsyncFnOnce(&Client)) {
    let echo = |_ctx: ActivityContext, input: String| async move { Ok(input) };
    let activities = ["Charge", "Pack", "Ship"]
        .into_iter()
        .fold(ActivityRegistry::builder(), |builder, name| builder.register(name, echo));
    let code = order_with(Call::Patched);
    let runtime = Runtime::start_with_store(Arc::clone(store), activities.build(), code).await;
    then(&Client::new(Arc::clone(store))).await;
    runtime.shutdown(None).await;
}

async fn receive(client: &Client, order: &str) {
    client.raise_event(order, "received", "").await.unwrap();
    client.wait_for_orchestration(order, WAIT_MAX).await.unwrap();
}

async fn check(store: &Arc<dyn Provider>, call: Call) -> CheckReport {
    Checker::new(order_with(call)).check_store(store.as_ref()).await.unwrap()
}

fn use_of(report: &CheckReport) -> PatchUse {
    report.patches[&("Order".to_owned(), "1.0.0".to_owned())]["pack"]
}

#[tokio::test]
async fn the_report_says_when_the_old_code_of_a_patch_can_be_deleted() {
    let store = waiting_orders(2).await;
    run(&store, async |client| {
        client.start_orchestration("new", "Order", "pears").await.unwrap();
        client.wait_for_status_change("new", 0, WAIT_MAX / 1000, WAIT_MAX).await.unwrap();
    })
    .await;
    let report = check(&store, Call::Patched).await;
    report.assert_compatible();
    assert_eq!((use_of(&report).old_code, use_of(&report).new_code), (2, 1));
    assert!(!report.old_code_is_unused("Order", "pack"));
    assert!(report.old_code_is_unused("Order", "another patch"));
    let text = report.to_string();
    assert!(
        text.ends_with("patch 'pack' of Order 1.0.0: 2 run the old code, 1 run the new code"),
        "{text}"
    );
    // Without the old code, two histories differ, and nothing is concluded from the third.
    let report = check(&store, Call::Deprecated).await;
    assert_eq!(report.problems.len(), 2, "{report}");
    assert!(!report.old_code_is_unused("Order", "pack"));

    run(&store, async |client| {
        receive(client, "order-0").await;
        receive(client, "order-1").await;
    })
    .await;
    let report = check(&store, Call::Patched).await;
    assert_eq!((use_of(&report).old_code, use_of(&report).new_code), (0, 1));
    assert!(report.old_code_is_unused("Order", "pack"));
    let text = report.to_string();
    assert!(text.ends_with("1 run the new code; the old code can be deleted"), "{text}");
    for (call, text) in [
        (Call::Deprecated, "patch 'pack' of Order 1.0.0: 1 call deprecate_patch"),
        (Call::None, "patch 'pack' of Order 1.0.0: 1 recorded it and do not call for it"),
    ] {
        let report = check(&store, call).await;
        report.assert_compatible();
        assert!(report.to_string().ends_with(text), "{report}");
    }
}

/// If no running execution calls for a patch, the finished ones still name it.
#[tokio::test]
async fn finished_executions_name_their_patches_and_need_none() {
    let store = waiting_orders(1).await;
    run(&store, async |client| receive(client, "order-0").await).await;
    let report = check(&store, Call::Patched).await;
    assert!(report.patches.is_empty(), "{report}");
    assert!(report.old_code_is_unused("Order", "pack"));
    let checker = Checker::new(order_with(Call::Patched)).with_finished(true);
    let report = checker.check_store(store.as_ref()).await.unwrap();
    assert_eq!(use_of(&report), PatchUse::default());
    let text = report.to_string();
    assert!(text.ends_with("no running execution has it; the old code can be deleted"), "{text}");
}
