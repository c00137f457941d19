//! Which executions the nodes of a mixed cluster run, by the versions that these are pinned to, and
//! what nodes log about it.

use std::io;
use std::sync::{Arc, Mutex};

use duroxide::providers::{Provider, WorkItem};
use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::OrchestrationRegistryBuilder;
use duroxide::{ActivityContext, OrchestrationContext, current_build_version};

use crate::faulty::{Faulty, RELEASED};
use crate::support::{
    DEFAULT_MODE, Journal, Node, activities, count, eventually, memory, orchestrations,
};
use crate::versions::{range, recorded_by};

/// The orchestration of `recorded_by`, which returns the name of the node that completes it. Only a
/// return value may depend on that.
fn waits_on(node: &'static str) -> OrchestrationRegistryBuilder {
    orchestrations().register("Wait", move |ctx: OrchestrationContext, _: String| async move {
        ctx.schedule_wait("Go").await;
        Ok(node.to_owned())
    })
}

async fn node_with(store: &Arc<dyn Provider>, name: &'static str, min: &str, max: &str) -> Node {
    let options =
        RuntimeOptions { supported_replay_versions: range(min, max), ..DEFAULT_MODE.options() };
    Node::on(store, options, waits_on(name), activities()).await
}

async fn go(node: &Node, instances: &[&str]) {
    for instance in instances {
        node.client.raise_event(*instance, "Go", "").await.unwrap();
    }
}

#[tokio::test]
async fn nodes_with_overlapping_ranges_share_executions_and_run_each_once() {
    let faulty = Faulty::new(memory().await);
    let store: Arc<dyn Provider> = faulty.clone();
    let instances = ["a", "b", "c", "d", "e", "f"];
    // Before there are nodes, which would claim the start of one that is being recorded.
    for instance in instances.into_iter().chain(["last"]) {
        recorded_by(&store, instance, "2.5.0").await;
    }
    let first = node_with(&store, "first", "1.0.0", "2.9.9").await;
    let second = node_with(&store, "second", "2.0.0", "3.9.9").await;
    go(&first, &instances).await;
    for instance in instances {
        let by = first.output(instance).await;
        assert!(["first", "second"].contains(&by.as_str()), "{by}");
        assert_eq!(count(&first.history(instance).await, "ExternalEvent"), 1);
    }
    assert_eq!(faulty.calls(RELEASED), 0);
    first.stop().await;
    go(&second, &["last"]).await;
    assert_eq!(second.output("last").await, "second");
    second.stop().await;
}

#[tokio::test]
async fn each_execution_of_a_mixed_cluster_runs_on_a_node_that_can_replay_it() {
    let faulty = Faulty::new(memory().await);
    let store: Arc<dyn Provider> = faulty.clone();
    let pins = [("a", "1.5.0"), ("b", "2.5.0"), ("c", "1.0.0"), ("d", "2.0.0"), ("e", "1.9.9")];
    for (instance, pin) in pins {
        recorded_by(&store, instance, pin).await;
    }
    let one = node_with(&store, "1", "1.0.0", "1.9.9").await;
    let two = node_with(&store, "2", "2.0.0", "2.9.9").await;
    go(&one, &pins.map(|(instance, _)| instance)).await;
    for (instance, pin) in pins {
        let by = two.output(instance).await;
        assert!(pin.starts_with(&by), "{instance}, pinned to {pin}, ran on node {by}");
    }
    assert_eq!(faulty.calls(RELEASED), 0, "nothing went to a node that cannot replay it");
    one.stop().await;
    two.stop().await;
}

#[tokio::test]
async fn a_child_has_a_pin_of_its_own() {
    async fn parent(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        ctx.schedule_wait("Go").await;
        ctx.schedule_sub_orchestration_with_id("Child", "child", "").await
    }
    async fn child(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        Ok(ctx.schedule_wait("Go").await)
    }
    let store = memory().await;
    recorded_by(&store, "parent", "0.1.31").await;
    let registry = orchestrations().register("Wait", parent).register("Child", child);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry, activities()).await;
    go(&node, &["parent"]).await;
    node.wait_for_event("child", "ExternalSubscribed").await;
    let build = current_build_version().to_string();
    assert_eq!(node.history("parent").await[0].duroxide_version, "0.1.31");
    assert_eq!(node.history("child").await[0].duroxide_version, build);
    let spread = node.client.get_running_duroxide_version_spread().await.unwrap();
    assert_eq!(spread.into_iter().collect::<Vec<_>>(), [("0.1.31".to_owned(), 1), (build, 1)]);
    go(&node, &["child"]).await;
    node.output("parent").await;
    node.stop().await;
}

