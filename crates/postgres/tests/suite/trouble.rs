//! Servers that go away and come back, lost responses, slow calls.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{ClientMessage, Delivery, Provider, ProviderAdmin, TagFilter};
use duroxide_pg::PostgresProvider;
use duroxide_pg_server::{Server, Setup};
use tokio_postgres::error::SqlState;

use crate::proxy::Proxy;
use crate::support::*;

/// The address of the shared server and the same URL through a proxy.
pub(crate) async fn proxied(word: &'static str) -> (Proxy, Store) {
    let store = Store::live();
    let after_at = store.url.rsplit('@').next().unwrap();
    let address = after_at.split('/').next().unwrap().to_owned();
    let proxy = Proxy::start(address.clone(), word).await;
    let url = store.url.replace(&address, &format!("127.0.0.1:{}", proxy.port()));
    (proxy, Store { url, ..store })
}

#[tokio::test]
async fn a_commit_with_a_lost_response_is_applied_once() {
    let (proxy, store) = proxied("the answer to this is lost").await;
    let node = store.node().await;
    create(&*node, "a").await;
    node.enqueue_for_orchestrator(signal("a", "1"), None).await.unwrap();
    let fetched = turn(&*node).await;
    let next = commit(&fetched.lock_token, vec![heard("a", 2)])
        .with_outgoing_messages(vec![signal("b", "the answer to this is lost")])
        .with_activities(vec![activity("a", 2)]);
    proxy.lose_next_answer();
    let committed = node.store_turn(next.clone()).await.unwrap();
    assert_eq!(proxy.answers_lost(), 1);
    assert!(committed.incarnation.is_some());
    assert_eq!(node.read("a").await.unwrap().len(), 2);
    assert_eq!(store.count("SELECT count(*) FROM $.worker_queue").await, 1);
    assert_eq!(store.count("SELECT count(*) FROM $.orchestrator_queue").await, 1);
    // The commit is known to be done: the token no longer holds a lease.
    let again = node.store_turn(next).await.unwrap_err();
    assert!(!again.is_retryable(), "{again}");
}

#[tokio::test]
async fn an_activity_with_a_lost_response_completes_once() {
    let (proxy, store) = proxied("finished without an answer").await;
    let node = store.node().await;
    node.enqueue_for_worker(activity("a", 1)).await.unwrap();
    let fetched = node.fetch_work_item(LEASE, NOW, None, &TagFilter::Any).await.unwrap();
    let (_, token, _) = fetched.unwrap();
    proxy.lose_next_answer();
    let mut completion = completed("a", 1);
    if let duroxide_core::providers::WorkItem::ActivityCompleted { result, .. } = &mut completion {
        *result = "finished without an answer".to_owned();
    }
    node.ack_work_item(&token, Some(completion)).await.unwrap();
    assert_eq!(proxy.answers_lost(), 1);
    assert_eq!(store.count("SELECT count(*) FROM $.orchestrator_queue").await, 1);
}

/// The first attempt was committed, also if a turn has consumed the message since.
#[tokio::test]
async fn a_message_with_a_lost_response_is_sent_once() {
    let (proxy, store) = proxied("perhaps sent").await;
    let node = store.node().await;
    create(&*node, "a").await;
    for round in 1..=3 {
        proxy.lose_next_answer();
        node.enqueue_for_orchestrator(signal("a", "perhaps sent"), None).await.unwrap();
        assert_eq!(proxy.answers_lost(), round);
        assert_eq!(store.count("SELECT count(*) FROM $.orchestrator_queue").await, 1);
        let fetched = turn(&*node).await;
        node.store_turn(commit(&fetched.lock_token, vec![])).await.unwrap();
    }
    proxy.lose_next_answer();
    let message = ClientMessage::new(signal("a", "perhaps sent")).to_existing();
    assert_eq!(node.send_message(message).await.unwrap(), Delivery::Enqueued);
    assert_eq!(store.count("SELECT count(*) FROM $.orchestrator_queue").await, 1);
}

