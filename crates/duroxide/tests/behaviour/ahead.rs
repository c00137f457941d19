//! Quick activities that a node takes before it has slots for them.

use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::Provider;
use duroxide::runtime::registry::ActivityRegistryBuilder;
use duroxide::{ActivityContext, Either2, OrchestrationContext};
use tokio::sync::{Barrier, Semaphore};

use crate::faulty::{Faulty, LEASES_ASKED};
use crate::support::{Diary, Node, USUAL, activities, memory, orchestrations};

/// All at once.
async fn fan(ctx: OrchestrationContext, width: String) -> Result<String, String> {
    let width: u32 = width.parse().map_err(|error| format!("{error}"))?;
    let calls = (1..=width).map(|call| ctx.schedule_activity("Step", call.to_string()));
    let done = ctx.join(calls.collect()).await;
    Ok(done.into_iter().filter(Result::is_ok).count().to_string())
}

/// All at once, and given up when there is news.
async fn fan_or_news(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let calls = (1..=40).map(|call| ctx.schedule_activity("Step", call.to_string()));
    match ctx.select2(ctx.schedule_wait("News"), ctx.join(calls.collect())).await {
        Either2::First(news) => Ok(news),
        Either2::Second(done) => Ok(done.len().to_string()),
    }
}

fn noted(diary: &Diary) -> ActivityRegistryBuilder {
    let diary = diary.clone();
    activities().register("Step", move |_: ActivityContext, input: String| {
        diary.write(input.clone());
        async move { Ok(input) }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_activities_of_a_wide_fan_out_are_leased_by_its_commit() {
    let faulty = Faulty::new(memory().await);
    let store: Arc<dyn Provider> = faulty.clone();
    let diary = Diary::default();
    let registry = orchestrations().register("Fan", fan);
    let node = Node::on(&store, USUAL.options(), registry, noted(&diary)).await;
    assert_eq!(node.run("wide", "Fan", "200").await, "200");
    assert_eq!(diary.unread().len(), 200, "each once");
    assert_eq!(faulty.calls(LEASES_ASKED), 200, "with four slots");
    node.stop().await;
}

/// More activities than one node has slots wait for each other: they only end if another node gets
/// those that the first has taken and not begun.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_begun_soon_goes_to_other_nodes() {
    let store = memory().await;
    let all = Arc::new(Barrier::new(7));
    let waiting = || {
        let all = Arc::clone(&all);
        activities().register("Step", move |_: ActivityContext, input: String| {
            let all = Arc::clone(&all);
            async move {
                all.wait().await;
                Ok(input)
            }
        })
    };
    let fans = || orchestrations().register("Fan", fan);
    let one = Node::on(&store, USUAL.options(), fans(), waiting()).await;
    one.begin("meeting", "Fan", "7").await;
    let other = Node::on(&store, USUAL.options(), fans(), waiting()).await;
    assert_eq!(one.output("meeting").await, "7");
    one.stop().await;
    other.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_known_to_be_slow_is_left_to_the_queue() {
    let faulty = Faulty::new(memory().await);
    let store: Arc<dyn Provider> = faulty.clone();
    let slow = activities().register("Step", |_: ActivityContext, input: String| async move {
        tokio::time::sleep(Duration::from_millis(60)).await;
        Ok(input)
    });
    let registry = orchestrations().register("Fan", fan);
    let node = Node::on(&store, USUAL.options(), registry, slow).await;
    assert_eq!(node.run("first", "Fan", "12").await, "12");
    let given_back = faulty.calls("abandon_work_item");
    assert!(given_back > 0, "nobody knew");
    assert_eq!(node.run("second", "Fan", "12").await, "12");
    assert_eq!(faulty.calls("abandon_work_item"), given_back, "now it is known");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_turn_gives_up_while_it_waits_is_not_run() {
    let (diary, permits) = (Diary::default(), Arc::new(Semaphore::new(0)));
    let gated = {
        let (diary, permits) = (diary.clone(), Arc::clone(&permits));
        activities().register("Step", move |ctx: ActivityContext, input: String| {
            let (diary, permits) = (diary.clone(), Arc::clone(&permits));
            async move {
                diary.write(input.clone());
                tokio::select! {
                    _ = permits.acquire() => {}
                    () = ctx.cancelled() => {}
                }
                Ok(input)
            }
        })
    };
    let registry = orchestrations().register("FanOrNews", fan_or_news);
    let node = Node::start(USUAL, registry, gated).await;
    node.begin("i", "FanOrNews", "").await;
    diary.next().await;
    node.client.raise_event("i", "News", "enough").await.unwrap();
    assert_eq!(node.output("i").await, "enough");
    permits.add_permits(1000);
    node.until_drained().await;
    node.stop().await;
    // Those of the four slots, and what each of them may have begun while the turn was stored.
    let begun = diary.unread().len();
    assert!(begun <= 8, "{begun} activities were begun");
}
