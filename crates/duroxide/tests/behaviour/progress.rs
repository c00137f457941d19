//! Progress of long activities: readable while they run, and passed to the next attempt.

use std::sync::{Arc, Weak};
use std::time::Duration;

use duroxide::providers::{ActivityProgress, LeaseHolder, Provider};
use duroxide::runtime::limits::MAX_PROGRESS_BYTES;
use duroxide::runtime::registry::{ActivityRegistryBuilder, OrchestrationRegistryBuilder};
use duroxide::runtime::{ProgressError, RuntimeOptions};
use duroxide::{ActivityContext, OrchestrationContext};
use tokio::sync::Semaphore;

use crate::crashing_node::CrashingNode;
use crate::support::{
    DEFAULT_MODE, Journal, Mode, Node, TIMEOUT, activities, in_every_mode, memory,
    memory_with_clock, orchestrations, within,
};

/// Longer than the lease of an activity.
const PAST_LEASE: Duration = Duration::from_secs(31);

fn jobs() -> OrchestrationRegistryBuilder {
    orchestrations().register("Job", |ctx: OrchestrationContext, input: String| async move {
        ctx.schedule_activity("Job", input).await
    })
}

/// An activity that reports its input, and completes when the test releases it.
fn reporting(journal: &Journal, permits: &Arc<Semaphore>) -> ActivityRegistryBuilder {
    let (journal, permits) = (journal.clone(), permits.clone());
    activities().register("Job", move |ctx: ActivityContext, input: String| {
        let (journal, permits) = (journal.clone(), permits.clone());
        async move {
            let seen = ctx.last_progress().unwrap_or("nothing").to_owned();
            journal.write(format!("attempt {} saw {seen}", ctx.attempt()));
            ctx.report_progress(input).await.map_err(|error| error.to_string())?;
            journal.write("reported");
            permits.acquire().await.unwrap().forget();
            Ok(seen)
        }
    })
}

fn texts(progress: &[ActivityProgress]) -> Vec<&str> {
    progress.iter().map(|report| report.progress.as_str()).collect()
}

async fn progress_is_readable_only_while_the_activity_runs(mode: Mode) {
    let (journal, permits) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let node = Node::start(mode, jobs(), reporting(&journal, &permits)).await;
    assert!(node.client.get_activity_progress("job").await.unwrap().is_empty());
    node.start_instance("job", "Job", "3 of 10").await;
    let seen = node.client.wait_for_activity_progress("job", &[], TIMEOUT).await.unwrap();
    let [report] = seen.as_slice() else { panic!("expected one running activity: {seen:?}") };
    assert_eq!((report.execution_id, report.activity_id), (1, 2));
    assert_eq!((report.activity_name.as_str(), report.attempt), ("Job", 1));
    assert_eq!(report.progress, "3 of 10");
    permits.add_permits(1);
    assert_eq!(node.output("job").await, "nothing");
    assert!(node.client.get_activity_progress("job").await.unwrap().is_empty());
    node.stop().await;
}

in_every_mode! {
    progress_is_readable_only_while_the_activity_runs,
}

#[tokio::test]
async fn the_next_attempt_gets_the_progress_of_a_crashed_node() {
    let (store, clock) = memory_with_clock().await;
    let (journal, permits) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let crashing =
        CrashingNode::on(&store, DEFAULT_MODE.options(), jobs(), reporting(&journal, &permits))
            .await;
    let client = duroxide::Client::new(Arc::clone(&store));
    client.start_orchestration("job", "Job", "page 7").await.unwrap();
    assert_eq!(journal.next().await, "attempt 1 saw nothing");
    assert_eq!(journal.next().await, "reported");
    crashing.crash().await;
    let left = client.get_activity_progress("job").await.unwrap();
    assert_eq!(texts(&left), ["page 7"], "progress survives the node");
    clock.advance(PAST_LEASE);
    permits.add_permits(1);
    let node =
        Node::on(&store, DEFAULT_MODE.options(), jobs(), reporting(&journal, &permits)).await;
    assert_eq!(journal.next().await, "attempt 2 saw page 7");
    assert_eq!(node.output("job").await, "page 7");
    node.stop().await;
}

/// A store that does not know which leases live nodes hold, as if they were in another process: it
/// lets them expire.
struct ForgetsHolders {
    inner: Arc<dyn Provider>,
}

impl Provider for ForgetsHolders {
    fn inner(&self) -> Option<&dyn Provider> {
        Some(self.inner.as_ref())
    }

    fn add_lease_holder(&self, _: Weak<dyn LeaseHolder>) {}

    duroxide::providers::forward_provider! { this => this.inner }
}

#[tokio::test]
async fn a_report_without_a_lease_is_refused_and_keeps_the_last_one() {
    let (store, clock) = memory_with_clock().await;
    let store: Arc<dyn Provider> = Arc::new(ForgetsHolders { inner: store });
    let (journal, go) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let registry = activities().register("Job", {
        let (journal, go) = (journal.clone(), go.clone());
        move |ctx: ActivityContext, _: String| {
            let (journal, go) = (journal.clone(), go.clone());
            async move {
                if ctx.attempt() > 1 {
                    return Ok(ctx.last_progress().unwrap_or("nothing").to_owned());
                }
                ctx.report_progress("mine").await.unwrap();
                journal.write("reported");
                go.acquire().await.unwrap().forget();
                let refused = ctx.report_progress("no longer mine").await;
                journal.write(format!("{refused:?}"));
                journal.write(format!("{:?}", ctx.report_progress("again").await));
                Ok(String::new())
            }
        }
    });
    let node = Node::on(&store, DEFAULT_MODE.options(), jobs(), registry).await;
    node.start_instance("job", "Job", "").await;
    assert_eq!(journal.next().await, "reported");
    clock.advance(PAST_LEASE);
    assert_eq!(node.output("job").await, "mine", "the second attempt got the last accepted report");
    go.add_permits(1);
    let lost = format!("{:?}", Err::<(), _>(ProgressError::LeaseLost));
    assert_eq!([journal.next().await, journal.next().await], [lost.clone(), lost]);
    node.stop().await;
}