#[tokio::test]
async fn work_with_a_lost_response_is_added_once() {
    let (proxy, store) = proxied("perhaps queued").await;
    let node = store.node().await;
    proxy.lose_next_answer();
    node.enqueue_for_worker(tagged("a", 1, Some("perhaps queued"))).await.unwrap();
    assert_eq!(proxy.answers_lost(), 1);
    assert_eq!(store.count("SELECT count(*) FROM $.worker_queue").await, 1);
}

#[tokio::test]
async fn a_new_start_with_a_lost_response_is_still_new() {
    let (proxy, store) = proxied("perhaps started").await;
    let node = store.node().await;
    proxy.lose_next_answer();
    let message = ClientMessage::start("a", "TestOrch", "perhaps started");
    assert_eq!(node.send_message(message.clone()).await.unwrap(), Delivery::Enqueued);
    assert_eq!(proxy.answers_lost(), 1);
    assert_eq!(node.send_message(message).await.unwrap(), Delivery::Existing);
    assert_eq!(store.count("SELECT count(*) FROM $.orchestrator_queue").await, 1);
}

/// The request is on its way while the node gives it up: it must not add its message later.
#[tokio::test]
async fn a_request_that_was_given_up_adds_nothing_later() {
    let store = Store::live();
    let node = store.node().await;
    node.enqueue_for_orchestrator(signal("a", "1"), None).await.unwrap();
    let sql = store.sql().await;
    let (close, record) =
        (sql.function("close_sender").await, sql.function("record_sending").await);
    let sender = sql.text("SELECT sender_id::TEXT FROM $.senders").await;
    let number = sql.count(&format!("SELECT o_number FROM $.{close}(0, '{sender}')")).await;
    assert_eq!(number, 1, "the message was committed");
    let late = sql.try_run(&format!("SELECT $.{record}(0, '{sender}', 2)")).await.unwrap_err();
    assert_eq!(late.code(), Some(&SqlState::UNIQUE_VIOLATION));
    // The same for a sender that has never committed.
    let unused = "00000000-0000-0000-0000-000000000001";
    let number = sql.count(&format!("SELECT o_number FROM $.{close}(0, '{unused}')")).await;
    assert_eq!(number, 0);
    let late = sql.try_run(&format!("SELECT $.{record}(0, '{unused}', 1)")).await.unwrap_err();
    assert_eq!(late.code(), Some(&SqlState::UNIQUE_VIOLATION));
}

/// Only a group of several kinds is a transaction of several statements, and timing decides whether
/// jobs meet in a group: repeated until the proxy has seen the end of one.
#[tokio::test]
async fn a_node_paused_mid_transaction_releases_its_locks() {
    let (proxy, store) = proxied("COMMIT").await;
    let options = "?options=-c%20idle_in_transaction_session_timeout%3D200";
    let direct = Store { url: Store::live().url, schema: store.schema.clone(), clock: None };
    let silent = Store { url: format!("{}{options}", store.url), ..store }.node().await;
    let other = direct.node().await;
    proxy.hold_next_request();
    for number in 0..1000 {
        let name = format!("i-{number}");
        let both = async {
            tokio::join!(
                silent.enqueue_for_orchestrator(start(&name), None),
                silent.enqueue_for_worker(activity(&name, 1)),
            )
        };
        tokio::pin!(both);
        let held = async {
            while proxy.requests_held() == 0 {
                tokio::task::yield_now().await
            }
        };
        tokio::select! {
            written = &mut both => {
                written.0.unwrap();
                written.1.unwrap();
                continue;
            }
            () = held => {}
        }
        // A start waits for the start of the same instance that is not committed.
        let waiting = other.enqueue_for_orchestrator(start(&name), None);
        tokio::time::timeout(PATIENCE, waiting).await.expect("the server ends it").unwrap();
        // The server rolled back, so that the node writes it again.
        let written = tokio::time::timeout(PATIENCE, both).await.expect("it is tried again");
        written.0.unwrap();
        written.1.unwrap();
        return;
    }
    panic!("no two jobs met in a group");
}

