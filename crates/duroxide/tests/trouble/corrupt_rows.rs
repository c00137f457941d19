//! Rows beside history and queues that cannot be read.

use duroxide::OrchestrationStatus;

use crate::logs;
use crate::stand::{Place, Stand};

/// Damages a waiting child and wakes it; an unrelated instance completes. How the parent ended.
async fn parent_of_damaged(child: &str, sql: &str) -> OrchestrationStatus {
    let place = Place::new();
    let stand = Stand::on(place.open().await).await;
    let parent = format!("parent-of-{child}");
    stand.client.start_orchestration(&parent, "Parent", child).await.unwrap();
    stand.started(child).await;
    place.damage(sql);
    stand.client.raise_event(child, "go", "on").await.unwrap();
    for round in 0..3 {
        stand.assert_goes_on(&format!("beside-{child}-{round}")).await;
    }
    let end = stand.end(&parent).await;
    stand.client.delete_instance(&parent, false).await.unwrap();
    stand.stop().await;
    end
}

fn failure(status: OrchestrationStatus) -> String {
    match status {
        OrchestrationStatus::Failed { details, .. } => details.display_message(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_damaged_value_fails_its_instance_only_and_tells_the_parent() {
    let end = parent_of_damaged(
        "bad-value",
        "INSERT INTO kv_store (instance_id, key, value, last_updated_at_ms)
         VALUES ('bad-value', 'z', x'ff00', 0)",
    )
    .await;
    let failure = failure(end);
    assert!(failure.contains("bad-value"), "{failure}");
    assert!(logs::hold(&["bad-value", "a row of an instance cannot be read", "key 'z'"]));
}

#[tokio::test]
async fn a_damaged_name_fails_its_instance_only_and_tells_the_parent() {
    let end = parent_of_damaged(
        "bad-name",
        "UPDATE instances SET orchestration_name = x'ff00' WHERE instance_id = 'bad-name'",
    )
    .await;
    let failure = failure(end);
    assert!(failure.contains("bad-name"), "{failure}");
}

#[tokio::test]
async fn a_damaged_pin_counts_as_none() {
    let end = parent_of_damaged(
        "bad-pin",
        "UPDATE executions SET duroxide_version = x'ff00' WHERE instance_id = 'bad-pin'",
    )
    .await;
    let OrchestrationStatus::Completed { output, .. } = end else { panic!("{end:?}") };
    assert_eq!(output, "on");
}