#[tokio::test]
async fn a_report_may_be_as_large_as_the_limit() {
    let registry = activities().register("Job", |ctx: ActivityContext, _: String| async move {
        let fits = ctx.report_progress("x".repeat(MAX_PROGRESS_BYTES)).await;
        let large = ctx.report_progress("x".repeat(MAX_PROGRESS_BYTES + 1)).await;
        assert_eq!(fits, Ok(()));
        Ok(large.unwrap_err().to_string())
    });
    let node = Node::start(DEFAULT_MODE, jobs(), registry).await;
    let text = "progress of 65537 bytes exceeds the limit of 65536 bytes";
    assert_eq!(node.run("job", "Job", "").await, text);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_reports_keep_the_last_one() {
    let (journal, permits) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let registry = activities().register("Job", {
        let (journal, permits) = (journal.clone(), permits.clone());
        move |ctx: ActivityContext, _: String| {
            let (journal, permits) = (journal.clone(), permits.clone());
            async move {
                let mut reports = tokio::task::JoinSet::new();
                for number in 0..1_000 {
                    let ctx = ctx.clone();
                    reports.spawn(async move { ctx.report_progress(number.to_string()).await });
                }
                let all = reports.join_all().await;
                journal.write(format!("{}", all.iter().all(Result::is_ok)));
                ctx.report_progress_typed(&("last", 1_000)).await.unwrap();
                journal.write("reported");
                permits.acquire().await.unwrap().forget();
                Ok(String::new())
            }
        }
    });
    let node = Node::start(DEFAULT_MODE, jobs(), registry).await;
    node.start_instance("job", "Job", "").await;
    assert_eq!([journal.next().await, journal.next().await], ["true", "reported"]);
    let seen = node.client.get_activity_progress("job").await.unwrap();
    assert_eq!(texts(&seen), [r#"["last",1000]"#]);
    permits.add_permits(1);
    node.output("job").await;
    node.stop().await;
}

/// A client can wait for each report until the activity completes.
#[tokio::test]
async fn a_client_can_wait_for_every_report_of_an_activity() {
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
    let node = Node::start(DEFAULT_MODE, jobs(), registry).await;
    node.start_instance("job", "Job", "").await;
    let mut seen = Vec::new();
    let mut reports = Vec::new();
    loop {
        seen = node.client.wait_for_activity_progress("job", &seen, TIMEOUT).await.unwrap();
        let Some(report) = seen.first() else { break };
        reports.push(report.progress.clone());
        go.add_permits(1);
    }
    assert_eq!(reports, ["1", "2", "3"]);
    node.output("job").await;
    node.stop().await;
}

/// Without progress the wait returns at its timeout.
#[tokio::test]
async fn a_wait_for_progress_times_out() {
    let node = Node::start(DEFAULT_MODE, jobs(), activities()).await;
    let waited =
        node.client.wait_for_activity_progress("unknown", &[], Duration::from_millis(20)).await;
    assert!(matches!(waited, Err(duroxide::ClientError::Timeout)), "{waited:?}");
    node.stop().await;
}

#[tokio::test]
async fn a_node_without_the_handler_keeps_the_progress() {
    let (store, clock) = memory_with_clock().await;
    let (journal, permits) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let crashing =
        CrashingNode::on(&store, DEFAULT_MODE.options(), jobs(), reporting(&journal, &permits))
            .await;
    let client = duroxide::Client::new(Arc::clone(&store));
    client.start_orchestration("job", "Job", "half").await.unwrap();
    journal.next().await;
    assert_eq!(journal.next().await, "reported");
    crashing.crash().await;
    clock.advance(PAST_LEASE);
    let without = Node::on(&store, DEFAULT_MODE.options(), jobs(), activities()).await;
    // The node has fetched and abandoned the activity when it is back in the queue.
    within(async {
        while client.get_queue_depths().await.unwrap().worker_queue == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    without.stop().await;
    permits.add_permits(1);
    clock.advance(Duration::from_secs(600));
    let options = RuntimeOptions { max_attempts: 100, ..DEFAULT_MODE.options() };
    let node = Node::on(&store, options, jobs(), reporting(&journal, &permits)).await;
    assert!(journal.next().await.ends_with("saw half"));
    assert_eq!(node.output("job").await, "half");
    node.stop().await;
}

/// Each instance reads only its own progress.
#[tokio::test]
async fn progress_belongs_to_its_instance() {
    let (journal, permits) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let store = memory().await;
    let node =
        Node::on(&store, DEFAULT_MODE.options(), jobs(), reporting(&journal, &permits)).await;
    node.start_instance("one", "Job", "first").await;
    node.start_instance("two", "Job", "second").await;
    for (instance, text) in [("one", "first"), ("two", "second")] {
        let seen = node.client.wait_for_activity_progress(instance, &[], TIMEOUT).await.unwrap();
        assert_eq!(texts(&seen), [text]);
    }
    permits.add_permits(2);
    node.output("one").await;
    node.output("two").await;
    node.stop().await;
}
