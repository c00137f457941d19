//! The server's clock decides.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::client::Client;
use duroxide_core::providers::{
    ExpectedInstance, ManualClock, NewExecution, Provider, ProviderAdmin, SessionFetchConfig,
    TagFilter, TurnCommit, TurnFetch, WorkItem,
};
use duroxide_core::runtime::{
    ActivityRegistry, OrchestrationRegistry, OrchestrationStatus, Runtime,
};
use duroxide_core::{ActivityContext, OrchestrationContext};

use crate::support::*;

const HOUR_MS: i64 = 3_600_000;

/// Moves the clock of the database against that of the nodes, which is the same as if all nodes
/// were wrong by as much.
async fn shift(store: &Store, by_ms: i64) {
    drop(store.node().await);
    let sql = store.sql().await;
    sql.run(&format!(
        "CREATE OR REPLACE FUNCTION $.now_ms() RETURNS BIGINT LANGUAGE sql VOLATILE AS
         'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::BIGINT + {by_ms}'"
    ))
    .await;
}

fn orchestrations() -> OrchestrationRegistry {
    let flow = |ctx: OrchestrationContext, input: String| async move {
        ctx.schedule_timer(Duration::from_millis(30)).await;
        ctx.schedule_activity("Echo", input).await
    };
    OrchestrationRegistry::builder().register("Flow", flow).build()
}

fn activities() -> ActivityRegistry {
    let echo = |_ctx: ActivityContext, input: String| async move { Ok(input) };
    ActivityRegistry::builder().register("Echo", echo).build()
}

#[tokio::test]
async fn a_node_with_a_wrong_clock_does_no_harm() {
    for off in [-HOUR_MS, HOUR_MS] {
        let store = Store::live();
        shift(&store, off).await;
        let node: Arc<dyn Provider> = store.node().await;
        let behind = node.clock().now_ms();
        #[expect(clippy::disallowed_methods, reason = "this is about the machine's clock")]
        let machine = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let difference =
            i64::try_from(behind).unwrap() - i64::try_from(machine.as_millis()).unwrap();
        assert!((difference - off).abs() < 60_000, "{difference}");
        let runtime =
            Runtime::start_with_store(Arc::clone(&node), activities(), orchestrations()).await;
        let client = Client::new(Arc::clone(&node));
        client.start_orchestration("a", "Flow", "done").await.unwrap();
        let status = client.wait_for_orchestration("a", PATIENCE).await.unwrap();
        assert!(matches!(status, OrchestrationStatus::Completed { .. }), "{status:?}");
        runtime.shutdown(None).await;
    }
}

#[tokio::test]
async fn a_live_lease_holds_although_a_node_has_a_wrong_clock() {
    let store = Store::live();
    let right = store.node().await;
    create(&*right, "a").await;
    right.enqueue_for_orchestrator(signal("a", "1"), None).await.unwrap();
    let held = turn(&*right).await;
    // The node estimates that it is an hour later; the server decides.
    let wrong = store.node().await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(3600)).await;
    tokio::time::resume();
    assert!(try_turn(&*wrong).await.is_none());
    right.store_turn(commit(&held.lock_token, vec![heard("a", 2)])).await.unwrap();
}

/// A commit that took a second once set the node's clock back by a second: the next timer of four
/// seconds was due after three.
#[tokio::test]
async fn a_slow_commit_does_not_set_the_clock_of_a_node_back() {
    let store = Store::live();
    let node = store.node().await;
    let sql = store.sql().await;
    sql.run(
        "CREATE FUNCTION $.dawdle() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN PERFORM pg_sleep(0.3); RETURN NULL; END';
         CREATE TRIGGER dawdle AFTER INSERT ON $.history
             FOR EACH ROW EXECUTE FUNCTION $.dawdle()",
    )
    .await;
    create(&*node, "a").await;
    let server = sql.count("SELECT $.now_ms()").await;
    let estimated = i64::try_from(node.clock().now_ms()).unwrap();
    assert!(estimated >= server, "{estimated} is before {server}");
}

/// A message that is visible at once is not one for a later time.
#[tokio::test]
async fn a_server_clock_that_is_set_back_does_not_delay_starts() {
    let store = Store::live();
    let node = store.builder().with_safety_poll_interval(Duration::from_secs(3600)).open().await;
    let node = node.unwrap();
    node.enqueue_for_orchestrator(start("queued"), None).await.unwrap();
    let later = Some(Duration::from_secs(60));
    node.enqueue_for_orchestrator(start("later"), later).await.unwrap();
    shift(&store, -HOUR_MS).await;
    let patient = wish(8).with_poll_timeout(PATIENCE);
    let turns = node.fetch_orchestration_items(patient).await.unwrap();
    let names: Vec<&str> = turns.iter().map(|turn| turn.item.instance.as_str()).collect();
    assert_eq!(names, ["queued"]);
}

