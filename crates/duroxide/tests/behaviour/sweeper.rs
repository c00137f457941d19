//! Work that no live node could run for too long fails, if the options say so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use duroxide::providers::{
    AnnouncedTurns, FetchedTurn, ManualClock, Provider, ProviderError, RegisteredOrchestrations,
    SemverRange, TurnFetch, WorkerAnnouncement,
};
use duroxide::runtime::RuntimeOptions;
use duroxide::{ActivityContext, OrchestrationContext, current_build_version};
use semver::Version;

use crate::support::{
    DEFAULT_MODE, Node, activities, count, kinds, memory_with_clock, orchestrations, within,
};

const LIMIT: Duration = Duration::from_millis(800);
const STEP: Duration = Duration::from_millis(50);

fn sweeping() -> RuntimeOptions {
    DEFAULT_MODE.options().with_stranded_work_limit(LIMIT)
}

async fn waits(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    Ok(ctx.schedule_wait("go").await)
}

async fn calls(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ctx.schedule_sub_orchestration("Chlid", "").await
}

async fn mails(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ctx.schedule_activity("Mial", "").await
}

async fn resizes(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ctx.schedule_activity_on_session("Resize", "", "s").with_tag("gpu").await
}

/// Moves the clock, in steps that a sweeper sees, until a condition is met. No announcement expires
/// meanwhile, however slow the machine is: nodes renew them in real time, and the clock of the
/// store is never faster.
async fn as_time_passes<T>(clock: &ManualClock, waiting: impl Future<Output = T>) -> T {
    let moving = async {
        loop {
            tokio::time::sleep(STEP).await;
            clock.advance(STEP);
        }
    };
    tokio::select! {
        met = within(waiting) => met,
        never = moving => never,
    }
}

/// The failure of an instance that no node could run.
async fn stranded_failure(node: &Node, instance: &str) -> String {
    let details = node.failure(instance).await;
    assert!(details.is_stranded() && details.category() == "configuration", "{details:?}");
    details.display_message()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stranded_work_fails_after_the_limit_and_its_parent_gets_the_failure() {
    let (store, clock) = memory_with_clock().await;
    let registry = orchestrations().register("Order", waits);
    let older = Node::on(&store, DEFAULT_MODE.options(), registry, activities()).await;
    older.start_instance("order", "Order", "").await;
    older.wait_for_event("order", "ExternalSubscribed").await;
    older.stop().await;

    let registry = || {
        orchestrations()
            .register_versioned("Order", "2.0.0", waits)
            .register("Parent", calls)
            .register("Mailer", mails)
            .register("Resizer", resizes)
    };
    // Two of them sweep at the same time.
    let node = Node::on(&store, sweeping(), registry(), activities()).await;
    let other = Node::on(&store, sweeping(), registry(), activities()).await;
    node.client.raise_event("order", "go", "").await.unwrap();
    node.start_instance("parent", "Parent", "").await;
    node.start_instance("mailer", "Mailer", "").await;
    node.start_instance("resizer", "Resizer", "").await;
    node.start_instance("waits", "Order", "").await;
    let texts = as_time_passes(&clock, async {
        let mut texts = Vec::new();
        for instance in ["order", "parent", "mailer", "resizer"] {
            texts.push(stranded_failure(&node, instance).await);
        }
        texts
    })
    .await;
    let late = "for longer than 800ms";
    assert_eq!(
        texts,
        [
            format!(
                "no live node can run orchestration `Order 1.0.0`: live nodes have registered it \
                 only in version 2.0.0, {late}"
            ),
            format!(
                "no live node can run orchestration `Chlid`: no live node has registered it, {late}"
            ),
            format!("no live node can run activity `Mial`: no live node has registered it, {late}"),
            format!(
                "no live node can run activity `Resize` with tag `gpu`: no live node serves its \
                 tag, {late}"
            ),
        ]
    );
    let parent = node.history("parent").await;
    assert_eq!(count(&parent, "SubOrchestrationFailed"), 1, "one of the two sweepers fails it");
    assert_eq!(count(&node.history("order").await, "OrchestrationFailed"), 1);
    // What a node can run is left alone.
    node.client.raise_event("waits", "go", "went").await.unwrap();
    assert_eq!(node.output("waits").await, "went");
    let counts = node.stop_and_count().await;
    let others = other.stop_and_count().await;
    let failed = counts.orch_configuration_errors + others.orch_configuration_errors;
    assert_eq!(failed, 5, "the child, too");
}

async fn leads(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let child = ctx.schedule_sub_orchestration_with_id("Order", "child", "");
    let activity = ctx.schedule_activity("Slow", "");
    let (child, activity) = ctx.join2(child, activity).await;
    child.and(activity)
}

/// The children and activities of an instance that failed ran on, for no one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_children_and_activities_of_an_instance_end_with_it() {
    let (store, clock) = memory_with_clock().await;
    let slow = |ctx: ActivityContext, _: String| async move {
        ctx.cancelled().await;
        Ok(String::new())
    };
    let registry = orchestrations().register("Leader", leads).register("Order", waits);
    let activities_of = || activities().register("Slow", slow);
    let older = Node::on(&store, DEFAULT_MODE.options(), registry, activities_of()).await;
    older.start_instance("leader", "Leader", "").await;
    older.wait_for_event("child", "ExternalSubscribed").await;
    older.stop().await;

    let registry = orchestrations().register("Order", waits);
    let node = Node::on(&store, sweeping(), registry, activities_of()).await;
    node.client.raise_event("leader", "anything", "").await.unwrap();
    let text = as_time_passes(&clock, stranded_failure(&node, "leader")).await;
    assert!(text.starts_with("no live node can run orchestration `Leader 1.0.0`"), "{text}");
    let reason = "canceled: parent failed: no live node could run it";
    assert_eq!(node.failure_text("child").await, reason);
    let history = node.history("leader").await;
    assert_eq!(
        kinds(&history)[3..],
        ["OrchestrationFailed", "ActivityCancelRequested"],
        "no one asked for a cancellation"
    );
    node.wait_until_drained().await;
    let depths = node.client.get_queue_depths().await.unwrap();
    assert_eq!(depths.worker_queue, 0, "the activity is cancelled");
    node.stop().await;
}

