//! What the checker finds, on a store.

use std::sync::{Arc, Mutex};

use duroxide::check::{Checker, Verdict};
use duroxide::runtime::OrchestrationRegistry;
use duroxide::{OrchestrationContext, SemverRange};
use semver::Version;

use crate::support::{order, waiting_orders};

/// A deployment with a step too many.
fn order_with_a_step_added() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("Order", |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_activity("Charge", input.clone()).await?;
            let line = line!() + 1;
            ctx.schedule_activity("Pack", format!("{input} {line}")).await?;
            ctx.schedule_activity("Ship", input).await?;
            Ok(ctx.schedule_wait("received").await)
        })
        .build()
}

fn order_that<F, Fut>(version: &str, code: F) -> OrchestrationRegistry
where
    F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, String>> + Send + 'static,
{
    OrchestrationRegistry::builder().register_versioned("Order", version, code).build()
}

#[tokio::test]
async fn code_that_did_not_change_is_fine() {
    let store = waiting_orders(3).await;
    let report = Checker::new(order()).check_store(store.as_ref()).await.unwrap();
    assert!(report.is_compatible(), "{report}");
    assert_eq!(report.progress.executions, 3);
    let counts = report.summary[&("Order".to_owned(), "1.0.0".to_owned())];
    assert_eq!((counts.fine, counts.differs), (3, 0));
    duroxide::assert_compatible!(order(), store: store);
}

#[tokio::test]
async fn a_step_added_in_the_middle_is_reported_with_its_line() {
    let store = waiting_orders(2).await;
    let report = Checker::new(order_with_a_step_added()).check_store(store.as_ref()).await.unwrap();
    assert!(!report.is_compatible() && report.breaks_executions());
    let Verdict::Differs(difference) = &report.problems[0].verdict else { panic!("{report}") };
    assert_eq!(difference.event_id, Some(4));
    assert!(difference.recorded.contains("Ship"), "{}", difference.recorded);
    assert!(difference.requested.contains("Pack"), "{}", difference.requested);
    assert_eq!(difference.field, "name");
    let site = difference.call_site.expect("the line of the call");
    assert!(site.file().ends_with("checking.rs"), "{site}");
    assert!(difference.requested.contains(&format!("pears {}", site.line())), "{site}");
    let text = report.to_string();
    for part in ["order-0", "Order 1.0.0", "differs at event 4", "2 differ", &site.to_string()] {
        assert!(text.contains(part), "'{part}' is missing in:\n{text}");
    }
}

#[tokio::test]
async fn a_step_removed_and_an_early_return_differ() {
    let store = waiting_orders(1).await;
    let removed = order_that("1.0.0", |ctx: OrchestrationContext, input: String| async move {
        ctx.schedule_activity("Ship", input).await?;
        Ok(ctx.schedule_wait("received").await)
    });
    let returns = order_that("1.0.0", |ctx: OrchestrationContext, input: String| async move {
        ctx.schedule_activity("Charge", input).await
    });
    let panics = order_that("1.0.0", |_ctx: OrchestrationContext, _input: String| async move {
        panic!("not ready")
    });
    for code in [removed, returns, panics] {
        let report = Checker::new(code).check_store(store.as_ref()).await.unwrap();
        let problem = &report.problems[0];
        assert!(matches!(problem.verdict, Verdict::Differs(_)), "{report}");
    }
}

#[tokio::test]
async fn new_steps_at_the_end_are_fine() {
    let store = waiting_orders(1).await;
    let longer = order_that("1.0.0", |ctx: OrchestrationContext, input: String| async move {
        ctx.schedule_activity("Charge", input.clone()).await?;
        ctx.schedule_activity("Ship", input.clone()).await?;
        ctx.set_custom_status("shipped");
        ctx.schedule_wait("received").await;
        ctx.schedule_activity("Thank", input).await
    });
    Checker::new(longer).check_store(store.as_ref()).await.unwrap().assert_compatible();
}

#[tokio::test]
async fn a_missing_handler_and_an_unsupported_version_are_named() {
    let store = waiting_orders(1).await;
    let other =
        order_that("2.0.0", |_ctx: OrchestrationContext, input: String| async { Ok(input) });
    let report = Checker::new(other).check_store(store.as_ref()).await.unwrap();
    let Verdict::HandlerMissing { registered } = &report.problems[0].verdict else {
        panic!("{report}")
    };
    assert_eq!(registered, &["2.0.0"]);
    assert!(!report.breaks_executions());

    let nothing = OrchestrationRegistry::builder().build();
    let report = Checker::new(nothing).check_store(store.as_ref()).await.unwrap();
    assert!(report.to_string().contains("the orchestration is not registered"), "{report}");

    let old = SemverRange::new(Version::new(0, 0, 0), Version::new(0, 1, 32));
    let checker = Checker::new(order()).with_replay_versions([old]);
    let report = checker.check_store(store.as_ref()).await.unwrap();
    let problem = &report.problems[0];
    assert!(matches!(problem.verdict, Verdict::VersionUnsupported { .. }), "{problem}");
    assert!(!report.breaks_executions());
}

#[tokio::test]
async fn the_observer_is_called_for_every_execution_with_the_progress() {
    let store = waiting_orders(4).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let checker =
        Checker::new(order()).with_parallelism(2).with_observer(move |checked, so_far| {
            let instances = so_far.instances_total;
            noted.lock().unwrap().push((checked.instance_id.clone(), so_far.executions, instances));
        });
    checker.check_store(store.as_ref()).await.unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(seen.iter().map(|(_, n, _)| *n).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(seen.iter().all(|(_, _, total)| *total == Some(4)));
}

#[tokio::test]
async fn a_check_leases_nothing_and_changes_nothing() {
    let store = waiting_orders(1).await;
    let before = store.read("order-0").await.unwrap();
    Checker::new(order_with_a_step_added()).check_store(store.as_ref()).await.unwrap();
    assert_eq!(store.read("order-0").await.unwrap(), before);
}