#[tokio::test]
async fn a_clock_that_was_set_back_while_no_node_ran_delays_no_start() {
    let store = Store::live();
    let node = store.node().await;
    node.enqueue_for_orchestrator(start("queued"), None).await.unwrap();
    drop(node);
    shift(&store, -HOUR_MS).await;
    let node = store.node().await;
    let patient = wish(8).with_poll_timeout(PATIENCE);
    assert_eq!(node.fetch_orchestration_items(patient).await.unwrap().len(), 1);
}

/// Longer than the test takes, so that only the moved clock ends it.
const LONG: Duration = Duration::from_secs(60);

async fn take(node: &dyn Provider, owner: &str) -> Option<(WorkItem, String, u32)> {
    let session = SessionFetchConfig { owner_id: owner.to_owned(), lock_timeout: LONG };
    node.fetch_work_item(LONG, NOW, Some(&session), &TagFilter::DefaultOnly).await.unwrap()
}

fn in_session(instance: &str, id: u64) -> WorkItem {
    let mut item = activity(instance, id);
    if let WorkItem::ActivityExecute { session_id, .. } = &mut item {
        *session_id = Some("s".to_owned());
    }
    item
}

/// The instances of all turns that are ready, by name.
async fn ready(node: &dyn Provider) -> Vec<String> {
    let wish = TurnFetch::new(16, LONG).with_poll_timeout(NOW);
    let turns = node.fetch_orchestration_items(wish).await.unwrap();
    let mut names: Vec<String> = turns.into_iter().map(|turn| turn.item.instance).collect();
    names.sort();
    names
}

/// Waits until no stored lease or delay was set in the future.
async fn corrected(store: &Store, node: &dyn Provider) {
    let sql = store.sql().await;
    let left = "SELECT (SELECT count(*) FROM $.instance_locks WHERE locked_at > $.now_ms()
             AND locked_until < 9223372036854775807)
         + (SELECT count(*) FROM $.worker_queue WHERE timed_at > $.now_ms())
         + (SELECT count(*) FROM $.sessions WHERE timed_at > $.now_ms())
         + (SELECT count(*) FROM $.orchestrator_queue WHERE timed_at > $.now_ms())";
    let corrected = async {
        while sql.count(left).await > 0 {
            // Each response carries the server's time.
            assert!(take(node, "new").await.is_none(), "no time has passed");
        }
    };
    tokio::time::timeout(PATIENCE, corrected).await.expect("the times are corrected");
}

/// Leases and delays are lengths of time: a clock that is set back does not make them longer. A
/// live holder keeps its lease. What has a time of its own keeps that.
#[tokio::test]
async fn a_server_clock_that_is_set_back_makes_no_lease_longer() {
    let store = Store::live();
    let node = store.builder().with_safety_poll_interval(Duration::from_secs(3600)).open().await;
    let node = &node.unwrap();
    let long = || TurnFetch::new(1, LONG).with_poll_timeout(NOW);
    for instance in ["live", "dead", "backed off", "disagrees", "stopped", "timer"] {
        create(node, instance).await;
    }
    let mut live = String::new();
    for instance in ["live", "dead", "backed off", "disagrees", "stopped"] {
        node.enqueue_for_orchestrator(signal(instance, "1"), None).await.unwrap();
        let token = node.fetch_orchestration_items(long()).await.unwrap().remove(0).lock_token;
        match instance {
            "live" => live = token,
            "dead" => node.renew_orchestration_item_lock(&token, LONG).await.unwrap(),
            "backed off" => {
                node.abandon_orchestration_item(&token, Some(LONG), false).await.unwrap();
            }
            "disagrees" => node.suspend_turn(&token, "other code").await.unwrap(),
            _ => {
                let admin = node.as_management_capability().unwrap();
                admin.suspend_instance("stopped", "").await.unwrap();
            }
        }
    }
    node.enqueue_for_orchestrator(signal("timer", "1"), None).await.unwrap();
    let due = node.clock().now_ms() + 600_000;
    let timer = WorkItem::TimerFired {
        instance: "timer".to_owned(),
        execution_id: 1,
        id: 3,
        fire_at_ms: due,
    };
    let token = turn(node).await.lock_token;
    let waits = commit(&token, vec![heard("timer", 2)]).with_outgoing_messages(vec![timer]);
    node.store_turn(waits).await.unwrap();
    for item in [2, 3, 4].map(|id| activity("live", id)).into_iter().chain([in_session("live", 5)])
    {
        node.enqueue_for_worker(item).await.unwrap();
    }
    take(node, "old").await.unwrap();
    let (_, renewed, _) = take(node, "old").await.unwrap();
    node.renew_work_item_lock(&renewed, LONG).await.unwrap();
    let (_, delayed, _) = take(node, "old").await.unwrap();
    node.abandon_work_item(&delayed, Some(LONG), false).await.unwrap();
    take(node, "old").await.unwrap();
    node.enqueue_for_worker(in_session("live", 6)).await.unwrap();

    shift(&store, -HOUR_MS).await;
    corrected(&store, node).await;
    // The holder renews by its own clock.
    node.renew_orchestration_item_lock(&live, LONG * 3).await.unwrap();
    let minute = i64::try_from(LONG.as_millis()).unwrap();
    shift(&store, minute + 1000 - HOUR_MS).await;
    assert_eq!(ready(node).await, ["backed off", "dead", "disagrees"]);
    let mut again = Vec::new();
    while let Some((_, _, attempt)) = take(node, "new").await {
        again.push(attempt);
    }
    again.sort_unstable();
    assert_eq!(again, [1, 2, 2, 2, 2], "the session is free, too");
    node.store_turn(commit(&live, vec![heard("live", 2)])).await.unwrap();
    let fires = "SELECT min(visible_at) FROM $.orchestrator_queue WHERE instance_id = 'timer'";
    assert_eq!(store.count(fires).await, i64::try_from(due).unwrap());
}