/// Announces a node that could run the code as soon as the sweeper has leased a turn.
struct NodeComesUp {
    inner: Arc<dyn Provider>,
    is_up: AtomicBool,
}

#[async_trait]
impl Provider for NodeComesUp {
    fn inner(&self) -> Option<&dyn Provider> {
        Some(self.inner.as_ref())
    }

    async fn fetch_orchestration_items(
        &self,
        request: TurnFetch<'_>,
    ) -> Result<Vec<FetchedTurn>, ProviderError> {
        // The sweeper asks for the code of the turn, which this node has not registered.
        let wanted = request.filter.orchestrations.clone();
        let turns = self.inner.fetch_orchestration_items(request).await?;
        let is_swept = wanted.is_some_and(|wanted| !wanted.versions().contains_key("Mine"));
        if is_swept && !turns.is_empty() {
            let registered = RegisteredOrchestrations::new([("Order", Version::new(1, 0, 0))]);
            let able = AnnouncedTurns::none(current_build_version())
                .with_replays(vec![SemverRange::default_for_current_build()])
                .with_orchestrations(registered);
            let hour = Duration::from_secs(3600);
            let announcement = WorkerAnnouncement::new("able", hour).with_turns(able);
            self.inner.announce_worker(&announcement).await?;
            self.is_up.store(true, Ordering::SeqCst);
        }
        Ok(turns)
    }

    duroxide::providers::forward_provider! { this => this.inner }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_comes_up_in_the_last_moment_gets_the_work() {
    let (store, clock) = memory_with_clock().await;
    let watched =
        Arc::new(NodeComesUp { inner: Arc::clone(&store), is_up: AtomicBool::new(false) });
    let decorated: Arc<dyn Provider> = Arc::clone(&watched) as _;
    let registry = orchestrations().register("Mine", waits);
    let sweeper = Node::on(&decorated, sweeping(), registry, activities()).await;
    sweeper.start_instance("order", "Order", "").await;
    as_time_passes(&clock, async {
        while !watched.is_up.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    let registry = orchestrations().register("Order", waits);
    let able = Node::on(&store, DEFAULT_MODE.options(), registry, activities()).await;
    able.wait_for_event("order", "ExternalSubscribed").await;
    able.client.raise_event("order", "go", "done").await.unwrap();
    assert_eq!(able.output("order").await, "done");
    able.stop().await;
    sweeper.stop().await;
}
