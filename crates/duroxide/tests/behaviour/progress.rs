//! Progress of long activities: seen while they run, and handed to the next attempt.

use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::ActivityProgress;
use duroxide::runtime::limits::MAX_PROGRESS_BYTES;
use duroxide::runtime::registry::{ActivityRegistryBuilder, OrchestrationRegistryBuilder};
use duroxide::runtime::{ProgressError, RuntimeOptions};
use duroxide::{ActivityContext, OrchestrationContext};
use tokio::sync::Semaphore;

use crate::doomed::Doomed;
use crate::support::{
    Diary, Mode, Node, PATIENCE, USUAL, activities, in_every_mode, memory, memory_with_clock,
    orchestrations, within,
};

/// Longer than the lease of an activity.
const PAST_LEASE: Duration = Duration::from_secs(31);

fn jobs() -> OrchestrationRegistryBuilder {
    orchestrations().register("Job", |ctx: OrchestrationContext, input: String| async move {
        ctx.schedule_activity("Job", input).await
    })
}

/// An activity that reports what it is told to, and ends when it is let go.
fn reporting(diary: &Diary, permits: &Arc<Semaphore>) -> ActivityRegistryBuilder {
    let (diary, permits) = (diary.clone(), permits.clone());
    activities().register("Job", move |ctx: ActivityContext, input: String| {
        let (diary, permits) = (diary.clone(), permits.clone());
        async move {
            let seen = ctx.last_progress().unwrap_or("nothing").to_owned();
            diary.write(format!("attempt {} saw {seen}", ctx.attempt()));
            ctx.report_progress(input).await.map_err(|error| error.to_string())?;
            diary.write("reported");
            permits.acquire().await.unwrap().forget();
            Ok(seen)
        }
    })
}

fn texts(progress: &[ActivityProgress]) -> Vec<&str> {
    progress.iter().map(|report| report.progress.as_str()).collect()
}

async fn progress_is_seen_while_the_activity_runs_and_gone_afterwards(mode: Mode) {
    let (diary, permits) = (Diary::default(), Arc::new(Semaphore::new(0)));
    let node = Node::start(mode, jobs(), reporting(&diary, &permits)).await;
    assert!(node.client.get_activity_progress("job").await.unwrap().is_empty());
    node.begin("job", "Job", "3 of 10").await;
    let seen = node.client.wait_for_activity_progress("job", &[], PATIENCE).await.unwrap();
    let [report] = seen.as_slice() else { panic!("one activity runs: {seen:?}") };
    assert_eq!((report.execution_id, report.activity_id), (1, 2));
    assert_eq!((report.activity_name.as_str(), report.attempt), ("Job", 1));
    assert_eq!(report.progress, "3 of 10");
    permits.add_permits(1);
    assert_eq!(node.output("job").await, "nothing");
    assert!(node.client.get_activity_progress("job").await.unwrap().is_empty());
    node.stop().await;
}

in_every_mode! {
    progress_is_seen_while_the_activity_runs_and_gone_afterwards,
}

#[tokio::test]
async fn the_next_attempt_goes_on_where_a_dead_node_stopped() {
    let (store, clock) = memory_with_clock().await;
    let (diary, permits) = (Diary::default(), Arc::new(Semaphore::new(0)));
    let doomed = Doomed::on(&store, USUAL.options(), jobs(), reporting(&diary, &permits)).await;
    let client = duroxide::Client::new(Arc::clone(&store));
    client.start_orchestration("job", "Job", "page 7").await.unwrap();
    assert_eq!(diary.next().await, "attempt 1 saw nothing");
    assert_eq!(diary.next().await, "reported");
    doomed.die().await;
    let left = client.get_activity_progress("job").await.unwrap();
    assert_eq!(texts(&left), ["page 7"], "it outlives the node");
    clock.advance(PAST_LEASE);
    permits.add_permits(1);
    let node = Node::on(&store, USUAL.options(), jobs(), reporting(&diary, &permits)).await;
    assert_eq!(diary.next().await, "attempt 2 saw page 7");
    assert_eq!(node.output("job").await, "page 7");
    node.stop().await;
}

#[tokio::test]
async fn without_a_lease_a_report_is_refused_and_the_last_one_stands() {
    let (store, clock) = memory_with_clock().await;
    let (diary, go) = (Diary::default(), Arc::new(Semaphore::new(0)));
    let registry = activities().register("Job", {
        let (diary, go) = (diary.clone(), go.clone());
        move |ctx: ActivityContext, _: String| {
            let (diary, go) = (diary.clone(), go.clone());
            async move {
                if ctx.attempt() > 1 {
                    return Ok(ctx.last_progress().unwrap_or("nothing").to_owned());
                }
                ctx.report_progress("mine").await.unwrap();
                diary.write("reported");
                go.acquire().await.unwrap().forget();
                let refused = ctx.report_progress("no longer mine").await;
                diary.write(format!("{refused:?}"));
                diary.write(format!("{:?}", ctx.report_progress("again").await));
                Ok(String::new())
            }
        }
    });
    let node = Node::on(&store, USUAL.options(), jobs(), registry).await;
    node.begin("job", "Job", "").await;
    assert_eq!(diary.next().await, "reported");
    clock.advance(PAST_LEASE);
    assert_eq!(node.output("job").await, "mine", "the second attempt saw the last good report");
    go.add_permits(1);
    let lost = format!("{:?}", Err::<(), _>(ProgressError::LeaseLost));
    assert_eq!([diary.next().await, diary.next().await], [lost.clone(), lost]);
    node.stop().await;
}

