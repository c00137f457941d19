//! Custom status and waiting for it.

use std::time::Duration;

use duroxide::{ClientError, OrchestrationContext, OrchestrationStatus};

use crate::support::{
    DEFAULT_MODE, Mode, Node, TIMEOUT, activities, in_every_mode, orchestrations,
};

async fn reports(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ctx.set_custom_status("overwritten");
    ctx.set_custom_status("first");
    assert_eq!(ctx.get_custom_status().as_deref(), Some("first"));
    ctx.schedule_wait("Go").await;
    ctx.reset_custom_status();
    assert_eq!(ctx.get_custom_status(), None);
    ctx.schedule_wait("Go").await;
    ctx.set_custom_status("last");
    Ok("done".to_owned())
}

async fn a_status_has_one_version_for_each_turn_that_sets_it(mode: Mode) {
    let node = Node::start(mode, orchestrations().register("Report", reports), activities()).await;
    node.start_instance("report", "Report", "").await;
    let wait = async |seen| {
        let status = node.client.wait_for_status_change("report", seen, TIMEOUT, TIMEOUT);
        status.await.unwrap()
    };
    let running = |status: &str, version| OrchestrationStatus::Running {
        custom_status: Some(status.to_owned()).filter(|status| !status.is_empty()),
        custom_status_version: version,
    };
    assert_eq!(wait(0).await, running("first", 1));
    node.client.raise_event("report", "Go", "").await.unwrap();
    assert_eq!(wait(1).await, running("", 2));
    node.wait_for_history("report", |history| {
        crate::support::count(history, "ExternalSubscribed") == 2
    })
    .await;
    node.client.raise_event("report", "Go", "").await.unwrap();
    let completed = OrchestrationStatus::Completed {
        output: "done".to_owned(),
        custom_status: Some("last".to_owned()),
        custom_status_version: 3,
    };
    assert_eq!(wait(2).await, completed);
    assert_eq!(wait(3).await, completed, "a completed instance needs no wait");
    node.stop().await;
}

in_every_mode! {
    a_status_has_one_version_for_each_turn_that_sets_it,
}

#[tokio::test]
async fn continue_as_new_keeps_the_status_and_its_version() {
    async fn moves(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        if ctx.execution_id() == 1 {
            ctx.set_custom_status("kept");
            return ctx.continue_as_new("").await;
        }
        Err(ctx.get_custom_status().unwrap_or_default())
    }
    let node =
        Node::start(DEFAULT_MODE, orchestrations().register("Move", moves), activities()).await;
    node.start_instance("move", "Move", "").await;
    match node.client.wait_for_orchestration("move", TIMEOUT).await.unwrap() {
        OrchestrationStatus::Failed { details, custom_status, custom_status_version } => {
            assert_eq!(details.display_message(), "kept");
            assert_eq!((custom_status.as_deref(), custom_status_version), (Some("kept"), 1));
        }
        other => panic!("{other:?}"),
    }
    node.stop().await;
}

#[tokio::test]
async fn waits_time_out() {
    let node = Node::start(DEFAULT_MODE, orchestrations(), activities()).await;
    let moment = Duration::from_millis(5);
    let waits = [
        node.client.wait_for_orchestration("unknown", moment).await.unwrap_err(),
        node.client.wait_for_status_change("unknown", 0, moment, moment).await.unwrap_err(),
        node.client.wait_for_kv_value("unknown", "key", moment).await.unwrap_err(),
    ];
    for error in waits {
        assert!(matches!(error, ClientError::Timeout) && error.is_retryable());
        assert_eq!(error.to_string(), "Operation timed out");
    }
    let status = node.client.get_orchestration_status("unknown").await.unwrap();
    assert_eq!(status, OrchestrationStatus::NotFound);
    node.stop().await;
}
