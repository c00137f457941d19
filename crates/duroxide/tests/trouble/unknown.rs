//! Work that no node can do.

use std::sync::Arc;

use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{Runtime, RuntimeOptions};
use duroxide::{ActivityContext, OrchestrationContext, OrchestrationRegistry};

use crate::logs;
use crate::stand::{Place, Stand, options, until};

#[tokio::test]
async fn unknown_names_and_versions_fail_after_their_attempts_and_others_go_on() {
    let place = Place::new();
    let stand = Stand::on(place.open().await).await;
    let client = &stand.client;
    client.start_orchestration("no-name", "Nothing", "").await.unwrap();
    client.start_orchestration_versioned("no-version", "One", "9.9.9", "").await.unwrap();
    client.start_orchestration_versioned("no-semver", "One", "latest", "").await.unwrap();
    stand.assert_goes_on("beside-unknown").await;
    for id in ["no-name", "no-version", "no-semver"] {
        let failure = stand.failure(id).await;
        let expected = format!("poison: orchestration {id} exceeded 3 attempts (max 2)");
        assert_eq!(failure, expected);
        assert!(logs::hold(&[id, "is not registered on this node"]), "{id}");
    }
    stand.stop().await;
}

#[tokio::test]
async fn an_unknown_activity_fails_its_orchestration_and_others_go_on() {
    let place = Place::new();
    let stand = Stand::on(place.open().await).await;
    stand.client.start_orchestration("stranger", "Stranger", "").await.unwrap();
    stand.assert_goes_on("beside-stranger").await;
    let failure = stand.failure("stranger").await;
    assert!(failure.starts_with("poison: activity NobodyHasThis#2 exceeded 3"), "{failure}");
    assert!(logs::hold(&["stranger", "NobodyHasThis", "is not registered on this node"]));
    stand.stop().await;
}

#[tokio::test]
async fn work_waits_with_backoff_for_a_node_that_knows_it() {
    let place = Place::new();
    let store = place.open().await;
    let patient = RuntimeOptions { max_attempts: 1_000, ..options() };
    let stand = Stand::with(store.clone(), patient.clone()).await;
    stand.client.start_orchestration("early", "Later", "worth it").await.unwrap();
    until("the start is given back", || logs::hold(&["early", "attempt_count=3"])).await;
    stand.assert_goes_on("beside-early").await;

    let activities = ActivityRegistry::builder()
        .register("LaterStep", |_ctx: ActivityContext, input: String| async move { Ok(input) })
        .build();
    let orchestrations = OrchestrationRegistry::builder()
        .register("Later", |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_activity("LaterStep", input).await
        })
        .build();
    let newer =
        Runtime::start_with_options(Arc::clone(&store) as _, activities, orchestrations, patient)
            .await;
    assert_eq!(stand.output("early").await, "worth it");
    newer.shutdown(None).await;
    stand.stop().await;
}
