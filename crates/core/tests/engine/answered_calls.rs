//! A turn reports the calls of children that it records an answer to, once each.

use std::time::Duration;

use duroxide_core::engine::AnsweredCall;
use duroxide_core::{ErrorDetails, WorkItem};

use super::harness::Harness;
use super::notation;

fn answered(child: &str, millis: u64, is_success: bool) -> AnsweredCall {
    AnsweredCall { child: child.to_owned(), duration: Duration::from_millis(millis), is_success }
}

fn failure(parent_id: u64) -> WorkItem {
    WorkItem::SubOrchFailed {
        parent_instance: "i".to_owned(),
        parent_execution_id: 1,
        parent_id,
        details: ErrorDetails::Infrastructure {
            operation: "ack".to_owned(),
            message: "full".to_owned(),
            retryable: false,
        },
    }
}

#[test]
fn the_turn_that_records_an_answer_reports_the_call() {
    let mut harness = Harness::new(|ctx, _input| async move {
        let first = ctx.schedule_sub_orchestration("Pay", "");
        let second = ctx.schedule_sub_orchestration("Ship", "");
        ctx.schedule_orchestration("Log", "log-1", "");
        let _results = ctx.join(vec![first, second]).await;
        Ok(String::new())
    });
    assert_eq!(harness.advance(Vec::new()).answered_calls, [], "the children have only started");
    let done = || notation::message("child-done 2 x", 1);
    let turn = harness.advance(vec![done(), done()]);
    assert_eq!(turn.answered_calls, [answered("Pay", 0, true)], "the second answer is dropped");

    // History has the names and the times of the calls. Turns of the harness are at 1000 ms.
    harness.evict();
    for event in &mut harness.history {
        event.timestamp_ms = 400;
    }
    let turn = harness.advance(vec![done(), failure(3)]);
    assert!(turn.result.is_terminal(), "the failure is not the application's");
    assert_eq!(turn.answered_calls, [answered("Ship", 600, false)]);
}