#[tokio::test]
async fn a_clock_of_the_program_that_is_set_back_makes_no_lease_longer() {
    let store = Store::new();
    let node = store.node().await;
    node.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    turn(&*node).await;
    store.clock.as_ref().unwrap().set(BEGIN_MS - u64::try_from(HOUR_MS).unwrap());
    assert!(try_turn(&*node).await.is_none(), "the lease is live");
    let sql = store.sql().await;
    // Leases and messages are corrected by two statements, one after the other.
    let future = format!(
        "SELECT (SELECT count(*) FROM $.instance_locks WHERE locked_at >= {BEGIN_MS})
             + (SELECT count(*) FROM $.orchestrator_queue WHERE visible_at >= {BEGIN_MS})"
    );
    let corrected = async { while sql.count(&future).await > 0 {} };
    tokio::time::timeout(PATIENCE, corrected).await.expect("lease and message are corrected");
    store.advance(LEASE);
    assert_eq!(turn(&*node).await.attempt_count, 2);
}

/// What other nodes store while the search runs is later than the time at which it began, although
/// no clock was set back.
#[tokio::test]
async fn what_is_stored_during_the_search_is_not_from_the_future() {
    let store = Store::new();
    let node = store.node().await;
    create(&*node, "a").await;
    node.enqueue_for_orchestrator(signal("a", "1"), None).await.unwrap();
    turn(&*node).await;
    for item in [activity("a", 2), in_session("a", 3)] {
        node.enqueue_for_worker(item).await.unwrap();
    }
    while take(&*node, "owner").await.is_some() {}
    node.enqueue_for_orchestrator(start("b"), None).await.unwrap();
    let sql = store.sql().await;
    let leases = sql.function("correct_future_leases").await;
    let messages = sql.function("correct_future_messages").await;
    let corrected = async |now: u64| {
        let found = format!(
            "SELECT l.o_count + l.o_left::INTEGER + q.o_count + a.o_count
             FROM $.{leases}({now}) AS l, $.{messages}({now}, FALSE) AS q,
                 $.{messages}({now}, TRUE) AS a"
        );
        sql.count(&found).await
    };
    assert_eq!(corrected(BEGIN_MS - 100).await, 0);
    // A turn, two activities, a session, the signal and the start.
    assert_eq!(corrected(BEGIN_MS - 60_000).await, 6);
}

/// After a reset, a timer that had fired and a signal before it arrived in either order: the signal
/// became visible at the time of the commit, and the timer at its own, which had passed. A fetch
/// that had read the clock just before the commit saw the timer alone.
#[tokio::test]
async fn messages_that_one_commit_sends_are_fetched_together() {
    let store = Store::new();
    let node = store.node().await;
    create(&*node, "a").await;
    node.enqueue_for_orchestrator(signal("a", "0"), None).await.unwrap();
    let last = turn(&*node).await;
    let mut end = commit(&last.lock_token, vec![heard("a", 2)]);
    end.metadata.status = Some("Failed".to_owned());
    node.store_turn(end).await.unwrap();
    store.advance(Duration::from_secs(1));
    let timer = |id, fire_at_ms| WorkItem::TimerFired {
        instance: "a".to_owned(),
        execution_id: 2,
        id,
        fire_at_ms,
    };
    let sent = vec![signal("a", "1"), timer(2, BEGIN_MS + 500), signal("a", "2"), timer(3, 0)];
    let second = TurnCommit::new("", 2)
        .with_history_delta(vec![started("a")])
        .with_metadata(named())
        .with_messages("a", sent.clone());
    let expected = ExpectedInstance::Ended { execution_id: 1, last_event_id: 2 };
    node.store_execution(NewExecution::new("a", expected, second)).await.unwrap();
    let behind = Arc::new(ManualClock::new(BEGIN_MS + 999));
    let early = store.builder().with_clock(behind).open().await.unwrap();
    assert_eq!(try_turn(&early).await.map(|turn| turn.item.messages), None);
    assert_eq!(turn(&*node).await.item.messages, sent);
}
