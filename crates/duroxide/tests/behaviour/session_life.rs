//! The owner of a session, its lifetime, and what it survives.

use std::sync::Arc;
use std::time::{Duration, Instant};

use duroxide::providers::Provider;
use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::{ActivityRegistryBuilder, OrchestrationRegistryBuilder};
use duroxide::{ActivityContext, OrchestrationContext, TagFilter};
use tokio::sync::Semaphore;

use crate::support::{
    DEFAULT_MODE, Database, Journal, Mode, Node, activities, eventually, in_every_mode, memory,
    orchestrations,
};

const LEASE: Duration = Duration::from_millis(300);
const IDLE: Duration = Duration::from_millis(700);

/// Options with short session leases.
fn options(node_id: Option<&str>) -> RuntimeOptions {
    RuntimeOptions {
        session_lock_timeout: LEASE,
        session_idle_timeout: IDLE,
        // Renewed often enough to keep a session that is in use.
        worker_lock_timeout: Duration::from_millis(600),
        worker_lock_renewal_buffer: Duration::from_millis(300),
        session_cleanup_interval: Duration::from_millis(100),
        worker_node_id: node_id.map(str::to_owned),
        ..DEFAULT_MODE.options()
    }
}

/// Records its worker, and waits for a permit.
fn held(journal: &Journal, permits: &Arc<Semaphore>) -> ActivityRegistryBuilder {
    let (journal, permits) = (journal.clone(), permits.clone());
    activities().register("Held", move |ctx: ActivityContext, input: String| {
        let (journal, permits) = (journal.clone(), permits.clone());
        async move {
            journal.write(format!("{input} on {}", ctx.worker_id()));
            permits.acquire().await.unwrap().forget();
            Ok(ctx.worker_id().to_owned())
        }
    })
}

/// Two concurrent activities of one session.
fn pair() -> OrchestrationRegistryBuilder {
    orchestrations().register("Pair", |ctx: OrchestrationContext, _: String| async move {
        let calls = ["one", "two"].map(|call| ctx.schedule_activity_on_session("Held", call, "s"));
        let all: Result<Vec<String>, String> =
            ctx.join(calls.into_iter().collect()).await.into_iter().collect();
        Ok(all?.join(" "))
    })
}

#[tokio::test]
async fn a_session_of_a_node_runs_in_several_of_its_slots_at_once() {
    let (journal, permits) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let options =
        RuntimeOptions { worker_node_id: Some("node".to_owned()), ..DEFAULT_MODE.options() };
    let node = Node::on(&memory().await, options, pair(), held(&journal, &permits)).await;
    node.start_instance("pair", "Pair", "").await;
    let mut started = [journal.next().await, journal.next().await];
    started.sort();
    assert!(started[0].starts_with("one on work-") && started[0].ends_with("-node"), "{started:?}");
    assert!(started[1].starts_with("two on work-") && started[1].ends_with("-node"), "{started:?}");
    permits.add_permits(2);
    node.output("pair").await;
    node.stop().await;
}

#[tokio::test]
async fn a_session_of_a_slot_runs_one_activity_at_a_time() {
    let (journal, permits) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let node =
        Node::on(&memory().await, DEFAULT_MODE.options(), pair(), held(&journal, &permits)).await;
    node.start_instance("pair", "Pair", "").await;
    let first = journal.next().await;
    // Other slots are free and run other work: only the session keeps the second one waiting.
    let other =
        orchestrations().register("Other", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("Held", "other").await
        });
    let helper = RuntimeOptions { worker_concurrency: 0, ..DEFAULT_MODE.options() };
    let starts = Node::on(&node.store, helper, other, activities()).await;
    starts.start_instance("other", "Other", "").await;
    assert!(journal.next().await.starts_with("other on"));
    assert!(journal.unread().is_empty());
    permits.add_permits(2);
    let second = journal.next().await;
    assert_eq!(first.split_once(' ').unwrap().1, second.split_once(' ').unwrap().1);
    permits.add_permits(1);
    node.output("pair").await;
    starts.stop().await;
    node.stop().await;
}

/// Two calls of a session, with a wait for a signal between them.
fn two_calls() -> OrchestrationRegistryBuilder {
    orchestrations().register("Two", |ctx: OrchestrationContext, _: String| async move {
        let first = ctx.schedule_activity_on_session("Held", "first", "s").await?;
        ctx.schedule_wait("Go").await;
        let second = ctx.schedule_activity_on_session("Held", "second", "s").await?;
        Ok(format!("{first} {second}"))
    })
}

