//! Many nodes at once on one schema.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use duroxide_core::client::Client;
use duroxide_core::providers::{Provider, ProviderAdmin, SessionFetchConfig, TagFilter, WorkItem};
use duroxide_core::runtime::{
    ActivityRegistry, OrchestrationRegistry, OrchestrationStatus, Runtime, RuntimeOptions,
};
use duroxide_core::{ActivityContext, OrchestrationContext};

use crate::support::*;

const INSTANCES: usize = 200;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_node_leases_each_turn() {
    let store = Store::live();
    let nodes = futures_util::future::join_all((0..3).map(|_| store.node())).await;
    for number in 0..INSTANCES {
        let item = start(&format!("i-{number}"));
        nodes[number % 3].enqueue_for_orchestrator(item, None).await.unwrap();
    }
    let taken = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for node in &nodes {
        for _ in 0..4 {
            let (node, taken) = (Arc::clone(node), Arc::clone(&taken));
            tasks.push(tokio::spawn(async move {
                while taken.lock().unwrap().len() < INSTANCES {
                    for turn in node.fetch_orchestration_items(wish(7)).await.unwrap() {
                        taken.lock().unwrap().push(turn.item.instance.clone());
                        let events = vec![started(&turn.item.instance)];
                        node.store_turn(commit(&turn.lock_token, events)).await.unwrap();
                    }
                }
            }));
        }
    }
    for task in tasks {
        task.await.unwrap();
    }
    let taken = taken.lock().unwrap();
    assert_eq!(taken.len(), INSTANCES);
    assert_eq!(taken.iter().collect::<HashSet<_>>().len(), INSTANCES);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_belongs_to_one_owner_among_many_nodes() {
    let store = Store::live();
    let nodes = futures_util::future::join_all((0..3).map(|_| store.node())).await;
    for number in 0..90 {
        let mut item = activity("a", number);
        if let WorkItem::ActivityExecute { session_id, .. } = &mut item {
            *session_id = Some(format!("s-{}", number % 9));
        }
        nodes[0].enqueue_for_worker(item).await.unwrap();
    }
    let owners: Arc<Mutex<HashMap<String, String>>> = Arc::default();
    let done = Arc::new(Mutex::new(0));
    let mut tasks = Vec::new();
    for (number, node) in nodes.iter().enumerate() {
        let (node, owners, done) = (Arc::clone(node), Arc::clone(&owners), Arc::clone(&done));
        tasks.push(tokio::spawn(async move {
            let owner = format!("owner-{number}");
            let config = SessionFetchConfig { owner_id: owner.clone(), lock_timeout: LEASE * 10 };
            while *done.lock().unwrap() < 90 {
                let fetched =
                    node.fetch_work_item(LEASE, NOW, Some(&config), &TagFilter::Any).await.unwrap();
                let Some((item, token, _)) = fetched else { continue };
                let WorkItem::ActivityExecute { session_id: Some(session), .. } = item else {
                    panic!("an activity of a session");
                };
                let first = owners.lock().unwrap().entry(session).or_insert(owner.clone()).clone();
                assert_eq!(first, owner, "a live session has one owner");
                node.ack_work_item(&token, None).await.unwrap();
                *done.lock().unwrap() += 1;
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

/// A message that arrives before its start is delivered after it, whatever runs at that moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_message_stays_parked_when_its_instance_starts() {
    let store = Store::live();
    let nodes = [store.node().await, store.node().await];
    let fetching = Arc::clone(&nodes[1]);
    let taken: Arc<Mutex<HashSet<String>>> = Arc::default();
    let seen = Arc::clone(&taken);
    let fetcher = tokio::spawn(async move {
        loop {
            for turn in fetching.fetch_orchestration_items(wish(16)).await.unwrap() {
                let instance = turn.item.instance.clone();
                let has_start = turn.item.messages.iter().any(WorkItem::is_start);
                let events = if has_start { vec![started(&instance)] } else { vec![] };
                fetching.store_turn(commit(&turn.lock_token, events)).await.unwrap();
                for message in &turn.item.messages {
                    if !message.is_start() {
                        seen.lock().unwrap().insert(instance.clone());
                    }
                }
            }
        }
    });
    for number in 0..150 {
        let instance = format!("i-{number}");
        let early = nodes[0].enqueue_for_orchestrator(queued(&instance, "early"), None);
        let late = nodes[0].enqueue_for_orchestrator(start(&instance), None);
        let (early, late) = tokio::join!(early, late);
        early.unwrap();
        late.unwrap();
    }
    let all = async {
        while taken.lock().unwrap().len() < 150 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let delivered = tokio::time::timeout(PATIENCE, all).await;
    let parked = nodes[0].list_parked_messages(10).await.unwrap();
    delivered.unwrap_or_else(|_| panic!("messages stayed parked: {parked:?}"));
    fetcher.abort();
}

/// A program could not release its connections without ending.
#[tokio::test]
async fn closing_ends_every_connection_and_all_later_calls() {
    let store = Store::live();
    let name = format!("close-{}", uuid::Uuid::new_v4().simple());
    let url = format!("{}?application_name={name}", store.url);
    let node = Store { url, schema: store.schema.clone(), clock: None }.node().await;
    create(&*node, "a").await;
    let connections =
        format!("SELECT count(*) FROM pg_stat_activity WHERE application_name = '{name}'");
    assert!(store.count(&connections).await > 0);
    let wait = node.fetch_orchestration_items(wish(1).with_poll_timeout(PATIENCE * 100));
    let close = async {
        tokio::task::yield_now().await;
        tokio::join!(node.close(), node.close());
    };
    let (fetched, ()) = tokio::join!(wait, close);
    assert!(!fetched.unwrap_err().is_retryable());
    for error in [
        node.enqueue_for_orchestrator(signal("a", "1"), None).await.unwrap_err(),
        node.read("a").await.map(drop).unwrap_err(),
        node.read_status("a").await.map(drop).unwrap_err(),
    ] {
        assert!(!error.is_retryable(), "{error}");
        assert!(error.message.contains("closed"), "{error}");
    }
    // The server notices the end of a connection a moment later.
    while store.count(&connections).await > 0 {
        tokio::task::yield_now().await;
    }
}

/// Under repeatable read, a transaction does not see what was committed while it waited for a lock:
/// messages stayed parked.
#[tokio::test]
async fn nodes_choose_their_isolation_level() {
    let store = Store::live();
    let options = "?options=-c%20default_transaction_isolation%3Drepeatable%5C%20read";
    let store = Store { url: format!("{}{options}", store.url), ..store };
    let node = store.node().await;
    let sql = store.sql().await;
    sql.run(
        "CREATE TABLE $.seen (level TEXT);
         CREATE FUNCTION $.see() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN INSERT INTO $.seen VALUES (current_setting(''transaction_isolation''));
              RETURN NULL; END';
         CREATE TRIGGER see AFTER INSERT ON $.instances
             FOR EACH ROW EXECUTE FUNCTION $.see()",
    )
    .await;
    create(&*node, "a").await;
    assert_eq!(sql.count("SELECT count(*) FROM $.seen WHERE level = 'read committed'").await, 1);
}

/// Fetches, reads, commits and renewals wait for each other, and nothing is lost or runs twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_connection_serves_a_node_with_leases_of_half_a_second() {
    const WORKFLOWS: usize = 30;
    const LEASE: Duration = Duration::from_millis(500);
    let store = Store::live();
    let builder = store.builder().with_connections(1).with_writers(1);
    let node: Arc<dyn Provider> = Arc::new(builder.open().await.unwrap());
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    // Longer than its lease.
    let work = move |_: ActivityContext, input: String| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move {
            tokio::time::sleep(LEASE + LEASE / 5).await;
            Ok(input)
        }
    };
    let steps = |ctx: OrchestrationContext, input: String| async move {
        let both = (0..2).map(|_| ctx.schedule_activity("Work", input.clone())).collect();
        ctx.join(both).await.into_iter().collect::<Result<Vec<_>, _>>()?;
        ctx.schedule_activity("Work", input).await
    };
    let options = RuntimeOptions {
        orchestrator_lock_timeout: LEASE,
        worker_lock_timeout: LEASE,
        ..RuntimeOptions::default()
    };
    let runtime = Runtime::start_with_options(
        Arc::clone(&node),
        ActivityRegistry::builder().register("Work", work).build(),
        OrchestrationRegistry::builder().register("Steps", steps).build(),
        options,
    )
    .await;
    let client = Client::new(node);
    for number in 0..WORKFLOWS {
        let id = format!("i-{number}");
        client.start_orchestration(&id, "Steps", &id).await.unwrap();
    }
    for number in 0..WORKFLOWS {
        let id = format!("i-{number}");
        let status = client.wait_for_orchestration(&id, PATIENCE * 2).await.unwrap();
        let OrchestrationStatus::Completed { output, .. } = status else { panic!("{status:?}") };
        assert_eq!(output, id);
    }
    assert_eq!(runs.load(Ordering::SeqCst), 3 * WORKFLOWS, "each ran once");
    runtime.shutdown(None).await;
}

/// Aborted activities waited for the end of their leases, and each abort counted as an attempt.
#[tokio::test]
async fn a_shutdown_releases_what_it_aborts() {
    const LEASE: Duration = Duration::from_secs(3600);
    let store = Store::live();
    let (seen, mut attempts) = tokio::sync::mpsc::unbounded_channel();
    let start_node = async |goes_on: bool| {
        let seen = seen.clone();
        let work = move |ctx: ActivityContext, _: String| {
            seen.send(ctx.attempt()).unwrap();
            async move {
                if !goes_on {
                    std::future::pending::<()>().await;
                }
                Ok("done".to_owned())
            }
        };
        let call = |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("Work", "").await
        };
        let options = RuntimeOptions {
            orchestrator_lock_timeout: LEASE,
            worker_lock_timeout: LEASE,
            worker_lock_renewal_buffer: LEASE - Duration::from_secs(1),
            ..RuntimeOptions::default()
        };
        let node: Arc<dyn Provider> = store.node().await;
        let runtime = Runtime::start_with_options(
            Arc::clone(&node),
            ActivityRegistry::builder().register("Work", work).build(),
            OrchestrationRegistry::builder().register("Call", call).build(),
            options,
        )
        .await;
        (Client::new(node), runtime)
    };
    let (client, runtime) = start_node(false).await;
    client.start_orchestration("a", "Call", "").await.unwrap();
    assert_eq!(tokio::time::timeout(PATIENCE, attempts.recv()).await.unwrap(), Some(1));
    runtime.shutdown(Some(0)).await;
    let (client, runtime) = start_node(true).await;
    let status = client.wait_for_orchestration("a", PATIENCE).await.unwrap();
    assert!(matches!(status, OrchestrationStatus::Completed { .. }), "{status:?}");
    assert_eq!(attempts.recv().await, Some(1));
    runtime.shutdown(None).await;
}
