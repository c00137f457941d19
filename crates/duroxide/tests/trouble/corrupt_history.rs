//! Histories that cannot be read.

use crate::logs;
use crate::stand::{Place, Stand};

/// Damages the history of a waiting instance and wakes it on a node that has to read it.
async fn failure_of_damaged(instance: &str, sql: &str) -> String {
    let place = Place::new();
    let first = Stand::on(place.open().await).await;
    for id in [instance, "sound"] {
        first.client.start_orchestration(id, "Wait", "").await.unwrap();
        first.started(id).await;
    }
    first.stop().await;
    place.damage(sql);

    let stand = Stand::on(place.open().await).await;
    for id in [instance, "sound"] {
        stand.client.raise_event(id, "go", "on").await.unwrap();
    }
    assert_eq!(stand.output("sound").await, "on");
    let failure = stand.failure(instance).await;
    stand.assert_goes_on("after-damage").await;
    // A failed instance can be removed without force.
    stand.client.delete_instance(instance, false).await.unwrap();
    stand.stop().await;
    failure
}

#[tokio::test]
async fn a_history_that_is_no_json_fails_its_instance_only() {
    let failure = failure_of_damaged(
        "no-json",
        "UPDATE history SET event_data = '{broken' WHERE instance_id = 'no-json' AND event_id = 2",
    )
    .await;
    let expected = "poison: orchestration no-json history deserialization failed after 3 attempts";
    assert!(failure.starts_with(expected), "{failure}");
    assert!(logs::hold(&["no-json", "history cannot be read; releasing the turn"]));
}

#[tokio::test]
async fn a_history_that_is_no_text_fails_its_instance_only() {
    let failure = failure_of_damaged(
        "no-text",
        "UPDATE history SET event_data = x'ff00fe' WHERE instance_id = 'no-text' AND event_id = 2",
    )
    .await;
    assert!(failure.contains("no-text history deserialization failed"), "{failure}");
}

#[tokio::test]
async fn a_history_without_its_start_fails_its_instance_only() {
    let failure = failure_of_damaged(
        "no-start",
        "UPDATE history SET event_data = '{}' WHERE instance_id = 'no-start' AND event_id = 1",
    )
    .await;
    assert!(failure.contains("no-start history deserialization failed"), "{failure}");
}