/// Two calls of a session. Between them the only slot of its owner runs another activity.
fn abandoned() -> OrchestrationRegistryBuilder {
    orchestrations().register("Abandon", |ctx: OrchestrationContext, _: String| async move {
        ctx.schedule_activity_on_session("Held", "first", "s").await?;
        let _occupies = ctx.schedule_activity("Held", "occupied").with_tag("mine");
        ctx.schedule_wait("Go").await;
        ctx.schedule_activity_on_session("Held", "second", "s").await
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_live_owner_keeps_a_session_in_use_and_releases_an_idle_one() {
    let (lease, idle) = (Duration::from_secs(1), Duration::from_secs(2));
    let (journal, permits) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let store = memory().await;
    let owner = RuntimeOptions {
        worker_concurrency: 1,
        worker_tag_filter: TagFilter::default_and(["mine"]),
        session_lock_timeout: lease,
        session_idle_timeout: idle,
        ..options(Some("owner"))
    };
    let owner = Node::on(&store, owner, abandoned(), held(&journal, &permits)).await;
    owner.start_instance("idle", "Abandon", "").await;
    assert!(journal.next().await.ends_with("-owner"));
    // A session is in use while its activity runs, for any length of time.
    tokio::time::sleep(idle + lease * 2).await;
    let other =
        Node::on(&store, options(Some("other")), abandoned(), held(&journal, &permits)).await;
    let used = Instant::now();
    permits.add_permits(1);
    assert!(journal.next().await.starts_with("occupied on"));
    owner.client.raise_event("idle", "Go", "").await.unwrap();
    let claimed = journal.next().await;
    assert!(claimed.starts_with("second on") && claimed.ends_with("-other"), "{claimed}");
    println!("released {:?} after its last use", used.elapsed());
    assert!(used.elapsed() >= idle, "its owner keeps it for the idle timeout");
    permits.add_permits(2);
    other.output("idle").await;
    owner.stop().await;
    other.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expired_sessions_are_deleted() {
    let (journal, permits) = (Journal::default(), Arc::new(Semaphore::new(9)));
    let database = Database::new();
    let store = database.open_in_real_time().await;
    let node = Node::on(&store, options(None), two_calls(), held(&journal, &permits)).await;
    node.start_instance("swept", "Two", "").await;
    node.wait_for_event("swept", "ExternalSubscribed").await;
    assert_eq!(database.number("SELECT count(*) FROM sessions"), 1);
    eventually(|| database.number("SELECT count(*) FROM sessions") == 0).await;
    // The next activity creates the session again.
    node.client.raise_event("swept", "Go", "").await.unwrap();
    node.output("swept").await;
    assert_eq!(database.number("SELECT count(*) FROM sessions"), 1);
    node.stop().await;
}

/// Returns the worker of the session in three executions.
async fn rounds(ctx: OrchestrationContext, seen: String) -> Result<String, String> {
    let here = ctx.schedule_activity_on_session("Held", "round", "s").await?;
    let seen = format!("{seen} {here}");
    if seen.split_whitespace().count() == 3 {
        return Ok(seen);
    }
    ctx.continue_as_new(seen).await
}

async fn a_session_survives_continue_as_new(mode: Mode) {
    let (journal, permits) = (Journal::default(), Arc::new(Semaphore::new(9)));
    let registry = || orchestrations().register("Rounds", rounds);
    let store: Arc<dyn Provider> = memory().await;
    let nodes = [
        Node::on(&store, mode.options(), registry(), held(&journal, &permits)).await,
        Node::on(&store, mode.options(), registry(), held(&journal, &permits)).await,
    ];
    let output = nodes[0].run("rounds", "Rounds", "").await;
    let workers: Vec<&str> = output.split_whitespace().collect();
    assert!(workers.len() == 3 && workers.iter().all(|it| *it == workers[0]), "{output}");
    for node in nodes {
        node.stop().await;
    }
}

in_every_mode! {
    a_session_survives_continue_as_new,
}

/// A new build of the program with the same node id owns the session at once, and a newer version
/// of the code continues with it.
#[tokio::test]
async fn a_session_survives_an_upgrade_of_its_node_and_of_the_code() {
    let (journal, permits) = (Journal::default(), Arc::new(Semaphore::new(9)));
    let store = memory().await;
    // Leases of half a minute: waiting for one would exceed the limit below.
    let named =
        || RuntimeOptions { worker_node_id: Some("node".to_owned()), ..DEFAULT_MODE.options() };
    let old = || {
        orchestrations().register("Up", |ctx: OrchestrationContext, _: String| async move {
            let here = ctx.schedule_activity_on_session("Held", "old", "s").await?;
            ctx.schedule_wait("Go").await;
            ctx.continue_as_new(here).await
        })
    };
    let new = || {
        old().register_versioned(
            "Up",
            "2.0.0",
            |ctx: OrchestrationContext, seen: String| async move {
                let here = ctx.schedule_activity_on_session("Held", "new", "s").await?;
                Ok(format!("{} {}", seen.ends_with("-node"), here.ends_with("-node")))
            },
        )
    };
    let node = Node::on(&store, named(), old(), held(&journal, &permits)).await;
    node.start_instance("up", "Up", "").await;
    node.wait_for_event("up", "ExternalSubscribed").await;
    node.stop().await;
    let upgraded = Instant::now();
    let node = Node::on(&store, named(), new(), held(&journal, &permits)).await;
    node.client.raise_event("up", "Go", "").await.unwrap();
    assert_eq!(node.output("up").await, "true true");
    assert!(upgraded.elapsed() < Duration::from_secs(15), "took {:?}", upgraded.elapsed());
    assert!(
        journal.next().await.starts_with("old on") && journal.next().await.starts_with("new on")
    );
    node.stop().await;
}