#[tokio::test]
async fn sessions_ended_by_an_administrator_are_replaced() {
    let mut server = Server::start(&Setup::default()).unwrap();
    let store = Store::at(&server.url());
    let node = store.node().await;
    create(&*node, "a").await;
    for round in 0..5 {
        let sql = store.sql().await;
        assert!(sql.terminate("").await > 0);
        until_done(|| node.enqueue_for_orchestrator(signal("a", "x"), None)).await;
        let fetched = until_done(|| node.fetch_orchestration_items(wish(1))).await.pop().unwrap();
        sql.terminate("").await;
        let next = commit(&fetched.lock_token, vec![heard("a", round + 2)]);
        node.store_turn(next).await.unwrap();
        until_done(|| node.read("a")).await;
    }
    assert_eq!(node.read("a").await.unwrap().len(), 6);
    server.restart().unwrap();
    assert_eq!(until_done(|| node.read("a")).await.len(), 6);
}

#[tokio::test]
async fn nothing_is_lost_when_the_server_restarts_or_crashes_under_load() {
    const CRASHES: usize = 3;
    let mut server = Server::start(&Setup { durable: true, ..Setup::default() }).unwrap();
    let store = Store::at(&server.url());
    let node = store.node().await;
    let writing = Arc::clone(&node);
    // Every acknowledged start must exist afterwards.
    let (stop, mut stopped) = tokio::sync::watch::channel(false);
    let writer = tokio::spawn(async move {
        let mut acknowledged = Vec::new();
        for number in 0_u32.. {
            if *stopped.borrow_and_update() {
                break;
            }
            let instance = format!("i-{number}");
            if writing.enqueue_for_orchestrator(start(&instance), None).await.is_ok() {
                acknowledged.push(instance);
            }
        }
        acknowledged
    });
    let server = tokio::task::spawn_blocking(move || {
        server.restart().unwrap();
        for _ in 0..CRASHES {
            server.crash().unwrap();
        }
        server
    });
    let _server = server.await.unwrap();
    until_done(|| node.enqueue_for_orchestrator(start("after"), None)).await;
    stop.send(true).unwrap();
    let mut expected = tokio::time::timeout(PATIENCE, writer).await.unwrap().unwrap();
    assert!(!expected.is_empty());
    expected.retain(|instance| instance != "after");
    let mut found = HashSet::new();
    loop {
        let turns = until_done(|| node.fetch_orchestration_items(wish(64))).await;
        if turns.is_empty() {
            break;
        }
        found.extend(turns.into_iter().map(|turn| turn.item.instance));
    }
    assert!(expected.iter().all(|instance| found.contains(instance)));
}

/// A node whose statements time out soon, but not on a busy server.
async fn hasty_node(store: &Store) -> PostgresProvider {
    // The statements that create the tables take longer.
    drop(store.node().await);
    store.builder().with_statement_timeout(Duration::from_secs(1)).open().await.unwrap()
}

#[tokio::test]
async fn a_statement_that_times_out_is_retried() {
    let store = Store::patient();
    let node = hasty_node(&store).await;
    create(&node, "a").await;
    let sql = store.sql().await;
    sql.run("BEGIN; LOCK TABLE $.instances IN ACCESS EXCLUSIVE MODE").await;
    let waits = "SELECT coalesce(max(query_start::TEXT), '') FROM pg_stat_activity
         WHERE wait_event_type = 'Lock' AND query LIKE '%$%instances%'";
    let release = async {
        let mut attempts = HashSet::new();
        while attempts.len() < 2 {
            // Outside of the transaction, which would see the same sessions again and again.
            let waiting = store.sql().await.text(waits).await;
            attempts.extend(Some(waiting).filter(|waiting| !waiting.is_empty()));
        }
        sql.run("COMMIT").await;
    };
    let release =
        async { tokio::time::timeout(PATIENCE, release).await.expect("a second attempt") };
    let (info, ()) = tokio::join!(node.get_instance_info("a"), release);
    assert_eq!(info.unwrap().instance_id, "a");
}