#[tokio::test]
async fn a_report_may_be_as_large_as_the_limit_and_no_larger() {
    let registry = activities().register("Job", |ctx: ActivityContext, _: String| async move {
        let fits = ctx.report_progress("x".repeat(MAX_PROGRESS_BYTES)).await;
        let large = ctx.report_progress("x".repeat(MAX_PROGRESS_BYTES + 1)).await;
        assert_eq!(fits, Ok(()));
        Ok(large.unwrap_err().to_string())
    });
    let node = Node::start(USUAL, jobs(), registry).await;
    let text = "progress of 65537 bytes exceeds the limit of 65536 bytes";
    assert_eq!(node.run("job", "Job", "").await, text);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reports_from_a_fast_loop_end_with_the_last_one() {
    let (diary, permits) = (Diary::default(), Arc::new(Semaphore::new(0)));
    let registry = activities().register("Job", {
        let (diary, permits) = (diary.clone(), permits.clone());
        move |ctx: ActivityContext, _: String| {
            let (diary, permits) = (diary.clone(), permits.clone());
            async move {
                let mut reports = tokio::task::JoinSet::new();
                for number in 0..1_000 {
                    let ctx = ctx.clone();
                    reports.spawn(async move { ctx.report_progress(number.to_string()).await });
                }
                let all = reports.join_all().await;
                diary.write(format!("{}", all.iter().all(Result::is_ok)));
                ctx.report_progress_typed(&("last", 1_000)).await.unwrap();
                diary.write("reported");
                permits.acquire().await.unwrap().forget();
                Ok(String::new())
            }
        }
    });
    let node = Node::start(USUAL, jobs(), registry).await;
    node.begin("job", "Job", "").await;
    assert_eq!([diary.next().await, diary.next().await], ["true", "reported"]);
    let seen = node.client.get_activity_progress("job").await.unwrap();
    assert_eq!(texts(&seen), [r#"["last",1000]"#]);
    permits.add_permits(1);
    node.output("job").await;
    node.stop().await;
}

/// A wait sees later reports too, and ends with the activity.
#[tokio::test]
async fn a_client_follows_an_activity_to_its_end() {
    let go = Arc::new(Semaphore::new(0));
    let registry = activities().register("Job", {
        let go = go.clone();
        move |ctx: ActivityContext, _: String| {
            let go = go.clone();
            async move {
                for step in 1..=3 {
                    ctx.report_progress(step.to_string()).await.unwrap();
                    go.acquire().await.unwrap().forget();
                }
                Ok(String::new())
            }
        }
    });
    let node = Node::start(USUAL, jobs(), registry).await;
    node.begin("job", "Job", "").await;
    let mut seen = Vec::new();
    let mut told = Vec::new();
    loop {
        seen = node.client.wait_for_activity_progress("job", &seen, PATIENCE).await.unwrap();
        let Some(report) = seen.first() else { break };
        told.push(report.progress.clone());
        go.add_permits(1);
    }
    assert_eq!(told, ["1", "2", "3"]);
    node.output("job").await;
    node.stop().await;
}

/// A wait that nothing ends is over when its time is.
#[tokio::test]
async fn a_wait_for_progress_has_an_end() {
    let node = Node::start(USUAL, jobs(), activities()).await;
    let waited =
        node.client.wait_for_activity_progress("nobody", &[], Duration::from_millis(20)).await;
    assert!(matches!(waited, Err(duroxide::ClientError::Timeout)), "{waited:?}");
    node.stop().await;
}

#[tokio::test]
async fn a_node_without_the_handler_does_not_lose_the_progress() {
    let (store, clock) = memory_with_clock().await;
    let (diary, permits) = (Diary::default(), Arc::new(Semaphore::new(0)));
    let doomed = Doomed::on(&store, USUAL.options(), jobs(), reporting(&diary, &permits)).await;
    let client = duroxide::Client::new(Arc::clone(&store));
    client.start_orchestration("job", "Job", "half").await.unwrap();
    diary.next().await;
    assert_eq!(diary.next().await, "reported");
    doomed.die().await;
    clock.advance(PAST_LEASE);
    let without = Node::on(&store, USUAL.options(), jobs(), activities()).await;
    // It has been fetched and given back when it is hidden and waits.
    within(async {
        while client.get_queue_depths().await.unwrap().worker_queue == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    without.stop().await;
    permits.add_permits(1);
    clock.advance(Duration::from_secs(600));
    let options = RuntimeOptions { max_attempts: 100, ..USUAL.options() };
    let node = Node::on(&store, options, jobs(), reporting(&diary, &permits)).await;
    assert!(diary.next().await.ends_with("saw half"));
    assert_eq!(node.output("job").await, "half");
    node.stop().await;
}

/// What the store keeps for one instance is not told to another.
#[tokio::test]
async fn progress_belongs_to_its_instance() {
    let (diary, permits) = (Diary::default(), Arc::new(Semaphore::new(0)));
    let store = memory().await;
    let node = Node::on(&store, USUAL.options(), jobs(), reporting(&diary, &permits)).await;
    node.begin("one", "Job", "first").await;
    node.begin("two", "Job", "second").await;
    for (instance, text) in [("one", "first"), ("two", "second")] {
        let seen = node.client.wait_for_activity_progress(instance, &[], PATIENCE).await.unwrap();
        assert_eq!(texts(&seen), [text]);
    }
    permits.add_permits(2);
    node.output("one").await;
    node.output("two").await;
    node.stop().await;
}