/// The result of an activity of an execution that continued as new: one that the successor
/// cancelled, and one that was already on its way.
#[tokio::test]
async fn results_of_activities_of_the_execution_before_are_dropped() {
    async fn next(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        if ctx.execution_id() == 1 {
            let _held = ctx.schedule_activity("Held", "");
            ctx.schedule_wait("Go").await;
            return ctx.continue_as_new("").await;
        }
        Ok(ctx.schedule_wait("Go").await)
    }
    let journal = Journal::default();
    let (store, held) = (memory().await, journal.clone());
    let work = activities().register("Held", move |ctx: ActivityContext, _: String| {
        let journal = held.clone();
        async move {
            journal.write("started");
            ctx.cancelled().await;
            journal.write("cancelled");
            Ok("late".to_owned())
        }
    });
    let registry = orchestrations().register("Next", next);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry, work).await;
    node.start_instance("next", "Next", "").await;
    assert_eq!(journal.next().await, "started");
    go(&node, &["next"]).await;
    assert_eq!(journal.next().await, "cancelled");
    node.wait_for_history("next", |history| history[0].execution_id == 2).await;
    let late = WorkItem::ActivityCompleted {
        instance: "next".to_owned(),
        execution_id: 1,
        id: 2,
        result: "late".to_owned(),
    };
    store.enqueue_for_orchestrator(late, None).await.unwrap();
    go(&node, &["next"]).await;
    node.output("next").await;
    assert_eq!(count(&node.history("next").await, "ActivityCompleted"), 0);
    node.stop().await;
}

/// The oldest pins that the default range includes, and one past each of its ends.
#[tokio::test]
async fn the_default_range_includes_known_versions_up_to_this_one_and_no_later_one() {
    let build = current_build_version();
    let later = semver::Version::new(build.major, build.minor, build.patch + 1).to_string();
    let faulty = Faulty::new(memory().await);
    let store: Arc<dyn Provider> = faulty.clone();
    let included = ["0.1.14", "0.1.32", &build.to_string()];
    let excluded = ["0.1.13", &later, "99.0.0"];
    for pin in excluded.iter().chain(&included) {
        recorded_by(&store, pin, pin).await;
    }
    let node = Node::on(&store, DEFAULT_MODE.options(), waits_on("node"), activities()).await;
    // Messages are claimed in their order: those of the excluded ones would have been the first.
    go(&node, &excluded).await;
    go(&node, &included).await;
    for pin in included {
        assert_eq!(node.output(pin).await, "node");
    }
    for pin in excluded {
        assert_eq!(count(&node.history(pin).await, "ExternalEvent"), 0, "{pin}");
    }
    let depths = node.client.get_queue_depths().await.unwrap();
    assert_eq!(depths.orchestrator_queue, excluded.len());
    assert_eq!(faulty.calls(RELEASED), 0);
    node.stop().await;
}

#[tokio::test]
async fn a_narrow_range_leaves_executions_below_and_above_it_to_others() {
    let store = memory().await;
    for (instance, pin) in [("below", "0.9.0"), ("above", "2.0.0"), ("within", "1.5.0")] {
        recorded_by(&store, instance, pin).await;
    }
    let narrow = node_with(&store, "narrow", "1.0.0", "1.9.999").await;
    go(&narrow, &["below", "above", "within"]).await;
    assert_eq!(narrow.output("within").await, "narrow");
    for instance in ["below", "above"] {
        assert_eq!(count(&narrow.history(instance).await, "ExternalEvent"), 0);
    }
    assert_eq!(narrow.client.get_queue_depths().await.unwrap().orchestrator_queue, 2);
    narrow.stop().await;
}

/// The log lines of one thread.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    /// Collects the lines of this thread until the guard is dropped.
    fn collect() -> (Self, tracing::subscriber::DefaultGuard) {
        let lines = Self::default();
        let sink = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::INFO)
            .with_ansi(false)
            .with_writer(move || sink.clone())
            .finish();
        (lines, tracing::subscriber::set_default(subscriber))
    }

    /// Whether one line contains all of these words.
    fn contain(&self, words: &[&str]) -> bool {
        let bytes = self.0.lock().unwrap();
        let text = String::from_utf8_lossy(&bytes);
        text.lines().any(|line| words.iter().all(|word| line.contains(word)))
    }
}

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_node_logs_the_ranges_that_it_replays_and_warns_of_an_execution_outside_of_them() {
    let (lines, _collecting) = Lines::collect();
    let store = memory().await;
    recorded_by(&store, "outside", "7.7.7").await;
    let faulty = Faulty::new(store);
    faulty.ignore_filter();
    let store: Arc<dyn Provider> = faulty.clone();
    let node = node_with(&store, "node", "1.0.0", "1.9.9").await;
    let ranges = ">=1.0.0, <=1.9.9";
    assert!(lines.contain(&["INFO", "capability filter configured", ranges]));
    go(&node, &["outside"]).await;
    eventually(|| faulty.calls(RELEASED) == 1).await;
    assert!(lines.contain(&["WARN", "incompatible version", "outside", "7.7.7", ranges]));
    node.stop().await;
}
