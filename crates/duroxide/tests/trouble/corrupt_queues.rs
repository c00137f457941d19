//! Queue rows that cannot be read.

use duroxide::RuntimeOptions;

use crate::logs;
use crate::stand::{Place, Stand, options, until};

const BAD: [&str; 4] = ["'{broken'", "x'ff00fe'", "CAST(x'ff00fe' AS TEXT)", "'{}'"];

#[tokio::test]
async fn unreadable_messages_are_left_out_and_their_instance_goes_on() {
    let place = Place::new();
    let stand = Stand::on(place.open().await).await;
    stand.client.start_orchestration("mixed", "Wait", "").await.unwrap();
    stand.started("mixed").await;
    for bad in BAD {
        place.damage(&format!(
            "INSERT INTO orchestrator_queue (instance_id, work_item, visible_at, created_at)
             VALUES ('mixed', {bad}, 0, 0)"
        ));
    }
    let logged = || logs::hold(&["mixed", "cannot be read and is left out"]);
    until("the bad messages are named", logged).await;
    stand.assert_goes_on("beside-mixed").await;
    stand.client.raise_event("mixed", "go", "on").await.unwrap();
    assert_eq!(stand.output("mixed").await, "on");
    stand.stop().await;
}

#[tokio::test]
async fn unreadable_messages_for_nobody_stop_nobody() {
    let place = Place::new();
    let stand = Stand::on(place.open().await).await;
    for bad in BAD {
        for id in ["'nobody'", "x'fe01'", "CAST(x'fe02' AS TEXT)"] {
            place.damage(&format!(
                "INSERT INTO orchestrator_queue (instance_id, work_item, visible_at, created_at)
                 VALUES ({id}, {bad}, 0, 0)"
            ));
        }
    }
    for round in 0..3 {
        stand.assert_goes_on(&format!("beside-nobody-{round}")).await;
    }
    stand.stop().await;
}

#[tokio::test]
async fn unreadable_activities_are_named_and_stop_no_others() {
    let place = Place::new();
    let stand = Stand::on(place.open().await).await;
    stand.client.start_orchestration("target", "Wait", "").await.unwrap();
    stand.started("target").await;
    for bad in BAD {
        place.damage(&format!(
            "INSERT INTO worker_queue
                 (work_item, created_at, instance_id, execution_id, activity_id)
             VALUES ({bad}, 0, 'target', 1, 7)"
        ));
    }
    let logged = || logs::hold(&["an activity of the worker queue cannot be read"]);
    until("the bad activities are named", logged).await;
    for round in 0..3 {
        stand.assert_goes_on(&format!("beside-activities-{round}")).await;
    }
    stand.stop().await;
}

#[tokio::test]
async fn an_unreadable_activity_fails_and_its_orchestration_hears_of_it() {
    let place = Place::new();
    let without_workers = RuntimeOptions { worker_concurrency: 0, ..options() };
    let stand = Stand::with(place.open().await, without_workers).await;
    stand.client.start_orchestration("torn", "Chain", "1").await.unwrap();
    let waiting = "SELECT count(*) FROM worker_queue WHERE instance_id = 'torn'";
    let beside = place.beside();
    until("the activity is enqueued", || {
        beside.query_row(waiting, [], |row| row.get::<_, i64>(0)).unwrap() == 1
    })
    .await;
    stand.stop().await;
    place.damage("UPDATE worker_queue SET work_item = '{broken' WHERE instance_id = 'torn'");
    let stand = Stand::on(place.open().await).await;
    stand.assert_goes_on("beside-torn").await;
    let failure = stand.failure("torn").await;
    assert!(failure.contains("unreadable activity (row 1"), "{failure}");
    stand.stop().await;
}