#[tokio::test]
async fn a_statement_that_always_times_out_is_a_retryable_error() {
    let store = Store::patient();
    let node = hasty_node(&store).await;
    let sql = store.sql().await;
    sql.run("BEGIN; LOCK TABLE $.instances IN ACCESS EXCLUSIVE MODE").await;
    let error = node.get_instance_info("a").await.unwrap_err();
    assert!(error.is_retryable() && error.message.starts_with("Statement timeout"), "{error}");
}

#[tokio::test]
async fn an_exhausted_pool_is_a_clear_error() {
    let store = Store::patient();
    let builder = store.builder().with_connections(1).with_pool_wait(Duration::from_secs(1));
    let node = Arc::new(builder.open().await.unwrap());
    let sql = store.sql().await;
    sql.run("BEGIN; LOCK TABLE $.instances IN ACCESS EXCLUSIVE MODE").await;
    let busy = Arc::clone(&node);
    let waiting = tokio::spawn(async move { busy.get_instance_info("a").await });
    let holds = "SELECT count(*) FROM pg_stat_activity
         WHERE wait_event_type = 'Lock' AND query LIKE '%$%instances%'";
    let held = async { while store.count(holds).await == 0 {} };
    tokio::time::timeout(PATIENCE, held).await.unwrap();
    let error = node.list_children("a").await.unwrap_err();
    assert!(error.is_retryable() && error.message.contains("pool exhausted"), "{error}");
    // Writes have connections of their own; an activity needs nothing of its instance.
    node.enqueue_for_worker(activity("a", 1)).await.unwrap();
    sql.run("COMMIT").await;
    assert!(waiting.await.unwrap().unwrap_err().message.contains("not found"));
}

#[tokio::test]
async fn one_bad_job_of_a_group_fails_alone() {
    let store = Store::new();
    let node = Arc::new(store.builder().with_writers(1).open().await.unwrap());
    let names: Vec<String> = (0..20).map(|number| format!("i-{number}")).collect();
    for name in &names {
        create(&*node, name).await;
    }
    for name in &names {
        node.enqueue_for_orchestrator(signal(name, "x"), None).await.unwrap();
    }
    let turns = node.fetch_orchestration_items(wish(64)).await.unwrap();
    assert_eq!(turns.len(), names.len());
    let commits = turns.into_iter().map(|turn| {
        let node = Arc::clone(&node);
        async move {
            // The first event of one of them is already stored.
            let id = if turn.item.instance == "i-7" { 1 } else { 2 };
            let next = commit(&turn.lock_token, vec![heard(&turn.item.instance, id)]);
            (turn.item.instance, node.store_turn(next).await)
        }
    });
    for (instance, outcome) in futures_util::future::join_all(commits).await {
        let length = node.read(&instance).await.unwrap().len();
        if instance == "i-7" {
            let error = outcome.unwrap_err();
            assert!(error.message.contains("Failed to append history"), "{error}");
            assert_eq!(length, 1);
        } else {
            outcome.unwrap();
            assert_eq!(length, 2, "{instance}");
        }
    }
}

#[tokio::test]
async fn an_unreachable_server_is_a_clear_error() {
    let error = PostgresProvider::new("postgres://nobody@127.0.0.1:1/none").await.unwrap_err();
    assert!(error.to_string().starts_with("cannot connect to the database"), "{error}");
}

#[tokio::test]
async fn leases_that_were_vouched_for_are_counted_while_they_are_held() {
    let store = Store::new();
    let node = store.node().await;
    node.enqueue_for_worker(activity("a", 1)).await.unwrap();
    for lease in 1..=3 {
        let fetched = node.fetch_work_item(LEASE, NOW, None, &TagFilter::Any).await.unwrap();
        let (_, token, attempt) = fetched.unwrap();
        assert_eq!(attempt, lease);
        assert_eq!(node.vouch_for_work_item(&token, 0).await.unwrap(), lease - 1);
        assert_eq!(node.vouch_for_work_item(&token, 1).await.unwrap(), lease);
        store.advance(LEASE * 2);
    }
}
