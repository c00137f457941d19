//! The debug switch `replay_every_turn`: mistakes that no compiler sees, each caught in the turn in
//! which it happens, with its text.

use std::collections::HashMap;
use std::time::Duration;

use duroxide::runtime::RuntimeOptions;
use duroxide::{ActivityContext, OrchestrationContext};

use crate::support::{Node, activities, memory, orchestrations};

type Outcome = Result<String, String>;

/// Runs the code under the switch; returns the text of its failure, with numbers left out.
async fn failure_of<F, Fut>(code: F) -> String
where
    F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Outcome> + Send + 'static,
{
    let node = node(code).await;
    node.start_instance("mistaken", "Code", "in").await;
    let text = node.failure_text("mistaken").await;
    let recorded = node.history("mistaken").await.len();
    assert_eq!(recorded, 2, "it fails in its first turn, and nothing that it asked for counts");
    node.stop().await;
    masked(&text)
}

async fn node<F, Fut>(code: F) -> Node
where
    F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Outcome> + Send + 'static,
{
    let echo = |_ctx: ActivityContext, input: String| async move { Ok(input) };
    let options = RuntimeOptions::default().with_replay_every_turn(true);
    let code = orchestrations().register("Code", code);
    Node::on(&memory().await, options, code, activities().register("Echo", echo)).await
}

/// The text with every number as `#`: lines of this file move.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    for letter in text.chars() {
        match letter.is_ascii_digit() {
            true if masked.ends_with('#') => {}
            true => masked.push('#'),
            false => masked.push(letter),
        }
    }
    masked
}

const HERE: &str = "crates/duroxide/tests/behaviour/replay_every_turn.rs:#:#";

#[tokio::test]
async fn code_that_decides_alike_runs_as_without_the_switch() {
    async fn code(ctx: OrchestrationContext, input: String) -> Outcome {
        let both = ctx.join2(
            ctx.schedule_activity("Echo", input.clone()),
            ctx.schedule_timer(Duration::from_millis(1)),
        );
        let echoed = both.await.0?;
        ctx.set_kv_value("key", echoed.clone());
        let id = ctx.new_guid().await?;
        let _now = ctx.utc_now().await?;
        let late = ctx.schedule_wait("never");
        let timer = ctx.schedule_timer(Duration::from_millis(1));
        assert!(ctx.select2(late, timer).await.is_second());
        let many = ctx.map_concurrent(0..5, 2, |n| ctx.schedule_activity("Echo", n.to_string()));
        assert_eq!(many.await.len(), 5);
        match input.as_str() {
            "last" => ctx.schedule_activity("Echo", id).await.map(|id| id.len().to_string()),
            _ => ctx.continue_as_new("last").await,
        }
    }
    let node = node(code).await;
    assert_eq!(node.run("fine", "Code", "first").await, "36");
    node.stop().await;
}

#[tokio::test]
async fn a_timer_of_the_executor_is_caught_beside_durable_work() {
    let text = failure_of(|ctx: OrchestrationContext, input| async move {
        let sleep = tokio::time::sleep(Duration::from_secs(60));
        ctx.select2(ctx.schedule_activity("Echo", input), sleep).await;
        Ok(String::new())
    });
    assert_eq!(
        text.await,
        format!(
            "nondeterministic: orchestration code uses a timer or I/O of the executor at {HERE}, \
             which no replay can repeat; use the timers, activities and events of its context \
             instead"
        )
    );
}

#[tokio::test]
async fn a_timer_of_the_executor_is_caught_when_it_is_awaited_alone() {
    let text = failure_of(|_ctx, input| async move {
        tokio::time::sleep(Duration::from_millis(1)).await;
        Ok(input)
    });
    let text = text.await;
    assert!(text.contains(&format!("uses a timer or I/O of the executor at {HERE}")), "{text}");
}

#[tokio::test]
async fn a_task_of_the_executor_is_caught() {
    let text = failure_of(|ctx: OrchestrationContext, input| async move {
        let task = tokio::spawn(async { 7 });
        let echoed = ctx.schedule_activity("Echo", input).await;
        task.abort();
        echoed
    });
    assert_eq!(
        text.await,
        "nondeterministic: orchestration code starts a task of the executor, which no replay can \
         repeat; use an activity, or join futures of its context instead"
    );
}

#[tokio::test]
async fn the_clock_of_the_machine_is_caught() {
    #[expect(clippy::disallowed_methods, reason = "the mistake of this test")]
    let text = failure_of(|ctx: OrchestrationContext, _input| async move {
        let now = std::time::SystemTime::now();
        let since = now.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        ctx.schedule_activity("Echo", since.to_string()).await
    });
    assert_eq!(
        text.await,
        format!(
            "nondeterministic: the same turn decides otherwise when it is replayed: \
             schedule mismatch: action=CallActivity {{ scheduling_event_id: #, \
             name: \"Echo\", input: \"#\", session_id: None, tag: None }} vs \
             event=ActivityScheduled {{ name: \"Echo\", input: \"#\", session_id: None, tag: None \
             }} (event #, differs in input: # → #); called at {HERE}"
        )
    );
}

#[tokio::test]
async fn the_order_of_a_hash_map_is_caught() {
    let text = failure_of(|ctx: OrchestrationContext, _input| async move {
        let orders: HashMap<u32, &str> = (0..40).map(|number| (number, "order")).collect();
        let calls = orders.keys().map(|number| ctx.schedule_activity("Echo", number.to_string()));
        ctx.join(calls.collect()).await;
        Ok(String::new())
    });
    let text = text.await;
    let begins = "nondeterministic: the same turn decides otherwise when it is replayed: \
                  schedule mismatch: action=CallActivity";
    assert!(text.starts_with(begins) && text.contains("differs in input: # → #"), "{text}");
    assert!(text.ends_with(&format!("called at {HERE}")), "{text}");
}

#[tokio::test]
async fn the_order_of_a_hash_map_in_the_result_is_caught() {
    let text = failure_of(|_ctx, _input| async move {
        let orders: HashMap<u32, &str> = (0..40).map(|number| (number, "order")).collect();
        Ok(orders.keys().map(ToString::to_string).collect::<Vec<_>>().join(","))
    });
    let text = text.await;
    assert!(text.contains("the code ends otherwise than history says: recorded"), "{text}");
}

#[tokio::test]
async fn a_missing_await_is_caught() {
    let text = failure_of(|ctx: OrchestrationContext, input| async move {
        drop(ctx.schedule_activity("Echo", "forgotten"));
        ctx.schedule_activity("Echo", input).await
    });
    assert_eq!(
        text.await,
        format!(
            "nondeterministic: the call at {HERE} is dropped at once, which cancels it; an await \
             is missing"
        )
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_that_blocks_its_thread_is_caught() {
    let text = failure_of(|ctx: OrchestrationContext, input| async move {
        std::thread::sleep(Duration::from_millis(550));
        ctx.schedule_activity("Echo", input).await
    });
    assert_eq!(
        text.await,
        "nondeterministic: orchestration code blocks its thread: a turn ran for #ms or longer, \
         twice; move the work into an activity"
    );
}
